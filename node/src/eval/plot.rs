//! Draws the figures of a run as bars with their intervals, as an SVG that needs no library and no fonts of its own.

use std::fmt::Write;

use plumb_core::evaluation::Fixed;

use super::view::ReportView;

const BAR: f64 = 22.0;
const GAP: f64 = 26.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 24.0;
const INNER: f64 = 240.0;
const BOTTOM: f64 = 34.0;
const KEY_LINE: f64 = 18.0;

/// Colours that also differ for whoever does not see red and green apart (Okabe and Ito, 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442"];

/// One group of bars for each measure, one bar in it for each slice. Every measure is between nothing and one.
pub fn bars(view: &ReportView) -> String {
    let measures = view.measures();
    let group = BAR * view.slices.len() as f64 + GAP;
    let width = LEFT + group * measures.len() as f64 + RIGHT;
    let height = TOP + INNER + BOTTOM + KEY_LINE * view.slices.len() as f64;
    let y = |value: f64| TOP + INNER * (1.0 - value.clamp(0.0, 1.0));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for tenths in (0..=10).step_by(2) {
        let value = f64::from(tenths) / 10.0;
        let _ = writeln!(
            svg,
            "<path d=\"M {LEFT} {at:.1} H {}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.1}</text>",
            width - RIGHT,
            LEFT - 8.0,
            y(value) + 4.0,
            at = y(value),
        );
    }
    for (measure, at) in measures.iter().zip(0u32..) {
        let from = LEFT + group * f64::from(at) + GAP / 2.0;
        for ((slice, colour), place) in view.slices.iter().zip(COLOURS.iter().cycle()).zip(0u32..) {
            let Some(figure) = slice.figures.iter().find(|f| f.measure == *measure) else { continue };
            let (x, top) = (from + BAR * f64::from(place), y(share(figure.drawn.value)));
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{} {}: {}</title></rect>",
                BAR - 3.0,
                TOP + INNER - top,
                escaped(measure),
                escaped(&slice.slice),
                figure.value,
            );
            if figure.low.is_some() {
                let (middle, low, high) =
                    (x + (BAR - 3.0) / 2.0, y(share(figure.drawn.low)), y(share(figure.drawn.high)));
                let _ = writeln!(
                    svg,
                    "<path d=\"M {:.1} {high:.1} h 8 m -4 0 V {low:.1} m -4 0 h 8\" stroke=\"#222222\" fill=\"none\"/>",
                    middle - 4.0
                );
            }
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">{}</text>",
            from + BAR * view.slices.len() as f64 / 2.0,
            TOP + INNER + 18.0,
            escaped(measure),
        );
    }
    for ((slice, colour), row) in view.slices.iter().zip(COLOURS.iter().cycle()).zip(0u32..) {
        let at = TOP + INNER + BOTTOM + KEY_LINE * f64::from(row);
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{}\" y=\"{}\">{} ({} queries)</text>",
            at - 4.0,
            LEFT + 18.0,
            at + 6.0,
            escaped(&slice.slice),
            slice.queries,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// For drawing only: no figure that is printed passes through here.
fn share(value: Fixed) -> f64 {
    value.units() as f64 / Fixed::ONE.units() as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::evaluation::{Bootstrap, Judge, Measure, Qrels, Report, Run, Slices};

    #[test]
    fn there_is_a_bar_for_each_figure_and_its_height_is_the_value() {
        let (mut qrels, mut run, mut slices) = (Qrels::default(), Run::default(), Slices::default());
        for (query, found) in [("q1", "good"), ("q2", "bad")] {
            qrels.insert(query.into(), "good".into(), 1);
            run.insert(query.into(), [found.to_string()]);
        }
        slices.insert("a<b".into(), "q1".into());
        let judge = Judge { qrels: &qrels, run: &run, documents: None, primitive: None };
        let bootstrap = Bootstrap::default();
        let report = Report::new(&judge, &[Measure::Rr, Measure::Precision(1)], &slices, Some(bootstrap));
        let svg = bars(&ReportView::new(&report, bootstrap, None));
        assert_eq!(svg.matches("<title>").count(), 4);
        assert_eq!(svg.matches("height=\"240.0\"").count(), 2, "the slice has one of one");
        assert_eq!(svg.matches("height=\"120.0\"").count(), 2, "the whole has one of two");
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
    }
}
