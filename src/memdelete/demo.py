"""
`memdelete demo`: a store made for it, and everything this library promises, played and proven.

Each line that claims something was computed a moment before; a proof that fails says so, and the
demo with it. Here memdelete also plays the memory server, so here are the statements with which a
server writes and searches.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import struct
import tempfile

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from attrs import define, field

from . import opening
from .backends.abc import Statement
from .backends.files import vec_path
from .backends.sqlite import SQLite, imported, loads_extensions
from .errors import MemdeleteError, Refused
from .filters import Before, Filter, Tags
from .filters import field as field_named
from .stores.demo import SCHEMA, VECTORS
from .testing.decoding import decoded
from .testing.wholeness import dump, integrity


if TYPE_CHECKING:
    from .backends.abc import Backend
    from .deleter import Deleter
    from .receipts import Preview, Receipt

__all__ = ["make", "play"]

Say = Callable[[str], object]
"""Takes one line of the story."""

NOTES = 300
_SEED = 20_240_101
_FIRST, _LAST = 1_704_067_200, 1_767_225_600  # 2024-01-01 and 2026-01-01, in UTC
_PINNED = Tags(any=["pinned"])
_STALE = Tags(any=["draft", "temporary"]) & Before("2025-01-01")
_WORD = "budget"

_PIECES = (
    ("The team", "Ana", "Bo", "The client", "Our vendor", "The auditor", "Nobody", "Support"),
    ("moved", "approved", "questioned", "forgot", "wrote down", "tested", "postponed", "repeated"),
    (
        "the budget for spring",
        "the API key rotation",
        "the onboarding plan",
        "the release checklist",
        "the holiday calendar",
        "the backup procedure",
        "the pricing table",
        "the meeting notes",
        "the budget of the test lab",
    ),
    ("on Monday", "in a hurry", "after lunch", "twice", "at the last minute", "with good reason"),
)
_INSERT = """
INSERT INTO demo_notes (id, hash, body, tags, project, created)
VALUES (:id, :hash, :body, :tags, :project, :created)
"""
_PROJECTS = ("atlas", "borealis", "cirrus", None)
_TAGS = ("draft", "temporary", "test", "testing", "idea", "decision", "pinned", "people")


def play(keep: str | None, say: Say) -> bool:
    """
    Make the store, at *keep* or for the moment, tell the story, and answer whether all proofs held.
    """
    with _place(keep) as path:
        made = make(path)
        with opening.open(path, protect=_PINNED, actor="demo") as memories:
            stage = _Stage(memories, path, say)
            for scene in (_opening, _one_word, _preview_it, _soft, _archive, _refusal, _journal):
                try:
                    scene(stage, made)
                except MemdeleteError as error:
                    stage.prove(f"{type(error).__name__}: {error}", holds=False)
                    break
        say("")
        good = not stage.failed
        say(
            f"All {stage.proofs} proofs hold."
            if good
            else f"{stage.failed} of {stage.proofs} proofs FAILED."
        )
        if keep is not None:
            say(f"The store is left in {path}; try: memdelete history {path}")

    return good


def make(path: Path) -> Mapping[str, int]:
    """
    A store of the demo's at *path*, always the same one; how many rows each of its tables got.
    """
    try:
        path.touch(exist_ok=False)
    except OSError as error:
        raise Refused(
            f"{path} cannot be made ({error.strerror})",
            guard="keep",
            advice="give a path where nothing is yet",
        ) from error
    backend, has_vectors = _writer(path)
    try:
        with backend.session(write=True) as session:
            session.begin(write=True)
            for sql in [*re.split(r";\n(?=CREATE)", SCHEMA), *([VECTORS] if has_vectors else [])]:
                session.execute(Statement(sql))
            counts: dict[str, int] = {}
            for sql, params in _rows(vectors=has_vectors):
                session.execute(Statement(sql, params))
                table = sql.split()[2]
                counts[table] = counts.get(table, 0) + 1
            session.commit()
    finally:
        backend.close()

    return counts


# --- the scenes -----------------------------------------------------------------------------


@define
class _Stage:
    """
    Where the story is told, and what was proven so far.
    """

    memories: Deleter
    path: Path
    say: Say
    proofs: int = 0
    failed: int = 0
    before: Any = None
    shown: Any = None
    receipts: list[Receipt] = field(factory=list)

    def title(self, text: str, meaning: str) -> None:
        """
        Begin a step, with what it means.
        """
        self.say(f"\n{text}\n  {meaning}")

    def tell(self, text: str) -> None:
        """
        Something measured.
        """
        for line in text.splitlines():
            self.say(f"    {line}")

    def prove(self, claim: str, *, holds: bool) -> None:
        """
        A claim, and whether it was found to be so.
        """
        self.proofs += 1
        self.failed += not holds
        self.say(f"    {'ok' if holds else 'FAILED'}: {claim}")

    def ask(self, sql: str, **params: object) -> Sequence[tuple[Any, ...]]:
        """
        What the memory server would see.
        """
        with self.memories.backend.session(write="integrity-check" in sql) as session:
            return session.execute(Statement(sql, params)).rows

    def image(self) -> Mapping[str, str]:
        """
        A digest of every table, bit for bit, and what the engine's own checks say.
        """
        found = {name: _digest(rows) for name, rows in dump(self.ask).items()}

        return found | {f"check of {name}": str(said) for name, said in integrity(self.ask).items()}


def _opening(stage: _Stage, made: Mapping[str, int]) -> None:
    stage.title(
        "A memory store",
        "One SQLite file, as a server might keep it. Pinned memories are protected.",
    )
    stage.tell(", ".join(f"{number} rows in {table}" for table, number in made.items()))
    if "demo_vectors" not in made:
        stage.tell("no vectors here: they come with `pip install 'memdelete[vec]'`")
    stage.tell(f"searching {_WORD!r} finds {_found(stage)}")
    stage.before = stage.image()
    stage.prove(
        "every check of the engine's own is fine",
        holds={said for name, said in stage.before.items() if name.startswith("check")} == {"ok"},
    )


def _one_word(stage: _Stage, _: Mapping[str, int]) -> None:
    stage.title("Tags are whole", "A tag is never part of another: `test` leaves `testing` alone.")
    like = stage.ask("SELECT count(*) FROM demo_notes WHERE tags LIKE '%test%'")[0][0]
    seen = _looked(stage, Tags(any=["test"]))
    has = seen.matched + seen.protected
    stage.tell(
        f"tags LIKE '%test%' finds {like}; {has} have the tag, {seen.protected} of them pinned"
    )
    stage.prove(
        f"{seen.matched} would go, the same as Python finds row by row", holds=_same(stage, seen)
    )


def _preview_it(stage: _Stage, _: Mapping[str, int]) -> None:
    stage.title(
        "Preview", "Say what to forget, and see exactly what that means. Nothing is written."
    )
    file = _digest(stage.path.read_bytes())
    stage.shown, took = _timed(lambda: stage.memories.preview(_STALE))
    seen: Preview = stage.shown
    stage.tell(str(seen))
    stage.tell(f"looked in {took}")
    stage.tell(
        f"{seen.unknown} have tags or a time that cannot be read: only what is certain goes, "
        "so they stay"
    )
    stage.prove(
        "the file is the same, byte for byte", holds=file == _digest(stage.path.read_bytes())
    )
    stage.prove("Python, asked row by row, selects the same rows", holds=_same(stage, seen))


def _soft(stage: _Stage, made: Mapping[str, int]) -> None:
    stage.title("Delete that preview", "Exactly those rows, in one transaction, or PreviewStale.")
    seen: Preview = stage.shown
    [key, *_] = seen.keys["notes"]
    neighbour = _nearest(stage, key) if "demo_vectors" in made else None
    words = _found(stage)
    receipt, took = _timed(lambda: stage.memories.delete(seen, reason="spring clean"))
    stage.receipts.append(receipt)
    stage.tell(str(receipt))
    stage.tell(f"deleted in {took}")
    live = stage.ask("SELECT id FROM demo_notes WHERE deleted IS NULL")
    gone = set(seen.keys["notes"])
    stage.prove("none of them is live any more", holds=not gone & {row[0] for row in live})
    stage.prove(
        "what is left is everything else",
        holds=len(live) == made["demo_notes"] - receipt.removed,
    )
    stage.tell(f"searching {_WORD!r} found {words}, and now {_found(stage)}")
    stage.prove("the search finds none of them", holds=not gone & set(_search(stage)))
    if neighbour is not None:
        now = _nearest(stage, key)
        stage.tell(f"nearest to the vector of note {key} was note {neighbour}, and now {now}")
        stage.prove("no vector of theirs is found", holds=neighbour == key and now not in gone)
    _undo(stage)


def _archive(stage: _Stage, _: Mapping[str, int]) -> None:
    stage.title(
        "Archive", "The rows leave their tables, with all that hangs on them, into the bin."
    )
    receipt, took = _timed(lambda: stage.memories.delete(_STALE, mode="archive"))
    stage.receipts.append(receipt)
    stage.tell(str(receipt))
    stage.tell(f"archived in {took}")
    ids = set(receipt.keys["notes"])
    there = {row[0] for row in stage.ask("SELECT id FROM demo_notes")}
    words = stage.ask("SELECT rowid FROM demo_text WHERE demo_text MATCH :word", word=_WORD)
    stage.prove("no row of theirs is in the table", holds=not ids & there)
    stage.prove("no word of theirs is in the index", holds=not ids & {row[0] for row in words})
    _undo(stage)


def _refusal(stage: _Stage, _: Mapping[str, int]) -> None:
    stage.title("Too many", "A ceiling is no cap: more matches than that, and nothing goes at all.")
    wish = field_named("project").eq("atlas")
    count = _looked(stage, wish).matched
    try:
        stage.memories.delete(wish, mode="hard", at_most=count - 1)
    except Refused as refused:
        stage.tell(f"Refused: {refused}")
        holds = refused.found == count
    else:
        holds = False
    stage.prove("refused, with both numbers", holds=holds)
    stage.prove("nothing was changed", holds=stage.before == stage.image())


def _journal(stage: _Stage, _: Mapping[str, int]) -> None:
    stage.title("History", "Each operation that was committed, and no word of any memory.")
    entries = stage.memories.history()
    stage.tell("\n".join(map(str, entries)))
    ours = [receipt.operation for receipt in stage.receipts]
    told = {entry.operation for entry in entries}
    text = json.dumps([entry.to_dict() for entry in entries])
    bodies = [row[0] for row in stage.ask("SELECT body FROM demo_notes")]
    stage.prove("each of the above is there", holds=set(ours) <= told)
    stage.prove("no text of a memory is", holds=not any(body in text for body in bodies))


def _undo(stage: _Stage) -> None:
    receipt, during = stage.receipts[-1], stage.image()
    missing = _differing(stage.before, during)
    back, took = _timed(lambda: stage.memories.restore(receipt))
    stage.tell(f"what differs from before: {', '.join(missing) or 'nothing'}")
    stage.tell(f"undone in {took}: {back.restored} restored, {len(back.refused)} refused")
    after = stage.image()
    differ = _differing(stage.before, after)
    stage.prove("as many came back as went", holds=back.restored == receipt.removed)
    stage.prove(
        f"not as before: {', '.join(differ)}" if differ else f"all as before: {', '.join(after)}",
        holds=not differ and bool(missing),
    )


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


# --- what a server would ask ----------------------------------------------------------------


def _search(stage: _Stage) -> list[int]:
    found = stage.ask(
        "SELECT demo_notes.id FROM demo_text JOIN demo_notes ON demo_notes.id = demo_text.rowid"
        " WHERE demo_text MATCH :word AND demo_notes.deleted IS NULL",
        word=_WORD,
    )

    return [row[0] for row in found]


def _found(stage: _Stage) -> int:
    return len(_search(stage))


def _nearest(stage: _Stage, key: object) -> int:
    """
    The note whose vector is nearest to that of note *key*, as it was made from its text.
    """
    [(body,)] = stage.ask("SELECT body FROM demo_notes WHERE id = :id", id=key)
    [(found,)] = stage.ask(
        "SELECT rowid FROM demo_vectors WHERE embedding MATCH :like AND k = 1", like=_vector(body)
    )

    return int(found)


def _looked(stage: _Stage, what: Filter) -> Preview:
    return stage.memories.preview(what)


def _same(stage: _Stage, seen: Preview) -> bool:
    """
    Does the filter, asked in Python about each live row, select what the preview says?
    """
    [collection] = stage.memories.store.collections
    names = tuple(collection.columns)
    rows = stage.ask(f"SELECT {', '.join(names)} FROM demo_notes WHERE deleted IS NULL")  # noqa: S608 - our own names
    memories = [decoded(collection, dict(zip(names, row, strict=True))) for row in rows]
    spared = ~_PINNED
    taken = {each.key for each in memories if seen.filter.matches(each) and spared.matches(each)}

    return taken == set(seen.keys.get("notes", ())) and len(taken) == seen.matched


# --- the store ------------------------------------------------------------------------------


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    if keep is not None:
        yield Path(keep)
        return
    with tempfile.TemporaryDirectory(prefix="memdelete-demo-") as folder:
        yield Path(folder, "memory.db")


def _writer(path: Path) -> tuple[Backend, bool]:
    """
    Who can write the store, with vectors where anything at hand can load vec0.
    """
    vec = vec_path()
    if vec is None:
        return SQLite(path), False
    if loads_extensions():
        return SQLite(path, extensions=[vec]), True
    if find_spec("apsw"):
        from .backends.apsw import APSW  # noqa: PLC0415 - only where it is needed

        return APSW(path, extensions=[vec]), True
    for name in ("pysqlite3", "sqlean"):
        if find_spec(name) and loads_extensions(module := imported(name)):
            return SQLite(path, module=module, extensions=[vec]), True

    return SQLite(path), False


def _rows(*, vectors: bool) -> Iterator[tuple[str, dict[str, object]]]:
    """
    What the server wrote in two years: statements with their values.
    """
    dice = random.Random(_SEED)  # noqa: S311 - the same store each time
    hashes: list[str] = []
    for number in range(1, NOTES + 1):
        body = f"{' '.join(map(dice.choice, _PIECES))} (note {number})."
        hashes.append(hashlib.sha256(body.encode()).hexdigest())
        tags = json.dumps(dice.sample(_TAGS, dice.choice((0, 1, 1, 2, 3))))
        created: object = dice.uniform(_FIRST, _LAST)
        if number % 60 == 0:
            tags = "draft, in some older form"  # as real stores have them: no list any more
        if number % 75 == 0:
            created = "some time in spring"
        yield (
            _INSERT,
            {
                "id": number,
                "hash": hashes[-1],
                "body": body,
                "tags": tags,
                "project": dice.choice(_PROJECTS),
                "created": created,
            },
        )
        if vectors:
            yield (
                "INSERT INTO demo_vectors (rowid, embedding) VALUES (:id, :embedding)",
                {"id": number, "embedding": _vector(body)},
            )
    links = {tuple(dice.sample(hashes, 2)) for _ in range(NOTES // 2)}
    for source, target in sorted(links):
        yield (
            "INSERT INTO demo_links (source, target) VALUES (:source, :target)",
            {"source": source, "target": target},
        )


def _vector(text: str) -> bytes:
    """
    Eight numbers made from the words: texts that share words are near to each other.
    """
    sums = [0.0] * 8
    for word in re.findall(r"\w+", text.lower()):
        for place, byte in enumerate(hashlib.sha256(word.encode()).digest()[:8]):
            sums[place] += byte - 127.5
    length = math.hypot(*sums)

    return struct.pack("<8f", *[number / length for number in sums])


def _digest(what: object) -> str:
    return hashlib.sha256(what if isinstance(what, bytes) else repr(what).encode()).hexdigest()


def _timed(act: Callable[[], Any]) -> tuple[Any, str]:
    start = perf_counter()
    result = act()

    return result, f"{(perf_counter() - start) * 1000:.0f} ms"
