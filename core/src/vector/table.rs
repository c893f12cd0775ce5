//! Many vectors of one model, and the nearest of them by exact scan.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{ModelDigest, ModelId, Quantised, VectorError, dot, same_model};

/// Vectors of one model, one after the other in memory. A row is known by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    model: ModelDigest,
    dims: usize,
    coords: Vec<i8>,
}

/// A vector that was found near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit<K> {
    /// Its row.
    pub row: usize,
    /// Its name.
    pub name: K,
    /// Its dot product with the question.
    pub dot: i32,
}

impl Table {
    /// A table without rows.
    pub fn new(model: &ModelId) -> Table {
        Table { model: model.digest(), dims: model.dims(), coords: Vec::new() }
    }

    /// Adds a row and says its number.
    pub fn push(&mut self, vector: &Quantised) -> Result<usize, VectorError> {
        same_model(self.model, vector.model())?;
        self.coords.extend_from_slice(vector.coords());
        Ok(self.len() - 1)
    }

    /// Puts another vector in a row, which there must be.
    pub fn set(&mut self, row: usize, vector: &Quantised) -> Result<(), VectorError> {
        same_model(self.model, vector.model())?;
        let found = self.coords.chunks_exact_mut(self.dims).nth(row).ok_or(VectorError::Row(row))?;
        found.copy_from_slice(vector.coords());
        Ok(())
    }

    /// Takes the vector out of a row, which is zero from then on.
    pub fn take(&mut self, row: usize) -> Option<Quantised> {
        let found = self.coords.chunks_exact_mut(self.dims).nth(row)?;
        let vector = Quantised { model: self.model, coords: (&*found).into() };
        found.fill(0);
        Some(vector)
    }

    /// The model of its vectors.
    pub fn model(&self) -> ModelDigest {
        self.model
    }

    /// Its rows.
    pub fn len(&self) -> usize {
        self.coords.len() / self.dims
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.coords.is_empty()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[i8]> {
        self.coords.chunks_exact(self.dims)
    }

    /// The dot product of a question with a row, which there must be.
    pub fn dot(&self, row: usize, question: &Quantised) -> Result<i32, VectorError> {
        same_model(self.model, question.model())?;
        let coords = self.coords.chunks_exact(self.dims).nth(row).ok_or(VectorError::Row(row))?;
        Ok(dot(question.coords(), coords))
    }

    /// The `limit` rows nearest to a question among those that `readable` lets through: largest dot product first.
    ///
    /// Ties go to the smaller `name`: with the CID of what a row stands for, two tables that hold the same vectors in
    /// another order give the same answer; with the row's number, the first row wins. Vectors are of unit length, so
    /// the order by dot product is that by cosine.
    pub fn nearest<K: Ord>(
        &self,
        question: &Quantised,
        limit: usize,
        readable: impl Fn(usize) -> bool,
        name: impl Fn(usize) -> K,
    ) -> Result<Vec<Hit<K>>, VectorError> {
        same_model(self.model, question.model())?;
        // The heap's greatest is the worst of the best so far: the least product, and of these the greatest name.
        let mut best: BinaryHeap<(Reverse<i32>, K, usize)> = BinaryHeap::new();
        for (row, coords) in self.rows().enumerate().filter(|(row, _)| readable(*row)) {
            let product = Reverse(dot(question.coords(), coords));
            if best.len() < limit {
                best.push((product, name(row), row));
            } else if let Some(mut worst) = best.peek_mut().filter(|worst| product <= worst.0) {
                let found = (product, name(row), row);
                if found < *worst {
                    *worst = found;
                }
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|(dot, name, row)| Hit { row, name, dot: dot.0 }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::model;
    use super::*;
    use proptest::prelude::*;

    fn table(rows: &[Vec<i8>]) -> Table {
        let id = model("one", 3);
        let mut table = Table::new(&id);
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(table.push(&Quantised::new(&id, row.clone()).unwrap()), Ok(i));
        }
        table
    }

    #[test]
    fn a_table_has_one_model() {
        let other = Quantised::new(&model("two", 3), vec![1, 2, 3]).unwrap();
        let mut table = table(&[]);
        assert!(matches!(table.push(&other), Err(VectorError::OtherModel { .. })));
        assert!(matches!(table.nearest(&other, 1, |_| true, |row| row), Err(VectorError::OtherModel { .. })));
        assert!(table.is_empty());
    }

    #[test]
    fn a_row_is_taken_and_given_to_another() {
        let id = model("one", 3);
        let vector = |coords: [i8; 3]| Quantised::new(&id, coords.to_vec()).unwrap();
        let mut table = table(&[vec![1, 2, 3], vec![4, 5, 6]]);
        assert_eq!(table.take(0), Some(vector([1, 2, 3])));
        assert_eq!(table.take(0), Some(vector([0, 0, 0])), "nothing is left of it");
        table.set(0, &vector([7, 8, 9])).unwrap();
        assert_eq!((table.take(0), table.take(1)), (Some(vector([7, 8, 9])), Some(vector([4, 5, 6]))));
        assert_eq!((table.take(2), table.set(2, &vector([1, 1, 1]))), (None, Err(VectorError::Row(2))));
    }

    proptest! {
        /// The scan equals sorting everything, whatever is filtered and however many tie.
        #[test]
        fn the_nearest_are_the_first_of_all(
            rows in proptest::collection::vec(proptest::collection::vec(-2i8..=2, 3), 0..40),
            question in proptest::collection::vec(-2i8..=2, 3), limit in 0usize..50, modulus in 1usize..4,
        ) {
            let question = Quantised::new(&model("one", 3), question).unwrap();
            let found = table(&rows).nearest(&question, limit, |row| row % modulus == 0, Reverse).unwrap();
            let mut all: Vec<(Reverse<i32>, Reverse<usize>)> = rows.iter().enumerate()
                .filter(|(row, _)| row % modulus == 0)
                .map(|(row, coords)| (Reverse(dot(question.coords(), coords)), Reverse(row)))
                .collect();
            all.sort_unstable();
            all.truncate(limit);
            prop_assert_eq!(found.iter().map(|h| (Reverse(h.dot), h.name)).collect::<Vec<_>>(), all);
            prop_assert!(found.iter().all(|h| h.name == Reverse(h.row)));
        }

        /// Named by what they stand for, rows in any order give the same answer.
        #[test]
        fn the_order_of_rows_does_not_matter(
            rows in proptest::collection::vec(proptest::collection::vec(-2i8..=2, 3), 1..30), limit in 1usize..30,
        ) {
            let question = Quantised::new(&model("one", 3), vec![1, -1, 2]).unwrap();
            let last = rows.len() - 1;
            let forwards = table(&rows).nearest(&question, limit, |_| true, |row| row).unwrap();
            let turned: Vec<Vec<i8>> = rows.iter().rev().cloned().collect();
            let backwards = table(&turned).nearest(&question, limit, |_| true, |row| last - row).unwrap();
            let names = |hits: Vec<Hit<usize>>| hits.into_iter().map(|h| (h.name, h.dot)).collect::<Vec<_>>();
            prop_assert_eq!(names(forwards), names(backwards));
        }
    }
}
