"""Processes that this program starts: what they use, and that they end. Each is ended by its own id."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

STOP_SECONDS = 20
SAMPLE_SECONDS = 0.25
MIB = 1 << 20


class Failed(Exception):
    """Something could not be done; the text says what, and what to do about it."""


class Slow(Failed):
    """Something took longer than it was given."""


def run(args: Sequence[str | os.PathLike[str]], seconds: float = 120, **more: Any) -> str:
    """Runs a command that must succeed, and gives its output."""
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=seconds, check=False, **more)
    except subprocess.TimeoutExpired as error:
        raise Slow(f"`{args[0]}` took longer than {seconds:.0f} s") from error
    if done.returncode != 0:
        shown = " ".join(str(arg) for arg in args[:6])
        raise Failed(f"`{shown} …` ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def stop(process: subprocess.Popen[Any], how: signal.Signals = signal.SIGTERM) -> None:
    """Ends a process that was started here, and waits until it has ended."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def tree(pid: int) -> list[int]:
    """A process and those that it started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid] + [below for child in children for below in tree(int(child))]


def memory(pid: int) -> tuple[int, int]:
    """Bytes of memory of a process and its children: all, mapped files among it, and what is no file. What several of
    them share counts once."""
    resident = own = 0
    for each in tree(pid):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines[1:] if line.endswith("kB")}
        resident += sizes.get("Pss", 0)
        own += sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0)
    return resident, own


class Peak:
    """The most memory that a process used between entering and leaving."""

    def __init__(self, pid: int) -> None:
        self.pid, self.resident, self.own = pid, 0, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _sample(self) -> None:
        resident, own = memory(self.pid)
        self.resident, self.own = max(self.resident, resident), max(self.own, own)

    def _watch(self) -> None:
        while not self.ended.wait(SAMPLE_SECONDS):
            self._sample()

    def __enter__(self) -> Peak:
        self._sample()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self._sample()


def disk(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue  # An engine may remove a file while it is counted.
    return total


def wait_for(what: str, seconds: float, ready: Callable[[], Any], process: subprocess.Popen[Any], log: Path) -> Any:
    """Waits until `ready` gives something; a process that ends meanwhile ends the wait."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = ready()
        if value:
            return value
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise Failed(f"{what} did not become ready within {seconds:.0f} s; {end_of(log)}")


def end_of(log: Path) -> str:
    """The end of a log, for whoever has to find out what went wrong."""
    text = log.read_text(errors="replace").strip() if log.exists() else ""
    return f"the end of its log:\n{text[-2000:]}" if text else "its log is empty"
