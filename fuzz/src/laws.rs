//! What a target asserts beside "no panic". Each function panics where its law is broken, and says which.

use std::error::Error;

use ipld_core::ipld::Ipld;

use crate::seeds::{genuine, signed_bytes};

/// Longest text of an error with everything behind it. It is logged and shown, so it may quote foreign bytes only in
/// part.
pub const ERROR_BYTES_MAX: usize = 4096;

/// Numbers that a decoder lowers to what it grants.
const LOWERED: [&str; 3] = ["deadline_ms", "k", "retry_after_ms"];

/// **A refusal is short**, whatever was refused.
pub fn short(error: &dyn Error) {
    let mut n_bytes = error.to_string().len();
    let mut source = error.source();
    while let Some(cause) = source {
        n_bytes += cause.to_string().len();
        source = cause.source();
    }
    assert!(n_bytes <= ERROR_BYTES_MAX, "an error of {n_bytes} bytes: {:.200}…", error.to_string());
}

/// **What is accepted is canonical DAG-CBOR**, all of it: also the fields that nobody asked for. Gives the value.
pub fn canonical(bytes: &[u8]) -> Ipld {
    let value: Ipld = serde_ipld_dagcbor::from_slice(bytes)
        .unwrap_or_else(|e| panic!("what was accepted is no DAG-CBOR to others: {e}"));
    let again = serde_ipld_dagcbor::to_vec(&value).expect("what was decoded encodes");
    assert!(again == bytes, "what was accepted has another canonical form");
    value
}

/// **Nothing is invented or altered on the way out**: each field of `part` stands in `whole` with the same value. Fields
/// of the future may be left out, a missing optional field may read `null`, and a few numbers may be lowered.
pub fn is_part_of(part: &Ipld, whole: &Ipld) -> bool {
    is_part_under("", part, whole)
}

fn is_part_under(key: &str, part: &Ipld, whole: &Ipld) -> bool {
    match (part, whole) {
        (Ipld::Map(part), Ipld::Map(whole)) => part.iter().all(|(key, value)| match whole.get(key) {
            Some(given) => is_part_under(key, value, given),
            None => *value == Ipld::Null,
        }),
        (Ipld::List(part), Ipld::List(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(p, w)| is_part_under(key, p, w))
        }
        (Ipld::Integer(part), Ipld::Integer(whole)) if LOWERED.contains(&key) => part <= whole,
        // A signed value is an envelope within a byte string; what was signed in it is a byte string again, and equal.
        (Ipld::Bytes(part), Ipld::Bytes(whole)) if part != whole => {
            let read = |bytes: &[u8]| serde_ipld_dagcbor::from_slice::<Ipld>(bytes).ok();
            match (read(part), read(whole)) {
                (Some(part @ Ipld::Map(_)), Some(whole)) => key != "block" && is_part_under(key, &part, &whole),
                _ => false,
            }
        }
        (part, whole) => part == whole,
    }
}

/// **Nobody forges**: whatever passed as signed is one of the values that were signed when the seeds were made. The
/// fuzzer has no key.
pub fn signed_by_a_seed(block: &[u8], signer: &str, signature: &[u8]) {
    let is_known = genuine().signed.contains(&(block.to_vec(), signer.to_string(), signature.to_vec()));
    assert!(is_known, "a value passed as signed by {signer} that this key never signed");
}

/// The same for the envelopes inside a frame, in the fields where a decoder has checked them.
pub fn envelopes_signed_by_a_seed(value: &Ipld) {
    match value {
        Ipld::Map(map) => {
            for (key, value) in map {
                match value {
                    Ipld::Bytes(bytes) if ["certificate", "notice", "signed"].contains(&key.as_str()) => {
                        envelope_signed_by_a_seed(bytes);
                    }
                    other => envelopes_signed_by_a_seed(other),
                }
            }
        }
        Ipld::List(list) => list.iter().for_each(envelopes_signed_by_a_seed),
        _ => {}
    }
}

fn envelope_signed_by_a_seed(bytes: &[u8]) {
    let signed = signed_bytes(bytes);
    assert!(!signed.is_empty(), "an envelope that was accepted holds nothing that is signed");
    for (block, signer, signature) in signed {
        signed_by_a_seed(&block, &signer, &signature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn map(fields: &[(&str, Ipld)]) -> Ipld {
        Ipld::Map(fields.iter().map(|(k, v)| (k.to_string(), v.clone())).collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn a_part_leaves_out_and_never_alters() {
        let whole = map(&[("a", Ipld::Integer(1)), ("k", Ipld::Integer(9)), ("new", Ipld::Bool(true))]);
        for (part, holds) in [
            (map(&[("a", Ipld::Integer(1))]), true),
            (map(&[("k", Ipld::Integer(3))]), true),
            (map(&[("page", Ipld::Null)]), true),
            (map(&[("k", Ipld::Integer(10))]), false),
            (map(&[("a", Ipld::Integer(2))]), false),
            (map(&[("b", Ipld::Integer(1))]), false),
        ] {
            assert_eq!(is_part_of(&part, &whole), holds, "{part:?}");
        }
    }

    #[test]
    fn a_foreign_signature_is_noticed() {
        let one = genuine().signed.iter().next().expect("seeds are signed").clone();
        signed_by_a_seed(&one.0, &one.1, &one.2);
        let forged = std::panic::catch_unwind(|| signed_by_a_seed(b"other", &one.1, &one.2));
        assert!(forged.is_err());
    }

    #[test]
    fn bytes_that_are_not_canonical_are_noticed() {
        canonical(&[0xa1, 0x61, 0x61, 0x01]);
        assert!(std::panic::catch_unwind(|| canonical(&[0x18, 0x01])).is_err());
    }
}
