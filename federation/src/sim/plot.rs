//! Draws how time and traffic grow, and whatever else is lines, as an SVG that needs no library and no fonts of its own.
//!
//! The horizontal axis is logarithmic, so what takes as many rounds as the logarithm of the number of nodes is a straight
//! line, and what does not grow is a level one.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Spread;
use super::bench::Outcome;

/// What stands on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The number of nodes.
    Nodes,
    /// The number of publishers.
    Publishers,
}

impl By {
    fn of(self, outcome: &Outcome) -> u64 {
        match self {
            By::Nodes => outcome.n_nodes as u64,
            By::Publishers => outcome.n_publishers as u64,
        }
    }

    const fn label(self) -> &'static str {
        match self {
            By::Nodes => "nodes (logarithmic)",
            By::Publishers => "publishers (logarithmic)",
        }
    }
}

const PANEL_WIDTH: f64 = 560.0;
const PANEL_HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 96.0;
const BOTTOM: f64 = 54.0;

/// Colours that also differ for whoever does not see red and green apart (Okabe and Ito, 2008).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// One line of a panel.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the key.
    pub name: &'static str,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Lines over one axis.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What stands above.
    pub title: &'static str,
    /// What the vertical axis counts.
    pub unit: &'static str,
    /// At most four have colours of their own.
    pub lines: Vec<Line>,
}

/// Two panels: until everybody knew, and what each node sent. Several outcomes of one number are averaged.
pub fn growth(outcomes: &[Outcome], by: By) -> String {
    let mut groups: BTreeMap<u64, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        groups.entry(by.of(outcome)).or_default().push(outcome);
    }
    let line = |name, value: &dyn Fn(&Outcome) -> f64| {
        let mean = |group: &Vec<&Outcome>| group.iter().map(|o| value(o)).sum::<f64>() / group.len() as f64;
        Line { name, points: groups.iter().map(|(n, group)| (*n as f64, mean(group))).collect() }
    };
    let seconds = |ms: u64| ms as f64 / 1000.0;
    let kib = |spread: &Spread, of: fn(&Spread) -> u64| of(spread) as f64 / 1024.0;
    let time = Panel {
        title: "Until a notice was at each node",
        unit: "simulated seconds",
        lines: vec![
            line("half of the nodes", &|o| seconds(o.issue_to_node_ms.p50)),
            line("19 of 20", &|o| seconds(o.issue_to_node_ms.p95)),
            line("after a partition: 19 of 20", &|o| seconds(o.heal_to_node_ms.p95)),
            line("after a partition: all", &|o| seconds(o.heal_to_node_ms.max)),
        ],
    };
    let passes = Panel {
        title: "How often a notice was passed on",
        unit: "passes",
        lines: vec![
            line("half of the nodes", &|o| o.passes.p50 as f64),
            line("19 of 20", &|o| o.passes.p95 as f64),
            line("all", &|o| o.passes.max as f64),
        ],
    };
    let traffic = Panel {
        title: "What each node sent in the whole run",
        unit: "KiB",
        lines: vec![
            line("half of the nodes", &|o| kib(&o.bytes_per_node, |s| s.p50)),
            line("19 of 20", &|o| kib(&o.bytes_per_node, |s| s.p95)),
            line("heads and summaries, mean", &|o| o.heads.n_bytes as f64 / 1024.0 / o.n_nodes as f64),
        ],
    };
    draw(&[time, passes, traffic], by.label())
}

/// Panels, one below the other. Texts are drawn as they are given: they are of the program, never of a user.
pub fn draw(panels: &[Panel], x_label: &str) -> String {
    let (width, height) = (PANEL_WIDTH, PANEL_HEIGHT * panels.len() as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (at, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", PANEL_HEIGHT * at as f64);
        draw_panel(&mut svg, panel, x_label);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_panel(svg: &mut String, panel: &Panel, x_label: &str) {
    let all = || panel.lines.iter().flat_map(|line| &line.points);
    let least = all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min).max(1.0);
    let most = all().map(|(x, _)| *x).fold(1.0, f64::max);
    let highest = all().map(|(_, y)| *y).fold(0.0, f64::max).max(1e-9);
    let step = nice(highest / 6.0);
    let top = (highest / step).ceil() * step;
    let (inner_width, inner_height) = (PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM);
    let span = (most / least).ln().max(1e-9);
    let x = |n: f64| LEFT + inner_width * (n.max(1.0) / least).ln() / span;
    let y = |value: f64| TOP + inner_height * (1.0 - value / top);

    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>", panel.title);
    for (at, line) in panel.lines.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let (column, row) = (at % 2, at / 2);
        let (key_x, key_y) = (LEFT + column as f64 * 230.0, 44.0 + row as f64 * 18.0);
        let _ = writeln!(
            svg,
            "<path d=\"M {key_x} {y} h 22\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            key_x + 28.0,
            key_y + 4.0,
            line.name,
            y = key_y,
        );
    }
    let mut value = 0.0;
    while value <= top + step / 2.0 {
        let at = y(value);
        let _ = writeln!(
            svg,
            "<path d=\"M {LEFT} {at:.1} h {inner_width}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 4.0,
            label(value),
        );
        value += step;
    }
    let mut ticks: Vec<f64> =
        panel.lines.first().map(|l| l.points.iter().map(|(x, _)| *x).collect()).unwrap_or_default();
    ticks.dedup();
    for tick in ticks {
        let at = x(tick);
        let bottom = TOP + inner_height;
        let _ = writeln!(
            svg,
            "<path d=\"M {at:.1} {bottom} v 5\" stroke=\"#444444\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 19.0,
            label(tick),
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M {LEFT} {TOP} v {inner_height} h {inner_width}\" fill=\"none\" stroke=\"#444444\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{x_label}</text>\
         <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        LEFT + inner_width / 2.0,
        PANEL_HEIGHT - 12.0,
        TOP + inner_height / 2.0,
        panel.unit,
    );
    for (at, line) in panel.lines.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let points: Vec<String> = line.points.iter().map(|(n, v)| format!("{:.1},{:.1}", x(*n), y(*v))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for (n, v) in &line.points {
            let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>", x(*n), y(*v));
        }
    }
}

/// The next of 1, 2, 5, 10, … that is not smaller.
fn nice(at_least: f64) -> f64 {
    let magnitude = 10f64.powf(at_least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| at_least <= factor * magnitude);
    factor.unwrap_or(10.0) * magnitude
}

fn label(value: f64) -> String {
    if value.fract().abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        for (at_least, is) in [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (6.0, 10.0), (37.0, 50.0)] {
            assert!((nice(at_least) - is).abs() < 1e-9, "{at_least}: {}", nice(at_least));
        }
    }

    #[test]
    fn a_drawing_has_a_line_for_each_measure_and_a_point_for_each_number() {
        let line = |name| Line { name, points: vec![(10.0, 1.0), (100.0, 2.0), (1000.0, 3.0)] };
        let panel = Panel { title: "T", unit: "u", lines: vec![line("a"), line("b")] };
        let svg = draw(&[panel], "n");
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 6);
        // On a logarithmic axis equal factors are equal distances.
        let at = |svg: &str| -> Vec<f64> {
            let points = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
            points.split(' ').map(|p| p.split(',').next().unwrap().parse().unwrap()).collect()
        };
        let x = at(&svg);
        assert!(((x[1] - x[0]) - (x[2] - x[1])).abs() < 0.2, "{x:?}");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }
}
