//! What the real models give. The embedded one always runs; those that are files run where pip can fetch them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/brought.rs"]
mod brought;

use brought::brought;
use plumb_core::vector::{Quantised, Table, VectorError, max_sim};
#[cfg(feature = "embedded")]
use plumb_models::Pocket;
use plumb_models::{EmbedError, Embedder, KNOWN, MiniLm, Settings};

/// The texts of `golden/make.py`.
const TEXTS: [&str; 4] = [
    "The reservoir was full on Monday.",
    "There is no water left in the basin.",
    "Ballots are counted by hand in the presence of observers.",
    "Flushing velocity of 1.5 m/s removes loose deposits from the pipe wall, says the operations handbook.",
];

fn mini(which: usize, settings: Settings) -> Option<MiniLm> {
    let known = &KNOWN[which];
    Some(MiniLm::open(&brought(known)?, known, settings).unwrap())
}

fn with_threads(threads: usize) -> Settings {
    Settings { threads, ..Settings::default() }
}

/// Every model that is at hand.
fn models(settings: Settings) -> Vec<Box<dyn Embedder>> {
    let mut models: Vec<Box<dyn Embedder>> = Vec::new();
    #[cfg(feature = "embedded")]
    models.push(Box::new(Pocket::new(settings).unwrap()));
    for which in 0..KNOWN.len() {
        models.extend(mini(which, settings).map(|model| Box::new(model) as Box<dyn Embedder>));
    }
    models
}

fn vectors(model: &dyn Embedder, texts: &[&str]) -> Vec<Quantised> {
    model.embed(texts, &|| false).unwrap().into_iter().map(|embedded| embedded.vector).collect()
}

/// Texts of many lengths, each of its own words.
fn many() -> Vec<String> {
    let words: Vec<&str> = TEXTS.iter().flat_map(|text| text.split(' ')).collect();
    (0..16)
        .map(|i| words.iter().cycle().skip(7 * i).take(1 + i * i % 90).copied().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The largest distance between two vectors in any coordinate, and how many coordinates differ.
fn apart(a: &Quantised, b: &Quantised) -> (i16, usize) {
    let steps = a.coords().iter().zip(b.coords()).map(|(x, y)| (i16::from(*x) - i16::from(*y)).abs());
    (steps.clone().max().unwrap(), steps.filter(|step| *step != 0).count())
}

/// The golden vectors were computed in double precision: where a coordinate lies on the edge between two steps, the last
/// bits of a float decide, so a step is allowed in a few places.
fn check_golden(model: &dyn Embedder, golden: &str) {
    let golden: Vec<Quantised> = golden
        .lines()
        .map(|line| {
            let byte = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..line.len()).step_by(2).map(byte).collect();
            Quantised::from_bytes(model.id(), &bytes).unwrap()
        })
        .collect();
    assert_eq!(golden.len(), TEXTS.len());
    for ((text, golden), vector) in TEXTS.iter().zip(golden).zip(vectors(model, &TEXTS)) {
        let (most, n_different) = apart(&vector, &golden);
        println!(
            "{}: {n_different} of {} coordinates differ, by {most} at most: {text}",
            model.id().name(),
            model.dims()
        );
        assert!(most <= 1 && n_different <= 4, "{text}: {n_different} coordinates differ, by {most} at most");
    }
}

#[cfg(feature = "embedded")]
#[test]
fn the_embedded_model_gives_the_golden_vectors() {
    check_golden(&Pocket::new(Settings::default()).unwrap(), include_str!("golden/paraphrase-minilm-l3-v2.hex"));
}

#[test]
fn the_float_model_gives_the_golden_vectors() {
    if let Some(model) = mini(0, Settings::default()) {
        check_golden(&model, include_str!("golden/all-minilm-l6-v2.hex"));
    }
}

#[test]
fn floats_and_integers_agree() {
    let (Some(float), Some(int)) = (mini(0, Settings::default()), mini(1, Settings::default())) else { return };
    let many = many();
    let texts = many.iter().map(String::as_str).chain(TEXTS).filter(|text| text.len() > 20);
    let mut least = 1.0f64;
    let mut sum = 0.0;
    let mut n = 0.0;
    for text in texts {
        let (a, b) = (float.floats(text).unwrap(), int.floats(text).unwrap());
        let cosine: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        least = least.min(cosine);
        sum += cosine;
        n += 1.0;
    }
    println!("cosine of f32 and int8: mean {:.5}, least {least:.5}", sum / n);
    assert!(sum / n >= 0.999);
    assert!(least >= 0.995);
}

#[test]
fn texts_that_mean_the_same_are_near() {
    for model in models(Settings::default()) {
        let question = &vectors(&*model, &["Is the dam without water?"])[0];
        let mut table = Table::new(model.id());
        for vector in vectors(&*model, &TEXTS) {
            table.push(&vector).unwrap();
        }
        let near = table.nearest(question, 4, |_| true, |row| row).unwrap();
        assert!(near[0].row < 2 && near[1].row < 2, "{}: {near:?}", model.id());
    }
}

/// The vector of a text is the same whatever stands beside it, in whatever order, on however many threads.
#[test]
fn a_vector_depends_on_its_text_alone() {
    let many = many();
    let texts: Vec<&str> = many.iter().map(String::as_str).collect();
    let backwards: Vec<&str> = texts.iter().rev().copied().collect();
    let alone = models(with_threads(1));
    let on_two = models(with_threads(2));
    for (model, on_two) in alone.iter().zip(&on_two) {
        let together = vectors(&**model, &texts);
        let mut reversed = vectors(&**model, &backwards);
        reversed.reverse();
        assert_eq!(together, reversed, "{}", model.id());
        let one_by_one: Vec<Quantised> = texts.iter().flat_map(|text| vectors(&**model, &[*text])).collect();
        assert_eq!(together, one_by_one, "{}", model.id());
        assert_eq!(together, vectors(&**on_two, &texts), "{} on two threads", model.id());
    }
}

/// Padding is not seen by the network: a vector moves by one step at most, where the last bits of a float decide. Such
/// vectors have another identity all the same, so that they cannot get among the others.
#[test]
fn padded_passes_make_another_identity() {
    let many = many();
    let texts: Vec<&str> = many.iter().map(String::as_str).collect();
    for which in 0..KNOWN.len() {
        let padded = Settings { texts_per_pass: 8, ..Settings::default() };
        let (Some(alone), Some(padded)) = (mini(which, Settings::default()), mini(which, padded)) else { return };
        let pairs: Vec<_> = vectors(&alone, &texts).into_iter().zip(vectors(&padded, &texts)).collect();
        let moved: Vec<(i16, usize)> = pairs.iter().map(|(a, b)| apart(a, b)).collect();
        let most = moved.iter().map(|m| m.0).max().unwrap();
        let n_vectors = moved.iter().filter(|m| m.1 > 0).count();
        let n_coords: usize = moved.iter().map(|m| m.1).sum();
        println!(
            "{}: {n_vectors} of {} vectors move, in {n_coords} coordinates, by {most} steps at most",
            alone.id(),
            texts.len()
        );
        let (a, b) = &pairs[0];
        assert!(matches!(a.dot(b), Err(VectorError::OtherModel { .. })));
        assert!(most <= 1, "padding is not seen by the network");
    }
}

#[test]
fn vectors_of_two_models_never_mix() {
    let models = models(Settings::default());
    for (i, one) in models.iter().enumerate() {
        for (j, other) in models.iter().enumerate() {
            let (a, b) = (&vectors(&**one, &TEXTS[..1])[0], &vectors(&**other, &TEXTS[..1])[0]);
            let mut table = Table::new(one.id());
            assert_eq!(a.cosine(b).is_ok(), i == j);
            assert_eq!(table.push(b).is_ok(), i == j);
            assert_eq!(table.nearest(b, 1, |_| true, |row| row).is_ok(), i == j);
        }
    }
}

#[test]
fn a_long_text_is_cut_and_says_so() {
    for model in models(Settings::default()) {
        let whole = "water ".repeat(model.max_tokens() - 2);
        let long = format!("{whole} and ballots are counted by hand");
        let embedded = model.embed(&[&whole, &long, ""], &|| false).unwrap();
        assert_eq!((embedded[0].tokens, embedded[0].cut), (model.max_tokens(), false));
        assert_eq!((embedded[1].tokens, embedded[1].cut), (model.max_tokens() + 6, true));
        assert_eq!(embedded[0].vector, embedded[1].vector, "the vector speaks for the beginning");
        assert_eq!(model.count_tokens(&long).unwrap(), model.max_tokens() + 6);
        assert!(embedded[2].vector.coords().iter().all(|c| *c == 0), "nothing means nothing");
        assert_eq!(embedded[2].vector.cosine(&embedded[0].vector).unwrap().get(), 0);
    }
}

#[test]
fn any_text_has_a_vector() {
    let endless = "ä".repeat(200_000);
    let texts = ["\0", " ", "\u{202e}\u{200b}", "経営者は市場を見る", "🜁🜂", "a", &endless, &"((((".repeat(5000)];
    for model in models(Settings::default()) {
        let embedded = model.embed(&texts, &|| false).unwrap();
        assert_eq!(embedded.len(), texts.len());
        assert!(embedded[6].cut && embedded[7].cut);
        assert!(model.embed(&[], &|| false).unwrap().is_empty());
    }
}

#[test]
fn embedding_can_be_stopped() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for model in models(Settings::default()) {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) == 2;
        assert!(matches!(model.embed(&TEXTS, &stop), Err(EmbedError::Stopped)));
        assert_eq!(asked.load(Ordering::Relaxed), 3, "before each pass, and not after");
    }
}

#[test]
fn tokens_meet_tokens() {
    for which in 0..KNOWN.len() {
        let Some(model) = mini(which, Settings::default()) else { return };
        let tokens = |text: &str| model.embed_tokens(text).unwrap();
        let question = tokens("How fast must pipes be flushed?");
        assert_eq!(question.len(), model.count_tokens("How fast must pipes be flushed?").unwrap() - 2);
        let scores: Vec<_> = TEXTS.iter().map(|text| max_sim(&question, &tokens(text)).unwrap()).collect();
        assert!(scores[..3].iter().all(|score| *score < scores[3]), "{scores:?}");
        assert!(max_sim(&question, &question).unwrap().get() > 980_000);
        assert!(tokens("").is_empty());
    }
    #[cfg(feature = "embedded")]
    assert!(matches!(Pocket::new(Settings::default()).unwrap().embed_tokens("x"), Err(EmbedError::NoTokens(_))));
}
