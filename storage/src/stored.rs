//! The form of stored values: one byte that names the shape, then DAG-CBOR.
//!
//! The shape byte is what makes a stored struct changeable: a reader that knows shapes 1 and 2 looks at the byte with
//! [`shape`] and decodes accordingly; a writer writes the newest only. [`decode`] refuses any other shape than the one
//! asked for, so an old program never misreads a newer store.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StorageError;
use crate::keyspace::Keyspace;

/// Encodes a value of the given shape.
pub fn encode<T: Serialize + ?Sized>(keyspace: Keyspace, shape: u8, value: &T) -> Result<Vec<u8>, StorageError> {
    let mut bytes = vec![shape];
    serde_ipld_dagcbor::to_writer(&mut bytes, &value)
        .map_err(|e| StorageError::Encode { keyspace, reason: e.to_string() })?;
    Ok(bytes)
}

/// The shape of a stored value, if it has any bytes at all.
pub fn shape(bytes: &[u8]) -> Option<u8> {
    bytes.first().copied()
}

/// Decodes a value of the given shape and refuses any other.
pub fn decode<T: DeserializeOwned>(keyspace: Keyspace, expected: u8, bytes: &[u8]) -> Result<T, StorageError> {
    match bytes.split_first() {
        Some((found, body)) if *found == expected => {
            serde_ipld_dagcbor::from_slice(body).map_err(|e| StorageError::Decode { keyspace, reason: e.to_string() })
        }
        Some((found, _)) => Err(StorageError::Shape { keyspace, found: *found, known: expected }),
        None => Err(StorageError::Decode { keyspace, reason: "it is empty".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn another_shape_is_refused_by_name() {
        let bytes = encode(Keyspace::Jobs, 2, "x").unwrap();
        assert_eq!(shape(&bytes), Some(2));
        assert_eq!(decode::<String>(Keyspace::Jobs, 2, &bytes).unwrap(), "x");
        assert!(matches!(
            decode::<String>(Keyspace::Jobs, 1, &bytes),
            Err(StorageError::Shape { found: 2, known: 1, .. })
        ));
        assert!(decode::<String>(Keyspace::Jobs, 1, &[]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode::<std::collections::BTreeMap<String, u64>>(Keyspace::Jobs, 1, &bytes);
        }
    }
}
