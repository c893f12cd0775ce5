//! scratch
use std::ops::ControlFlow;
use plumb_sources::*;
fn main() {
    let full = std::env::var("FULL").is_ok();
    let n: usize = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(700);
    let registry = Registry::standard();
    for f in walk(std::env::args().skip(1)) {
        if let Some(p) = f.parked { println!("{} PARKED {p}", f.address); continue }
        let bytes = match load(&f.path, registry.limits()) { Ok(b) => b, Err(p) => { println!("{} PARKED {p}", f.address); continue } };
        let t = std::time::Instant::now();
        let r = read_source(&registry, &Input::new(f.address.clone(), declared_of(&f.path).as_deref(), bytes), &mut |i| {
            match i {
                Ok(e) if full => println!("--- {}\ntitle: {}\nmeta: {:?}\nmarks: {:?}\n{}", e.address, e.title, e.raw_metadata, e.marks.iter().take(12).collect::<Vec<_>>(), e.text.chars().take(n).collect::<String>()),
                Ok(_) => {}
                Err(p) => println!("   item {p}"),
            }
            ControlFlow::Continue(())
        });
        match r { Ok(s) => println!("{} {:?} {:?}", f.path.display(), s, t.elapsed()), Err(p) => println!("{} PARKED [{}] {p} {:?}", f.path.display(), p.reason.code(), t.elapsed()) }
    }
}
