//! The frame: how one request or one response lies in a stream.
//!
//! ```text
//! +------------------------------+------------------+
//! | length, unsigned varint (1-5)| that many bytes  |
//! +------------------------------+------------------+
//! ```
//!
//! The limit is checked before anything is allocated, and the buffer grows only as bytes arrive: a frame costs what
//! was sent of it, never what it claims. Any error ends the stream.

use std::io;

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use libp2p::request_response;

use super::protocol::Protocol;

/// How much is read at once, and so how much memory a frame gets ahead of its bytes.
const READ_STEP_BYTES: usize = 64 * 1024;

/// The longest length prefix. Five groups of seven bits hold more than any limit; a sixth byte can only be noise.
const LENGTH_BYTES_MAX: usize = 5;

/// Why a frame was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    /// It claims more than the protocol allows.
    #[error("a frame of {bytes} bytes; the limit is {max}")]
    TooLarge {
        /// The length that it claims.
        bytes: u64,
        /// The limit of the protocol.
        max: usize,
    },
    /// Its length is not a shortest-form varint of at most five bytes.
    #[error("the length of a frame is not a valid varint")]
    Length,
}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// The refusal inside an I/O error, if that is what it is.
pub(super) fn frame_error(error: &io::Error) -> Option<&FrameError> {
    error.get_ref()?.downcast_ref()
}

/// What lies in a stream: bytes, or why they are no frame of the protocol. The library keeps errors of reading to itself,
/// and whoever sent the frame is to be held to it. The same goes back as the answer: writing it fails, and the stream is
/// reset instead of closed, so that somebody who writes without end is stopped.
pub(super) type Framed = Result<Vec<u8>, FrameError>;

/// Reads and writes frames for all request protocols.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameCodec;

impl request_response::Codec for FrameCodec {
    type Protocol = Protocol;
    type Request = Framed;
    type Response = Framed;

    async fn read_request<T>(&mut self, protocol: &Protocol, io: &mut T) -> io::Result<Framed>
    where
        T: AsyncRead + Unpin + Send,
    {
        match read_frame(io, protocol.request_bytes_max()).await {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(error) => match frame_error(&error) {
                Some(broken) => Ok(Err(broken.clone())),
                None => Err(error),
            },
        }
    }

    async fn read_response<T>(&mut self, protocol: &Protocol, io: &mut T) -> io::Result<Framed>
    where
        T: AsyncRead + Unpin + Send,
    {
        Ok(Ok(read_frame(io, protocol.response_bytes_max()).await?))
    }

    async fn write_request<T>(&mut self, protocol: &Protocol, io: &mut T, request: Framed) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write_frame(io, &request?, protocol.request_bytes_max()).await
    }

    async fn write_response<T>(&mut self, protocol: &Protocol, io: &mut T, response: Framed) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write_frame(io, &response?, protocol.response_bytes_max()).await
    }
}

async fn read_frame<T: AsyncRead + Unpin>(io: &mut T, max: usize) -> io::Result<Vec<u8>> {
    let claimed = read_length(io).await?;
    let length = match usize::try_from(claimed) {
        Ok(length) if length <= max => length,
        _ => return Err(FrameError::TooLarge { bytes: claimed, max }.into()),
    };
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let start = bytes.len();
        bytes.resize(length.min(start + READ_STEP_BYTES), 0);
        io.read_exact(&mut bytes[start..]).await?;
    }
    Ok(bytes)
}

/// Byte by byte: reading ahead would mean a buffer, and a length has one or a few bytes.
async fn read_length<T: AsyncRead + Unpin>(io: &mut T) -> io::Result<u64> {
    let mut length = 0u64;
    for place in 0..LENGTH_BYTES_MAX {
        let mut one = [0u8];
        io.read_exact(&mut one).await?;
        let [byte] = one;
        length |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            // A last group of zeros says the same length in more bytes: one length has one form.
            let padded = byte == 0 && 0 < place;
            return if padded { Err(FrameError::Length.into()) } else { Ok(length) };
        }
    }
    Err(FrameError::Length.into())
}

async fn write_frame<T: AsyncWrite + Unpin>(io: &mut T, bytes: &[u8], max: usize) -> io::Result<()> {
    let length = bytes.len() as u64;
    if max < bytes.len() {
        return Err(FrameError::TooLarge { bytes: length, max }.into());
    }
    io.write_all(&encode_length(length)).await?;
    io.write_all(bytes).await?;
    io.flush().await
}

/// The varint of a length.
pub(super) fn encode_length(mut length: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(LENGTH_BYTES_MAX);
    while 0x80 <= length {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use futures::io::Cursor;
    use proptest::prelude::*;

    fn read(bytes: &[u8], max: usize) -> io::Result<Vec<u8>> {
        block_on(read_frame(&mut Cursor::new(bytes), max))
    }

    fn refusal(bytes: &[u8], max: usize) -> FrameError {
        frame_error(&read(bytes, max).unwrap_err()).unwrap().clone()
    }

    #[test]
    fn golden_frames() {
        let mut out = Vec::new();
        block_on(write_frame(&mut out, b"plumb", 5)).unwrap();
        assert_eq!(out, b"\x05plumb");
        assert_eq!(encode_length(0), [0]);
        assert_eq!(encode_length(300), [0xac, 0x02]);
    }

    #[test]
    fn what_is_not_a_frame_is_refused() {
        let four_gib = encode_length(4 << 30);
        assert_eq!(refusal(&four_gib, 1024), FrameError::TooLarge { bytes: 4 << 30, max: 1024 });
        assert_eq!(refusal(&[5, 1, 2], 4), FrameError::TooLarge { bytes: 5, max: 4 });
        assert_eq!(refusal(&[0x80; 64], 1024), FrameError::Length);
        assert_eq!(refusal(&[0x81, 0x00, 7], 1024), FrameError::Length, "1 in two bytes");
        for ended in [&[][..], &[0x80], &[3, 1, 2]] {
            assert_eq!(read(ended, 1024).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn what_is_too_long_is_not_written() {
        let mut out = Vec::new();
        assert!(block_on(write_frame(&mut out, &[0; 9], 8)).is_err());
        assert!(out.is_empty());
    }

    /// Yields nothing after its bytes, and notes the largest buffer that it was handed.
    struct Stalled<'a>(Cursor<Vec<u8>>, &'a mut usize);

    impl AsyncRead for Stalled<'_> {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
            buf: &mut [u8],
        ) -> std::task::Poll<io::Result<usize>> {
            *self.1 = buf.len().max(*self.1);
            std::pin::Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    #[test]
    fn memory_follows_the_bytes_and_not_the_claim() {
        let max = 512 * 1024 * 1024;
        let mut frame = encode_length(max as u64);
        frame.extend_from_slice(&[7; 100]);
        let mut largest = 0;
        let read = block_on(read_frame(&mut Stalled(Cursor::new(frame), &mut largest), max));
        assert!(read.is_err());
        assert!(largest <= READ_STEP_BYTES);
    }

    proptest! {
        #[test]
        fn frames_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..200_000)) {
            let mut out = Vec::new();
            block_on(write_frame(&mut out, &bytes, bytes.len())).unwrap();
            prop_assert_eq!(read(&out, bytes.len()).unwrap(), bytes);
        }

        #[test]
        fn any_bytes_end_in_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(body) = read(&bytes, 32) {
                prop_assert!(body.len() <= 32);
            }
        }
    }
}
