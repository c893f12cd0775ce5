"""An engine that is a library, in a process of its own: so its memory is its own, and it can be given up on.

It reads one order a line from standard input and writes one answer a line to standard output, both JSON. It runs under
whichever Python has the engine, and needs nothing else of it. A search ends when the texts of its results are there.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents  # noqa: E402


class Tantivy:
    """The library that a node's text index is made of, through its Python package; one thread, as in a node."""

    HEAP = 64 << 20

    def __init__(self, home: Path) -> None:
        import tantivy

        self.tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("body", stored=True, index_option="freq")
        self.schema = builder.build()
        self.index = tantivy.Index(self.schema, path=str(home))
        self.writer = self.index.writer(heap_size=self.HEAP, num_threads=1)

    def add(self, chunks: list[tuple[str, str]]) -> None:
        for name, body in chunks:
            self.writer.add_document(self.tantivy.Document(id=name, body=body))

    def finish(self) -> None:
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, words: list[str], k: int) -> list[tuple[str, str]]:
        query = self.tantivy.Query
        should = self.tantivy.Occur.Should
        terms = [(should, query.term_query(self.schema, "body", word, "freq")) for word in words]
        found = self.searcher.search(query.boolean_query(terms), k, count=False).hits
        documents = (self.searcher.doc(address) for _, address in found)
        return [(document["id"][0], document["body"][0]) for document in documents]


class Fts5:
    """SQLite's full text index; one transaction a file."""

    def __init__(self, home: Path) -> None:
        self.db = sqlite3.connect(home / "chunks.db")
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("CREATE VIRTUAL TABLE chunks USING fts5(id UNINDEXED, body, tokenize = 'unicode61')")

    def add(self, chunks: list[tuple[str, str]]) -> None:
        with self.db:
            self.db.executemany("INSERT INTO chunks (id, body) VALUES (?, ?)", chunks)

    def finish(self) -> None:
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def search(self, words: list[str], k: int) -> list[tuple[str, str]]:
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self.db.execute("SELECT id, body FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?", (match, k))
        return rows.fetchall()


class Xapian:
    """Xapian with its own BM25; it flushes as it sees fit, and commits at the end."""

    def __init__(self, home: Path) -> None:
        import xapian

        self.xapian = xapian
        self.db = xapian.WritableDatabase(str(home / "chunks"), xapian.DB_CREATE_OR_OPEN)
        self.generator = xapian.TermGenerator()

    def add(self, chunks: list[tuple[str, str]]) -> None:
        for name, body in chunks:
            document = self.xapian.Document()
            self.generator.set_document(document)
            self.generator.index_text_without_positions(body)
            document.set_data(f"{name}\n{body}")
            self.db.add_document(document)

    def finish(self) -> None:
        self.db.commit()

    def search(self, words: list[str], k: int) -> list[tuple[str, str]]:
        enquire = self.xapian.Enquire(self.db)
        enquire.set_query(self.xapian.Query(self.xapian.Query.OP_OR, words))
        found = (match.document.get_data().decode().partition("\n") for match in enquire.get_mset(0, k))
        return [(name, body) for name, _, body in found]


ENGINES = {"tantivy": Tantivy, "fts5": Fts5, "xapian": Xapian}


def answer(engine: Any, order: dict[str, Any]) -> dict[str, Any]:
    if order["do"] == "ingest":
        begun = time.perf_counter()
        engine.add(documents.read(Path(order["part"])))
        return {"seconds": time.perf_counter() - begun}
    if order["do"] == "finish":
        begun = time.perf_counter()
        engine.finish()
        return {"seconds": time.perf_counter() - begun}
    begun = time.perf_counter()
    found = engine.search(order["words"], order["k"])
    return {"seconds": time.perf_counter() - begun, "ids": [name for name, _ in found]}


def main() -> None:
    engine = ENGINES[sys.argv[1]](Path(sys.argv[2]))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(engine, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
