//! The side that receives.

use cid::Cid;
use plumb_core::boundary::{Access, Requester, Sensitivity};
use plumb_core::content::{Chunk, SourceRecord};
use plumb_core::identity::{EntityId, NodeId, OrgId, Signed};
use plumb_core::knowledge::{KnowledgeUnit, Origin, SourceType, UnitState};
use plumb_core::lifecycle::{fingerprint_of_chunk, may_become_active, narrowed_to};
use plumb_core::measure::Milli;
use plumb_core::propagation::{self, ChainError, Known, Reply, Teaching, judge};
use plumb_core::retrieval::Query;
use plumb_core::trust::{Certificate, requester_of};
use plumb_federation::wire::teach::{Offer, TeachRequest};
use plumb_storage::{Blocks, Change, Records, unit};

use super::{ResolveTeaching, TeachingView, view_received};
use crate::error::NodeError;
use crate::federation::{Owed, put_owed};
use crate::kept::{self, Offered, Received, SourceRow, SourceState, Standing};
use crate::premises::Premises;
use crate::retrieval::{local_hits, local_stats};
use crate::verification::{unseal, unseal_after};

/// What is known of the same matter: so many texts are compared.
const NEIGHBOURS: usize = 10;

/// Where a teaching arose.
struct Home {
    org: OrgId,
    department: EntityId,
}

/// Judges an offer and takes it in. Gives the reply, and how many teachings wait for a person.
pub(in crate::federation) fn take(
    premises: &Premises,
    certificate: &Signed<Certificate>,
    offer: &Offer,
) -> Result<(Reply, u64), NodeError> {
    let source = offer.taught.teaching.value().source;
    unseal(premises, [&source])?;
    let taken = take_alone(premises, certificate, offer)?;
    unseal_after(premises, [&source]);
    Ok(taken)
}

/// One offer at a time, and no ingest of the same text beside it.
fn take_alone(
    premises: &Premises,
    certificate: &Signed<Certificate>,
    offer: &Offer,
) -> Result<(Reply, u64), NodeError> {
    let giver = certificate.value().node;
    let teaching = offer.taught.teaching.cid();
    let _guard = premises.ingest_lock();
    if let Some(received) = kept::received_teaching(&premises.store, &teaching)? {
        return Ok((again(&received, offer), waiting(premises, &giver)?));
    }
    if waiting(premises, &giver)? >= WAITING_MAX as u64 {
        let reason = format!("{WAITING_MAX} teachings of yours wait for a person here");
        return Ok((Reply::Rejected { reason }, WAITING_MAX as u64));
    }
    let reply = decide(premises, certificate, offer)?;
    if let Reply::Rejected { reason } = &reply {
        // The names are a stranger's words; what is written down is what they are about.
        let event = premises.event(&giver.to_string(), "teach.take", teaching, "rejected", reason);
        premises.store.commit(Change::new(event))?;
    }
    Ok((reply, waiting(premises, &giver)?))
}

/// What was said of it the first time: an offer that comes twice changes nothing.
fn again(received: &Received, offer: &Offer) -> Reply {
    match (&received.standing, received.told_against) {
        (Standing::Pending { .. }, Some(against)) => Reply::PendingReview { against },
        _ => Reply::SkippedDuplicate { of: offer.taught.teaching.value().chunk },
    }
}

/// Teachings of one giver that may wait for a person: by then it was told for long to slow down.
const WAITING_MAX: usize = 4 * propagation::PENDING_SLOW;

/// How many teachings of a giver wait, as far as it knows.
fn waiting(premises: &Premises, giver: &NodeId) -> Result<u64, NodeError> {
    Ok(kept::n_waiting(&premises.store, giver, WAITING_MAX)? as u64)
}

fn decide(premises: &Premises, certificate: &Signed<Certificate>, offer: &Offer) -> Result<Reply, NodeError> {
    let rejected = |reason: String| Ok(Reply::Rejected { reason });
    let giver = certificate.value().node;
    let taught = &offer.taught;
    match taught.check(&premises.node(), &giver) {
        Ok(()) => {}
        Err(ChainError::TooFar(_)) => return Ok(Reply::MaxHopsExceeded),
        Err(error) => return rejected(error.to_string()),
    }
    let Some(home) = home_of(premises, certificate, &taught.origin())? else {
        return rejected("its origin's certificate is not known here".to_string());
    };
    let said = taught.teaching.value();
    let (Ok(chunk), Ok(record)) = (offer.chunk.decode::<Chunk>(), offer.source.decode::<SourceRecord>()) else {
        return rejected("its blocks are no chunk and no source record".to_string());
    };
    if chunk.source != said.source || record.publisher != taught.origin() {
        return rejected("its evidence is another's, or a piece of another source".to_string());
    }
    if home.org != premises.org() && said.sensitivity != Sensitivity::Public {
        return rejected("only public knowledge crosses the border between organisations".to_string());
    }
    let mut by_text = kept::standing_by_text(&premises.store, &record.fingerprint)?;
    if let Some(fingerprint) = fingerprint_of_chunk(&chunk.text) {
        by_text.extend(kept::standing_by_text(&premises.store, &fingerprint)?);
    }
    let by_name = kept::standing_on(&premises.store, &said.source)?;
    if may_become_active(&by_name, &by_text, &record.publisher, &home.org).is_err() {
        return rejected("it was withdrawn".to_string());
    }
    if unit(&premises.store, &said.chunk)?.is_some() {
        return Ok(Reply::SkippedDuplicate { of: said.chunk });
    }
    // What is told depends on what the giver may read; what is done, on all that is known.
    let told = compare(premises, Some(&requester_of(certificate.value())), offer, &chunk.text)?;
    let known = match told {
        Reply::Accepted => compare(premises, None, offer, &chunk.text)?,
        ref other => other.clone(),
    };
    match &known {
        Reply::Accepted => keep(premises, offer, &giver, Standing::Accepted, None, Some((&chunk, &record, &home)))?,
        Reply::PendingReview { against } => {
            let told_against = match &told {
                Reply::PendingReview { against } => Some(*against),
                _ => None,
            };
            keep(premises, offer, &giver, Standing::Pending { against: *against }, told_against, None)?;
        }
        Reply::SkippedDuplicate { .. } | Reply::MaxHopsExceeded | Reply::Rejected { .. } => {}
    }
    Ok(told)
}

/// What the neighbours of a text make of it: those that a requester may read, for a reply; or all that this node holds,
/// for what it does itself.
fn compare(premises: &Premises, requester: Option<&Requester>, offer: &Offer, text: &str) -> Result<Reply, NodeError> {
    let query = Query::of_text(&text.chars().take(plumb_core::retrieval::QUERY_BYTES_MAX / 4).collect::<String>());
    let mut neighbours: Vec<(Cid, String)> = Vec::new();
    if let Some(requester) = requester {
        let stats = local_stats(premises, requester, &query)?;
        for hit in local_hits(premises, requester, &query, &stats, NEIGHBOURS)? {
            neighbours.push((hit.chunk_block.cid, hit.chunk.text));
        }
    } else {
        let searcher = premises.index.searcher();
        let stats = searcher.stats(&Sensitivity::ALL, &query.terms)?;
        for class in Sensitivity::ALL {
            for found in searcher.candidates(class, &Access::Whole, &query.terms, &stats, NEIGHBOURS)? {
                let Some(block) = premises.store.block(&found.chunk)? else { continue };
                neighbours.push((found.chunk, block.decode::<Chunk>()?.text));
            }
        }
    }
    let known = neighbours.iter().map(|(unit, text)| Known { unit: *unit, text });
    Ok(judge(&offer.taught, text, known))
}

/// The organisation and department of an origin: by the certificate of whoever hands it over, or of the log that is
/// followed.
fn home_of(premises: &Premises, certificate: &Signed<Certificate>, origin: &NodeId) -> Result<Option<Home>, NodeError> {
    let of = |c: &Certificate| Home { org: c.org, department: c.department.clone() };
    if certificate.value().node == *origin {
        return Ok(Some(of(certificate.value())));
    }
    let head = kept::log_head(&premises.store, &premises.node(), origin)?;
    Ok(head.map(|head| of(head.state.certificate.value())))
}

/// Writes it down, and if it is taken in, its evidence with it; receipts are owed for that.
fn keep(
    premises: &Premises,
    offer: &Offer,
    giver: &NodeId,
    standing: Standing,
    told_against: Option<Cid>,
    evidence: Option<(&Chunk, &SourceRecord, &Home)>,
) -> Result<(), NodeError> {
    let teaching = offer.taught.teaching.cid();
    let confidence = Milli::from(offer.taught.confidence());
    let received = Received {
        offer: TeachRequest::Offer(offer.clone()).encode(),
        giver: *giver,
        at: premises.now(),
        confidence,
        standing,
        told_against,
    };
    let word = if evidence.is_some() { "accepted" } else { "pending" };
    let event = premises.event(&giver.to_string(), "teach.take", teaching, word, format!("confidence {confidence}"));
    let mut change = Change::new(event);
    kept::put_received(&mut change, &teaching, &received);
    // What waits for a person may be withdrawn meanwhile, too.
    kept::put_held(&mut change, &offer.taught.teaching.value().source);
    if let Some((chunk, record, home)) = evidence {
        put_evidence(premises, &mut change, offer, chunk, record, home)?;
        owe(premises, &mut change, offer, giver)?;
    }
    let position = premises.store.commit(change)?;
    if evidence.is_some() {
        premises.index.flush_to(position)?;
    }
    Ok(())
}

/// Receipts are owed in the change that takes evidence in, so none is lost in between.
fn owe(premises: &Premises, change: &mut Change, offer: &Offer, giver: &NodeId) -> Result<(), NodeError> {
    let (source, origin) = (offer.taught.teaching.value().source, offer.taught.origin());
    let mut sources = vec![(source, origin)];
    if *giver != origin {
        sources.push((source, *giver));
    }
    let may_share = offer.taught.teaching.value().sensitivity == Sensitivity::Public;
    let owed = Owed { bundle: offer.taught.teaching.cid(), sources, may_share };
    put_owed(premises, change, &owed)?;
    Ok(())
}

/// The label that a narrowing gives what is taught, by its name or its text.
fn narrowed(
    premises: &Premises,
    said: &Teaching,
    chunk: &Chunk,
    record: &SourceRecord,
) -> Result<Option<Sensitivity>, NodeError> {
    let texts = [Some(record.fingerprint), fingerprint_of_chunk(&chunk.text)];
    let mut standing = kept::standing_on(&premises.store, &said.source)?;
    for text in texts.into_iter().flatten() {
        standing.extend(kept::standing_by_text(&premises.store, &text)?);
    }
    Ok(narrowed_to(&standing))
}

fn put_evidence(
    premises: &Premises,
    change: &mut Change,
    offer: &Offer,
    chunk: &Chunk,
    record: &SourceRecord,
    home: &Home,
) -> Result<(), NodeError> {
    let said = offer.taught.teaching.value();
    // What was narrowed at home does not come back under the label that it had before.
    let sensitivity = said.sensitivity.max(narrowed(premises, said, chunk, record)?.unwrap_or(said.sensitivity));
    change.put_block(offer.chunk.clone());
    change.put_block(offer.source.clone());
    let existing = kept::source(&premises.store, &said.source)?.filter(|row| !row.is_removed());
    let is_new = existing.is_none();
    let mut row = existing.unwrap_or_else(|| SourceRow {
        record: said.source,
        address: format!("{}#{}", record.uri.split('#').next().unwrap_or_default(), said.source),
        title: record.title.clone(),
        uri: record.uri.clone(),
        media_type: record.media_type.clone(),
        adapter: record.adapter.clone(),
        scope: record.scope.clone(),
        sensitivity,
        raw: record.raw,
        chunks: Vec::new(),
        publisher: record.publisher,
        org: home.org,
        department: home.department.clone(),
        creator: None,
        state: SourceState::Active,
    });
    row.sensitivity = row.sensitivity.max(sensitivity);
    row.chunks.push(said.chunk);
    change.put_unit(&KnowledgeUnit {
        chunk: said.chunk,
        source: chunk.source,
        kind: said.kind,
        scope: record.scope.clone(),
        sensitivity,
        origin: Origin {
            source_type: SourceType::Document,
            source_ref: record.uri.clone(),
            creator: None,
            publisher: record.publisher,
            org: home.org,
            department: home.department.clone(),
        },
        state: UnitState::Active,
    });
    if is_new {
        kept::put_source(change, &row);
    } else {
        kept::retitle(change, &row);
    }
    if offer.taught.may_go_on() {
        let offered = Offered {
            teaching: offer.taught.teaching.to_bytes(),
            hops: offer.taught.hops.iter().map(|hop| serde_bytes::ByteBuf::from(hop.to_bytes())).collect(),
            at: premises.now(),
        };
        kept::put_offered(change, &offer.taught.teaching.cid(), &offered);
    }
    Ok(())
}

/// A person decides about a teaching that waits.
pub(in crate::federation) fn resolve(premises: &Premises, ask: &ResolveTeaching) -> Result<TeachingView, NodeError> {
    if !ask.caller.operator {
        return Err(NodeError::Denied("only the operator of a node decides this; ask on its own machine".to_string()));
    }
    let _guard = premises.ingest_lock();
    let absent = || NodeError::NotFound(ask.teaching.to_string());
    let mut received = kept::received_teaching(&premises.store, &ask.teaching)?.ok_or_else(absent)?;
    if !matches!(received.standing, Standing::Pending { .. }) {
        return Err(NodeError::Conflict(format!("teaching {} does not wait for a decision", ask.teaching)));
    }
    let damaged = || NodeError::Damaged(format!("teaching {}", ask.teaching));
    let TeachRequest::Offer(offer) = TeachRequest::decode(&received.offer).map_err(|_| damaged())? else {
        return Err(damaged());
    };
    received.standing = Standing::Resolved { resolution: ask.resolution };
    let what = ask.resolution.to_string();
    let event = premises.event(&ask.caller.label(), "teach.resolve", ask.teaching, "ok", what);
    let mut change = Change::new(event);
    let taken = propagation::resolve(received.confidence, ask.resolution);
    if let Some(confidence) = taken {
        let (chunk, record): (Chunk, SourceRecord) = (offer.chunk.decode()?, offer.source.decode()?);
        // It may have been withdrawn while it waited.
        let by_text = kept::standing_by_text(&premises.store, &record.fingerprint)?;
        let by_name = kept::standing_on(&premises.store, &chunk.source)?;
        let head = kept::log_head(&premises.store, &premises.node(), &record.publisher)?;
        let home = head.map(|head| {
            let certified = head.state.certificate.value();
            Home { org: certified.org, department: certified.department.clone() }
        });
        let home = home.ok_or_else(|| {
            NodeError::Conflict(format!(
                "the certificate of {} is not known here yet; connect to it first",
                record.publisher
            ))
        })?;
        if let Err(notice) = may_become_active(&by_name, &by_text, &record.publisher, &home.org) {
            return Err(NodeError::Conflict(format!("it was withdrawn by notice {notice} in the meantime")));
        }
        received.confidence = confidence;
        if unit(&premises.store, &offer.taught.teaching.value().chunk)?.is_none() {
            put_evidence(premises, &mut change, &offer, &chunk, &record, &home)?;
        }
        owe(premises, &mut change, &offer, &received.giver)?;
    }
    kept::put_received(&mut change, &ask.teaching, &received);
    let position = premises.store.commit(change)?;
    premises.index.flush_to(position)?;
    view_received(premises, &ask.teaching, &received)
}
