//! The order in which texts go through a model: by length, so that little is padded, a few at a time, and stoppable.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::embedder::EmbedError;

/// Runs `pass` over the items, shortest first and `per_pass` at a time, and puts the results into the items' order.
pub(crate) fn run<I, O>(
    items: &[I],
    length: impl Fn(&I) -> usize,
    per_pass: usize,
    stop: &(dyn Fn() -> bool + Sync),
    pass: impl Fn(&[&I]) -> Result<Vec<O>, EmbedError>,
) -> Result<Vec<O>, EmbedError> {
    let mut order: Vec<(usize, &I)> = items.iter().enumerate().collect();
    order.sort_by_key(|(_, item)| length(item));
    let mut done: Vec<(usize, O)> = Vec::with_capacity(items.len());
    for together in order.chunks(per_pass.max(1)) {
        if stop() {
            return Err(EmbedError::Stopped);
        }
        let items: Vec<&I> = together.iter().map(|(_, item)| *item).collect();
        done.extend(together.iter().map(|(place, _)| *place).zip(pass(&items)?));
    }
    if done.len() != items.len() {
        return Err(EmbedError::Network(format!("{} texts gave {} vectors", items.len(), done.len())));
    }
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// A pool of a model's own, so that its work never crowds out anybody else's.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, EmbedError> {
    let named = |i| format!("model-{i}");
    ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .thread_name(named)
        .build()
        .map_err(|e| EmbedError::Threads(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    proptest! {
        #[test]
        fn results_are_in_the_order_of_texts(texts in proptest::collection::vec("[a-z]{0,9}", 0..30), n in 0usize..8) {
            let pass = |some: &[&String]| {
                assert!(some.len() <= n.max(1) && some.is_sorted_by_key(|t| t.len()));
                Ok(some.iter().map(|t| t.to_uppercase()).collect())
            };
            let run = run(&texts, |t| t.len(), n, &|| false, pass).unwrap();
            prop_assert_eq!(run, texts.iter().map(|t| t.to_uppercase()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn it_stops_between_passes() {
        let passes = AtomicUsize::new(0);
        let count = |some: &[&u8]| {
            passes.fetch_add(1, Ordering::Relaxed);
            Ok(some.iter().map(|byte| **byte).collect::<Vec<u8>>())
        };
        let stop = || passes.load(Ordering::Relaxed) == 2;
        assert!(matches!(run(&[1; 10], |_| 1, 3, &stop, count), Err(EmbedError::Stopped)));
        assert_eq!(passes.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_model_that_swallows_a_text_is_caught() {
        let swallow = |some: &[&u8]| Ok(vec![0u8; some.len() - 1]);
        assert!(matches!(run(&[1u8, 2], |_| 1, 2, &|| false, swallow), Err(EmbedError::Network(_))));
    }
}
