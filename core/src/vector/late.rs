//! Late interaction: a question against a passage token by token.
//!
//! Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over
//! BERT" (SIGIR 2020): each token of the question counts as much as the token of the passage that is nearest to it.

use super::{Table, UNIT, VectorError, dot, same_model};
use crate::measure::Micro;

/// How well the tokens of a passage answer those of a question: the mean over the question's tokens of the largest
/// dot product with a token of the passage, as a share of what equal directions give.
///
/// A question or a passage without tokens scores nothing. The order of tokens does not matter.
pub fn max_sim(question: &Table, passage: &Table) -> Result<Micro, VectorError> {
    same_model(question.model(), passage.model())?;
    let best = |token: &[i8]| passage.rows().map(|other| i64::from(dot(token, other))).max().unwrap_or(0);
    let sum: i64 = question.rows().map(best).sum();
    let whole = u64::from(UNIT.unsigned_abs()).pow(2) * question.len() as u64;
    Ok(Micro::from_ratio(u64::try_from(sum).unwrap_or(0), whole))
}

#[cfg(test)]
mod tests {
    use super::super::tests::model;
    use super::super::{ModelId, Quantised};
    use super::*;
    use proptest::prelude::*;

    fn tokens(id: &ModelId, rows: &[[i8; 2]]) -> Table {
        let mut table = Table::new(id);
        for row in rows {
            table.push(&Quantised::new(id, row.to_vec()).unwrap()).unwrap();
        }
        table
    }

    #[test]
    fn each_token_of_the_question_finds_its_best() {
        let id = model("one", 2);
        let question = tokens(&id, &[[127, 0], [0, 127]]);
        let score = |passage: &[[i8; 2]]| max_sim(&question, &tokens(&id, passage)).unwrap().get();
        assert_eq!(score(&[[0, 127], [127, 0], [-127, 0]]), 1_000_000);
        assert_eq!(score(&[[127, 0]]), 500_000);
        assert_eq!(score(&[[-127, 0]]), 0, "a sum below zero is nothing");
        assert_eq!(score(&[]), 0);
        assert_eq!(max_sim(&tokens(&id, &[]), &question), Ok(Micro::default()));
    }

    #[test]
    fn tokens_of_two_models_never_meet() {
        let (one, two) = (model("one", 2), model("two", 2));
        let met = max_sim(&tokens(&one, &[[1, 2]]), &tokens(&two, &[[1, 2]]));
        assert!(matches!(met, Err(VectorError::OtherModel { .. })));
    }

    proptest! {
        /// One more token in the passage never makes it worse.
        #[test]
        fn more_passage_is_not_less(
            question in proptest::collection::vec(any::<[i8; 2]>(), 1..6),
            passage in proptest::collection::vec(any::<[i8; 2]>(), 1..8),
        ) {
            let plain = |rows: Vec<[i8; 2]>| rows.into_iter().map(|r| r.map(|c| c.max(-127))).collect::<Vec<_>>();
            let (question, passage) = (plain(question), plain(passage));
            let id = model("one", 2);
            let question = tokens(&id, &question);
            let less = max_sim(&question, &tokens(&id, &passage[1..])).unwrap();
            // Without any token the score is nothing, and with some it may be below: it is clamped there.
            prop_assert!(less <= max_sim(&question, &tokens(&id, &passage)).unwrap());
        }
    }
}
