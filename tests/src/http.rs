//! Just enough HTTP/1.1 to speak to a node, also in ways that a proper client would refuse.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

const SOCKET_TIME: Duration = Duration::from_secs(60);

/// A client of one node, as one person.
#[derive(Clone, Debug)]
pub struct Http {
    addr: String,
    token: Option<String>,
}

/// What the node replied.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Status line and headers.
    pub head: String,
    /// Body, with chunks joined.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(json) => json,
            Err(error) => panic!("no JSON: {error}\n{}\n{}", self.head, String::from_utf8_lossy(&self.body)),
        }
    }

    /// Requires this status and gives the JSON.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}\n{}", self.head, String::from_utf8_lossy(&self.body));
        self.json()
    }
}

impl Http {
    /// A client of the node at this host and port.
    pub fn new(addr: &str, token: Option<&str>) -> Http {
        Http { addr: addr.to_string(), token: token.map(str::to_string) }
    }

    /// Opens a connection of its own.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.addr)?;
        stream.set_read_timeout(Some(SOCKET_TIME))?;
        stream.set_write_timeout(Some(SOCKET_TIME))?;
        Ok(stream)
    }

    /// Asks for something.
    pub fn get(&self, path: &str) -> Response {
        self.send("GET", path, None).expect("the node replies")
    }

    /// Sends something.
    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, Some(body.to_string().as_bytes())).expect("the node replies")
    }

    /// One request on a connection of its own.
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> std::io::Result<Response> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.addr);
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut stream = self.connect()?;
        stream.write_all(head.as_bytes())?;
        // A node may reply and close before it has read a body that it refuses.
        let written = stream.write_all(body.unwrap_or_default());
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        match read_response(&bytes) {
            Some(response) => Ok(response),
            None => Err(written.and(read).err().unwrap_or_else(|| std::io::Error::other("no HTTP response"))),
        }
    }
}

/// Reads a response out of everything that a closed connection gave.
fn read_response(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let chunked = head.to_lowercase().lines().any(|l| l.starts_with("transfer-encoding:") && l.contains("chunked"));
    let body = &bytes[end + 4..];
    let body = if chunked { join_chunks(body)? } else { body.to_vec() };
    Some(Response { status, head, body })
}

fn join_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|w| w == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 4 + size..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_read() {
        let plain = read_response(b"HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n{}").unwrap();
        assert_eq!((plain.status, plain.body.as_slice()), (404, &b"{}"[..]));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        assert_eq!(read_response(chunked).unwrap().body, b"abcde");
        assert!(read_response(b"HTTP/1.1 200 OK\r\n").is_none());
    }
}
