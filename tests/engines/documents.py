"""Documents and questions from a seed: the same for every engine, and the same again tomorrow.

A chunk has a title of one word and sentences of 57 to 97, drawn from 100,000 made-up words after Zipf's law: the n-th
word comes n times as rarely as the first. A node counts a title three times, so every engine gets it three times: 80
words, on average. A question has 2 to 4 words of one chunk, none of them among the 100 most frequent words, which in a
natural language would be "the" and "of" and are asked for by nobody.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import dataclass
from pathlib import Path

TITLE_WEIGHT = 3
TEXT_WORDS = (57, 97)
CHUNK_WORDS = TITLE_WEIGHT + sum(TEXT_WORDS) // 2
VOCABULARY = 100_000
FREQUENT = 100
PART_MAX = 10_000
PART_MIN = 1_000


@dataclass(frozen=True)
class Documents:
    """Files of JSON Lines, each with as many chunks as the others."""

    parts: list[Path]
    part_size: int
    n_bytes: int

    def first(self, n: int) -> list[Path]:
        """The files with the first `n` chunks."""
        return self.parts[: n // self.part_size]


def part_size_of(sizes: list[int]) -> int:
    """The largest size of a file of which every collection is a multiple."""
    size = math.gcd(PART_MAX, *sizes)
    if size < PART_MIN:
        raise ValueError(f"numbers of chunks must be multiples of {PART_MIN:,}")
    return size


def vocabulary(seed: int) -> list[str]:
    """Made-up words, the most frequent first: pronounceable, distinct, four letters or more, the frequent ones shorter."""
    rng = random.Random(f"{seed}/words")
    onsets = [*"bdfgklmnprstvz", "br", "dr", "fl", "gr", "kl", "pr", "sk", "st", "tr"]
    vowels = "aiou"
    seen: set[str] = set()
    words: list[str] = []
    while len(words) < VOCABULARY:
        n_syllables = 2 if len(words) < 2_000 else rng.choice((3, 3, 4))
        word = "".join(rng.choice(onsets) + rng.choice(vowels) for _ in range(n_syllables))
        if word not in seen:
            seen.add(word)
            words.append(word)
    return words


def write(folder: Path, n: int, part_size: int, seed: int) -> tuple[Documents, list[str]]:
    """Writes `n` chunks into files of `part_size`, and gives the words they are made of."""
    words = vocabulary(seed)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    folder.mkdir(parents=True, exist_ok=True)
    parts, n_bytes = [], 0
    for part in range(n // part_size):
        path = folder / f"part-{part:05}.jsonl"
        rng = random.Random(f"{seed}/{part_size}/{part}")
        lines = []
        for i in range(part * part_size, (part + 1) * part_size):
            title, *text = rng.choices(words, cum_weights=weights, k=1 + rng.randint(*TEXT_WORDS))
            record = {"id": f"d{i:07}", "title": title, "text": prose(text, rng)}
            lines.append(json.dumps(record))
        data = "\n".join(lines) + "\n"
        path.write_text(data)
        n_bytes += len(data)
        parts.append(path)
    return Documents(parts, part_size, n_bytes), words


def prose(words: list[str], rng: random.Random) -> str:
    """The words as sentences of 8 to 14."""
    sentences, at = [], 0
    while at < len(words):
        end = at + rng.randint(8, 14)
        sentences.append(" ".join(words[at:end]).capitalize() + ".")
        at = end
    return " ".join(sentences)


def questions(part: Path, words: list[str], n: int, seed: int) -> list[list[str]]:
    """Questions to which the first file has answers, so that collections of every size have."""
    rng = random.Random(f"{seed}/questions")
    frequent = set(words[:FREQUENT])
    records = [json.loads(line) for line in part.read_text().splitlines()]
    asked = []
    for _ in range(n):
        record = rng.choice(records)
        rare = sorted(set(record["text"].lower().replace(".", "").split()) - frequent)
        asked.append(rng.sample(rare, rng.randint(2, 4)))
    return asked


def read(part: Path) -> list[tuple[str, str]]:
    """The chunks of a file: id, and title and text as one body, as a node indexes them."""
    records = (json.loads(line) for line in part.read_text().splitlines())
    return [(record["id"], f"{record['title']}\n" * TITLE_WEIGHT + record["text"]) for record in records]
