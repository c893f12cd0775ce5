//! Which model made a vector, exactly. What changes a single coordinate of any text changes the identity.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::DIMS_MAX;

/// Longest name of a model.
pub const NAME_BYTES_MAX: usize = 64;

/// Begins the text form, and so the digest; another form gets another number.
const FORM: &str = "plumb-model-1";

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The vector of the first token.
    First,
}

/// How the weights are kept. The vectors are int8 in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// 32-bit floats.
    F32,
    /// 8-bit integers.
    Int8,
    /// 4-bit integers.
    Q4,
}

const POOLINGS: [(Pooling, &str); 2] = [(Pooling::Mean, "mean"), (Pooling::First, "first")];
const PRECISIONS: [(Precision, &str); 3] = [(Precision::F32, "f32"), (Precision::Int8, "int8"), (Precision::Q4, "q4")];

/// The identity of a model, part of every index that is built with it.
///
/// Its text form is `plumb-model-1/NAME/PRECISION/DIMS/POOLING/TOKENS/RULE/SHA256`; reading it and writing it agree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId {
    name: String,
    weights: [u8; 32],
    dims: u16,
    max_tokens: u16,
    pooling: Pooling,
    precision: Precision,
    rule: u16,
}

/// Why something is no identity of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelIdError {
    /// A name with other characters, or too long.
    #[error("`{0}` is no name of a model: 1 to {NAME_BYTES_MAX} of a-z, 0-9, `-`, `.` and `_` are")]
    Name(String),
    /// No or too many dimensions.
    #[error("{0} dimensions: a model has 1 to {DIMS_MAX}")]
    Dims(u16),
    /// Another text.
    #[error("`{0}` is not plumb-model-1/NAME/PRECISION/DIMS/POOLING/TOKENS/RULE/SHA256")]
    Form(String),
}

impl ModelId {
    /// The identity of a model.
    ///
    /// `weights` is the SHA-256 of its file, `max_tokens` where it cuts a text, `rule` the version of everything else
    /// between a text and its vector: tokens, normalisation, the scale of the integers.
    pub fn new(
        name: &str,
        weights: [u8; 32],
        dims: u16,
        max_tokens: u16,
        pooling: Pooling,
        precision: Precision,
        rule: u16,
    ) -> Result<ModelId, ModelIdError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b);
        if name.is_empty() || NAME_BYTES_MAX < name.len() || !name.bytes().all(plain) {
            return Err(ModelIdError::Name(name.chars().take(NAME_BYTES_MAX).collect()));
        }
        if dims == 0 || DIMS_MAX < usize::from(dims) {
            return Err(ModelIdError::Dims(dims));
        }
        Ok(ModelId { name: name.to_string(), weights, dims, max_tokens, pooling, precision, rule })
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the file of its weights.
    pub fn weights(&self) -> [u8; 32] {
        self.weights
    }

    /// Coordinates of a vector.
    pub fn dims(&self) -> usize {
        usize::from(self.dims)
    }

    /// Tokens of a text that are read; the rest is cut.
    pub fn max_tokens(&self) -> usize {
        usize::from(self.max_tokens)
    }

    /// How the weights are kept.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// SHA-256 of the text form: what a vector carries.
    pub fn digest(&self) -> ModelDigest {
        ModelDigest(Sha256::digest(self.to_string()).into())
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = named(&PRECISIONS, self.precision);
        let pooling = named(&POOLINGS, self.pooling);
        let (name, dims, tokens, rule) = (&self.name, self.dims, self.max_tokens, self.rule);
        write!(f, "{FORM}/{name}/{precision}/{dims}/{pooling}/{tokens}/{rule}/")?;
        hex(f, &self.weights)
    }
}

impl FromStr for ModelId {
    type Err = ModelIdError;
    fn from_str(text: &str) -> Result<ModelId, ModelIdError> {
        let refused = || ModelIdError::Form(text.chars().take(200).collect());
        let parts: Vec<&str> = text.splitn(9, '/').collect();
        let [FORM, name, precision, dims, pooling, tokens, rule, weights] = parts[..] else { return Err(refused()) };
        let number = |text: &str| text.parse::<u16>().map_err(|_| refused());
        let precision = value(&PRECISIONS, precision).ok_or_else(refused)?;
        let pooling = value(&POOLINGS, pooling).ok_or_else(refused)?;
        let weights = unhex(weights).ok_or_else(refused)?;
        let id = ModelId::new(name, weights, number(dims)?, number(tokens)?, pooling, precision, number(rule)?)?;
        // Only what is written the same again was read: so `0384` and capital digits are not.
        if id.to_string() == text { Ok(id) } else { Err(refused()) }
    }
}

/// The SHA-256 of a model's identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelDigest(pub [u8; 32]);

impl fmt::Display for ModelDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Debug for ModelDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn named<T: Copy + PartialEq>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(v, _)| *v == value).map_or("", |(_, name)| name)
}

fn value<T: Copy>(names: &[(T, &str)], name: &str) -> Option<T> {
    names.iter().find(|(_, n)| *n == name).map(|(v, _)| *v)
}

fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "plumb-model-1/all-minilm-l6-v2/f32/384/mean/256/1/\
                        53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";

    /// The form and the digest are in indexes: they stay as they are.
    #[test]
    fn the_form_is_frozen() {
        let id: ModelId = TEXT.parse().unwrap();
        assert_eq!(id.to_string(), TEXT);
        assert_eq!((id.name(), id.dims(), id.max_tokens()), ("all-minilm-l6-v2", 384, 256));
        assert_eq!(id.digest().to_string(), "abe0d51441daac6aed975d8912d177bbe94b27623024993d157c5cb8c415703e");
    }

    #[test]
    fn other_texts_are_no_models() {
        for (from, to) in [
            ("plumb-model-1", "plumb-model-2"),
            ("all-minilm", "All-MiniLM"),
            ("all-minilm-l6-v2", ""),
            ("all-minilm-l6-v2", "../../etc"),
            ("f32", "f16"),
            ("384", "0384"),
            ("384", "0"),
            ("384", "4097"),
            ("mean", "max"),
            ("256", "+256"),
            ("53aa", "53AA"),
            ("53aa", "53a"),
            ("53aa", "53\u{e4}"),
            ("d9db", "d9db/"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert!(text.parse::<ModelId>().is_err(), "{text}");
        }
    }

    proptest! {
        /// Any bytes give a value or an error, and a value is written as it was read.
        #[test]
        fn reading_is_total(text in "plumb-model-1(/[a-z0-9.]{0,5}){0,9}|\\PC{0,80}") {
            if let Ok(id) = text.parse::<ModelId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }

        /// Whatever differs, the digest differs.
        #[test]
        fn every_part_counts(rule in 0u16..9, dims in 1u16..9, tokens in 0u16..9, weights in any::<[u8; 32]>()) {
            let of = |weights, dims, tokens, rule| {
                ModelId::new("m", weights, dims, tokens, Pooling::Mean, Precision::Q4, rule).unwrap().digest()
            };
            let one = of(weights, dims, tokens, rule);
            prop_assert_ne!(one, of(weights, dims + 1, tokens, rule));
            prop_assert_ne!(one, of(weights, dims, tokens + 1, rule));
            prop_assert_ne!(one, of(weights, dims, tokens, rule + 1));
            let mut other = weights;
            other[31] ^= 1;
            prop_assert_ne!(one, of(other, dims, tokens, rule));
        }
    }
}
