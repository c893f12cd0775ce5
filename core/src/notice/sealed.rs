//! A notice about evidence that is not public, as it stands in a public log: closed to whoever does not hold what it names.
//!
//! Everybody follows every log, so what a log says of internal evidence, everybody would read. Here the notice is
//! encrypted (XChaCha20-Poly1305) under a key of its own, and that key is locked once for each source that it names,
//! with a pad that follows from the name of the source:
//!
//! ```text
//! tag = SHA-256("plumb/sealed-notice/1/tag" ‖ 0x00 ‖ source)               by which a holder finds it
//! pad = SHA-256("plumb/sealed-notice/1/pad" ‖ 0x00 ‖ nonce ‖ source)       new for each notice
//! lock = tag ‖ (key XOR pad)
//! ```
//!
//! So whoever holds a source opens what is said of it, from any copy of the log, with nobody's help, and a log still
//! proves that nothing was left out. **What it keeps from others is as good as the name of the source is hard to guess.**
//! A source record's CID covers the bytes, the title, the owner and the address. Who can write all of those down knows
//! the document, and learns that there is a notice on it.
//!
//! What remains to be seen: that there is a notice, when, on how many sources, and its length to the next KiB.

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use cid::Cid;
use sha2::{Digest, Sha256};

use super::{NOTICE_BYTES_MAX, Notice, TARGETS_MAX};
use crate::identity::Signed;

/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 24;
/// Bytes of a lock: a tag and a key.
pub const LOCK_BYTES: usize = 64;
/// The length of what is encrypted is a multiple of this.
const PADDED_TO: usize = 1024;
/// Bytes in front of the notice that say how long it is.
const LENGTH_BYTES: usize = 4;
/// Bytes by which the cipher is longer than the text.
const MAC_BYTES: usize = 16;
/// Longest body, in bytes.
pub const BODY_BYTES_MAX: usize = NOTICE_BYTES_MAX + LENGTH_BYTES + PADDED_TO + MAC_BYTES;

const TAG: &[u8] = b"plumb/sealed-notice/1/tag\0";
const PAD: &[u8] = b"plumb/sealed-notice/1/pad\0";

/// A notice that only whoever holds what it names can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedNotice {
    /// The notice's name, by which it is acknowledged. It covers a signature, so it says nothing of what is in it.
    pub notice: Cid,
    /// Drawn for this notice.
    pub nonce: [u8; NONCE_BYTES],
    /// The signed notice, encrypted.
    pub body: Vec<u8>,
    /// One for each source that it names, in the order of their tags.
    pub locks: Vec<[u8; LOCK_BYTES]>,
}

/// Why a sealed notice does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealedNoticeError {
    /// It has no lock for this source.
    #[error("the sealed notice is not about this source")]
    OtherSource,
    /// The lock is there, and what it opens is not the notice that it is said to be.
    #[error("the sealed notice does not hold what it says that it holds")]
    Broken,
    /// Too large, or about too many or no sources.
    #[error("a sealed notice has 1 to {TARGETS_MAX} locks and a body of at most {BODY_BYTES_MAX} bytes")]
    Bounds,
}

/// By which the sealed notices on a source are found.
pub fn tag_of(source: &Cid) -> [u8; 32] {
    Sha256::new_with_prefix(TAG).chain_update(source.to_bytes()).finalize().into()
}

fn tag_in(lock: &[u8; LOCK_BYTES]) -> &[u8] {
    &lock[..32]
}

impl SealedNotice {
    /// Seals a notice. `key` and `nonce` are drawn at random, and used for nothing else.
    pub fn seal(
        notice: &Signed<Notice>,
        key: [u8; 32],
        nonce: [u8; NONCE_BYTES],
    ) -> Result<SealedNotice, SealedNoticeError> {
        let bytes = notice.to_bytes();
        let length = u32::try_from(bytes.len()).map_err(|_| SealedNoticeError::Bounds)?;
        let mut text = length.to_be_bytes().to_vec();
        text.extend_from_slice(&bytes);
        text.resize(text.len().next_multiple_of(PADDED_TO), 0);
        let body = XChaCha20Poly1305::new(&key.into()).encrypt(XNonce::from_slice(&nonce), text.as_slice());
        let mut locks: Vec<[u8; LOCK_BYTES]> =
            notice.value().targets.iter().map(|source| lock(source, &key, &nonce)).collect();
        locks.sort_unstable();
        locks.dedup();
        let body = body.map_err(|_| SealedNoticeError::Bounds)?;
        let sealed = SealedNotice { notice: notice.cid(), nonce, body, locks };
        sealed.check()?;
        Ok(sealed)
    }

    /// Checks what can be checked from outside.
    pub fn check(&self) -> Result<(), SealedNoticeError> {
        let fits = (1..=TARGETS_MAX).contains(&self.locks.len()) && self.body.len() <= BODY_BYTES_MAX;
        if fits { Ok(()) } else { Err(SealedNoticeError::Bounds) }
    }

    /// The tags of what it names.
    pub fn tags(&self) -> impl Iterator<Item = &[u8]> {
        self.locks.iter().map(tag_in)
    }

    /// The notice, for whoever holds one of the sources that it names.
    pub fn open(&self, source: &Cid) -> Result<Signed<Notice>, SealedNoticeError> {
        let tag = tag_of(source);
        let lock = self.locks.iter().find(|lock| tag_in(lock) == tag).ok_or(SealedNoticeError::OtherSource)?;
        let mut key = pad(source, &self.nonce);
        key.iter_mut().zip(&lock[32..]).for_each(|(byte, locked)| *byte ^= locked);
        let broken = SealedNoticeError::Broken;
        let text = XChaCha20Poly1305::new(&key.into())
            .decrypt(XNonce::from_slice(&self.nonce), self.body.as_slice())
            .map_err(|_| broken)?;
        let (length, rest) = text.split_first_chunk::<LENGTH_BYTES>().ok_or(broken)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| broken)?;
        let bytes = rest.get(..length).filter(|bytes| bytes.len() <= NOTICE_BYTES_MAX).ok_or(broken)?;
        let notice: Signed<Notice> = Signed::from_bytes(bytes).map_err(|_| broken)?;
        let is_it = notice.cid() == self.notice && notice.value().targets.contains(source);
        if is_it && notice.value().check().is_ok() { Ok(notice) } else { Err(broken) }
    }
}

fn pad(source: &Cid, nonce: &[u8; NONCE_BYTES]) -> [u8; 32] {
    Sha256::new_with_prefix(PAD).chain_update(nonce).chain_update(source.to_bytes()).finalize().into()
}

fn lock(source: &Cid, key: &[u8; 32], nonce: &[u8; NONCE_BYTES]) -> [u8; LOCK_BYTES] {
    let mut lock = [0; LOCK_BYTES];
    lock[..32].copy_from_slice(&tag_of(source));
    let locked = pad(source, nonce).into_iter().zip(key).map(|(pad, key)| pad ^ key);
    lock[32..].iter_mut().zip(locked).for_each(|(to, byte)| *to = byte);
    lock
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::content::RawBlock;
    use crate::identity::SecretKey;
    use crate::measure::Timestamp;
    use crate::notice::{NoticeKind, NoticeTag, Reason};

    fn source(n: u8) -> Cid {
        RawBlock::raw(vec![n]).cid
    }

    fn notice(targets: &[u8], note: &str) -> Signed<Notice> {
        let key = SecretKey::from_seed([1; 32]);
        let notice = Notice {
            tag: NoticeTag,
            kind: NoticeKind::Retraction,
            reason: Reason::Privacy,
            note: note.to_string(),
            targets: targets.iter().copied().map(source).collect(),
            fingerprints: vec![],
            undoes: None,
            chunks: vec![],
            superseded_by: None,
            audience: None,
            publisher: key.public(),
            org: SecretKey::from_seed([2; 32]).public(),
            issued_at: Timestamp(0),
        };
        Signed::seal(notice, &key).unwrap()
    }

    #[test]
    fn whoever_holds_a_source_opens_it_and_nobody_else() {
        let signed = notice(&[1, 2], "names a person");
        let sealed = SealedNotice::seal(&signed, [3; 32], [4; 24]).unwrap();
        assert_eq!(sealed.open(&source(1)).unwrap(), signed);
        assert_eq!(sealed.open(&source(2)).unwrap(), signed);
        assert_eq!(sealed.open(&source(5)), Err(SealedNoticeError::OtherSource));
    }

    #[test]
    fn what_opens_one_notice_opens_no_other() {
        // Who holds source 1 learns the key of the first notice, and from it the pad of source 2 in that notice.
        let first = SealedNotice::seal(&notice(&[1, 2], "both"), [3; 32], [4; 24]).unwrap();
        let second = SealedNotice::seal(&notice(&[2], "the other"), [5; 32], [6; 24]).unwrap();
        let of = |sealed: &SealedNotice| {
            let lock = sealed.locks.iter().find(|lock| tag_in(lock) == tag_of(&source(2))).copied().unwrap();
            <[u8; 32]>::try_from(&lock[32..]).unwrap()
        };
        let pad: Vec<u8> = of(&first).iter().map(|byte| byte ^ 3).collect();
        let guess: Vec<u8> = of(&second).iter().zip(pad).map(|(locked, pad)| locked ^ pad).collect();
        assert_ne!(guess, [5; 32]);
    }

    #[test]
    fn notes_of_any_length_look_alike() {
        let lengths = ["", "short", &"x".repeat(400)]
            .map(|note| SealedNotice::seal(&notice(&[1], note), [3; 32], [4; 24]).unwrap().body.len());
        assert_eq!(lengths, [1024 + MAC_BYTES; 3]);
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_seen(at in 0usize..4000, by in 1u8..) {
            let sealed = SealedNotice::seal(&notice(&[1], "a note"), [3; 32], [4; 24]).unwrap();
            let mut changed = sealed.clone();
            let at = at % (sealed.body.len() + NONCE_BYTES + 32);
            match at.checked_sub(sealed.body.len()) {
                None => changed.body[at] ^= by,
                Some(at) if at < NONCE_BYTES => changed.nonce[at] ^= by,
                Some(at) => changed.locks[0][at - NONCE_BYTES + 32] ^= by,
            }
            prop_assert_eq!(changed.open(&source(1)), Err(SealedNoticeError::Broken));
        }
    }
}
