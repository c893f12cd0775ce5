//! Names in text: keys, entities, scopes, CIDs, origins, and the words for kinds and reasons.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::parse_cid;
use plumb_core::identity::{EntityId, EntityType, PublicKey};
use plumb_core::knowledge::Scope;
use plumb_core::log::Origin;
use plumb_core::notice::{NoticeKind, Reason};

use super::{Shape, Target};
use crate::laws;

pub(super) const TARGET: Target = Target { name: "names", run, seeds, input_bytes_max: 256, shape: Shape::Bytes };

fn seeds() -> Vec<Vec<u8>> {
    [
        "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        "person-mara-lindqvist",
        "topic-貯水池",
        "department:department-operations",
        "bafyreihltcnuuyqp2jm24aqydpnlj7b6w3ogwrplomrjtg5rifv44mmjey",
        "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
        "operations.example/public",
        "confidential",
        "expression-of-concern",
        "publisher_error",
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}

fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    one_text::<PublicKey>(text);
    one_text::<EntityId>(text);
    one_text::<Scope>(text);
    one_text::<Origin>(text);
    one_text::<Sensitivity>(text);
    for read in
        [text.parse::<NoticeKind>().err().map(|e| e.to_string()), text.parse::<Reason>().err().map(|e| e.to_string())]
    {
        assert!(read.is_none_or(|error| error.len() <= laws::ERROR_BYTES_MAX));
    }
    match parse_cid(text) {
        // A CID has a text in each base, and one that we write.
        Ok(cid) => assert_eq!(parse_cid(&cid.to_string()), Ok(cid)),
        Err(error) => laws::short(&error),
    }
    for kind in EntityType::ALL {
        match EntityId::new(kind, text) {
            Ok(id) => assert_eq!(id.to_string().parse().as_ref(), Ok(&id), "the id of a name is no id"),
            Err(error) => laws::short(&error),
        }
    }
}

/// What is read is written as it was read.
fn one_text<T: FromStr<Err: std::error::Error> + Display + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string(), text, "one name has two texts"),
        Err(error) => laws::short(&error),
    }
}
