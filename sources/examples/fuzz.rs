//! scratch fuzz
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use plumb_sources::*;
struct R(u64);
impl R { fn next(&mut self) -> u64 { self.0 ^= self.0 << 13; self.0 ^= self.0 >> 7; self.0 ^= self.0 << 17; self.0 } fn n(&mut self, n: usize) -> usize { if n == 0 {0} else {(self.next() % n as u64) as usize} } }
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut args = std::env::args().skip(1);
    let seed: u64 = args.next().unwrap().parse().unwrap();
    let secs: u64 = args.next().unwrap().parse().unwrap();
    let files: Vec<(String, Vec<u8>)> = walk(args).map(|f| (f.path.display().to_string(), std::fs::read(&f.path).unwrap())).collect();
    let limits = Limits { parse_time: Duration::from_secs(10), stuck_parsers: 1000, ..Limits::default() };
    let registry = Registry::standard().with_limits(limits);
    let tokens: Vec<&[u8]> = vec![b"/Parent", b"/Kids", b"1 0 R", b"2 0 R", b"3 0 R", b"99999999", b"-1", b"<<", b">>", b"[", b"]", b"obj", b"endobj", b"stream\n", b"endstream", b"/Length", b"/Filter/FlateDecode", b"/Type/Page", b"/Type/Pages", b"/ObjStm", b"/XRef", b"/W", b"/Index", b"/Size", b"/Prev", b"/Root", b"/Encrypt", b"Tj", b"TJ", b"Do", b"<div>", b"</div>", b"<table>", b"<b>", b"<!--", b"-->", b"<script>", b"&#0;", b"\xff\xfe", b"\0", b"{", b"}", b"\"", b"\n", b"---\n", b"```", b"/ToUnicode", b"/Encoding", b"/Identity-H", b"/Subtype", b"/Form", b"<svg>", b"<template>", b"<select>", b"<form>", b"<p>", b"<a>"];
    let mut r = R(seed | 1);
    let begun = Instant::now();
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    let mut i = 0u64;
    while begun.elapsed() < Duration::from_secs(secs) {
        i += 1;
        let (name, base) = &files[r.n(files.len())];
        let mut b = base.clone();
        for _ in 0..1 + r.n(12) {
            let at = r.n(b.len());
            match r.n(8) {
                0 => if !b.is_empty() { b[at] = r.next() as u8 },
                1 => if !b.is_empty() { b[at] ^= 1 << r.n(8) },
                2 => { let end = (at + r.n(200)).min(b.len()); b.drain(at..end); }
                3 => { let end = (at + r.n(400)).min(b.len()); let c = b[at..end].to_vec(); let to = r.n(b.len()); b.splice(to..to, c); }
                4 => { let t = tokens[r.n(tokens.len())]; b.splice(at..at, t.iter().copied()); }
                5 => { let t = tokens[r.n(tokens.len())]; let n = r.n(60); let t = t.repeat(n); b.splice(at..at, t); }
                6 => { // change a number
                    if let Some(p) = b[at..].iter().position(|c| c.is_ascii_digit()) { b[at + p] = b'0' + r.n(10) as u8; } }
                _ => { let o = &files[r.n(files.len())].1; let s = r.n(o.len()); let e = (s + r.n(2000)).min(o.len()); b.splice(at..at, o[s..e].iter().copied()); }
            }
        }
        std::fs::write(format!("/tmp/fuzz-last-{seed}"), &b).unwrap();
        let t = Instant::now();
        let res = read_source(&registry, &Input::new("file:///x", name.rsplit('.').next(), b.clone()), &mut |item| {
            if let Ok(e) = item { for m in &e.marks { assert!(e.text.is_char_boundary(m.at)); } }
            ControlFlow::Continue(()) });
        let k = match &res { Ok(_) => "ok".to_string(), Err(p) => format!("{}{}", p.reason.code(), if p.reason.code() == "broken" { p.detail.clone() } else { String::new() }) };
        if k.contains("trailer") && r.n(40) == 0 || matches!(k.as_str(), "panicked" | "too_slow" | "busy") || t.elapsed() > Duration::from_secs(3) {
            let f = format!("/tmp/fuzz-{k}-{seed}-{i}"); std::fs::write(&f, &b).unwrap();
            println!("{f} {name} {:?} {:?}", res.err().map(|p| p.to_string()), t.elapsed());
        }
        *counts.entry(k).or_default() += 1;
    }
    println!("{i} runs {counts:?}");
}
