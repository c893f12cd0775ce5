//! The documents of the story, embedded, so that an installed program can tell it without the repository.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

macro_rules! story {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../fixtures/story/", $path)))),*]
    };
}

/// Every document, by its path below `fixtures/story`. What that folder's README says of them is not among them: it
/// repeats sentences that must stay hidden.
pub const DOCUMENTS: &[(&str, &str)] = story![
    "halden-hydrology/internal/working-note-field-season-2032.md",
    "halden-hydrology/internal/working-note-loop-hand-tests.md",
    "halden-hydrology/internal/working-note-quillmark.md",
    "halden-hydrology/public/dataset-note-pipe-loops.md",
    "halden-hydrology/public/dataset-note-tarn-bridge-gauge.txt",
    "halden-hydrology/public/method-note-chlorine-sensors.md",
    "halden-hydrology/public/press-release-test-hall.html",
    "halden-hydrology/public/recharge-nappe-varn.md",
    "halden-hydrology/public/study-chloramine-biofilm.md",
    "halden-hydrology/public/study-drought-spring-flow.md",
    "halden-hydrology/public/study-flushing-velocity.md",
    "halden-hydrology/public/study-nitrification-onset.md",
    "halden-hydrology/public/study-pipe-material-film.md",
    "halden-hydrology/public/study-snowmelt-turbidity.md",
    "northwater-laboratory/calibration-bench-turbidimeter.md",
    "northwater-laboratory/meeting-notes-2031-03-12.md",
    "northwater-laboratory/method-free-chlorine.md",
    "northwater-laboratory/method-sample-transport.txt",
    "northwater-laboratory/nitrite-watch.md",
    "northwater-laboratory/note-one-to-one-lindqvist.md",
    "northwater-laboratory/report-lead-in-homes-2030.md",
    "northwater-laboratory/report-turbidity-2031-q1.md",
    "northwater-laboratory/report-wall-slime-coupons-old-quay.md",
    "northwater-laboratory/reserve-bottles-cold-room.md",
    "northwater-laboratory/saisui-tejun.md",
    "northwater-laboratory/samples-2031-04.jsonl",
    "northwater-laboratory/sampling-policy.md",
    "northwater-laboratory/taste-and-odour-2030.html",
    "northwater-operations/advisory-flow-computer-firmware.md",
    "northwater-operations/board-paper-tariff-2032.md",
    "northwater-operations/decision-chloramine-old-quay.md",
    "northwater-operations/incident-burst-main-harbour-road.md",
    "northwater-operations/leak-loggers-night-listening.md",
    "northwater-operations/note-radio-meter-rollout.md",
    "northwater-operations/note-ridgefoot-valve-crew.md",
    "northwater-operations/notstrom-wasserwerk-erlen.md",
    "northwater-operations/policy-boil-water-notice.md",
    "northwater-operations/policy-meter-readings.md",
    "northwater-operations/policy-planned-shutdown.md",
    "northwater-operations/policy-storm-season-valves.md",
    "northwater-operations/reservoir-kestrel-hill-cleaning.txt",
    "northwater-operations/runbook-pump-7-restart.md",
    "northwater-operations/runbook-scada-gateway.md",
    "northwater-operations/shift-handover-2031-05-19.txt",
    "northwater-operations/zone-map-old-quay.html",
];

/// Writes every document below a folder.
pub fn write_below(root: &Path) -> anyhow::Result<()> {
    for (path, text) in DOCUMENTS {
        let file = root.join(path);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&file, text)
        };
        write().with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                files_below(&entry.path(), &format!("{name}/"), found);
            } else if name.contains('/') {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_document_of_the_folder_is_embedded() {
        let mut wanted = BTreeSet::new();
        files_below(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/story")), "", &mut wanted);
        let embedded: BTreeSet<String> = DOCUMENTS.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(embedded, wanted);
    }

    #[test]
    fn what_is_written_is_what_was_embedded() {
        let dir = tempfile::tempdir().unwrap();
        write_below(dir.path()).unwrap();
        for (path, text) in DOCUMENTS {
            assert_eq!(fs::read_to_string(dir.path().join(path)).unwrap(), *text);
        }
    }
}
