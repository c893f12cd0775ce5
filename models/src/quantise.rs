//! The door between floats and integers.

use plumb_core::vector::{ModelId, Quantised, UNIT, VectorError};

/// How far a length may be from 1. Rounding of 4096 floats moves it by less.
const LENGTH_TOLERANCE: f64 = 1e-3;

/// Why floats do not become a vector.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QuantiseError {
    /// Infinite, or no number.
    #[error("coordinate {0} is no finite number")]
    Finite(usize),
    /// A zero vector has no direction.
    #[error("the vector is zero and has no direction")]
    Zero,
    /// The scale rule holds for unit length.
    #[error("the vector's length is {0}, not 1: normalise it first")]
    Length(f64),
    /// Not of this model.
    #[error(transparent)]
    Vector(#[from] VectorError),
}

/// Makes an int8 vector of a float vector of unit length: `round(127 * x)`, half away from zero. This is the one place
/// where that happens, and the rule is part of every [`ModelId`].
pub fn quantise(model: &ModelId, vector: &[f32]) -> Result<Quantised, QuantiseError> {
    let length = length(vector)?;
    if LENGTH_TOLERANCE < (length - 1.0).abs() {
        return Err(QuantiseError::Length(length));
    }
    // The tolerance keeps `127 * x` below 127.5, and `as` would stop at the edge of the type anyway.
    let step = |x: &f32| ((x * f32::from(UNIT)).round() as i8).max(-UNIT);
    Ok(Quantised::new(model, vector.iter().map(step).collect())?)
}

/// Brings a vector to unit length.
pub fn normalise(vector: &mut [f32]) -> Result<(), QuantiseError> {
    let length = length(vector)?;
    if length == 0.0 {
        return Err(QuantiseError::Zero);
    }
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    Ok(())
}

/// Summed in double precision and in order, so that it is the same on every machine.
fn length(vector: &[f32]) -> Result<f64, QuantiseError> {
    if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
        return Err(QuantiseError::Finite(at));
    }
    Ok(vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::vector::{Pooling, Precision};
    use proptest::prelude::*;

    fn model(dims: usize) -> ModelId {
        ModelId::new("m", [0; 32], u16::try_from(dims).unwrap(), 128, Pooling::Mean, Precision::F32, 1).unwrap()
    }

    #[test]
    fn halves_go_away_from_zero() {
        let half = 0.5 / 127.0;
        let rest = (1.0f32 - 2.0 * half * half).sqrt();
        let vector = quantise(&model(3), &[half, -half, rest]).unwrap();
        assert_eq!(vector.coords(), [1, -1, 127]);
        assert_eq!(quantise(&model(2), &[-1.0, 0.0]).unwrap().coords(), [-127, 0]);
    }

    #[test]
    fn what_is_no_direction_is_refused() {
        assert_eq!(quantise(&model(2), &[f32::NAN, 0.0]), Err(QuantiseError::Finite(0)));
        assert_eq!(quantise(&model(2), &[1.0, f32::INFINITY]), Err(QuantiseError::Finite(1)));
        assert!(matches!(quantise(&model(2), &[0.0, 0.0]), Err(QuantiseError::Length(_))));
        assert!(matches!(quantise(&model(2), &[1.0, 1.0]), Err(QuantiseError::Length(_))));
        assert!(matches!(quantise(&model(3), &[1.0, 0.0]), Err(QuantiseError::Vector(_))));
        assert_eq!(normalise(&mut [0.0; 4]), Err(QuantiseError::Zero));
        assert_eq!(normalise(&mut [f32::MIN_POSITIVE, f32::NAN]), Err(QuantiseError::Finite(1)));
    }

    fn direction(mut x: Vec<f32>) -> Option<Vec<f32>> {
        normalise(&mut x).ok().map(|()| x)
    }

    proptest! {
        /// Each coordinate is off by at most half a step, so a dot product by at most
        /// `(|a|₁ + |b|₁) / 254 + dims / 254²`, and the cosine of whole vectors by little.
        #[test]
        fn the_error_has_a_bound(
            a in proptest::collection::vec(-1f32..1.0, 384), b in proptest::collection::vec(-1f32..1.0, 384),
        ) {
            let (Some(a), Some(b)) = (direction(a), direction(b)) else { return Ok(()) };
            let id = model(384);
            let (int_a, int_b) = (quantise(&id, &a).unwrap(), quantise(&id, &b).unwrap());
            for (x, step) in a.iter().zip(int_a.coords()) {
                prop_assert!((x * 127.0 - f32::from(*step)).abs() <= 0.5 + 1e-4);
            }
            let exact: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            let found = f64::from(int_a.dot(&int_b).unwrap()) / 127f64.powi(2);
            let taxi = |v: &[f32]| v.iter().map(|x| f64::from(x.abs())).sum::<f64>();
            prop_assert!((exact - found).abs() <= (taxi(&a) + taxi(&b)) / 254.0 + 384.0 / 254f64.powi(2) + 1e-6);
            // In practice errors cancel: random vectors are off by far less than the bound.
            prop_assert!((exact - found).abs() < 0.02, "{exact} {found}");
        }

        /// Any floats whatever: a vector or an error.
        #[test]
        fn quantising_is_total(x in proptest::collection::vec(any::<f32>(), 0..8), n in 1usize..8) {
            if let Ok(vector) = quantise(&model(n), &x) {
                prop_assert_eq!(vector.coords().len(), x.len());
            }
            if let Some(x) = direction(x) {
                prop_assert!(quantise(&model(x.len()), &x).is_ok());
            }
        }
    }
}
