"""What was measured, as Markdown."""

from __future__ import annotations

from typing import Any

MEGA = 1e6
#: Ways to ask the node that take nothing in.
VIEWS = ("stages", "live")


def at(times: list[float], percent: int) -> float:
    """The value at a percentile."""
    ordered = sorted(times)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)]


def percentile(engine: dict[str, Any], percent: int) -> float | None:
    times = list(engine.get("search", {}).get("times", {}).values())
    return at(times, percent) if times else None


def times_as_long(engine: dict[str, Any], node: dict[str, Any], percent: int) -> float | None:
    """How many times as long the node takes, over the questions that both were asked."""
    theirs, ours = (one.get("search", {}).get("times", {}) for one in (engine, node))
    both = theirs.keys() & ours.keys()
    return at([ours[q] for q in both], percent) / at([theirs[q] for q in both], percent) if both else None


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:,.0f} ms"


def times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}"


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def markdown(results: dict[str, Any]) -> str:
    machine = results["machine"]
    lines = [
        f"Machine: {machine['cores']} cores, {machine['processor']}, {machine['memory_gib']} GiB; load {machine['load_before']} "
        f"before the run. Chunks of {results['chunk_words']} words ({results['chunk_bytes']} bytes), seed {results['seed']}; "
        f"{results['questions']} questions of 2 to 4 words, top {results['top']}, {results['rounds']} rounds. "
        "*×* is how many times as long the node takes, or as much it uses: above 1 the engine is better.",
    ]
    for size in results["sizes"]:
        lines += ["", f"### {size['chunks']:,} chunks", "", *searches(size), "", *ingests(size)]
    engines = results["sizes"][0]["engines"].values()
    lines += ["", *(f"- {engine['title']}: {engine['remark']}." for engine in engines if "remark" in engine)]
    if results["left_out"]:
        lines += ["", *(f"Left out: {name}. {reason}" for name, reason in results["left_out"].items())]
    return "\n".join(lines)


def searches(size: dict[str, Any]) -> list[str]:
    engines, node = size["engines"], size["engines"]["node"]
    lines = [
        row("search", "asked by", "p50", "×", "p95", "×", "same ten", "n"),
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for engine in engines.values():
        p50, p95 = (percentile(engine, percent) for percent in (50, 95))
        if p50 is None:
            continue
        found = engine["search"]
        both_whole = node["ingest"]["complete"] and engine.get("ingest", node["ingest"])["complete"]
        same = f"{found['agreement'] * 100:.0f} %" if both_whole and found["agreement"] is not None else ""
        ratios = [times(times_as_long(engine, node, percent)) for percent in (50, 95)]
        shown = [milliseconds(p50), ratios[0], milliseconds(p95), ratios[1], same, str(found["n_asked"])]
        lines.append(row(engine["title"], engine["way"], *shown))
    return lines


def ingests(size: dict[str, Any]) -> list[str]:
    engines, ours = size["engines"], size["engines"]["node"]["ingest"]
    lines = [
        row("ingest", "chunks/s", "×", "disk", "×", "memory at most", "×", "with mapped files"),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, engine in engines.items():
        if name in VIEWS:
            continue
        if "failed" in engine:
            lines.append(row(engine["title"], "failed: " + engine["failed"].splitlines()[0][:200], *[""] * 6))
            continue
        took = engine["ingest"]
        lines.append(row(
            engine["title"] + ("" if took["complete"] else f" in {took['seconds']:.0f} s"),
            f"{took['per_second']:,.0f}", times(took["per_second"] / ours["per_second"]),
            f"{took['disk'] / MEGA:,.0f} MB", times(ours["disk"] / ours["chunks"] / took["disk"] * took["chunks"]),
            f"{memory_at_most(engine) / MEGA:,.0f} MB", times(memory_at_most(engines["node"]) / memory_at_most(engine)),
            f"{memory_at_most(engine, 'resident') / MEGA:,.0f} MB",
        ))
    return lines


def memory_at_most(engine: dict[str, Any], kind: str = "own") -> int:
    """The most memory, of the ingest and of the searches: `own`, or `resident` with mapped files."""
    return max(engine["ingest"][f"peak_{kind}"], engine.get("memory_after", {}).get(kind, 0))
