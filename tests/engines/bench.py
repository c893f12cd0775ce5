"""A node beside the engines that a user would pick instead: one run, the same documents, the same questions.

Every figure of an engine stands beside its ratio to the node in the same run: how many times as long the node takes, or
how many times as much it uses. Searches are interleaved, a few questions of one engine after a few of the other, so that
whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import documents
import figure
import report
from engines import ENGINES, Engine, Node, views
from processes import Failed, Peak, disk, memory

ROOM = Path(__file__).resolve().parent
#: Questions that one engine is asked before the next one's turn.
TURN = 20
#: Bytes on the disk that a chunk takes at most, over all engines, with room for merges.
DISK_PER_CHUNK = 35_000


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/engines/run", description=__doc__.split("\n\n")[0])
    flag = parser.add_argument
    flag("--chunks", default="10000,100000", metavar="N,…", help="sizes of the collection (%(default)s)")
    others = ", ".join(list(ENGINES)[1:])
    flag("--engines", default="", metavar="NAME,…", help=f"only these beside the node: {others}")
    flag("--questions", type=int, default=200, metavar="N", help="questions of a round (%(default)s)")
    flag("--rounds", type=int, default=3, metavar="N", help="rounds that count, after one that warms (%(default)s)")
    flag("--top", type=int, default=10, metavar="K", help="results of a question (%(default)s)")
    flag("--seed", type=int, default=1, metavar="N", help="of documents and questions (%(default)s)")
    most = "most that one engine may take for one collection"
    flag("--ingest-seconds", type=float, default=1200, metavar="S", help=f"{most} (%(default)s)")
    flag("--search-seconds", type=float, default=60, metavar="S", help=f"{most}'s questions (%(default)s)")
    flag("--work", type=Path, metavar="DIR", help="where a folder to work in is made, instead of the system's place")
    flag("--keep", action="store_true", help="leave that folder")
    flag("--json", action="store_true", help="print JSON instead of Markdown")
    flag("--save", type=Path, metavar="FILE", help="write the JSON here too")
    flag("--plot", type=Path, metavar="FILE", help="draw the figure here, as SVG")
    together = "measure nothing: show together what earlier runs saved"
    flag("--from", type=Path, dest="saved", nargs="+", metavar="FILE", help=together)
    flag("--plumb", type=Path, default=Node.binary, metavar="FILE", help="the node's program, instead of building it")
    asked = parser.parse_args()
    try:
        if not re.fullmatch(r"[1-9][0-9_]*(,[1-9][0-9_]*)*", asked.chunks):
            raise ValueError("numbers with commas between are wanted, such as 10000,100_000")
        asked.sizes = sorted({int(size) for size in asked.chunks.split(",")})
        asked.part_size = documents.part_size_of(asked.sizes)
    except ValueError as error:
        parser.error(f"--chunks {asked.chunks}: {error}")
    names = [name for name in asked.engines.split(",") if name]
    if unknown := [name for name in names if name not in ENGINES]:
        parser.error(f"no engine {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    asked.names = ["node", *(name for name in ENGINES if name != "node" and (name in names or not names))]
    Node.binary = asked.plumb.absolute()
    return asked


def machine() -> dict[str, Any]:
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    total = int(Path("/proc/meminfo").read_text().split()[1]) >> 20
    return {
        "cores": os.cpu_count(), "processor": cpus[0].split(": ", 1)[1] if cpus else platform.machine(),
        "memory_gib": total, "load_before": round(os.getloadavg()[0], 1),
    }


def ingest(engine: Engine, parts: list[Path], n: int, seconds: float) -> dict[str, Any]:
    """Starts an engine and lets it take everything in."""
    engine.start()
    begun = time.monotonic()
    with Peak(engine.pid()) as peak:
        took_in = engine.ingest(parts, begun + seconds)
        took = time.monotonic() - begun
    chunks = took_in if isinstance(engine, Node) else took_in * (n // len(parts))
    result: dict[str, Any] = {
        "chunks": chunks, "seconds": took, "per_second": chunks / took, "complete": chunks == n,
        "disk": disk(engine.home), "peak_resident": peak.resident, "peak_own": peak.own,
    }
    say(f"{n:,} chunks, {engine.title}: {result['per_second']:,.0f}/s, {took:.1f} s, "
        f"{result['disk'] / 1e6:.0f} MB on disk, {peak.own / 1e6:.0f} MB of memory")
    if isinstance(engine, Node):
        # What each part of its home takes: its store, its index.
        result["curve"] = engine.curve
        result["parts"] = {path.name: disk(path) for path in engine.home.iterdir() if path.is_dir()}
    return result


def search(engines: list[Engine], questions: list[list[str]], asked: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Asks everybody everything, in turns. The first round warms; in each round everybody has the same time."""
    share = asked.search_seconds / (asked.rounds + 1)
    times: dict[str, dict[str, float]] = {engine.name: {} for engine in engines}
    found: dict[str, dict[int, list[str]]] = {engine.name: {} for engine in engines}
    broken: dict[str, str] = {}
    for turn in range(asked.rounds + 1):
        spent = dict.fromkeys(times, 0.0)
        for start in range(0, len(questions), TURN):
            shift = start // TURN + turn
            for place in range(len(engines)):
                engine = engines[(place + shift) % len(engines)]
                for n, words in list(enumerate(questions))[start : start + TURN]:
                    if spent[engine.name] >= share or engine.name in broken:
                        break
                    try:
                        timed = engine.search(words, asked.top)
                    except Exception as error:  # Whatever goes wrong in one engine, the others are measured.
                        broken[engine.name] = why(error)
                        say(f"{engine.title} is asked no more: {broken[engine.name]}")
                        break
                    spent[engine.name] += timed.seconds
                    found[engine.name][n] = timed.ids
                    if turn > 0:
                        times[engine.name][f"{turn}.{n}"] = timed.seconds
        took = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items())
        say(f"round {turn} of {asked.rounds}: {took}")
    return {
        engine.name: {
            "times": times[engine.name],
            "agreement": agreement(found[engine.name], found["node"]),
            "n_asked": len(times[engine.name]),
            "failed": broken.get(engine.name),
        }
        for engine in engines
    }


def why(error: Exception) -> str:
    """What went wrong, in words."""
    return str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"


def agreement(these: dict[int, list[str]], those: dict[int, list[str]]) -> float | None:
    """How much of the node's results an engine has too, over the questions that both answered."""
    both = [(set(ids), set(those[n])) for n, ids in these.items() if those.get(n) and ids]
    return sum(len(a & b) / len(b) for a, b in both) / len(both) if both else None


def measure(
    n: int, work: Path, texts: documents.Documents, questions: list[list[str]], asked: argparse.Namespace
) -> dict[str, Any]:
    """One collection: everybody takes it in, one after the other, then all are asked in turns."""
    results: dict[str, dict[str, Any]] = {}
    parts = texts.first(n)
    engines: list[Engine] = []
    with ExitStack() as started:
        for name in asked.names:
            engine = ENGINES[name](work / f"{name}-{n}")
            started.callback(shutil.rmtree, engine.home, ignore_errors=True)
            started.callback(engine.stop)
            results[name] = {"title": engine.title, "way": engine.way, "remark": engine.remark}
            try:
                results[name]["ingest"] = ingest(engine, parts, n, asked.ingest_seconds)
            except Exception as error:  # Whatever goes wrong in one engine, the others are measured.
                if isinstance(engine, Node):
                    raise
                results[name]["failed"] = why(error)
                say(f"{engine.title} is left out at {n:,} chunks: {why(error)}")
                engine.stop()
                continue
            if not results[name]["ingest"]["complete"]:
                # It is searched all the same; the tables say of how many.
                results[name]["title"] += f" ({results[name]['ingest']['chunks']:,} chunks)"
                say(f"{engine.title} took in {results[name]['ingest']['chunks']:,} of {n:,} in time")
            engines.append(engine)
            if isinstance(engine, Node):
                for view in views(engine):
                    results[view.name] = {"title": view.title, "way": view.way, "remark": view.remark}
                    engines.append(view)
        for name, result in search(engines, questions, asked).items():
            results[name]["search"] = result
        for engine in engines:
            # One that died has nothing left to look at.
            if engine.name in asked.names and not results[engine.name]["search"]["failed"]:
                resident, own = memory(engine.pid())
                results[engine.name]["memory_after"] = {"resident": resident, "own": own}
    return {"chunks": n, "engines": results}


def run(asked: argparse.Namespace) -> dict[str, Any]:
    missing = {name: reason for name in asked.names if (reason := ENGINES[name].missing())}
    if "node" in missing:
        raise Failed(missing["node"])
    for name, reason in missing.items():
        say(f"{ENGINES[name].title} is left out. {reason}")
    asked.names = [name for name in asked.names if name not in missing]
    for file in (asked.save, asked.plot):
        if file and not file.absolute().parent.is_dir():
            raise Failed(f"{file} cannot be written: there is no folder {file.parent}")
    work = Path(tempfile.mkdtemp(prefix="plumb-engines-", dir=asked.work))
    work.chmod(0o711)  # A server that refuses root runs as somebody else, and must reach its folder.
    try:
        n_max = asked.sizes[-1]
        free = shutil.disk_usage(work).free
        if free < n_max * DISK_PER_CHUNK:
            wanted = f"{n_max:,} chunks may take {n_max * DISK_PER_CHUNK / 1e9:.0f}"
            say(f"{work} has {free / 1e9:.0f} GB free, and {wanted}; --work names another place")
        say(f"writing {n_max:,} chunks of {documents.CHUNK_WORDS} words, seed {asked.seed}")
        texts, words = documents.write(work / "documents", n_max, asked.part_size, asked.seed)
        questions = documents.questions(texts.parts[0], words, asked.questions, asked.seed)
        results = {
            "machine": machine(), "seed": asked.seed, "chunk_words": documents.CHUNK_WORDS,
            "chunk_bytes": texts.n_bytes // n_max, "questions": asked.questions, "rounds": asked.rounds, "top": asked.top,
            "left_out": missing, "sizes": [],
        }
        for n in asked.sizes:
            results["sizes"].append(measure(n, work, texts, questions, asked))
            save(results, asked)  # What was measured is not lost with what comes after it.
        return results
    finally:
        if not asked.keep:
            shutil.rmtree(work, ignore_errors=True)


def save(results: dict[str, Any], asked: argparse.Namespace) -> None:
    if asked.save:
        asked.save.write_text(json.dumps(results, indent=1) + "\n")
    if asked.plot:
        asked.plot.write_text(figure.draw(results))


def merged(files: list[Path]) -> dict[str, Any]:
    """Several runs as one: the first says what the machine is; of each size the last one counts."""
    runs = [json.loads(path.read_text()) for path in files]
    sizes = {size["chunks"]: size for one in runs for size in one["sizes"]}
    return {**runs[0], "sizes": [sizes[n] for n in sorted(sizes)]}


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = arguments()
    try:
        results = merged(asked.saved) if asked.saved else run(asked)
    except (Failed, OSError) as error:
        print(f"tests/engines/run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if asked.saved:
        save(results, asked)
    print(json.dumps(results) if asked.json else report.markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
