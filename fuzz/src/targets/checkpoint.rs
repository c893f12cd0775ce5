//! Checkpoints: signed notes that others wrote.

use plumb_core::identity::SecretKey;
use plumb_core::log::{NOTE_BYTES_MAX, SignedCheckpoint};

use super::{Shape, Target};
use crate::laws;
use crate::seeds::{body_of_note, found, genuine, node};

pub(super) const TARGET: Target =
    Target { name: "checkpoint", run, seeds, input_bytes_max: 2 * 1024, shape: Shape::Bytes };

/// The example of C2SP `tlog-checkpoint`, and one with an extension line and a witness.
fn seeds() -> Vec<Vec<u8>> {
    let sofa = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\u{2014} \
                example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9n\
                To+zyWE+xeMcTOAYQ8=\n";
    let extended = sofa.replacen("=\n\n", "=\nextension\n\n", 1) + "\u{2014} witness.example/w1 AAAAAGZmZmZm\n";
    let own = found().checkpoints.iter().cloned();
    [sofa.to_string(), extended].into_iter().chain(own).map(String::into_bytes).collect()
}

fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let signed = match SignedCheckpoint::parse(text) {
        Ok(signed) => signed,
        Err(error) => return laws::short(&error),
    };
    assert!(text.len() <= NOTE_BYTES_MAX);
    assert_eq!(signed.as_str(), text, "a checkpoint is not kept as it came");
    let head = signed.checkpoint();
    assert!(text.starts_with(&head.to_string()), "one head has two texts");
    assert_eq!(head.origin.as_str().parse().as_ref(), Ok(&head.origin));

    for key in [node().public(), SecretKey::from_seed([1; 32]).public()] {
        match signed.verify(&key) {
            Ok(()) => assert!(
                genuine().checkpoints.contains(body_of_note(text)),
                "a checkpoint passed as signed by {key}, which never signed it"
            ),
            Err(error) => laws::short(&error),
        }
    }
}
