"""
mcp-memory-service: the real file of 12.4, and every older shape of its tables.
"""

from __future__ import annotations

import shutil

from collections.abc import Iterator
from pathlib import Path

import pytest

import memdelete.opening

from memdelete.backends.sqlite import SQLite
from memdelete.deleter import Deleter
from memdelete.filters import (
    After,
    Before,
    Between,
    Everything,
    Filter,
    Hash,
    Key,
    Tags,
    field,
)
from memdelete.receipts import Mode
from memdelete.stores import recognise
from tests.conftest import require
from tests.gardens import checks, eyes, whole


NAME = "mcp-memory-service-12.4.db"
LEDGERS = ("sync_events", "metadata")
TAG = "(',' || replace(coalesce(tags, ''), ', ', ',') || ',') GLOB '*,{},*'"

# Filters of growing size, each beside the SQL that a careful person would write for it.
FILTERS: list[tuple[Filter, str]] = [
    (Key(17), "id = 17"),
    (Key(17, 19, 300), "id IN (17, 19, 300)"),
    (Tags(all=["draft", "it's"]), TAG.format("draft") + " AND " + TAG.format("it''s")),
    (field("memory_type").eq("note"), "memory_type = 'note'"),
    (Tags(any=["draft"]), TAG.format("draft")),
    (
        Tags(any=["draft", "testing"]) & Before("2024-07-01"),
        f"({TAG.format('draft')} OR {TAG.format('testing')}) AND created_at < 1719792000",
    ),
    (Between("2024-03-01", "2024-09-01"), "created_at >= 1709251200 AND created_at < 1725148800"),
    (field("content").contains("alpha"), "instr(content, 'alpha') > 0"),
    (
        After("2024-01-01") & ~Tags(any=["pinned"]),
        f"created_at > 1704067200 AND NOT {TAG.format('pinned')}",
    ),
    (Everything(), "1"),
]


@pytest.fixture
def path(shared_dir: Path, tmp_path: Path) -> Path:
    """
    A copy of the real file.
    """
    return Path(shutil.copy(shared_dir / "stores" / NAME, tmp_path / "memory.db"))


@pytest.fixture
def memories(path: Path) -> Iterator[Deleter]:
    """
    The real file, opened as a user opens it.
    """
    require("apsw")
    require("sqlite_vec")
    with memdelete.opening.open(path) as deleter:
        yield deleter


def _selected(path: Path, sql: str) -> list[str]:
    with eyes(path) as rows:
        found = rows(
            f"SELECT content_hash FROM memories WHERE deleted_at IS NULL AND ({sql}) ORDER BY id"
        )

    return [str(row[0]) for row in found]


def _sizes(path: Path) -> dict[str, int]:
    names = ("memories", "memory_embeddings", "memory_content_fts_docsize", "memory_graph")
    with eyes(path) as rows:
        return {name: int(rows(f"SELECT count(*) FROM {name}")[0][0]) for name in names}  # type: ignore[call-overload]


def test_the_filters_grow(path: Path) -> None:
    """
    The ten filters select something, and more and more.
    """
    sizes = [len(_selected(path, sql)) for _, sql in FILTERS]

    assert min(sizes) > 0
    assert len(FILTERS) == 10
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("mode", ["soft", "archive", "hard"])
@pytest.mark.parametrize(("what", "sql"), FILTERS, ids=[str(what) for what, _ in FILTERS])
class TestDeleting:
    """
    Each mode with each of the ten filters.
    """

    def test_exactly_these(self, path: Path, memories: Deleter, what, sql, mode: Mode) -> None:
        """
        Preview and delete take what hand-written SQL selects, and each table loses what was said.
        """
        expected = _selected(path, sql)
        before = _sizes(path)
        shown = memories.preview(what, mode=mode)
        assert expected == list(shown.hashes)
        receipt = memories.delete(shown)
        after = _sizes(path)
        left = _selected(path, "1")

        assert expected == list(receipt.hashes)
        assert set(left).isdisjoint(expected)
        assert 290 - len(expected) == len(left)
        lost = {name: before[name] - after[name] for name in before if before[name] != after[name]}
        said = {
            name.replace("_fts", "_fts_docsize"): count for name, count in receipt.tables.items()
        }
        if mode == "soft":
            del said["memories"]
        assert said == lost

    def test_nothing_is_orphaned(
        self, path: Path, memories: Deleter, what, sql, mode: Mode
    ) -> None:
        """
        No vector or edge is left of what went, and a search finds none of it.
        """
        memories.delete(what, mode=mode)
        with eyes(path) as rows:
            live = "FROM memories WHERE deleted_at IS NULL"
            assert [] == rows(
                f"SELECT rowid FROM memory_embeddings WHERE rowid NOT IN (SELECT id {live})"
            )
            assert [] == rows(
                f"SELECT * FROM memory_graph WHERE source_hash NOT IN (SELECT content_hash {live})"
                f" OR (relationship_type IS NOT 'has_entity' AND target_hash NOT IN (SELECT content_hash {live}))"
            )
            assert [] == rows(
                "SELECT id FROM memory_content_fts_docsize EXCEPT SELECT id FROM memories"
            )
            found = rows(
                "SELECT count(*) FROM memory_content_fts f JOIN memories m ON m.id = f.rowid"
                " WHERE memory_content_fts MATCH 'number' AND m.deleted_at IS NULL"
            )
            expected = rows(f"SELECT count(*) {live} AND instr(content, 'number') > 0")

        assert expected == found
        assert {"file": "ok", "memory_content_fts": "ok"} == checks(path)


@pytest.mark.parametrize("mode", ["soft", "archive"])
@pytest.mark.parametrize(("what", "sql"), FILTERS, ids=[str(what) for what, _ in FILTERS])
def test_undo_gives_it_back_whole(path: Path, memories: Deleter, what, sql, mode: Mode) -> None:
    """
    Undoing soft or archive gives the store back whole, vectors included.
    """
    before = whole(path, aside=LEDGERS)
    receipt = memories.delete(what, mode=mode)
    back = memories.restore(receipt)

    assert () == back.refused
    assert receipt.removed == back.restored == len(_selected(path, sql))
    assert before == whole(path, aside=LEDGERS)
    assert {"file": "ok", "memory_content_fts": "ok"} == checks(path)


def test_edited_since(path: Path, memories: Deleter) -> None:
    """
    A tombstone that was edited since is refused, and keeps its edit.
    """
    receipt = memories.delete(Key(17, 18))
    with eyes(path) as rows:
        rows("UPDATE memories SET content = 'edited' WHERE id = 17")
    back = memories.restore(receipt)

    assert [(17, "changed_since")] == [(told.key, told.reason) for told in back.refused]
    assert (18,) == back.keys["memories"]


def test_the_event_log_is_told(path: Path, memories: Deleter) -> None:
    """
    A delete appends its event, an undo a create that names it, each later than all before.
    """
    receipt = memories.delete(Key(17))
    memories.restore(receipt)
    with eyes(path) as rows:
        deleted, created = rows(
            "SELECT op, content_hash, payload, hlc_physical, hlc_logical, event_id FROM sync_events"
            " WHERE seq > 310 ORDER BY seq"
        )
        content = rows("SELECT content FROM memories WHERE id = 17")[0][0]
        clock = rows("SELECT value FROM metadata WHERE key = 'sync_hlc_physical'")
        named = rows("SELECT ?->>'recreate_of', ?->>'content'", (created[2], created[2]))

    assert ("delete", "create") == (deleted[0], created[0])
    assert (deleted[3], deleted[4]) < (created[3], created[4])
    assert [(deleted[5], content)] == named
    assert [(str(created[3]),)] == [(str(clock[0][0]),)]


def test_the_product_s_own_tombstones_come_back(path: Path, memories: Deleter) -> None:
    """
    A filter restores what the product had deleted, and names the vectors it threw away.
    """
    back = memories.restore(Everything())
    with eyes(path) as rows:
        got = rows("SELECT count(*), sum(embedding_pending) FROM memories WHERE deleted_at IS NULL")

    assert 10 == back.restored
    assert 10 == back.incomplete["memory_embeddings"]
    assert [(300, 10)] == got


# --- older shapes ---------------------------------------------------------------------------

BASE = """
CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,
  content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
  created_at_iso TEXT, updated_at_iso TEXT)
"""
VEC = "CREATE VIRTUAL TABLE memory_embeddings USING vec0(content_embedding FLOAT[4] distance_metric=cosine{})"
GRAPH = """
CREATE TABLE memory_graph (source_hash TEXT NOT NULL, target_hash TEXT NOT NULL, similarity REAL NOT NULL,
  connection_types TEXT NOT NULL, metadata TEXT, created_at REAL NOT NULL, PRIMARY KEY (source_hash, target_hash))
"""
TYPED = "ALTER TABLE memory_graph ADD COLUMN relationship_type TEXT DEFAULT 'related'"
TOMB = "ALTER TABLE memories ADD COLUMN deleted_at REAL DEFAULT NULL"
FTS = (
    "CREATE VIRTUAL TABLE memory_content_fts USING fts5(content, content='memories', content_rowid='id', tokenize='trigram')",
    (
        "CREATE TRIGGER memories_fts_ai AFTER INSERT ON memories BEGIN"
        " INSERT INTO memory_content_fts(rowid, content) VALUES (new.id, new.content); END"
    ),
    (
        "CREATE TRIGGER memories_fts_au AFTER UPDATE ON memories BEGIN"
        " DELETE FROM memory_content_fts WHERE rowid = old.id;"
        " INSERT INTO memory_content_fts(rowid, content) VALUES (new.id, new.content); END"
    ),
    (
        "CREATE TRIGGER memories_fts_ad AFTER DELETE ON memories BEGIN"
        " DELETE FROM memory_content_fts WHERE rowid = old.id; END"
    ),
)
STORE = "ALTER TABLE memories ADD COLUMN store TEXT DEFAULT 'default'"
PENDING = "ALTER TABLE memories ADD COLUMN embedding_pending INTEGER NOT NULL DEFAULT 0"
EVENTS = """
CREATE TABLE sync_events (seq INTEGER PRIMARY KEY AUTOINCREMENT, schema_version INTEGER NOT NULL DEFAULT 1,
  agent_id TEXT, event_id TEXT NOT NULL, op TEXT NOT NULL, content_hash TEXT NOT NULL, payload TEXT NOT NULL,
  created_at REAL NOT NULL, created_at_iso TEXT, UNIQUE(agent_id, event_id))
"""
VARIANTS = {
    "8.24": [BASE, VEC.format("")],
    "8.64": [BASE, TOMB, VEC.format("")],
    "8.64 with an untyped graph": [BASE, TOMB, VEC.format(""), GRAPH],
    "9.2.1": [BASE, TOMB, VEC.format(""), GRAPH, TYPED],
    "10.8": [BASE, TOMB, VEC.format(""), GRAPH, TYPED, *FTS],
    "11": [BASE, TOMB, STORE, VEC.format(", store TEXT partition key"), GRAPH, TYPED, *FTS],
    "12.0": [
        BASE,
        TOMB,
        STORE,
        PENDING,
        VEC.format(", store TEXT partition key"),
        GRAPH,
        TYPED,
        *FTS,
        EVENTS,
    ],
    "12.0 without vectors": [BASE, TOMB, STORE, PENDING, GRAPH, TYPED, *FTS, EVENTS],
}


def _older(path: Path, statements: list[str]) -> Path:
    partition = any("partition key" in statement for statement in statements)
    with eyes(path) as rows:
        for statement in statements:
            rows(statement)
        for number in range(1, 9):
            rows(
                "INSERT INTO memories (content_hash, content, tags, created_at) VALUES (?, ?, ?, ?)",
                (
                    f"h{number}",
                    f"text number {number}",
                    ("a, b", "ab", "", None)[number % 4],
                    number * 1e6,
                ),
            )
            if any("vec0" in statement for statement in statements):
                blob = bytes([0, 0, 128, 63]) * 3 + bytes([0, 0, 0, number])
                columns = "rowid, content_embedding" + ", store" * partition
                values = (number, blob, *(["default"] * partition))
                marks = ", ".join("?" * len(values))
                rows(f"INSERT INTO memory_embeddings({columns}) VALUES ({marks})", values)
        if GRAPH in statements:
            rows(
                "INSERT INTO memory_graph (source_hash, target_hash, similarity, connection_types, created_at)"
                " VALUES ('h1', 'h2', 1, '[]', 0), ('h2', 'h5', 1, '[]', 0), ('h4', 'h5', 1, '[]', 0)"
            )
        if TYPED in statements:
            rows("INSERT INTO memory_graph VALUES ('h3', 'h1', 1, '[]', NULL, 0, 'has_entity')")
        if EVENTS in statements:
            rows(
                "INSERT INTO sync_events (event_id, op, content_hash, payload, created_at)"
                " VALUES ('e', 'create', 'h1', '{}', 0)"
            )

    return path


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant(tmp_path: Path, variant: str) -> None:
    """
    Each older shape is recognised, deleted from and undone whole.
    """
    require("apsw")
    path = _older(tmp_path / "old.db", VARIANTS[variant])
    with memdelete.opening.open(path) as memories:
        assert "mcp-memory-service" == memories.store.name
        before = whole(path, aside=LEDGERS)
        for mode in ["archive", *(["soft"] if TOMB in VARIANTS[variant] else [])]:
            receipt = memories.delete(Tags(any=["a"]) | Hash("h1"), mode=mode)
            assert ("h1", "h4", "h8") == receipt.hashes
            back = memories.restore(receipt)
            assert () == back.refused
            assert before == whole(path, aside=LEDGERS)
        memories.delete(Hash("h1"), mode="hard")
        with eyes(path) as rows:
            left = rows("SELECT count(*) FROM memories")
            entity = (
                rows("SELECT count(*) FROM memory_graph WHERE target_hash = 'h1'")
                if TYPED in VARIANTS[variant]
                else [(1,)]
            )

    assert [(7,)] == left
    assert [(1,)] == entity


def test_a_stranger_is_not_recognised(tmp_path: Path) -> None:
    """
    A table of the same name with other columns is no memory store of this product.
    """
    path = tmp_path / "other.db"
    with eyes(path, vectors=False) as rows:
        rows("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
    from memdelete.errors import StoreError

    backend = SQLite(path)
    with pytest.raises(StoreError, match="no known memory store"):
        recognise(backend.introspect())
    backend.close()


def test_the_bin_can_be_emptied(path: Path, memories: Deleter) -> None:
    """
    What was archived and marked can be purged, with every sidecar's copies.
    """
    memories.delete(Tags(any=["draft"]), mode="archive")
    memories.delete(Tags(any=["work"]), mode="soft")
    memories.purge(filter=Everything())
    with eyes(path) as rows:
        bins = rows(
            "SELECT name FROM sqlite_schema WHERE name LIKE 'memdelete_bin%' AND type = 'table'"
        )
        left = {name: rows(f'SELECT count(*) FROM "{name}"')[0][0] for (name,) in bins}
        dead = rows("SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL")

    assert {0} == set(left.values())
    assert len(left) >= 6
    assert [(0,)] == dead
