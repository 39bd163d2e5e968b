"""
engram: the real file of 1.7, its older shapes, and the schema of version 2.
"""

from __future__ import annotations

import json
import re
import shutil

from collections.abc import Iterator
from pathlib import Path

import pytest

import memdelete.opening

from memdelete import cli
from memdelete.backends.sqlite import SQLite
from memdelete.deleter import Deleter
from memdelete.errors import Refused, StoreError
from memdelete.filters import After, Before, Between, Everything, Filter, Key, field
from memdelete.receipts import Mode
from memdelete.stores import recognise
from tests.gardens import checks, eyes, whole


NAME = "engram-1.7.db"
SECOND = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
ONLY = ["observations"]

FILTERS: list[tuple[Filter, str]] = [
    (Key(17, collection="observations"), "id = 17"),
    (
        field("type").eq("decision") & field("project").eq("shop-api"),
        "type = 'decision' AND project = 'shop-api'",
    ),
    (field("content").contains("module_1"), "instr(content, 'module_1') > 0"),
    (field("title").contains("100% cpu"), "instr(title, '100% cpu') > 0"),
    (field("project").eq("shop-api"), "project = 'shop-api'"),
    (
        Between("2024-03-01", "2024-09-01"),
        "created_at >= '2024-03-01 00:00:00' AND created_at < '2024-09-01 00:00:00'",
    ),
    (
        ~field("scope").eq("personal") & Before("2025-06-01"),
        "scope <> 'personal' AND created_at < '2025-06-01 00:00:00'",
    ),
    (field("topic_key").missing(), "topic_key IS NULL"),
    (After("2024-01-05", on="updated_at"), "updated_at > '2024-01-05 00:00:00'"),
    (Everything(), "1"),
]


@pytest.fixture
def path(shared_dir: Path, tmp_path: Path) -> Path:
    """
    A copy of the real file.
    """
    return Path(shutil.copyfile(shared_dir / "stores" / NAME, tmp_path / "engram.db"))


@pytest.fixture
def memories(path: Path) -> Iterator[Deleter]:
    """
    The real file, opened as a user opens it.
    """
    with memdelete.opening.open(path) as deleter:
        yield deleter


def _ask(path: Path, *statements: str) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    with eyes(path, vectors=False) as rows:
        for statement in statements:
            found = list(rows(statement))

    return found


def _live(path: Path, sql: str) -> list[object]:
    where = f"deleted_at IS NULL AND ({sql})"

    return [row[0] for row in _ask(path, f"SELECT id FROM observations WHERE {where} ORDER BY id")]


def test_it_is_recognised(memories: Deleter) -> None:
    """
    The real file has three collections, of which only observations have a tombstone.
    """
    found = {each.name: each.tombstone is not None for each in memories.store.collections}

    assert "engram" == memories.store.name
    assert {"observations": True, "user_prompts": False, "sessions": False} == found


@pytest.mark.parametrize("mode", ["soft", "archive", "hard"])
@pytest.mark.parametrize(("what", "sql"), FILTERS, ids=[str(what) for what, _ in FILTERS])
def test_exactly_these(path: Path, memories: Deleter, what: Filter, sql: str, mode: Mode) -> None:
    """
    Preview and delete take what hand-written SQL selects, and the index keeps what the product keeps.
    """
    expected, others = _live(path, sql), _ask(path, "SELECT count(*) FROM observations")[0][0]
    before = {name: _ask(path, f"SELECT * FROM {name}") for name in ("sessions", "user_prompts")}
    assert expected
    shown = memories.preview(what, mode=mode, collections=ONLY)
    assert expected == list(shown.keys["observations"])
    receipt = memories.delete(shown)

    assert expected == list(receipt.keys["observations"])
    assert set(_live(path, "1")).isdisjoint(expected)
    left = _ask(path, "SELECT count(*) FROM observations")[0][0]
    assert left == (others if mode == "soft" else int(str(others)) - len(expected))
    # The triggers of version 1 keep tombstones in the index, and drop what is gone.
    assert {"file": "ok", "observations_fts": "ok", "prompts_fts": "ok"} == checks(
        path, vectors=False
    )
    assert [] == _ask(
        path, "SELECT id FROM observations_fts_docsize EXCEPT SELECT id FROM observations"
    )
    assert before == {name: _ask(path, f"SELECT * FROM {name}") for name in before}


@pytest.mark.parametrize("mode", ["soft", "archive"])
@pytest.mark.parametrize(("what", "sql"), FILTERS, ids=[str(what) for what, _ in FILTERS])
def test_undo_gives_it_back_whole(
    path: Path, memories: Deleter, what: Filter, sql: str, mode: Mode
) -> None:
    """
    Undoing soft or archive gives the store back whole, the index included.
    """
    before, expected = whole(path, vectors=False), len(_live(path, sql))
    back = memories.restore(memories.delete(what, mode=mode, collections=ONLY))

    assert () == back.refused
    assert expected == back.restored
    assert before == whole(path, vectors=False)
    assert {"file": "ok", "observations_fts": "ok", "prompts_fts": "ok"} == checks(
        path, vectors=False
    )


def test_a_soft_delete_is_the_product_s_own(path: Path, memories: Deleter) -> None:
    """
    A soft delete sets deleted_at and updated_at to one second's text, and nothing else.
    """
    other = "id, session_id, title, content, normalized_hash, created_at, last_seen_at"
    before = _ask(path, f"SELECT {other} FROM observations")
    memories.delete(Key(17, collection="observations"))
    ((deleted, updated),) = _ask(
        path, "SELECT deleted_at, updated_at FROM observations WHERE id = 17"
    )

    assert deleted == updated
    assert SECOND.fullmatch(str(deleted))
    assert before == _ask(path, f"SELECT {other} FROM observations")


def test_hard_by_key_reaches_tombstones(path: Path, memories: Deleter) -> None:
    """
    A hard delete by key takes a row that the product had soft-deleted, out of the index too.
    """
    receipt = memories.delete(Key(6, collection="observations"), mode="hard")

    assert (6,) == receipt.keys["observations"]
    assert [] == _ask(path, "SELECT id FROM observations WHERE id = 6")
    assert "ok" == checks(path, vectors=False)["observations_fts"]


@pytest.mark.parametrize("mode", ["archive", "hard"])
def test_prompts(path: Path, memories: Deleter, mode: Mode) -> None:
    """
    Prompts go with their entries in their own index, and an archive comes back whole.
    """
    before = whole(path, vectors=False)
    receipt = memories.delete(
        field("project").eq("engram"), mode=mode, collections=["user_prompts"]
    )

    assert 15 == receipt.removed == 60 - len(_ask(path, "SELECT id FROM user_prompts"))
    assert "ok" == checks(path, vectors=False)["prompts_fts"]
    assert 45 == len(_ask(path, "SELECT id FROM prompts_fts_docsize"))
    if mode == "archive":
        assert 15 == memories.restore(receipt).restored
        assert before == whole(path, vectors=False)


@pytest.mark.parametrize("mode", ["archive", "hard"])
def test_a_session_in_use_is_refused(path: Path, memories: Deleter, mode: Mode) -> None:
    """
    A session that an observation refers to, soft-deleted or not, is refused by that table's name.
    """
    before = whole(path, vectors=False)
    with pytest.raises(Refused, match="rows of observations still refer"):
        memories.delete(Key("sess-00", collection="sessions"), mode=mode)
    assert before == whole(path, vectors=False)
    _ask(path, "UPDATE observations SET deleted_at = '2026-01-01 00:00:00'")
    with pytest.raises(Refused, match="rows of observations still refer"):
        memories.delete(Key("sess-00", collection="sessions"), mode=mode)
    _ask(path, "DELETE FROM observations WHERE session_id = 'sess-00'")
    with pytest.raises(Refused, match="rows of user_prompts still refer"):
        memories.delete(Key("sess-00", collection="sessions"), mode=mode)


def test_all_collections_come_back_whole(path: Path, memories: Deleter) -> None:
    """
    Archived in the order that the foreign keys allow and undone in reverse, all is as it was.
    """
    before = whole(path, vectors=False)
    receipts = [
        memories.delete(Everything(), mode="archive", include="all", collections=[name])
        for name in ("observations", "user_prompts", "sessions")
    ]
    assert [200, 60, 12] == [receipt.removed for receipt in receipts]
    for receipt in reversed(receipts):
        assert () == memories.restore(receipt).refused

    assert before == whole(path, vectors=False)


def test_the_product_s_own_tombstones_come_back(path: Path, memories: Deleter) -> None:
    """
    A filter restores what the product had soft-deleted.
    """
    back = memories.restore(Everything(), collections=ONLY)

    assert (23, ()) == (back.restored, back.refused)
    assert 200 == len(_live(path, "1"))


def test_a_tombstone_of_the_product_with_a_live_twin(path: Path, memories: Deleter) -> None:
    """
    What the product had soft-deleted and then saved again is refused, and the rest comes back.
    """
    _ask(
        path,
        SAVED_AGAIN.format(type="type", title="title", topic="NULL", hash="normalized_hash", id=6),
    )
    back = memories.restore(Everything(), collections=ONLY)

    assert [(6, "live_twin")] == [(told.key, told.reason) for told in back.refused]
    assert 22 == back.restored


SAVED_AGAIN = (
    "INSERT INTO observations (session_id, type, title, content, project, scope, topic_key,"
    " normalized_hash) SELECT session_id, {type}, {title}, content, project, scope, {topic}, {hash}"
    " FROM observations WHERE id = {id}"
)


@pytest.mark.parametrize("mode", ["soft", "archive"])
@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        ({"hash": "normalized_hash", "topic": "NULL", "id": 2}, ["live_twin"]),
        ({"hash": "'other'", "topic": "topic_key", "id": 1}, ["live_twin"]),
        ({"hash": "'other'", "topic": "NULL", "id": 2}, []),
        ({"hash": "normalized_hash", "topic": "NULL", "id": 2, "title": "'other'"}, []),
    ],
    ids=["same hash", "same topic", "no topic both", "another title"],
)
def test_live_twins(
    path: Path, memories: Deleter, words: dict[str, object], reasons: list[str], mode: Mode
) -> None:
    """
    What was saved again since is refused, by topic or by hash; no topic is no shared topic.
    """
    receipt = memories.delete(
        Key(words["id"], collection="observations"), mode=mode, collections=ONLY
    )  # type: ignore[arg-type]
    said = SAVED_AGAIN.format(**{"type": "type", "title": "title", **words})
    gone = {"soft": "observations", "archive": "memdelete_bin_observations"}[mode]
    _ask(path, said.replace("FROM observations", f"FROM {gone}"))
    back = memories.restore(receipt)

    assert reasons == [told.reason for told in back.refused]
    assert 1 - len(reasons) == back.restored


def test_no_hash_is_no_twin(path: Path, memories: Deleter) -> None:
    """
    Rows of older files without a hash are no doubles, even with the same title.
    """
    _ask(path, "UPDATE observations SET normalized_hash = NULL, title = 'same'")
    back = memories.restore(memories.delete(field("project").eq("shop-api"), collections=ONLY))

    assert (40, ()) == (back.restored, back.refused)


@pytest.mark.parametrize("mode", ["soft", "archive", "hard"])
def test_a_scope_keeps_the_others(path: Path, mode: Mode) -> None:
    """
    Within the scope of one project nothing of another moves, whatever is asked.
    """
    others = "SELECT * FROM observations WHERE project IS NOT 'engram' ORDER BY id"
    before = _ask(path, others)
    with memdelete.opening.open(path, scope=field("project").eq("engram")) as memories:
        receipt = memories.delete(Everything(), mode=mode, collections=ONLY)
        missed = memories.delete(Key(2, collection="observations"), mode="hard")
        if mode != "hard":
            assert receipt.removed == memories.restore(receipt).restored

    assert 49 == receipt.removed
    assert 0 == missed.removed
    assert before == _ask(path, others)


def test_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    One line deletes a project's observations, and one line gives them back.
    """
    before = whole(path, vectors=False)
    said = json.dumps(field("project").eq("shop-api").to_dict())
    words = ["--collection", "observations", "--filter", said, "--yes", "--json"]
    assert 0 == cli.main(["delete", str(path), *words])
    receipt = json.loads(capsys.readouterr().out)
    assert 40 == receipt["removed"]
    assert 0 == cli.main(["restore", str(path), receipt["operation"], "--json"])

    assert 40 == json.loads(capsys.readouterr().out)["restored"]
    assert before == whole(path, vectors=False)


# --- older and younger shapes ---------------------------------------------------------------

NO_TOPICS = (
    "DROP INDEX idx_obs_topic",
    "DROP INDEX idx_obs_dedupe",
    "DROP INDEX idx_obs_scope",
    *(
        f"ALTER TABLE observations DROP COLUMN {name}"
        for name in ("topic_key", "normalized_hash", "scope", "last_seen_at", "duplicate_count")
    ),
)
NO_TOMBSTONES = (
    "DROP INDEX idx_obs_deleted",
    "ALTER TABLE observations DROP COLUMN deleted_at",
    "ALTER TABLE observations DROP COLUMN updated_at",
)
NO_TEXT = (
    *(f"DROP TRIGGER obs_fts_{event}" for event in ("insert", "update", "delete")),
    "DROP TABLE observations_fts",
)
NO_PROMPTS = (
    *(f"DROP TRIGGER prompt_fts_{event}" for event in ("insert", "update", "delete")),
    "DROP TABLE prompts_fts",
    "DROP TABLE user_prompts",
)
COLUMNS = (
    *(
        f"ALTER TABLE observations ADD COLUMN {column}"
        for column in (
            "sync_id TEXT",
            "pinned INTEGER NOT NULL DEFAULT 0",
            "review_after TEXT",
            "expires_at TEXT",
            "embedding BLOB",
        )
    ),
    "UPDATE observations SET sync_id = 'obs-' || id, embedding = zeroblob(8), expires_at = '2030-01-01'",
    "ALTER TABLE user_prompts ADD COLUMN sync_id TEXT",
)
LIVE_TEXT = (
    *NO_TEXT,
    (
        "CREATE VIRTUAL TABLE observations_fts USING fts5(title, content, tool_name, type, project,"
        " topic_key, content='observations', content_rowid='id')"
    ),
    (
        "INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)"
        " SELECT id, title, content, tool_name, type, project, topic_key FROM observations"
        " WHERE deleted_at IS NULL"
    ),
    (
        "CREATE TRIGGER obs_fts_insert AFTER INSERT ON observations WHEN new.deleted_at IS NULL BEGIN"
        " INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)"
        " VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project,"
        " new.topic_key); END"
    ),
    (
        "CREATE TRIGGER obs_fts_delete AFTER DELETE ON observations BEGIN"
        " INSERT INTO observations_fts(observations_fts, rowid, title, content, tool_name, type,"
        " project, topic_key) VALUES ('delete', old.id, old.title, old.content, old.tool_name,"
        " old.type, old.project, old.topic_key); END"
    ),
    (
        "CREATE TRIGGER obs_fts_update AFTER UPDATE ON observations BEGIN"
        " INSERT INTO observations_fts(observations_fts, rowid, title, content, tool_name, type,"
        " project, topic_key) SELECT 'delete', old.id, old.title, old.content, old.tool_name,"
        " old.type, old.project, old.topic_key WHERE old.deleted_at IS NULL;"
        " INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)"
        " SELECT new.id, new.title, new.content, new.tool_name, new.type, new.project,"
        " new.topic_key WHERE new.deleted_at IS NULL; END"
    ),
)
OUTBOX = (
    (
        "CREATE TABLE sync_state (target_key TEXT PRIMARY KEY, lifecycle TEXT NOT NULL DEFAULT 'idle',"
        " last_enqueued_seq INTEGER NOT NULL DEFAULT 0, updated_at TEXT NOT NULL"
        " DEFAULT (datetime('now')))"
    ),
    (
        "CREATE TABLE sync_mutations (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_key TEXT NOT NULL,"
        " entity TEXT NOT NULL, entity_key TEXT NOT NULL, op TEXT NOT NULL, payload TEXT NOT NULL,"
        " source TEXT NOT NULL DEFAULT 'local', project TEXT NOT NULL DEFAULT '',"
        " occurred_at TEXT NOT NULL DEFAULT (datetime('now')), acked_at TEXT,"
        " FOREIGN KEY (target_key) REFERENCES sync_state(target_key))"
    ),
    (
        "CREATE TABLE memory_relations (id INTEGER PRIMARY KEY, sync_id TEXT, source_id TEXT,"
        " target_id TEXT, judgment_status TEXT NOT NULL DEFAULT 'pending')"
    ),
    "INSERT INTO memory_relations (source_id, target_id) VALUES ('obs-17', 'obs-18')",
)
ENROLLED = (
    "INSERT INTO sync_state (target_key) VALUES ('cloud')",
    (
        "INSERT INTO sync_mutations (target_key, entity, entity_key, op, payload)"
        " VALUES ('cloud', 'observation', 'obs-1', 'upsert', '{}')"
    ),
)
VARIANTS = {
    "before topics": NO_TOPICS,
    "before tombstones": (*NO_TOPICS, *NO_TOMBSTONES),
    "without full text": NO_TEXT,
    "without prompts": NO_PROMPTS,
    "without sessions": ("DROP TABLE sessions",),
    "with columns of version 2": COLUMNS,
    "with an index of live rows": (*COLUMNS, *LIVE_TEXT),
    "version 2, no sync": (*COLUMNS, *LIVE_TEXT, *OUTBOX),
    "version 2, with sync": (*COLUMNS, *LIVE_TEXT, *OUTBOX, *ENROLLED),
}
LEDGERS = ("sync_mutations", "sync_state")


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant(path: Path, variant: str) -> None:
    """
    Each older and younger shape is recognised, deleted from and undone whole.
    """
    _ask(path, *VARIANTS[variant])
    before = whole(path, vectors=False, aside=LEDGERS)
    with memdelete.opening.open(path) as memories:
        assert "engram" == memories.store.name
        soft = memories.store.collection("observations").tombstone is not None
        assert soft is (variant != "before tombstones")
        for mode in ["archive", *(["soft"] if soft else [])]:
            receipt = memories.delete(field("project").eq("shop-api"), mode=mode, collections=ONLY)
            assert (40 if soft else 50) == receipt.removed
            back = memories.restore(receipt)
            assert () == back.refused
            assert before == whole(path, vectors=False, aside=LEDGERS)
        memories.delete(Key(17, 18, collection="observations"), mode="hard")

    assert [(198,)] == _ask(path, "SELECT count(*) FROM observations")


@pytest.mark.parametrize("mode", ["soft", "archive", "hard"])
def test_an_index_of_live_rows(path: Path, mode: Mode) -> None:
    """
    Where the product indexes live rows only, a search finds these and no others.
    """
    _ask(path, *COLUMNS, *LIVE_TEXT)
    with memdelete.opening.open(path) as memories:
        receipt = memories.delete(
            field("project").eq("shop-api"), mode=mode, include="live", collections=ONLY
        )
        found = "SELECT rowid FROM observations_fts WHERE observations_fts MATCH 'body' ORDER BY 1"
        assert _live(path, "1") == [row[0] for row in _ask(path, found)]
        if mode != "hard":
            memories.restore(receipt)
            assert _live(path, "1") == [row[0] for row in _ask(path, found)]


@pytest.mark.parametrize("mode", ["soft", "archive"])
def test_the_outbox_is_told(path: Path, mode: Mode) -> None:
    """
    A delete appends a mutation without content, an undo an upsert with it, and the state counts them.
    """
    _ask(path, *COLUMNS, *LIVE_TEXT, *OUTBOX, *ENROLLED)
    with memdelete.opening.open(path) as memories:
        memories.restore(
            memories.delete(Key(17, collection="observations"), mode=mode, collections=ONLY)
        )
    gone, back = _ask(
        path,
        "SELECT entity, entity_key, op, source, project, payload, acked_at FROM sync_mutations"
        " WHERE seq > 1 ORDER BY seq",
    )
    ((title, content, project),) = _ask(
        path, "SELECT title, content, project FROM observations WHERE id = 17"
    )

    assert ("observation", "obs-17", "delete", "local", project or "", None) == (
        *gone[:5],
        gone[6],
    )
    assert ("observation", "obs-17", "upsert", "local", project or "") == back[:5]
    told, said = json.loads(str(gone[5])), json.loads(str(back[5]))
    assert {"sync_id", "session_id", "project", "deleted", "deleted_at"} == set(told)
    assert told["deleted"] is True
    assert SECOND.fullmatch(told["deleted_at"])
    assert ("obs-17", title, content) == (said["sync_id"], said["title"], said["content"])
    assert [("pending", 3)] == _ask(path, "SELECT lifecycle, last_enqueued_seq FROM sync_state")
    assert [("pending",)] == _ask(path, "SELECT judgment_status FROM memory_relations")


def test_no_sync_no_outbox(path: Path) -> None:
    """
    A file that never synced is told nothing.
    """
    _ask(path, *COLUMNS, *OUTBOX)
    with memdelete.opening.open(path) as memories:
        memories.delete(Key(17, collection="observations"))

    assert [(0,)] == _ask(path, "SELECT count(*) FROM sync_mutations")


def test_a_stranger_is_not_recognised(tmp_path: Path) -> None:
    """
    A table of the same name with other columns is no store of this product.
    """
    path = tmp_path / "other.db"
    _ask(path, "CREATE TABLE observations (id INTEGER PRIMARY KEY, content TEXT)")

    backend = SQLite(path)
    with pytest.raises(StoreError, match="no known memory store"):
        recognise(backend.introspect())
    backend.close()
