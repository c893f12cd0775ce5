//! From letters with places to lines and paragraphs.

use pdf_extract::{ColorSpace, MediaBox, OutputDev, OutputError, Path, Transform};

/// A gap between words, in parts of the font's size. Narrower ones are kerning.
const WORD_GAP: f64 = 0.12;
/// How far up or down the next letter is before it is in another line. Less is a superscript.
const LINE_STEP: f64 = 0.5;
/// The same, if it does not go back to the left.
const LINE_STEP_AHEAD: f64 = 1.2;
/// Beyond this distance from the line before, a paragraph begins, unless that is how lines stand here.
const PARAGRAPH_STEP: f64 = 1.6;
/// The distance of lines that are set widely apart. Beyond it is empty space.
const LEADING_MAX: f64 = 3.0;
/// How much further than usual lines are apart between paragraphs.
const PARAGRAPH_RATIO: f64 = 1.3;

/// Takes letters in the order in which they are drawn, which is that of reading in all but odd files, and writes
/// them into pages.
pub(super) struct Layout {
    /// Finished pages and the one that is being written.
    pages: Vec<String>,
    /// Bytes that may still be written.
    room: usize,
    last: Option<Letter>,
    /// The distance of lines in this paragraph.
    leading: Option<f64>,
    at_word_start: bool,
}

/// Where a letter ended, in which direction and how large it was.
#[derive(Clone, Copy)]
struct Letter {
    x: f64,
    y: f64,
    ux: f64,
    uy: f64,
    size: f64,
}

impl Layout {
    /// A layout that writes at most `room` bytes and then asks to stop.
    pub(super) fn new(room: usize) -> Layout {
        Layout { pages: vec![String::new()], room, last: None, leading: None, at_word_start: true }
    }

    /// The pages.
    pub(super) fn into_pages(self) -> Vec<String> {
        self.pages
    }

    fn page(&mut self) -> &mut String {
        if self.pages.is_empty() {
            self.pages.push(String::new());
        }
        let last = self.pages.len() - 1;
        &mut self.pages[last]
    }

    /// What stands between the last letter and this.
    fn gap(&mut self, next: &Letter, c: &str) -> &'static str {
        let Some(last) = self.last else { return "" };
        let (dx, dy) = (next.x - last.x, next.y - last.y);
        let along = dx * next.ux + dy * next.uy;
        let across = dy * next.ux - dx * next.uy;
        let turned = last.ux * next.ux + last.uy * next.uy < 0.9;
        // NaN is in no order to anything, and takes the last way out.
        if turned || across.abs() > LINE_STEP_AHEAD * next.size || across.abs() > LINE_STEP * next.size && along < 0.0 {
            if turned || across > LINE_STEP * next.size {
                self.leading = None;
                return self.column_gap(c);
            }
            let step = -across;
            let usual = self.leading.unwrap_or(0.0);
            let paragraph = step > PARAGRAPH_STEP * next.size && step > PARAGRAPH_RATIO * usual;
            self.leading = Some(step).filter(|step| *step < LEADING_MAX * next.size);
            return if paragraph { "\n\n" } else { "\n" };
        }
        if along > WORD_GAP * next.size || along < -next.size { " " } else { "" }
    }

    /// Upwards is another column, or a frame around the text. A sentence may go on there.
    fn column_gap(&mut self, c: &str) -> &'static str {
        let goes_on = c.starts_with(char::is_lowercase)
            && self.page().trim_end().ends_with(|c: char| c.is_alphanumeric() || c == ',' || c == '-');
        if goes_on { "\n" } else { "\n\n" }
    }
}

impl OutputDev for Layout {
    fn begin_page(&mut self, _: u32, _: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        trm: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        char: &str,
    ) -> Result<(), OutputError> {
        let scale = trm.m11.hypot(trm.m12);
        let size = font_size.abs() * (trm.m11 * trm.m22 - trm.m12 * trm.m21).abs().sqrt();
        let sign = if font_size < 0.0 { -1.0 } else { 1.0 };
        let (ux, uy) = if scale > 0.0 { (sign * trm.m11 / scale, sign * trm.m12 / scale) } else { (1.0, 0.0) };
        let begin = Letter { x: trm.m31, y: trm.m32, ux, uy, size };
        if self.at_word_start {
            let gap = self.gap(&begin, char);
            self.page().push_str(gap);
        }
        self.at_word_start = false;
        let advance = (width * font_size.abs() + spacing) * scale;
        self.last = Some(Letter { x: begin.x + advance * ux, y: begin.y + advance * uy, ..begin });
        self.page().push_str(char);
        self.room = self.room.checked_sub(char.len()).ok_or(OutputError::FormatError(std::fmt::Error))?;
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.at_word_start = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    /// Pages are rewritten to text alone, and a stroke stands where one of them ends
    /// ([`flatten`](super::flatten)).
    fn stroke(&mut self, _: &Transform, _: &ColorSpace, _: &[f64], _: &Path) -> Result<(), OutputError> {
        self.pages.push(String::new());
        (self.last, self.leading, self.at_word_start) = (None, None, true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of size 10, each 5 wide, at these places.
    fn check(words: &[(f64, f64, &str)], expected: &str) {
        let mut layout = Layout::new(1000);
        for (x, y, word) in words {
            layout.begin_word().unwrap();
            for (letter, i) in word.chars().zip(0..) {
                let place = Transform::row_major(1.0, 0.0, 0.0, 1.0, x + 5.0 * f64::from(i), *y);
                layout.output_character(&place, 0.5, 0.0, 10.0, &letter.to_string()).unwrap();
            }
        }
        assert_eq!(layout.into_pages(), [expected]);
    }

    #[test]
    fn lines_and_paragraphs() {
        check(&[(0.0, 100.0, "ab"), (10.5, 100.0, "c"), (18.0, 100.0, "d")], "abc d");
        check(&[(0.0, 100.0, "ab"), (0.0, 88.0, "c"), (0.0, 76.0, "d"), (0.0, 50.0, "e")], "ab\nc\nd\n\ne");
        check(&[(0.0, 100.0, "m"), (5.0, 104.0, "2"), (12.0, 100.0, "of")], "m2 of");
        // Lines that are far apart all the way are no paragraphs, but for the first.
        check(&[(0.0, 100.0, "a"), (0.0, 80.0, "b"), (0.0, 60.0, "c"), (0.0, 40.0, "d")], "a\n\nb\nc\nd");
        // Another column.
        check(&[(0.0, 10.0, "end."), (200.0, 100.0, "Next")], "end.\n\nNext");
        check(&[(0.0, 10.0, "goes"), (200.0, 100.0, "on")], "goes\non");
    }

    #[test]
    fn a_page_that_is_turned_has_lines_as_well() {
        let mut layout = Layout::new(1000);
        for (x, y, word) in [(100.0, 0.0, "ab"), (100.0, 13.0, "c"), (112.0, 0.0, "d")] {
            layout.begin_word().unwrap();
            for (letter, i) in word.chars().zip(0..) {
                let place = Transform::row_major(0.0, 1.0, -1.0, 0.0, x, y + 5.0 * f64::from(i));
                layout.output_character(&place, 0.5, 0.0, 10.0, &letter.to_string()).unwrap();
            }
        }
        assert_eq!(layout.into_pages(), ["ab c\nd"]);
    }

    #[test]
    fn room_is_bounded() {
        let mut layout = Layout::new(3);
        let place = Transform::row_major(1.0, 0.0, 0.0, 1.0, 0.0, 0.0);
        let full = (0..5).find(|_| layout.output_character(&place, 0.5, 0.0, 10.0, "a").is_err());
        assert_eq!(full, Some(3));
    }
}
