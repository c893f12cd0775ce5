//! The examination: what is wrong with a node, and what to do about it.

use std::collections::BTreeSet;

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::trust::TrustError;
use plumb_storage::{all_units, unit};
use sha2::{Digest, Sha256};

use super::{DoctorCheck, DoctorView};
use crate::error::NodeError;
use crate::kept::{self, SourceState};
use crate::premises::Premises;

/// Before this the clock is surely wrong: 2024-01-01.
const CLOCK_MIN_MS: i64 = 1_704_067_200_000;
/// Damaged blocks that are named.
const NAMED_MAX: usize = 5;

/// Looks at everything.
pub(super) fn examine(premises: &Premises) -> Result<DoctorView, NodeError> {
    premises.index.flush_to(premises.store.position())?;
    let (index, active_units, indexed) = index_equals_store(premises)?;
    let checks = vec![
        blocks(premises)?,
        index,
        audit(premises),
        certificate(premises),
        clock(premises),
        logs(premises)?,
        publishing(premises)?,
    ];
    Ok(DoctorView {
        healthy: checks.iter().all(|c| c.ok),
        checks,
        state_digest: state_digest(premises)?,
        active_units,
        indexed,
    })
}

fn check(name: &str, problem: Option<String>, well: String) -> DoctorCheck {
    DoctorCheck { name: name.to_string(), ok: problem.is_none(), detail: problem.unwrap_or(well) }
}

fn blocks(premises: &Premises) -> Result<DoctorCheck, NodeError> {
    let mut damaged = Vec::new();
    for cid in premises.store.damaged_blocks() {
        damaged.push(cid?.to_string());
    }
    let missing = premises.store.missing_blocks().collect::<Result<BTreeSet<Cid>, _>>()?;
    let n = damaged.len() + missing.len();
    damaged.extend(missing.iter().take(NAMED_MAX).map(Cid::to_string));
    damaged.truncate(NAMED_MAX);
    let problem = (n > 0).then(|| {
        format!(
            "{n} blocks are missing or not what their names say, among them {}; ingest or import their sources again",
            damaged.join(", ")
        )
    });
    Ok(check("blocks", problem, "every block is there and hashes to its name".to_string()))
}

fn index_equals_store(premises: &Premises) -> Result<(DoctorCheck, u64, u64), NodeError> {
    let mut wanted: [BTreeSet<Cid>; 4] = Default::default();
    for unit in all_units(&premises.store) {
        let unit = unit?;
        if unit.is_active() {
            wanted[unit.sensitivity as usize].insert(unit.chunk);
        }
    }
    let searcher = premises.index.searcher();
    let (mut missing, mut extra, mut indexed) = (0u64, 0u64, 0u64);
    for class in Sensitivity::ALL {
        let found = searcher.ids(class).collect::<Result<BTreeSet<Cid>, _>>()?;
        indexed += found.len() as u64;
        missing += wanted[class as usize].difference(&found).count() as u64;
        extra += found.difference(&wanted[class as usize]).count() as u64;
    }
    let active = wanted.iter().map(|w| w.len() as u64).sum();
    let problem = (missing + extra > 0).then(|| {
        format!("the index lacks {missing} units and has {extra} that it should not have; run `plumb rebuild`")
    });
    Ok((check("index", problem, format!("{indexed} documents, equal to the store")), active, indexed))
}

fn audit(premises: &Premises) -> DoctorCheck {
    match premises.store.audit_verify() {
        Ok(head) => check("audit", None, format!("{} events hash into the root", head.size)),
        Err(error) => check("audit", Some(error.to_string()), String::new()),
    }
}

fn certificate(premises: &Premises) -> DoctorCheck {
    let admitted = premises.roots().admit(&premises.node(), &premises.certificate, premises.now());
    let until = premises.certificate.value().not_after;
    let problem = match admitted {
        Ok(()) => None,
        Err(error @ TrustError::Expired(_)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    check("certificate", problem, format!("valid until {until}"))
}

fn clock(premises: &Premises) -> DoctorCheck {
    let now = premises.now();
    let problem = (now.0 < CLOCK_MIN_MS).then(|| format!("the clock says {now}; set it, or peers refuse this node"));
    check("clock", problem, now.to_string())
}

fn logs(premises: &Premises) -> Result<DoctorCheck, NodeError> {
    let heads = kept::log_heads(&premises.store, &premises.node())?;
    let forked: Vec<String> = kept::forks(&premises.store)?.iter().map(|f| f.publisher.to_string()).collect();
    let problem = (!forked.is_empty())
        .then(|| format!("{} showed two histories of its log; ask its operator, show the proof (`plumb log fork show`), and decide with \
             `plumb log fork lift`", forked.join(", ")));
    Ok(check("logs", problem, format!("{} logs are followed", heads.len())))
}

/// Whether this node may publish. A log that others hold more of, or another one of, is nothing to go on with.
fn publishing(premises: &Premises) -> Result<DoctorCheck, NodeError> {
    let problem = kept::stopped(&premises.store, &premises.node())?.map(|stopped| stopped.text());
    Ok(check("publishing", problem, "the own log goes on from what others hold of it".to_string()))
}

/// A digest over what is known, apart from who this node is: addresses, bytes, labels and states.
fn state_digest(premises: &Premises) -> Result<String, NodeError> {
    let mut lines = BTreeSet::new();
    for row in kept::sources_by_address(&premises.store, None) {
        let row = row?;
        let state = match row.state {
            SourceState::Active => "active",
            SourceState::Retracted(_) => "retracted",
            SourceState::Superseded(_) => "superseded",
            SourceState::Removed(_) => "removed",
        };
        let mut labels = String::new();
        for chunk in &row.chunks {
            if let Some(unit) = unit(&premises.store, chunk)? {
                labels.push_str(unit.sensitivity.as_str());
                labels.push(if unit.is_active() { '+' } else { '-' });
            } else {
                labels.push('?');
            }
        }
        lines.insert(format!("{}\n{}\n{}\n{state}\n{labels}\n", row.scope, row.address, row.raw));
    }
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line.as_bytes());
    }
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}
