//! scratch
fn main() {
    let b = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    println!("{:?}", pdf_extract::Document::load_mem(&b).map(|d| (d.objects.len(), d.get_pages().len(), d.trailer.clone())));
}
