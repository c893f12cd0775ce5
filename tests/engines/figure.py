"""The figure: what grows with the collection, and how. Plain SVG that follows the reader's light or dark."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any

from report import MEGA, VIEWS, memory_at_most, percentile

WIDTH, HEIGHT, TOP, LEFT, RIGHT = 520, 360, 80, 80, 20
COLUMNS = 2
#: Okabe and Ito's colours, which most people can tell apart; the node's is the strongest.
COLOURS = {
    "node": "#0072b2", "stages": "#56b4e9", "plain": "#d55e00", "tantivy": "#e69f00", "fts5": "#009e73", "xapian": "#cc79a7",
    "postgres": "#8a6d3b", "typesense": "#888888",
}
STYLE = """
.page { fill: #ffffff } .ink { fill: #222222 } .axis { stroke: #555555; fill: none } .grid { stroke: #dddddd }
@media (prefers-color-scheme: dark) {
.page { fill: #14171a } .ink { fill: #dddddd } .axis { stroke: #999999 } .grid { stroke: #33383d } }
"""

Series = dict[str, list[tuple[float, float]]]


def draw(results: dict[str, Any]) -> str:
    """Four panels, two and two."""
    panels = [
        ("Search, top ten: p95", "milliseconds", collect(results, p95_ms)),
        ("Ingest", "chunks a second", collect(results, chunks_per_second)),
        ("Disk", "megabytes", collect(results, disk_mb)),
        ("Memory at most, without mapped files", "megabytes", collect(results, memory_mb)),
    ]
    titles = {name: engine["title"] for size in reversed(results["sizes"]) for name, engine in size["engines"].items()}
    sizes = [size["chunks"] for size in results["sizes"]]
    width, height = WIDTH * COLUMNS, HEIGHT * len(panels) // COLUMNS + TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="12">',
        f"<style>{STYLE}</style>", '<rect width="100%" height="100%" class="page"/>', legend(titles),
    ]
    for place, (title, unit, series) in enumerate(panels):
        x, y = place % COLUMNS * WIDTH, TOP + place // COLUMNS * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{panel(title, unit, series, titles, sizes)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def p95_ms(name: str, engine: dict[str, Any]) -> float | None:
    value = percentile(engine, 95)
    return None if value is None or name == "live" else value * 1e3


def chunks_per_second(name: str, engine: dict[str, Any]) -> float | None:
    return None if name in VIEWS or "ingest" not in engine else engine["ingest"]["per_second"]


def disk_mb(name: str, engine: dict[str, Any]) -> float | None:
    return None if name in VIEWS or "ingest" not in engine else engine["ingest"]["disk"] / MEGA


def memory_mb(name: str, engine: dict[str, Any]) -> float | None:
    return None if name in VIEWS or "ingest" not in engine else memory_at_most(engine) / MEGA


def collect(results: dict[str, Any], value_of: Callable[[str, dict[str, Any]], float | None]) -> Series:
    series: Series = {}
    for size in results["sizes"]:
        for name, engine in size["engines"].items():
            if (value := value_of(name, engine)) is not None:
                # Who did not take everything in stands where it got to.
                took = size["engines"]["node" if name in VIEWS else name]["ingest"]["chunks"]
                series.setdefault(name, []).append((took, value))
    return series


def legend(titles: dict[str, str]) -> str:
    parts = []
    for place, (name, colour) in enumerate(pair for pair in COLOURS.items() if pair[0] in titles):
        x, y = LEFT + place % 4 * 240, 30 + place // 4 * 22
        width = 4 if name == "node" else 2
        parts.append(f'<path d="M {x} {y - 4} h 24" stroke="{colour}" stroke-width="{width}"/>')
        parts.append(f'<text x="{x + 32}" y="{y}" class="ink">{escape(titles[name])}</text>')
    return "\n".join(parts)


def panel(title: str, unit: str, series: Series, titles: dict[str, str], sizes: list[int]) -> str:
    """One plot, logarithmic both ways."""
    top, bottom, left, right = 40, HEIGHT - 60, LEFT, WIDTH - RIGHT
    xs = sorted({*sizes, *(x for points in series.values() for x, _ in points)})
    ys = [y for points in series.values() for _, y in points]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    high = max(high, low + 1)
    spread = max(math.log10(xs[-1] / xs[0]), 0.1)

    def at_x(x: float) -> float:
        return left + 20 + math.log10(x / xs[0]) / spread * (right - left - 40)

    def at_y(y: float) -> float:
        return bottom - (math.log10(y) - low) / (high - low) * (bottom - top)

    parts = [f'<text x="{left}" y="22" font-size="15" class="ink">{escape(title)}</text>']
    for power in range(low, high + 1):
        y = at_y(10.0**power)
        label = f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
        parts.append(f'<path d="M {left} {y:.1f} H {right}" class="grid"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" class="ink">{label}</text>')
    for size in sizes:
        parts.append(f'<path d="M {at_x(size):.1f} {bottom} v 5" class="axis"/>')
        parts.append(f'<text x="{at_x(size):.1f}" y="{bottom + 19}" text-anchor="middle" class="ink">{size:,}</text>')
    parts.append(f'<path d="M {left} {top} V {bottom} H {right}" class="axis"/>')
    middle = (top + bottom) / 2
    centred = 'text-anchor="middle" class="ink"'
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 42}" {centred}>chunks (logarithmic)</text>')
    parts.append(f'<text transform="translate(16 {middle}) rotate(-90)" {centred}>{escape(unit)} (logarithmic)</text>')
    for name, points in reversed(series.items()):
        colour, width = COLOURS.get(name, "#000000"), 4 if name == "node" else 2
        line = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        for x, y in points:
            shown = f"{titles[name]}: {y:,.2f} at {int(x):,} chunks"
            circle = f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="{width + 1}" fill="{colour}">'
            parts.append(f"{circle}<title>{escape(shown)}</title></circle>")
    return "\n".join(parts)
