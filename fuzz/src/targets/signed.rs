//! Signed values in their stored form.

use ipld_core::ipld::Ipld;
use plumb_core::identity::{Signable, Signed};
use plumb_core::notice::{Acknowledgement, Notice, Receipt};
use plumb_core::propagation::{Hop, Teaching};
use plumb_core::retrieval::CollectionSummary;
use plumb_core::trust::{Assertion, Certificate};

use super::{Shape, Target};
use crate::laws;
use crate::seeds::found;

pub(super) const TARGET: Target = Target {
    name: "signed",
    run,
    seeds: || found().envelopes.iter().cloned().collect(),
    input_bytes_max: 4 * 1024,
    shape: Shape::DagCbor,
};

/// The same bytes are read as each kind that is signed: at most one takes them.
fn run(bytes: &[u8]) {
    let taken = [
        is_taken::<Certificate>(bytes),
        is_taken::<Notice>(bytes),
        is_taken::<Receipt>(bytes),
        is_taken::<Acknowledgement>(bytes),
        is_taken::<Assertion>(bytes),
        is_taken::<CollectionSummary>(bytes),
        is_taken::<Teaching>(bytes),
        is_taken::<Hop>(bytes),
    ];
    assert!(taken.iter().filter(|taken| **taken).count() <= 1, "one signature passes in two roles");
}

fn is_taken<T: Signable + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> bool {
    let signed = match Signed::<T>::from_bytes(bytes) {
        Ok(signed) => signed,
        Err(error) => {
            laws::short(&error);
            return false;
        }
    };
    let signer = signed.signer().to_string();
    laws::signed_by_a_seed(&signed.block().bytes, &signer, signed.signature().as_bytes());
    let given: Ipld = laws::canonical(bytes);
    let again = signed.to_bytes();
    assert!(laws::is_part_of(&laws::canonical(&again), &given), "an envelope was altered");
    assert_eq!(Signed::<T>::from_bytes(&again).as_ref(), Ok(&signed), "what is written reads otherwise");
    true
}
