"""
Stores of every shape: keys, rowids, tags and tombstones that are not the usual ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from memdelete import tags, times
from memdelete.backends.sqlite import SQLite
from memdelete.deleter import Deleter
from memdelete.errors import Refused, StoreError
from memdelete.filters import Before, Everything, Hash, Key, Tags, Untagged, field
from memdelete.schema import Collection, Field, Flag, FullText, Rows, Store
from tests.gardens import checks, eyes, whole


def make(path: Path, *statements: str) -> Path:
    """
    A database of these statements.
    """
    with eyes(path, vectors=False) as rows:
        for statement in statements:
            rows(statement)

    return path


def one(**words) -> Store:
    """
    A store of one collection.
    """
    return Store(name="shape", collections=[Collection(**words)])


TEXT_KEY = (
    "CREATE TABLE m (id TEXT PRIMARY KEY, body TEXT, tags TEXT, gone INTEGER NOT NULL DEFAULT 0)",
    (
        "INSERT INTO m (id, body, tags) VALUES ('a', 'one', 'x,y'), ('b', '', 'x'), ('c', NULL, NULL),"
        " ('1', 'digit', ' z ,x')"
    ),
    "DELETE FROM m WHERE id = 'b'",
    "INSERT INTO m (id, body, tags) VALUES ('b', 'two', 'x')",
)
COMPOSITE = (
    "CREATE TABLE m (owner TEXT, n INTEGER, body TEXT, at INTEGER, PRIMARY KEY (owner, n)) WITHOUT ROWID",
    "INSERT INTO m VALUES ('ana', 1, 'x', 1), ('ana', 2, 'y', 2), ('bob', 1, 'z', 3)",
)
STRICT = (
    "CREATE TABLE m (id INTEGER PRIMARY KEY, body ANY, tags TEXT) STRICT",
    "INSERT INTO m VALUES (1, '1', 'a'), (2, 1, 'a'), (3, 1.0, 'a'), (4, x'31', 'b')",
)
HOSTILE = (
    'CREATE TABLE "the ""table"" of [it]" ("a key" INTEGER PRIMARY KEY, "select" TEXT, rowid TEXT, oid TEXT,'
    ' "tags\'" TEXT)',
    "INSERT INTO \"the \"\"table\"\" of [it]\" VALUES (1, 'x', 'r', 'o', 'a'), (2, 'y', 'r', 'o', 'b')",
)
JOINED = (
    "CREATE TABLE m (id INTEGER PRIMARY KEY, sha TEXT UNIQUE, body)",
    "CREATE TABLE tag_of (m INTEGER, tag TEXT, at REAL, PRIMARY KEY (m, tag))",
    "INSERT INTO m VALUES (1, 'h1', -0.0), (2, 'h2', 9007199254740993), (3, 'h3', 0.1), (4, NULL, 2.5e-324)",
    "INSERT INTO tag_of VALUES (1, 'a', 1), (1, 'b', 2), (2, 'ab', 3), (3, NULL, 4)",
)
SHAPES = {
    "text key": (
        TEXT_KEY,
        one(table="m", key="id", tags=tags.CommaText("tags"), fields={"body": "body"}),
        Tags(any=["x"]),
        ["1", "a", "b"],
    ),
    "a flag for a tombstone": (
        TEXT_KEY,
        one(table="m", key="id", tags=tags.CommaText("tags"), tombstone=Flag("gone")),
        Untagged() | Key("a"),
        ["a", "c"],
    ),
    "a key of two columns, without rowid": (
        COMPOSITE,
        one(table="m", key=["owner", "n"], fields={"at": "at"}),
        Key(("ana", 2), ("bob", 1), ("bob", 2)),
        [("ana", 2), ("bob", 1)],
    ),
    "a strict table": (
        STRICT,
        one(
            table="m", key="id", tags=tags.CommaText("tags"), fields={"body": Field("body", "any")}
        ),
        field("body").eq(1),
        [2, 3],
    ),
    "hostile names": (
        HOSTILE,
        one(
            table='the "table" of [it]',
            key="a key",
            tags=tags.CommaText("tags'"),
            fields={"select": "select"},
        ),
        field("select").eq("y") & Tags(any=["b"]),
        [2],
    ),
    "tags in rows": (
        JOINED,
        one(table="m", key="id", hash="sha", tags=tags.JoinTable("tag_of", "m", "tag")),
        Tags(any=["a"]) | Tags(all=["ab"]),
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
class TestShapes:
    """
    What holds for one shape holds for all.
    """

    def test_undo(self, tmp_path: Path, name: str) -> None:
        """
        Each undoable mode takes exactly the rows, and gives them back whole.
        """
        statements, store, what, keys = SHAPES[name]
        path = make(tmp_path / "m.db", *statements)
        before = whole(path, vectors=False)
        collection = store.collections[0]
        with Deleter(SQLite(path), store) as memories:
            for mode in ["archive", *(["soft"] if collection.tombstone else [])]:
                receipt = memories.delete(memories.preview(what, mode=mode))
                assert keys == sorted(receipt.keys[collection.name], key=str)
                assert 0 == memories.preview(what, mode=mode).matched
                again = memories.bin.preview(what)
                assert keys == sorted(again.keys[collection.name], key=str)
                back = memories.restore(receipt)
                assert () == back.refused
                assert before == whole(path, vectors=False)

    def test_hard(self, tmp_path: Path, name: str) -> None:
        """
        Hard takes exactly the rows, and leaves the others.
        """
        statements, store, what, keys = SHAPES[name]
        path = make(tmp_path / "m.db", *statements)
        collection = store.collections[0]
        with Deleter(SQLite(path), store) as memories:
            everything = memories.preview(Everything()).keys[collection.name]
            receipt = memories.delete(what, mode="hard")
            left = memories.preview(Everything()).keys[collection.name]

        assert keys == sorted(receipt.keys[collection.name], key=str)
        assert set(everything) - set(keys) == set(left)


def test_rowids_come_back_where_they_are_free(tmp_path: Path) -> None:
    """
    A hidden rowid that nothing hangs on is given back if it is free, else another is taken.
    """
    path = make(tmp_path / "m.db", *TEXT_KEY)
    store = one(table="m", key="id")
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key("b"))
        with eyes(path, vectors=False) as rows:
            ((was,),) = rows("SELECT memdelete_rowid FROM memdelete_bin_m")
            rows("INSERT INTO m (rowid, id) VALUES (?, 'new')", (was,))
        back = memories.restore(receipt)

    assert ("b",) == back.keys["m"]


TWO = (
    "CREATE TABLE facts (id INTEGER PRIMARY KEY, body TEXT, born REAL)",
    "CREATE TABLE episodes (id INTEGER PRIMARY KEY, body TEXT, tags TEXT)",
    "INSERT INTO facts VALUES (1, 'f1', 1), (2, 'f2', 2)",
    "INSERT INTO episodes VALUES (1, 'e1', 'a'), (2, 'e2', 'b')",
)
BOTH = Store(
    name="two",
    collections=[
        Collection(table="facts", key="id", times={"created_at": times.EpochSeconds("born")}),
        Collection(table="episodes", key="id", tags=tags.CommaText("tags")),
    ],
)


def test_a_bare_key_over_two_collections_is_refused(tmp_path: Path) -> None:
    """
    An id must name its collection where there are several.
    """
    path = make(tmp_path / "two.db", *TWO)
    with Deleter(SQLite(path), BOTH) as memories:
        with pytest.raises(StoreError, match="facts, episodes"):
            memories.preview(Key(1))
        with pytest.raises(StoreError, match="nowhere"):
            memories.preview(Key(1, collection="nowhere"))

        assert {"episodes": (1,)} == memories.delete(Key(1, collection="episodes")).keys


def test_a_collection_that_cannot_answer_loses_nothing(tmp_path: Path) -> None:
    """
    A leaf on a column that a collection lacks is unknown there, under NOT too.
    """
    path = make(tmp_path / "two.db", *TWO)
    with Deleter(SQLite(path), BOTH) as memories:
        shown = memories.preview(~Tags(any=["a"]))
        assert {"episodes": (2,)} == shown.keys
        assert 2 == shown.unknown
        with pytest.raises(StoreError, match="created_at"):
            memories.preview(Tags(any=["a"]), collections=["facts"])
        receipt = memories.delete(Before("1970-01-01T00:00:02") | Tags(any=["b"]))
        assert {"facts": (1,), "episodes": (2,)} == receipt.keys

        assert 2 == memories.restore(receipt).restored


@pytest.mark.parametrize("word", ["scope", "protect"])
def test_a_guard_that_a_collection_cannot_answer(tmp_path: Path, word: str) -> None:
    """
    A deleter whose scope or protect some collection cannot answer is not made.
    """
    with pytest.raises(StoreError, match=f"the {word} asks"):
        Deleter(SQLite(tmp_path / "none.db"), BOTH, **{word: Tags(any=["a"])})


@pytest.mark.parametrize(
    ("store", "says"),
    [
        (one(table="nowhere", key="id"), "no table 'nowhere'"),
        (one(table="seen", key="id"), "is a view"),
        (one(table="facts", key="id", fields={"x": "nothing"}), "no column 'nothing'"),
        (one(table="facts", key="id", hash="body"), "not UNIQUE"),
        (one(table="facts", key="id", sidecars=[Rows("parts", "fact")]), "no table 'parts'"),
    ],
)
def test_a_mapping_that_does_not_fit(tmp_path: Path, store: Store, says: str) -> None:
    """
    A mapping that does not fit what is there is an error by name.
    """
    path = make(tmp_path / "two.db", *TWO, "CREATE VIEW seen AS SELECT * FROM facts")
    with Deleter(SQLite(path), store) as memories, pytest.raises(StoreError, match=says):
        memories.preview(Everything())


CANONICAL = (
    "CREATE TABLE m (id INTEGER PRIMARY KEY, body TEXT, sha TEXT UNIQUE)",
    "CREATE VIRTUAL TABLE t USING fts5(body, content='m', content_rowid='id')",
    "CREATE TRIGGER ai AFTER INSERT ON m BEGIN INSERT INTO t(rowid, body) VALUES (new.id, new.body); END",
    "CREATE TRIGGER ad AFTER DELETE ON m BEGIN"
    " INSERT INTO t(t, rowid, body) VALUES ('delete', old.id, old.body); END",
)
PLAIN = (
    *CANONICAL[:3],
    "CREATE TRIGGER ad AFTER DELETE ON m BEGIN DELETE FROM t WHERE rowid = old.id; END",
)
BARE = CANONICAL[:2]
OWN = (CANONICAL[0], "CREATE VIRTUAL TABLE t USING fts5(body)")
OWN_KEPT = (
    *OWN,
    CANONICAL[2],
    "CREATE TRIGGER ad AFTER DELETE ON m BEGIN DELETE FROM t WHERE rowid = old.id; END",
)
FILL = "INSERT INTO m VALUES (1, 'red fox', 'a'), (2, 'blue fox', 'b'), (3, 'red hen', 'c')"
INDEX = "INSERT INTO t(rowid, body) SELECT id, body FROM m"


@pytest.mark.parametrize(
    "statements",
    [
        (*CANONICAL, FILL),
        (*PLAIN, FILL),
        (*BARE, FILL, INDEX),
        (*OWN, FILL, INDEX),
        (*OWN_KEPT, FILL),
    ],
    ids=["canonical", "plain", "no trigger", "own text", "own text by triggers"],
)
def test_every_way_to_keep_an_index(tmp_path: Path, statements: tuple[str, ...]) -> None:
    """
    However a full-text index is kept, a delete leaves no ghost in it and an undo gives it back.
    """
    path = make(tmp_path / "t.db", *statements)
    store = one(table="m", key="id", hash="sha", sidecars=[FullText("t")])
    before = whole(path, vectors=False)

    def find() -> list[int]:
        return _find(path, "red")

    assert [1, 3] == find()
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Hash("a", "b"))
        assert [3] == find()
        assert {"file": "ok", "t": "ok"} == checks(path, vectors=False)
        memories.restore(receipt)
        assert [1, 3] == find()
        assert before == whole(path, vectors=False)
        memories.delete(Hash("a"), mode="hard")
        assert [3] == find()

    assert {"file": "ok", "t": "ok"} == checks(path, vectors=False)


def _find(path: Path, word: str) -> list[int]:
    with eyes(path, vectors=False) as rows:
        return [
            int(row[0]) for row in rows("SELECT rowid FROM t WHERE t MATCH ? ORDER BY 1", (word,))
        ]


def test_a_live_twin_keeps_the_older_one_away(tmp_path: Path) -> None:
    """
    Where a later save made a new row of the same topic, the old one does not come back.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, topic TEXT, deleted TEXT)",
        "INSERT INTO m VALUES (1, 'x', NULL), (2, 'y', NULL)",
    )
    tombstone = times.ISOText("deleted", "%Y-%m-%d %H:%M:%S")
    store = one(table="m", key="id", tombstone=tombstone, twins=[("topic",)])
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key(1, 2))
        with eyes(path, vectors=False) as rows:
            rows("INSERT INTO m VALUES (3, 'x', NULL)")
            assert [19] == [len(str(row[0])) for row in rows("SELECT deleted FROM m WHERE id = 1")]
        back = memories.restore(receipt)

    assert [(1, "live_twin", "topic")] == [(t.key, t.reason, t.detail) for t in back.refused]
    assert (2,) == back.keys["m"]


def test_zero_may_go(tmp_path: Path) -> None:
    """
    A ceiling of nothing refuses anything, and no match is done with zero.
    """
    path = make(tmp_path / "two.db", *TWO)
    with Deleter(SQLite(path), BOTH, at_most=0) as memories:
        assert 0 == memories.delete(Tags(any=["none"])).removed
        with pytest.raises(Refused):
            memories.delete(Tags(any=["a"]))
