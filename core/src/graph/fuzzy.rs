//! Names that are misspelt: which known names are within two edits of a text (CTX-08).
//!
//! Two edits cannot touch three pieces. So a name is cut into three, and a text within two edits of it contains one of
//! the pieces whole, shifted by at most two letters. The pieces are indexed; a text looks up its own pieces and compares
//! only the names that share one (Li, Deng, Wang, Feng, "Pass-Join: a partition-based method for similarity joins",
//! VLDB 2011).

use std::collections::BTreeSet;

/// Most edits at which a name is still recognised.
pub(super) const EDITS_MAX: u8 = 2;
/// Shortest and longest name that is recognised misspelt, in letters. Two edits make any word of two letters from any
/// other; the longest bounds the work.
const LETTERS_MIN: usize = 3;
const LETTERS_MAX: usize = 64;
/// One more than [`EDITS_MAX`].
const PIECES: usize = 3;

/// An index of names by their pieces. Names are given by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// Hash of (length of the name, which piece, its letters), and the name. Two pieces of one hash cost a comparison.
    index: BTreeSet<(u64, u32)>,
}

impl Pieces {
    pub fn insert(&mut self, name: &str, number: u32) {
        self.index.extend(keys(name).map(|key| (key, number)));
    }

    pub fn remove(&mut self, name: &str, number: u32) {
        for key in keys(name) {
            self.index.remove(&(key, number));
        }
    }

    /// The names one or two edits from `text`, in the order of their numbers. At least half of the letters of either must
    /// stand as they are: `qa` is no misspelt `hr`.
    pub fn near<'n>(&self, text: &str, name: impl Fn(u32) -> &'n str) -> Vec<(u32, u8)> {
        let letters: Vec<char> = text.chars().collect();
        let mut candidates = BTreeSet::new();
        let edits = usize::from(EDITS_MAX);
        if letters.len() > LETTERS_MAX + edits {
            return Vec::new();
        }
        for len in letters.len().saturating_sub(edits).max(LETTERS_MIN)..=(letters.len() + edits).min(LETTERS_MAX) {
            for (which, (start, piece_len)) in cuts(len).into_iter().enumerate() {
                for start in start.saturating_sub(edits)..=start + edits {
                    let Some(piece) = letters.get(start..start + piece_len) else { break };
                    let key = key(len, which, piece);
                    candidates.extend(self.index.range((key, 0)..=(key, u32::MAX)).map(|(_, number)| *number));
                }
            }
        }
        let judged = candidates.into_iter().filter_map(|number| {
            let other: Vec<char> = name(number).chars().collect();
            let edits = edits_between(&letters, &other)?;
            (edits > 0 && usize::from(edits) * 2 < letters.len().min(other.len())).then_some((number, edits))
        });
        judged.collect()
    }
}

/// Where the pieces of a name of `len` letters begin, and how long they are.
fn cuts(len: usize) -> [(usize, usize); PIECES] {
    let (first, second) = (len / PIECES, (len - len / PIECES) / 2);
    [(0, first), (first, second), (first + second, len - first - second)]
}

fn keys(name: &str) -> impl Iterator<Item = u64> {
    let letters: Vec<char> = name.chars().collect();
    let fits = (LETTERS_MIN..=LETTERS_MAX).contains(&letters.len());
    let cuts = fits.then(|| cuts(letters.len())).into_iter().flatten().enumerate();
    cuts.map(move |(which, (start, len))| key(letters.len(), which, &letters[start..start + len]))
}

/// FNV-1a over 32-bit words: no defence against whoever makes names collide on purpose, who gains one comparison.
fn key(len: usize, which: usize, piece: &[char]) -> u64 {
    let place = (len * PIECES + which) as u64;
    let words = std::iter::once(place).chain(piece.iter().map(|c| u64::from(u32::from(*c))));
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Insertions, deletions and substitutions from one to the other (Levenshtein), if at most [`EDITS_MAX`].
pub(super) fn edits_between(one: &[char], other: &[char]) -> Option<u8> {
    if one.len().abs_diff(other.len()) > usize::from(EDITS_MAX) {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
        if row.iter().all(|edits| *edits > usize::from(EDITS_MAX)) {
            return None;
        }
    }
    u8::try_from(row[other.len()]).ok().filter(|edits| *edits <= EDITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edits(one: &str, other: &str) -> Option<u8> {
        edits_between(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>())
    }

    /// The definition, by recursion.
    fn by_definition(one: &[char], other: &[char]) -> usize {
        match (one, other) {
            ([], rest) | (rest, []) => rest.len(),
            ([a, one @ ..], [b, other @ ..]) if a == b => by_definition(one, other),
            ([_, x @ ..], [_, y @ ..]) => {
                1 + by_definition(x, y).min(by_definition(x, other)).min(by_definition(one, y))
            }
        }
    }

    #[test]
    fn edits_are_counted() {
        let cases = [
            ("platform", "platform", Some(0)),
            ("plattform", "platform", Some(1)),
            ("platfrom", "platform", Some(2)),
            ("plattfrom", "platform", None),
            ("", "ab", Some(2)),
            ("", "abc", None),
            ("größe", "grösse", Some(2)),
        ];
        for (one, other, expected) in cases {
            assert_eq!(edits(one, other), expected, "{one} {other}");
            assert_eq!(edits(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn half_of_the_letters_must_stand() {
        let near = |name: &'static str, text: &str| {
            let mut pieces = Pieces::default();
            pieces.insert(name, 0);
            pieces.near(text, |_| name).first().map(|(_, edits)| *edits)
        };
        assert_eq!(near("hr", "qa"), None);
        assert_eq!(near("hr", "hrs"), None, "two letters are not enough to misspell");
        assert_eq!(near("ops", "opt"), Some(1));
        assert_eq!((near("auth", "outh"), near("auth", "outs")), (Some(1), None));
        assert_eq!((near("pumps", "bumbs"), near("pumps", "bumbz")), (Some(2), None));
        let (longest, longer) = (&*"x".repeat(64).leak(), &*"x".repeat(65).leak());
        assert_eq!(near(longest, &"x".repeat(66)), Some(2));
        assert_eq!(near(longest, &"x".repeat(67)), None);
        assert_eq!(near(longer, &"x".repeat(64)), None, "longer names are exact or nothing");
    }

    proptest! {
        #[test]
        fn the_edits_are_those_of_the_definition(one in "[abc]{0,6}", other in "[abc]{0,6}") {
            let (a, b): (Vec<_>, Vec<_>) = (one.chars().collect(), other.chars().collect());
            let exact = by_definition(&a, &b);
            prop_assert_eq!(edits_between(&a, &b).map(usize::from), (exact <= 2).then_some(exact));
        }

        /// Nothing within two edits escapes the index.
        #[test]
        fn the_index_finds_what_comparing_all_finds(
            names in prop::collection::vec("[ab é]{1,12}", 1..40),
            gone in prop::collection::vec(any::<bool>(), 40),
            text in "[ab é]{0,13}",
        ) {
            let mut pieces = Pieces::default();
            for (number, name) in (0..).zip(&names) {
                pieces.insert(name, number);
            }
            for ((number, name), gone) in (0..).zip(&names).zip(&gone) {
                if *gone {
                    pieces.remove(name, number);
                }
            }
            let compared = (0u32..).zip(&names).zip(&gone).filter_map(|((number, name), gone)| {
                let edits = edits(&text, name).filter(|edits| *edits > 0)?;
                let shorter = text.chars().count().min(name.chars().count());
                (!gone && name.chars().count() >= 3 && usize::from(edits) * 2 < shorter).then_some((number, edits))
            });
            let compared: Vec<_> = compared.collect();
            prop_assert_eq!(pieces.near(&text, |number| &names[number as usize]), compared);
        }
    }
}
