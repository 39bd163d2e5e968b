"""
Ariel: the real file of 1.13, and its older and younger shapes.
"""

from __future__ import annotations

import json
import shutil

from collections.abc import Iterator
from pathlib import Path

import pytest

import memdelete.opening

from memdelete import cli
from memdelete.backends.sqlite import SQLite
from memdelete.deleter import Deleter
from memdelete.errors import StoreError
from memdelete.filters import Before, Everything, Filter, Key, Tags, Untagged, field
from memdelete.receipts import Mode
from memdelete.stores import recognise
from tests.gardens import checks, eyes, whole


NAME = "ariel-1.13.db"
KEYS = {
    "entries": ("core_memory", "entry_id"),
    "episodes": ("episodes", "episode_id"),
    "graph_nodes": ("epi_nodes", "node_id"),
}
# Tables and ledgers of the product that keep copies, and are never touched.
KEPT = ("core_memory_history", "core_memory_temporal", "archived_memories", "audit_log")
AT = "1796000000"
ALICE = "user_id = 'alice' AND layer = 'user'"

# Each filter beside the SQL, by collection; a collection that cannot answer has no rows.
FILTERS: list[tuple[Filter, dict[str, str]]] = [
    (Key(7, collection="graph_nodes"), {"graph_nodes": "node_id = 7"}),
    (Key(4, 9, collection="entries"), {"entries": "entry_id IN (4, 9)"}),
    (
        field("visibility").eq("pinned"),
        {"entries": "visibility = 'pinned'"},
    ),
    (
        Tags(any=["postgres"]),
        {
            "episodes": "EXISTS(SELECT 1 FROM json_each(tags) WHERE value = 'postgres')",
            "graph_nodes": "EXISTS(SELECT 1 FROM json_each(tags) WHERE value = 'postgres')",
        },
    ),
    (
        Tags(any=["café menu", "user_preference"]),
        dict.fromkeys(
            ("episodes", "graph_nodes"),
            (
                "EXISTS(SELECT 1 FROM json_each(tags)"
                " WHERE value IN ('café menu', 'user_preference'))"
            ),
        ),
    ),
    (Untagged(), dict.fromkeys(("episodes", "graph_nodes"), "coalesce(tags, '[]') IN ('[]', '')")),
    (
        field("value").contains("%") | field("summary").contains("a=1"),
        {"entries": "instr(value, '%') > 0", "episodes": "instr(summary, 'a=1') > 0"},
    ),
    (Before("2026-11-29T21:33:20Z"), dict.fromkeys(KEYS, "created_at < 1795988000")),
    (
        field("user_id").eq("alice") & field("layer").eq("user"),
        dict.fromkeys(KEYS, ALICE),
    ),
    (
        field("importance").lt(0.4) & ~field("memory_kind").eq("fact"),
        {"entries": "importance < 0.4 AND memory_kind <> 'fact'"},
    ),
    (Everything(), dict.fromkeys(KEYS, "1")),
]


@pytest.fixture
def path(shared_dir: Path, tmp_path: Path) -> Path:
    """
    A copy of the real file.
    """
    return Path(shutil.copyfile(shared_dir / "stores" / NAME, tmp_path / "ariel.db"))


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


def _selected(path: Path, wheres: dict[str, str]) -> dict[str, list[object]]:
    found = {}
    for name, sql in wheres.items():
        table, key = KEYS[name]
        rows = _ask(path, f"SELECT {key} FROM {table} WHERE {sql} ORDER BY {key}")
        found[name] = [row[0] for row in rows]

    return {name: keys for name, keys in found.items() if keys}


def _orphans(path: Path) -> dict[str, list[tuple[object, ...]]]:
    nodes = "(SELECT node_id FROM epi_nodes)"

    return {
        "edges": _ask(
            path,
            f"SELECT * FROM epi_edges WHERE source_id NOT IN {nodes} OR target_id NOT IN {nodes}",
        ),
        "tags": _ask(path, f"SELECT * FROM epi_tags WHERE node_id NOT IN {nodes}"),
    }


def test_it_is_recognised(memories: Deleter) -> None:
    """
    The real file has three collections, none with a tombstone.
    """
    found = {each.name: each.table for each in memories.store.collections}

    assert "ariel" == memories.store.name
    assert {name: table for name, (table, _) in KEYS.items()} == found
    assert not any(each.tombstone for each in memories.store.collections)


@pytest.mark.parametrize("mode", ["archive", "hard"])
@pytest.mark.parametrize(("what", "wheres"), FILTERS, ids=[str(what) for what, _ in FILTERS])
def test_exactly_these(
    path: Path, memories: Deleter, what: Filter, wheres: dict[str, str], mode: Mode
) -> None:
    """
    Preview and delete take what hand-written SQL selects, orphan nothing, and leave the ledgers.
    """
    expected = _selected(path, wheres)
    everything = _selected(path, dict.fromkeys(KEYS, "1"))
    kept = {name: _ask(path, f"SELECT * FROM {name}") for name in KEPT}
    edges = _ask(path, "SELECT count(*) FROM epi_edges")[0][0]
    assert expected
    shown = memories.preview(what, mode=mode)
    assert expected == {name: list(keys) for name, keys in shown.keys.items() if keys}
    receipt = memories.delete(shown)

    assert expected == {name: list(keys) for name, keys in receipt.keys.items() if keys}
    left = _selected(path, dict.fromkeys(KEYS, "1"))
    for name, keys in everything.items():
        assert set(left.get(name, [])) == set(keys) - set(expected.get(name, []))
    lost = int(str(edges)) - int(str(_ask(path, "SELECT count(*) FROM epi_edges")[0][0]))
    assert receipt.tables.get("epi_edges", 0) == lost
    assert {"edges": [], "tags": []} == _orphans(path)
    assert kept == {name: _ask(path, f"SELECT * FROM {name}") for name in KEPT}
    assert {"ok"} == set(checks(path, vectors=False).values())


@pytest.mark.parametrize(("what", "wheres"), FILTERS, ids=[str(what) for what, _ in FILTERS])
def test_undo_gives_it_back_whole(
    path: Path, memories: Deleter, what: Filter, wheres: dict[str, str]
) -> None:
    """
    Undoing an archive gives all collections back whole, with edges, tags, times and old keys.
    """
    before = whole(path, vectors=False)
    expected = _selected(path, wheres)
    back = memories.restore(memories.delete(what))

    assert () == back.refused
    assert sum(map(len, expected.values())) == back.restored
    assert before == whole(path, vectors=False)


def test_a_key_names_its_collection(path: Path, memories: Deleter) -> None:
    """
    The ids of the three tables overlap, so a bare one is an error and touches nothing.
    """
    before = whole(path, vectors=False)
    with pytest.raises(StoreError, match="does not say of which collection"):
        memories.delete(Key(1))

    assert before == whole(path, vectors=False)


def test_the_same_id_twice(path: Path, memories: Deleter) -> None:
    """
    An id that is given twice is archived once, and comes back.
    """
    before = whole(path, vectors=False)
    receipt = memories.delete(Key(1, 1, collection="episodes"))

    assert 1 == receipt.removed == memories.restore(receipt).restored
    assert before == whole(path, vectors=False)


@pytest.mark.parametrize("mode", ["archive", "hard"])
@pytest.mark.parametrize(
    ("scope", "mine"),
    [
        (field("user_id").eq("bob"), "user_id = 'bob'"),
        (field("user_id").eq("alice") & field("layer").eq("user"), ALICE),
        (field("layer").eq("agent"), "layer = 'agent'"),
    ],
    ids=["bob", "alice's user layer", "agents"],
)
def test_a_scope_keeps_the_others(path: Path, scope: Filter, mine: str, mode: Mode) -> None:
    """
    Within a scope of user and layer no row of another moves, whatever is asked or undone.
    """
    others = {
        table: f"SELECT rowid, * FROM {table} WHERE NOT ({mine}) ORDER BY 1"
        for table, _ in KEYS.values()
    }
    before = {table: _ask(path, sql) for table, sql in others.items()}
    expected = _selected(path, dict.fromkeys(KEYS, mine))
    stranger = {
        name: _ask(path, f"SELECT min({key}) FROM {table} WHERE NOT ({mine})")[0][0]
        for name, (table, key) in KEYS.items()
    }
    with memdelete.opening.open(path, scope=scope) as memories:
        for name, key in stranger.items():
            assert 0 == memories.delete(Key(key, collection=name), mode="hard").removed  # type: ignore[arg-type]
        receipt = memories.delete(Everything(), mode=mode)
        assert expected == {name: list(keys) for name, keys in receipt.keys.items() if keys}
        assert before == {table: _ask(path, sql) for table, sql in others.items()}
        if mode == "archive":
            assert receipt.removed == memories.restore(receipt).restored

    assert before == {table: _ask(path, sql) for table, sql in others.items()}


def test_another_owner_s_bin(path: Path) -> None:
    """
    What one owner archived another can neither restore by filter nor by operation.
    """
    with memdelete.opening.open(path, scope=field("user_id").eq("alice")) as alices:
        receipt = alices.delete(Key(1, collection="episodes"))
        with memdelete.opening.open(path, scope=field("user_id").eq("bob")) as bobs:
            assert 0 == bobs.restore(Everything()).restored
            with pytest.raises(StoreError, match="there is no operation"):
                bobs.restore(receipt.operation)
        assert 1 == receipt.removed == alices.restore(receipt).restored


SAVED_AGAIN = (
    "INSERT INTO core_memory (user_id, key, value, created_at, updated_at{layer})"
    " SELECT user_id, key, 'new', 1, 1{layer} FROM memdelete_bin_core_memory"
)


def test_the_key_is_live_again(path: Path, memories: Deleter) -> None:
    """
    An entry whose key was saved again is refused, and the new one stays.
    """
    receipt = memories.delete(Key(4, collection="entries"))
    _ask(path, SAVED_AGAIN.format(layer=", layer"))
    back = memories.restore(receipt)

    assert ["unique_taken"] == [told.reason for told in back.refused]
    assert [(1,)] == _ask(path, "SELECT count(*) FROM core_memory WHERE value = 'new'")


def test_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    The command line deletes within a scope, and gives back.
    """
    before = whole(path, vectors=False)
    scope = ["--scope", json.dumps(field("user_id").eq("bob").to_dict())]
    said = ["--filter", json.dumps(Everything().to_dict()), *scope, "--yes", "--json"]
    code = cli.main(["delete", str(path), *said])
    receipt = json.loads(capsys.readouterr().out)
    assert (0, 60 + 71 + 40) == (code, receipt["removed"])
    code = cli.main(["restore", str(path), receipt["operation"], *scope, "--json"])

    assert (0, 171) == (code, json.loads(capsys.readouterr().out)["restored"])
    assert before == whole(path, vectors=False)


# --- older and younger shapes ---------------------------------------------------------------

NO_LAYERS = (
    "DROP INDEX idx_core_layer_user_key",
    "DROP INDEX idx_episodes_layer",
    "DELETE FROM core_memory WHERE layer = 'agent'",
    "ALTER TABLE core_memory DROP COLUMN layer",
    "ALTER TABLE core_memory DROP COLUMN visibility",
    "ALTER TABLE episodes DROP COLUMN layer",
    "ALTER TABLE epi_nodes DROP COLUMN layer",
)
VARIANTS = {
    "before layers": NO_LAYERS,
    "before kinds": (
        "DROP INDEX idx_core_memory_kind",
        "DROP INDEX idx_episodes_kind",
        "ALTER TABLE core_memory DROP COLUMN memory_kind",
        "ALTER TABLE core_memory DROP COLUMN expires_at",
        "ALTER TABLE core_memory DROP COLUMN metadata",
        "ALTER TABLE episodes DROP COLUMN memory_kind",
        "ALTER TABLE episodes DROP COLUMN tags",
    ),
    "without a graph": ("DROP TABLE epi_nodes", "DROP TABLE epi_edges", "DROP TABLE epi_tags"),
    "without edges and tag rows": ("DROP TABLE epi_edges", "DROP TABLE epi_tags"),
    "tags in rows only": ("ALTER TABLE epi_nodes DROP COLUMN tags",),
    "without episodes": ("DROP TABLE episodes",),
    "younger": (
        "ALTER TABLE core_memory ADD COLUMN embedding BLOB",
        "UPDATE core_memory SET embedding = zeroblob(16)",
        "ALTER TABLE episodes ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'",
        "ALTER TABLE epi_edges ADD COLUMN note TEXT",
        "CREATE TABLE epi_later (node_id INTEGER)",
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant(path: Path, variant: str) -> None:
    """
    Each older and younger shape is recognised, deleted from and undone whole.
    """
    _ask(path, *VARIANTS[variant])
    before = whole(path, vectors=False)
    there = [name for name, (table, _) in KEYS.items() if _tables(path, table)]
    expected = _selected(path, dict.fromkeys(there, "user_id = 'bob'"))
    with memdelete.opening.open(path) as memories:
        assert "ariel" == memories.store.name
        assert there == [each.name for each in memories.store.collections]
        receipt = memories.delete(field("user_id").eq("bob"))
        assert expected == {name: list(keys) for name, keys in receipt.keys.items() if keys}
        assert () == memories.restore(receipt).refused
        assert before == whole(path, vectors=False)
        gone = memories.delete(field("user_id").eq("bob"), mode="hard")

    assert receipt.removed == gone.removed
    assert {} == _selected(path, dict.fromkeys(there, "user_id = 'bob'"))
    if variant in {"before layers", "before kinds", "younger"}:
        assert {"edges": [], "tags": []} == _orphans(path)


def _tables(path: Path, name: str) -> bool:
    return bool(_ask(path, f"SELECT 1 FROM sqlite_schema WHERE name = '{name}'"))


def test_tags_in_rows(path: Path) -> None:
    """
    Where nodes have no list of their own, the rows beside them are their tags.
    """
    expected = _ask(path, "SELECT node_id FROM epi_tags WHERE tag = 'user_preference' ORDER BY 1")
    _ask(path, *VARIANTS["tags in rows only"])
    with memdelete.opening.open(path) as memories:
        found = memories.preview(Tags(any=["user_preference"]), collections=["graph_nodes"])

    assert [key for (key,) in expected] == list(found.keys["graph_nodes"])


def test_a_twin_without_an_index(path: Path) -> None:
    """
    An older file has no unique index over keys, and a live twin is refused all the same.
    """
    _ask(path, *NO_LAYERS)
    with memdelete.opening.open(path) as memories:
        receipt = memories.delete(Key(4, collection="entries"))
        _ask(path, SAVED_AGAIN.format(layer=""))
        back = memories.restore(receipt)

    assert 1 == receipt.removed
    assert ["live_twin"] == [told.reason for told in back.refused]


def test_no_layer_no_scope_by_layer(path: Path) -> None:
    """
    A scope that an older file cannot answer is refused, and never left out.
    """
    _ask(path, *NO_LAYERS)
    with pytest.raises(StoreError, match="cannot answer"):
        memdelete.opening.open(path, scope=field("layer").eq("user"))


def test_a_stranger_is_not_recognised(tmp_path: Path) -> None:
    """
    A table of the same name with other columns is no store of this product.
    """
    path = tmp_path / "other.db"
    _ask(path, "CREATE TABLE core_memory (id INTEGER PRIMARY KEY, value TEXT)")

    backend = SQLite(path)
    with pytest.raises(StoreError, match="no known memory store"):
        recognise(backend.introspect())
    backend.close()
