//! Frames of the wire, and what a node stores in the same form.

use std::fmt::Debug;

use ipld_core::ipld::Ipld;
use plumb_core::retrieval::{Query, TermStats};
use plumb_federation::wire::blocks::{self, BlocksRequest, BlocksResponse};
use plumb_federation::wire::gossip::{self, Gossip};
use plumb_federation::wire::hello::{self, Hello, HelloResponse};
use plumb_federation::wire::log::{self, FORK_BYTES_MAX, FORK_TYPE, Fork, LogRequest, LogResponse};
use plumb_federation::wire::log_entry::{self, ENTRY_BYTES_MAX, LogEntry};
use plumb_federation::wire::log_state::{self, LOG_STATE_BYTES_MAX, LogState};
use plumb_federation::wire::notice::{self, NoticeRequest, NoticeResponse};
use plumb_federation::wire::search::{self, SearchRequest, SearchResponse, check_hits};
use plumb_federation::wire::teach::{self, TeachRequest, TeachResponse};
use plumb_federation::wire::{Unknown, WireError};

use super::{Shape, Target};
use crate::laws;
use crate::seeds::{body_of_note, genuine, golden};

/// A message, as all of them are alike from outside.
trait Message: Sized + PartialEq + Debug {
    /// Name of its protocol.
    const PROTOCOL: &'static str;
    /// Most bytes that are read.
    const BYTES_MAX: usize;
    fn read(bytes: &[u8]) -> Result<Self, WireError>;
    fn write(&self) -> Vec<u8>;
    /// The message as it is kept, if its kind is of the future.
    fn unknown(&self) -> Option<&Unknown> {
        None
    }
    /// What else must hold of this message.
    fn check(&self) {}
}

macro_rules! message {
    ($type:ident of $protocol:path, at most $max:path $(, unknown $unknown:ident)? $(, check $check:ident)?) => {
        impl Message for $type {
            const PROTOCOL: &'static str = $protocol;
            const BYTES_MAX: usize = $max;
            fn read(bytes: &[u8]) -> Result<$type, WireError> {
                $type::decode(bytes)
            }
            fn write(&self) -> Vec<u8> {
                self.encode()
            }
            $(fn unknown(&self) -> Option<&Unknown> {
                match self {
                    $type::$unknown(unknown) => Some(unknown),
                    _ => None,
                }
            })?
            $(fn check(&self) {
                $check(self);
            })?
        }
    };
}

message!(Hello of hello::PROTOCOL, at most hello::FRAME_BYTES_MAX);
message!(HelloResponse of hello::PROTOCOL, at most hello::FRAME_BYTES_MAX, unknown Unknown);
message!(SearchRequest of search::PROTOCOL, at most search::REQUEST_BYTES_MAX, unknown Unknown, check search_request);
message!(SearchResponse of search::PROTOCOL, at most search::RESPONSE_BYTES_MAX, unknown Unknown, check hits);
message!(BlocksRequest of blocks::PROTOCOL, at most blocks::REQUEST_BYTES_MAX);
message!(BlocksResponse of blocks::PROTOCOL, at most blocks::RESPONSE_BYTES_MAX, unknown Unknown, check asked);
message!(LogRequest of log::PROTOCOL, at most log::FRAME_BYTES_MAX, unknown Unknown, check log_request);
message!(LogResponse of log::PROTOCOL, at most log::FRAME_BYTES_MAX, unknown Unknown, check log_response);
message!(NoticeRequest of notice::PROTOCOL, at most notice::REQUEST_BYTES_MAX, unknown Unknown);
message!(NoticeResponse of notice::PROTOCOL, at most notice::RESPONSE_BYTES_MAX, unknown Unknown);
message!(TeachRequest of teach::PROTOCOL, at most teach::REQUEST_BYTES_MAX, unknown Unknown);
message!(TeachResponse of teach::PROTOCOL, at most teach::RESPONSE_BYTES_MAX, unknown Unknown);
message!(Gossip of gossip::TYPE, at most gossip::MESSAGE_BYTES_MAX);
message!(LogEntry of log_entry::TYPE, at most ENTRY_BYTES_MAX, unknown Unknown);
message!(LogState of log_state::TYPE, at most LOG_STATE_BYTES_MAX);
message!(Fork of FORK_TYPE, at most FORK_BYTES_MAX, check convicts_the_guilty);

/// Whoever is asked ranks under these statistics at once.
fn search_request(request: &SearchRequest) {
    if let SearchRequest::Hits(asked) = request {
        assert!(asked.stats.check(asked.query.terms.len()).is_ok(), "statistics are for another question");
        assert!(asked.k <= search::HITS_MAX && asked.deadline_ms <= search::DEADLINE_MS_MAX);
    }
}

/// Hits are scored again by whoever asked: their text, however hostile, has a score.
fn hits(response: &SearchResponse) {
    if let SearchResponse::Hits { hits, .. } = response {
        let query = Query::new("Was the reservoir full at pump 7?");
        let stats = TermStats { n_docs: 1 << 40, n_terms: 1 << 47, doc_freq: vec![1; query.terms.len()] };
        if let Err(error) = check_hits(hits, &query, &stats, search::HITS_MAX) {
            laws::short(&error);
        }
    }
}

/// Every block is what its name says, and asking for exactly these makes the answer one to the question.
fn asked(response: &BlocksResponse) {
    if let BlocksResponse::Blocks(given) = response {
        let names = given.blocks.iter().map(|block| block.cid).chain(given.missing.iter().copied());
        let request = BlocksRequest::new(names.clone());
        let is_each_once = request.cids.len() == names.count();
        assert_eq!(given.check_asked(&request).is_ok(), is_each_once);
    }
}

fn log_request(request: &LogRequest) {
    if let LogRequest::Heads(heads) = request {
        heads.forks.iter().for_each(convicts_the_guilty);
    }
}

fn log_response(response: &LogResponse) {
    if let LogResponse::Heads(heads) = response {
        heads.forks.iter().for_each(convicts_the_guilty);
    }
}

/// A fork convicts only with two checkpoints that its publisher did sign.
fn convicts_the_guilty(fork: &Fork) {
    match fork.check() {
        Ok(()) => {
            for face in [&fork.a, &fork.b] {
                let body = body_of_note(face.checkpoint.as_str());
                assert!(genuine().checkpoints.contains(body), "a fork convicts by a checkpoint that nobody signed");
            }
        }
        Err(error) => laws::short(&error),
    }
}

/// The laws of every message.
fn frame<M: Message>(bytes: &[u8]) {
    let message = match M::read(bytes) {
        Ok(message) => message,
        Err(error) => return laws::short(&error),
    };
    assert!(bytes.len() <= M::BYTES_MAX, "{} bytes were read, of at most {}", bytes.len(), M::BYTES_MAX);
    let given = laws::canonical(bytes);
    let again = message.write();
    match message.unknown() {
        Some(unknown) => assert!(unknown.bytes == bytes && again == bytes, "a kind of the future was altered"),
        None => {
            let written = laws::canonical(&again);
            assert!(laws::is_part_of(&written, &given), "was {given:?}, is {written:?}");
            assert_eq!(M::read(&again).as_ref(), Ok(&message), "what is written reads otherwise");
            laws::envelopes_signed_by_a_seed(&written);
        }
    }
    message.check();
}

/// The golden frames that are such a message.
fn goldens<M: Message>() -> Vec<Vec<u8>> {
    golden().iter().map(|(_, frame)| frame.clone()).filter(|frame| M::read(frame).is_ok()).collect()
}

const fn of<M: Message>(name: &'static str) -> Target {
    Target { name, run: frame::<M>, seeds: goldens::<M>, input_bytes_max: 8 * 1024, shape: Shape::DagCbor }
}

pub(super) const HELLO: Target = of::<Hello>("hello");
pub(super) const HELLO_RESPONSE: Target = of::<HelloResponse>("hello_response");
pub(super) const SEARCH_REQUEST: Target = of::<SearchRequest>("search_request");
pub(super) const SEARCH_RESPONSE: Target = of::<SearchResponse>("search_response");
pub(super) const BLOCKS_REQUEST: Target = of::<BlocksRequest>("blocks_request");
pub(super) const BLOCKS_RESPONSE: Target = of::<BlocksResponse>("blocks_response");
pub(super) const LOG_REQUEST: Target = of::<LogRequest>("log_request");
pub(super) const LOG_RESPONSE: Target = of::<LogResponse>("log_response");
pub(super) const NOTICE_REQUEST: Target = of::<NoticeRequest>("notice_request");
pub(super) const NOTICE_RESPONSE: Target = of::<NoticeResponse>("notice_response");
pub(super) const TEACH_REQUEST: Target = of::<TeachRequest>("teach_request");
pub(super) const TEACH_RESPONSE: Target = of::<TeachResponse>("teach_response");
pub(super) const GOSSIP: Target = of::<Gossip>("gossip");
pub(super) const LOG_ENTRY: Target = of::<LogEntry>("log_entry");
pub(super) const LOG_STATE: Target = of::<LogState>("log_state");
pub(super) const LOG_FORK: Target = of::<Fork>("log_fork");

/// Asserts that each message that keeps kinds of the future reads one at its limit and refuses one a byte longer. The
/// engine's inputs are too short to find this out.
pub fn refuses_what_is_too_large() {
    at_the_limit::<HelloResponse>();
    at_the_limit::<SearchRequest>();
    at_the_limit::<SearchResponse>();
    at_the_limit::<BlocksResponse>();
    at_the_limit::<LogRequest>();
    at_the_limit::<LogResponse>();
    at_the_limit::<NoticeRequest>();
    at_the_limit::<NoticeResponse>();
    at_the_limit::<TeachRequest>();
    at_the_limit::<TeachResponse>();
    at_the_limit::<LogEntry>();
}

fn at_the_limit<M: Message>() {
    let of_len = |n: usize| {
        let bare = future::<M>(0);
        // The length of a long byte string takes five bytes or three, that of none takes one.
        let filling = (n - bare.len()).saturating_sub(4);
        (filling..n).map(future::<M>).find(|frame| frame.len() == n)
    };
    // Where the head of the byte string grows, one length in between is skipped; no limit is just there.
    let largest = of_len(M::BYTES_MAX).expect("a frame of the largest size");
    assert!(M::read(&largest).is_ok(), "{} reads no frame of {} bytes", M::PROTOCOL, M::BYTES_MAX);
    let too_large = of_len(M::BYTES_MAX + 1).expect("a frame beyond the largest size");
    assert!(matches!(M::read(&too_large), Err(WireError::Limit { .. })), "{} reads too much", M::PROTOCOL);
}

/// A frame whose kind nobody knows, with so many bytes in it.
fn future<M: Message>(filling: usize) -> Vec<u8> {
    let fields = [
        ("type", Ipld::String(M::PROTOCOL.into())),
        ("kind", Ipld::String("of the future".into())),
        ("filling", Ipld::Bytes(vec![0; filling])),
    ];
    let map = fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    serde_ipld_dagcbor::to_vec(&Ipld::Map(map)).expect("a map encodes")
}
