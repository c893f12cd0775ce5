//! Tiles: C2SP `tlog-tiles`, the layout in which others read a log over HTTP.
//!
//! A tile has up to 256 hashes of one level; each stands for a perfect subtree of 256 of the level below:
//!
//! ```text
//! tile/0/x001/x234/067        level 0, tile 1234067: the hashes of 256 entries
//! tile/1/000.p/17             level 1, tile 0, the 17 hashes that it has so far
//! tile/entries/000            the entries whose hashes tile/0/000 has
//! ```

use std::fmt;
use std::str::FromStr;

use super::LogError;

/// Levels of the tree in one tile.
pub const TILE_HEIGHT: u8 = 8;
/// Hashes of a full tile, and entries of a full bundle.
pub const TILE_WIDTH: u64 = 1 << TILE_HEIGHT;

/// Highest level that a path may name.
const LEVEL_MAX: u8 = 63;
/// Longest path that is looked at: seven groups of digits, a level, a width.
const PATH_BYTES_MAX: usize = 64;

/// How much of a tile is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TileWidth {
    /// All of it. What it holds never changes.
    Full,
    /// Its first 1 to 255 hashes.
    Partial(u8),
}

impl TileWidth {
    /// So many hashes.
    pub fn hashes(self) -> u64 {
        match self {
            TileWidth::Full => TILE_WIDTH,
            TileWidth::Partial(n) => n.into(),
        }
    }
}

/// Which tile, as `LEVEL/N` or `LEVEL/N.p/W`. For a bundle of entries the level is written `entries`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TilePath {
    /// Its level; none for the entries themselves.
    pub level: Option<u8>,
    /// Its index among those of its level.
    pub index: u64,
    /// How much of it.
    pub width: TileWidth,
}

impl TilePath {
    /// Index of its first hash among those of its level.
    pub fn first(&self) -> Option<u64> {
        self.index.checked_mul(TILE_WIDTH)
    }

    /// How many hashes of its level a log of this size has.
    pub fn available(&self, size: u64) -> u64 {
        let shift = u32::from(self.level.unwrap_or(0)) * u32::from(TILE_HEIGHT);
        size.checked_shr(shift).unwrap_or(0)
    }

    /// Whether a log of this size has it.
    pub fn is_within(&self, size: u64) -> bool {
        let end = self.first().and_then(|first| first.checked_add(self.width.hashes()));
        end.is_some_and(|end| end <= self.available(size))
    }
}

/// Three digits a group, all but the last behind an `x`.
fn write_index(f: &mut fmt::Formatter<'_>, index: u64) -> fmt::Result {
    if index >= 1000 {
        write_groups(f, index / 1000)?;
    }
    write!(f, "{:03}", index % 1000)
}

fn write_groups(f: &mut fmt::Formatter<'_>, index: u64) -> fmt::Result {
    if index >= 1000 {
        write_groups(f, index / 1000)?;
    }
    write!(f, "x{:03}/", index % 1000)
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(f, "{level}/")?,
            None => f.write_str("entries/")?,
        }
        write_index(f, self.index)?;
        match self.width {
            TileWidth::Full => Ok(()),
            TileWidth::Partial(n) => write!(f, ".p/{n}"),
        }
    }
}

impl FromStr for TilePath {
    type Err = LogError;

    /// One tile has one path: whatever would be written otherwise is refused.
    fn from_str(path: &str) -> Result<TilePath, LogError> {
        let read = |path: &str| {
            let (level, rest) = path.split_once('/')?;
            let level = match level {
                "entries" => None,
                level => Some(level.parse::<u8>().ok().filter(|l| *l <= LEVEL_MAX)?),
            };
            let (index, width) = match rest.split_once(".p/") {
                Some((index, width)) => (index, TileWidth::Partial(width.parse().ok().filter(|w| *w > 0)?)),
                None => (rest, TileWidth::Full),
            };
            let mut number: u64 = 0;
            for group in index.split('/') {
                let digits = group.strip_prefix('x').unwrap_or(group);
                let value = digits.parse::<u64>().ok().filter(|_| digits.len() == 3)?;
                number = number.checked_mul(1000)?.checked_add(value)?;
            }
            let tile = TilePath { level, index: number, width };
            (tile.to_string() == path).then_some(tile)
        };
        let refused = || LogError::Tile(path.chars().take(PATH_BYTES_MAX).collect());
        if path.len() > PATH_BYTES_MAX {
            return Err(refused());
        }
        read(path).ok_or_else(refused)
    }
}

/// A bundle of entries: each behind its length in two bytes.
pub fn bundle_of<'a>(entries: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, LogError> {
    let mut bundle = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let length = u16::try_from(entry.len()).map_err(|_| LogError::Bundle { index, bytes: entry.len() })?;
        bundle.extend_from_slice(&length.to_be_bytes());
        bundle.extend_from_slice(entry);
    }
    Ok(bundle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_paths_of_the_specification() {
        for (path, level, index, width) in [
            ("0/x001/x234/067", Some(0), 1_234_067, TileWidth::Full),
            ("0/000", Some(0), 0, TileWidth::Full),
            ("1/000.p/17", Some(1), 0, TileWidth::Partial(17)),
            ("63/x001/000.p/255", Some(63), 1000, TileWidth::Partial(255)),
            ("entries/x001/x000/000", None, 1_000_000, TileWidth::Full),
        ] {
            let tile = TilePath { level, index, width };
            assert_eq!(path.parse(), Ok(tile));
            assert_eq!(tile.to_string(), path);
        }
    }

    #[test]
    fn one_tile_has_one_path() {
        for path in [
            "",
            "0",
            "0/",
            "0/0",
            "0/00",
            "0/0000",
            "0/x000",
            "0/x000/001",
            "0/001/002",
            "0/1",
            "00/000",
            "64/000",
            "-1/000",
            "+0/000",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/01",
            "0/000.p/",
            "0/000/",
            "/000",
            "0/+01",
            "entry/000",
            "0/x999/x999/x999/x999/x999/x999/999",
            "0/000.p/1.p/1",
            "0/ 00",
        ] {
            assert!(path.parse::<TilePath>().is_err(), "{path:?}");
        }
        assert!("0/000/".repeat(100).parse::<TilePath>().is_err());
    }

    /// The example of the specification: a log of 70,000 entries.
    #[test]
    fn a_log_has_the_tiles_that_its_size_gives() {
        let has = |path: &str| path.parse::<TilePath>().unwrap().is_within(70_000);
        for path in
            ["0/000", "0/272", "0/273.p/112", "1/000", "1/001.p/17", "2/000.p/1", "entries/273.p/112", "0/000.p/5"]
        {
            assert!(has(path), "{path}");
        }
        for path in
            ["0/273", "0/273.p/113", "0/274.p/1", "1/001", "1/001.p/18", "2/000", "2/000.p/2", "3/000.p/1", "63/000"]
        {
            assert!(!has(path), "{path}");
        }
    }

    #[test]
    fn a_bundle_takes_what_two_bytes_can_count() {
        assert_eq!(bundle_of([&b"ab"[..], b"", b"c"]), Ok(b"\0\x02ab\0\0\0\x01c".to_vec()));
        let (most, more) = (vec![7; 65_535], vec![7; 65_536]);
        assert_eq!(bundle_of([&most[..]]).map(|b| b.len()), Ok(65_537));
        assert_eq!(bundle_of([&b"a"[..], &more]), Err(LogError::Bundle { index: 1, bytes: 65_536 }));
    }

    proptest! {
        #[test]
        fn paths_are_read_as_they_are_written(level in proptest::option::of(0..64u8), index in any::<u64>(), width in 0..=255u8) {
            let width = if width == 0 { TileWidth::Full } else { TileWidth::Partial(width) };
            let tile = TilePath { level, index, width };
            prop_assert_eq!(tile.to_string().parse(), Ok(tile));
        }

        #[test]
        fn no_text_panics(path in "[0-9x/.pe]{0,40}") {
            if let Ok(tile) = path.parse::<TilePath>() {
                prop_assert_eq!(tile.to_string(), path);
                tile.is_within(u64::MAX);
            }
        }
    }
}
