use super::*;
use crate::log::{empty_root, leaf_hash};
use proptest::prelude::*;

/// The example of the specification.
const SOFA: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
    \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn checkpoint(size: u64, root: Hash) -> Checkpoint {
    Checkpoint { origin: "operations.example/public".parse().unwrap(), size, root }
}

#[test]
fn the_example_of_the_specification_is_read() {
    let signed = SignedCheckpoint::parse(SOFA).unwrap();
    assert_eq!(signed.checkpoint().origin.as_str(), "example.com/behind-the-sofa");
    assert_eq!(signed.checkpoint().size, 20_852_163);
    assert_eq!(signed.as_str(), SOFA);
    assert!(SOFA.starts_with(&signed.checkpoint().to_string()));
    assert!(signed.verify(&key(1).public()).is_err());
}

#[test]
fn a_checkpoint_holds_for_its_own_key_and_text() {
    let signed = checkpoint(0, empty_root()).sign(&key(1));
    assert_eq!(
        signed.checkpoint().to_string(),
        "operations.example/public\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    );
    assert_eq!(signed.verify(&key(1).public()), Ok(()));
    assert_eq!(signed.verify(&key(2).public()), Err(LogError::Unsigned("operations.example/public".into())));
    for (from, to) in [("\n0\n", "\n1\n"), ("public\n0", "other\n0"), ("47DE", "57DE")] {
        let changed = signed.as_str().replacen(from, to, 1);
        let changed = SignedCheckpoint::parse(&changed).unwrap();
        assert!(changed.verify(&key(1).public()).is_err(), "{from:?}");
    }
}

#[test]
fn extension_lines_and_foreign_signatures_are_kept() {
    let note = note::sign(
        "operations.example/public\n3\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nnext line\n",
        "operations.example/public",
        &key(1),
    );
    let text = format!("{note}\u{2014} witness.example/w1 AAAAAGZmZmZm\n");
    let signed = SignedCheckpoint::parse(&text).unwrap();
    assert_eq!(signed.as_str(), text);
    assert_eq!(signed.verify(&key(1).public()), Ok(()));
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let root = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    // 32 bytes too, in two pieces: one root would have two texts.
    let pieces = "CsUYapGGPo4tkMgIAUqom/Xajj7h2fB2MPA3j2I=eqx2";
    let parse = |body: &str| SignedCheckpoint::parse(&format!("{body}\n\u{2014} a AAAAAGZm\n")).map(|_| ());
    assert_eq!(parse(&format!("a\n1\n{root}\n")), Ok(()));
    assert_eq!(parse(&format!("a\n1\n{pieces}\n")), Err(LogError::Body("the root is not 32 bytes of base64")));
    for body in [
        "a\n".into(),
        "a\n1\n".into(),
        format!("\n1\n{root}\n"),
        format!("a b\n1\n{root}\n"),
        format!("a+b\n1\n{root}\n"),
        format!("{}\n1\n{root}\n", "a".repeat(ORIGIN_LEN_MAX + 1)),
        format!("a\n\n{root}\n"),
        format!("a\n01\n{root}\n"),
        format!("a\n+1\n{root}\n"),
        format!("a\n-1\n{root}\n"),
        format!("a\n1 \n{root}\n"),
        format!("a\n9223372036854775808\n{root}\n"),
        format!("a\n99999999999999999999\n{root}\n"),
        format!("a\n1\n{}\n", &root[..40]),
        format!("a\n1\n{}\n", root.trim_end_matches('=')),
        format!("a\n1\n{}V=\n", &root[..42]),
        format!("a\n1\n{root} \n"),
    ] {
        assert!(parse(&body).is_err(), "{body:?}");
    }
}

#[test]
fn two_faces_of_one_log_convict_its_key() {
    let (x, y) = (leaf_hash(b"x"), leaf_hash(b"y"));
    let check = |a: SignedCheckpoint, b: SignedCheckpoint| Equivocation { a, b }.check(&key(1).public());
    let head = |size, root| checkpoint(size, root).sign(&key(1));
    assert_eq!(check(head(1, x), head(1, y)), Ok(()));
    assert!(check(head(1, x), head(1, x)).is_err());
    assert!(check(head(1, x), head(2, y)).is_err());
    assert!(check(head(1, x), checkpoint(1, y).sign(&key(2))).is_err());
    assert!(check(checkpoint(1, x).sign(&key(2)), head(1, y)).is_err());
    let elsewhere = Checkpoint { origin: "operations.example/audit".parse().unwrap(), ..checkpoint(1, y) };
    assert!(check(head(1, x), elsewhere.sign(&key(1))).is_err());
}

#[test]
fn a_signed_checkpoint_travels_as_its_text() {
    let signed = checkpoint(7, empty_root()).sign(&key(1));
    let json = serde_json::to_string(&signed).unwrap();
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), signed.as_str());
    assert_eq!(serde_json::from_str::<SignedCheckpoint>(&json).unwrap(), signed);
    assert!(serde_json::from_str::<SignedCheckpoint>("\"\"").is_err());
    let pair = Equivocation { a: signed.clone(), b: signed };
    let bytes = serde_ipld_dagcbor::to_vec(&pair).unwrap();
    assert_eq!(serde_ipld_dagcbor::from_slice::<Equivocation>(&bytes).unwrap(), pair);
}

proptest! {
    #[test]
    fn what_is_signed_parses_back(
        origin in "[a-z.]{1,20}/[a-z]{1,9}", size in 0..=LOG_SIZE_MAX, root in any::<Hash>(), seed in any::<[u8; 32]>(),
    ) {
        let checkpoint = Checkpoint { origin: origin.parse().unwrap(), size, root };
        let key = SecretKey::from_seed(seed);
        let signed = checkpoint.sign(&key);
        let parsed = SignedCheckpoint::parse(signed.as_str()).unwrap();
        prop_assert_eq!(&parsed, &signed);
        prop_assert_eq!(parsed.checkpoint(), &checkpoint);
        prop_assert_eq!(parsed.verify(&key.public()), Ok(()));
    }

    #[test]
    fn parsing_is_total(text in "(?s).{0,200}") {
        let _ = SignedCheckpoint::parse(&text);
    }

    /// Cut anywhere, or with any character replaced, a checkpoint is refused or does not verify, unless it is unchanged.
    #[test]
    fn damage_is_noticed(at in any::<prop::sample::Index>(), with in any::<char>(), cut in any::<bool>()) {
        let signed = checkpoint(3, leaf_hash(b"x")).sign(&key(1));
        let mut chars: Vec<char> = signed.as_str().chars().collect();
        let at = at.index(chars.len());
        if cut { chars.truncate(at) } else { chars[at] = with }
        let damaged: String = chars.into_iter().collect();
        if let Ok(parsed) = SignedCheckpoint::parse(&damaged) {
            prop_assert!(parsed.verify(&key(1).public()).is_err() || parsed == signed);
        }
    }
}
