//! Meaning as integers: the vectors of texts, what model made them, and which of them are near.
//!
//! An embedding model computes in floats; what enters here is already an integer. The one scale rule: a vector of unit
//! length becomes int8, `round(127 * x)`, half away from zero ([`UNIT`]). From then on everything is exact: a dot
//! product is an `i32`, a cosine is [`Micro`], and two machines that hold the same vectors find the same neighbours in
//! the same order.
//!
//! A vector carries the digest of the [`ModelId`] that made it. Two vectors of different models lie in different
//! spaces, whatever their dimensions, so every comparison checks ([`VectorError::OtherModel`]).
//!
//! **Invariant:** no float. The quantiser, which sees floats, stands at the door of the crate that runs the models.

mod late;
mod model;
mod table;

use crate::measure::Micro;

pub use late::max_sim;
pub use model::{ModelDigest, ModelId, ModelIdError, NAME_BYTES_MAX, Pooling, Precision};
pub use table::{Hit, Table};

/// What 1.0 becomes. −128 does not occur, so that a vector and its negative are both written.
pub const UNIT: i8 = 127;

/// Most dimensions of a vector. A dot product of that many coordinates is below 2^27, so `i32` holds it.
pub const DIMS_MAX: usize = 4096;

/// Why vectors were not taken or not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// Two models.
    #[error("vectors of two models cannot be compared ({left} and {right}): embed both with one model")]
    OtherModel {
        /// The model of the one.
        left: ModelDigest,
        /// The model of the other.
        right: ModelDigest,
    },
    /// Not as many coordinates as the model gives.
    #[error("the vector has {found} dimensions and its model {expected}")]
    Dims {
        /// What the model's identity says.
        expected: usize,
        /// What came.
        found: usize,
    },
    /// The coordinate that no quantiser writes.
    #[error("coordinate {0} of the vector is -128, which the scale rule never gives")]
    Range(usize),
    /// A row that is not there.
    #[error("the table has no row {0}")]
    Row(usize),
}

/// A text's vector, of unit length and quantised, with the model that made it.
///
/// A text without a single token means nothing: its vector is zero, and near to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantised {
    model: ModelDigest,
    coords: Box<[i8]>,
}

impl Quantised {
    /// The vector with these coordinates, if they can be of this model.
    pub fn new(model: &ModelId, coords: Vec<i8>) -> Result<Quantised, VectorError> {
        check(model.dims(), &coords)?;
        Ok(Quantised { model: model.digest(), coords: coords.into() })
    }

    /// Reads what [`Quantised::to_bytes`] wrote. Total: what no quantiser writes is an error.
    pub fn from_bytes(model: &ModelId, bytes: &[u8]) -> Result<Quantised, VectorError> {
        Quantised::new(model, bytes.iter().map(|b| i8::from_ne_bytes([*b])).collect())
    }

    /// One byte for each coordinate, in two's complement.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.coords.iter().map(|c| c.to_ne_bytes()[0]).collect()
    }

    /// The model that made it.
    pub fn model(&self) -> ModelDigest {
        self.model
    }

    /// Its coordinates.
    pub fn coords(&self) -> &[i8] {
        &self.coords
    }

    /// The dot product: 127² for two equal directions, give or take what rounding moved.
    pub fn dot(&self, other: &Quantised) -> Result<i32, VectorError> {
        same_model(self.model, other.model)?;
        Ok(dot(&self.coords, &other.coords))
    }

    /// The cosine of the angle between two vectors, truncated; opposite directions and zero vectors give zero.
    pub fn cosine(&self, other: &Quantised) -> Result<Micro, VectorError> {
        let product = u128::try_from(self.dot(other)?).unwrap_or(0);
        let squares = square(&self.coords) * square(&other.coords);
        if squares == 0 {
            return Ok(Micro::default());
        }
        // The root of the truncated square is the truncated root: floor(sqrt(floor(x))) = floor(sqrt(x)).
        let micro = (product * product * 1_000_000_000_000 / squares).isqrt();
        Ok(Micro::from_ratio(u64::try_from(micro).unwrap_or(u64::MAX), 1_000_000))
    }
}

fn check(dims: usize, coords: &[i8]) -> Result<(), VectorError> {
    if coords.len() != dims {
        return Err(VectorError::Dims { expected: dims, found: coords.len() });
    }
    coords.iter().position(|c| *c == i8::MIN).map_or(Ok(()), |at| Err(VectorError::Range(at)))
}

fn same_model(left: ModelDigest, right: ModelDigest) -> Result<(), VectorError> {
    if left == right { Ok(()) } else { Err(VectorError::OtherModel { left, right }) }
}

/// The sum of products. Additions wrap because a check in each step would keep the compiler from using wide
/// instructions; [`DIMS_MAX`] is why they never do.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).fold(0, |sum: i32, (x, y)| sum.wrapping_add(i32::from(*x).wrapping_mul(i32::from(*y))))
}

fn square(coords: &[i8]) -> u128 {
    u128::from(dot(coords, coords).unsigned_abs())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn model(name: &str, dims: u16) -> ModelId {
        ModelId::new(name, [7; 32], dims, 128, Pooling::Mean, Precision::F32, 1).unwrap()
    }

    fn vector(coords: &[i8]) -> Quantised {
        Quantised::new(&model("one", u16::try_from(coords.len()).unwrap()), coords.to_vec()).unwrap()
    }

    #[test]
    fn angles_that_everybody_knows() {
        let cosine = |a: &[i8], b: &[i8]| vector(a).cosine(&vector(b)).unwrap().get();
        assert_eq!(cosine(&[127, 0], &[127, 0]), 1_000_000);
        assert_eq!(cosine(&[127, 0], &[0, 127]), 0);
        assert_eq!(cosine(&[127, 0], &[-127, 0]), 0, "opposites are as far as strangers");
        assert_eq!(cosine(&[127, 0], &[5, 5]), 707_106, "truncated, not rounded to 707_107");
        assert_eq!(cosine(&[0, 0], &[5, 5]), 0, "a zero vector is near to nothing");
    }

    #[test]
    fn the_longest_vectors_do_not_overflow() {
        let (most, least) = (vec![127; DIMS_MAX], vec![-127; DIMS_MAX]);
        assert_eq!((dot(&most, &most), dot(&most, &least)), (66_064_384, -66_064_384));
    }

    #[test]
    fn vectors_of_two_models_never_mix() {
        let one = Quantised::new(&model("one", 2), vec![127, 0]).unwrap();
        let two = Quantised::new(&model("two", 2), vec![127, 0]).unwrap();
        assert!(matches!(one.dot(&two), Err(VectorError::OtherModel { .. })));
        assert!(matches!(one.cosine(&two), Err(VectorError::OtherModel { .. })));
    }

    #[test]
    fn what_no_quantiser_writes_is_refused() {
        let id = model("one", 3);
        assert_eq!(Quantised::from_bytes(&id, &[1, 2]), Err(VectorError::Dims { expected: 3, found: 2 }));
        assert_eq!(Quantised::from_bytes(&id, &[1, 0x80, 2]), Err(VectorError::Range(1)));
    }

    proptest! {
        #[test]
        fn a_vector_is_read_as_it_is_written(coords in proptest::collection::vec(-127i8..=127, 1..64)) {
            let id = model("one", u16::try_from(coords.len()).unwrap());
            let vector = Quantised::new(&id, coords).unwrap();
            prop_assert_eq!(Quantised::from_bytes(&id, &vector.to_bytes()).unwrap(), vector);
        }

        /// The product that the compiler may arrange as it likes is the sum in wide integers, up to the most dimensions.
        #[test]
        fn the_product_is_the_sum(a in proptest::collection::vec(-127i8..=127, 1..70), b in -127i8..=127, n in 0..=DIMS_MAX) {
            let a: Vec<i8> = a.into_iter().cycle().take(n).collect();
            let b = vec![b; n];
            let wide: i64 = a.iter().zip(&b).map(|(x, y)| i64::from(*x) * i64::from(*y)).sum();
            prop_assert_eq!(i64::from(dot(&a, &b)), wide);
        }

        /// Symmetric, 1 with itself, and never more than 1.
        #[test]
        fn a_cosine_is_one(a in proptest::collection::vec(-127i8..=127, 8), b in proptest::collection::vec(-127i8..=127, 8)) {
            let (a, b) = (vector(&a), vector(&b));
            prop_assert_eq!(a.cosine(&b), b.cosine(&a));
            let own = a.cosine(&a).unwrap();
            prop_assert!(own == Micro::ONE || a.coords().iter().all(|c| *c == 0));
        }
    }
}
