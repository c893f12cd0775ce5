//! Changing an input as the value that it is: what a random byte would break, a changed field keeps whole.
//!
//! Canonical DAG-CBOR has its keys in order and every length in front, so most changed bytes end in the first check.
//! Here the bytes are read as a value, one place in it is changed, and the value is written again.

use ipld_core::ipld::Ipld;

/// A small generator (SplitMix64): the engine gives a seed for each change, and the same seed makes the same change.
pub struct Draw(pub u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`; zero if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % (n.max(1) as u64)).unwrap_or_default()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// Numbers at which something ends.
const NUMBERS: [i128; 16] = [
    0,
    1,
    -1,
    23,
    24,
    255,
    256,
    65_535,
    65_536,
    1 << 31,
    1 << 32,
    1 << 48,
    i64::MAX as i128,
    i64::MIN as i128,
    u64::MAX as i128,
    -(1 << 64),
];

/// A changed copy of a value of DAG-CBOR; `None` if the bytes are none, or the change has no form in bytes.
pub fn value(bytes: &[u8], draw: &mut Draw) -> Option<Vec<u8>> {
    let mut value: Ipld = serde_ipld_dagcbor::from_slice(bytes).ok()?;
    let n_places = count(&value);
    let mut at = draw.below(n_places);
    let donor = nth(&value, &mut draw.below(n_places))?.clone();
    change(&mut value, &mut at, &donor, draw);
    serde_ipld_dagcbor::to_vec(&value).ok()
}

/// How many values there are in a value, itself among them.
fn count(value: &Ipld) -> usize {
    1 + match value {
        Ipld::Map(map) => map.values().map(count).sum(),
        Ipld::List(list) => list.iter().map(count).sum(),
        _ => 0,
    }
}

fn nth<'a>(value: &'a Ipld, at: &mut usize) -> Option<&'a Ipld> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Ipld::Map(map) => map.values().find_map(|value| nth(value, at)),
        Ipld::List(list) => list.iter().find_map(|value| nth(value, at)),
        _ => None,
    }
}

/// Walks to the place and changes it. Gives whether it was reached.
fn change(value: &mut Ipld, at: &mut usize, donor: &Ipld, draw: &mut Draw) -> bool {
    if *at == 0 {
        change_here(value, donor, draw);
        return true;
    }
    *at -= 1;
    match value {
        Ipld::Map(map) => map.values_mut().any(|value| change(value, at, donor, draw)),
        Ipld::List(list) => list.iter_mut().any(|value| change(value, at, donor, draw)),
        _ => false,
    }
}

fn change_here(value: &mut Ipld, donor: &Ipld, draw: &mut Draw) {
    if draw.below(8) == 0 {
        *value = donor.clone();
        return;
    }
    match value {
        Ipld::Map(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = draw.pick(&keys).cloned().unwrap_or_default();
            match draw.below(3) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert(format!("{key}x"), donor.clone())),
                _ => drop(map.insert(key, donor.clone())),
            }
        }
        Ipld::List(list) => {
            let at = draw.below(list.len());
            match draw.below(4) {
                0 if !list.is_empty() => drop(list.remove(at)),
                1 if !list.is_empty() => list.insert(at, list[at].clone()),
                2 if !list.is_empty() => {
                    let other = draw.below(list.len());
                    list.swap(at, other);
                }
                _ => list.push(donor.clone()),
            }
        }
        Ipld::Integer(n) => {
            *n = match draw.below(3) {
                0 => n.saturating_add(1),
                1 => n.saturating_sub(1),
                _ => draw.pick(&NUMBERS).copied().unwrap_or_default(),
            };
        }
        Ipld::Bytes(bytes) => change_bytes(bytes, draw),
        Ipld::String(text) => {
            let mut bytes = std::mem::take(text).into_bytes();
            change_bytes(&mut bytes, draw);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        Ipld::Bool(bool) => *bool = !*bool,
        Ipld::Null | Ipld::Float(_) | Ipld::Link(_) => *value = donor.clone(),
    }
}

fn change_bytes(bytes: &mut Vec<u8>, draw: &mut Draw) {
    // What is itself a value (an envelope, a block) is more often changed as one.
    if draw.below(4) > 0
        && let Some(changed) = value(bytes, draw)
    {
        *bytes = changed;
        return;
    }
    let at = draw.below(bytes.len());
    match draw.below(4) {
        0 if !bytes.is_empty() => drop(bytes.remove(at)),
        1 => bytes.insert(at, draw.below(256) as u8),
        2 => bytes.truncate(at),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << draw.below(8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::golden;

    #[test]
    fn a_changed_value_is_a_value_and_differs() {
        let mut n_differ = 0;
        for seed in 0..200 {
            for (_, frame) in golden() {
                let Some(changed) = value(frame, &mut Draw(seed)) else { continue };
                assert!(serde_ipld_dagcbor::from_slice::<Ipld>(&changed).is_ok());
                n_differ += usize::from(changed != *frame);
            }
        }
        assert!(n_differ > 200 * golden().len() / 2, "{n_differ}");
        let (_, frame) = &golden()[0];
        assert_eq!(value(frame, &mut Draw(7)), value(frame, &mut Draw(7)));
        assert_eq!(value(b"\xff", &mut Draw(7)), None);
    }
}
