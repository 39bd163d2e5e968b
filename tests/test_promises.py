"""
Faults that somebody found once, each of which no store may show again.
"""

from __future__ import annotations

import asyncio
import json

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from memdelete import tags, times
from memdelete.backends.sqlite import SQLite
from memdelete.deleter import Deleter
from memdelete.driving import run, run_async
from memdelete.errors import BackendError, FilterError, InDoubt, Refused, StoreError, Unverified
from memdelete.filters import Before, Everything, Key, OlderThan, Tags, Untagged, field
from memdelete.operations.talk import ask, transaction
from memdelete.questions import Commit, Now, Rollback
from memdelete.schema import (
    Collection,
    Edges,
    End,
    Flag,
    FullText,
    References,
    Rows,
    Store,
)
from tests.gardens import checks, eyes, whole


def make(path: Path, *statements: str) -> Path:
    """
    A database of these statements.
    """
    with eyes(path, vectors=False) as rows:
        for statement in statements:
            rows(statement)

    return path


def do(path: Path, statement: str, *values: object) -> Sequence[tuple[object, ...]]:
    """
    Somebody else's statement.
    """
    with eyes(path, vectors=False) as rows:
        return rows(statement, values)


def one(**words) -> Store:
    """
    A store of one collection.
    """
    return Store(name="one", collections=[Collection(**{"table": "m", "key": "id", **words})])


PLAIN = (
    "CREATE TABLE m (id INTEGER PRIMARY KEY, sha TEXT UNIQUE, body TEXT, gone REAL)",
    "INSERT INTO m VALUES (1, 'h1', 'secret', NULL), (2, 'h2', 'b', NULL), (3, 'h3', 'c', NULL)",
)
SOFT = one(hash="sha", tombstone=times.EpochSeconds("gone"), fields={"body": "body"})


@pytest.mark.parametrize("first", ["soft", "archive"])
def test_hard_leaves_no_image(tmp_path: Path, first: str) -> None:
    """
    What was soft-deleted before and goes hard now has no image left that could bring it back.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    with Deleter(SQLite(path), SOFT) as memories:
        receipt = memories.delete(Key(1), mode=first)
        gone = memories.delete(Key(1), mode="hard")
        if first == "archive":
            assert ((), (1,)) == (gone.not_found, gone.already)
            return
        back = memories.restore(receipt)

    assert {"m": 1, "memdelete_bin_m": 1} == gone.tables
    assert "secret" not in str(do(path, "SELECT * FROM memdelete_bin_m"))
    assert [(1, "purged")] == [(told.key, told.reason) for told in back.refused]


JOINED = (
    "CREATE TABLE m (id INTEGER PRIMARY KEY, body TEXT, gone REAL)",
    "CREATE TABLE t (m INTEGER, tag TEXT)",
    "INSERT INTO m VALUES (1, 'old', NULL)",
    "INSERT INTO t VALUES (1, 'pinned')",
)


def test_each_image_has_its_own_tags(tmp_path: Path) -> None:
    """
    Two images of one key are told apart by the tags that each had.
    """
    path = make(tmp_path / "m.db", *JOINED)
    store = one(tags=tags.JoinTable("t", "m", "tag"), tombstone=times.EpochSeconds("gone"))
    with Deleter(SQLite(path), store) as memories:
        memories.delete(Key(1), mode="archive")
        do(path, "INSERT INTO m VALUES (1, 'new', NULL)")
        do(path, "INSERT INTO t VALUES (1, 'junk')")
        memories.delete(Key(1), mode="archive")
        assert 1 == memories.bin.purge(filter=Tags(any=["junk"])).removed
        assert 1 == memories.bin.preview(Tags(any=["pinned"])).matched
        assert 1 == memories.restore(Tags(any=["pinned"])).restored
        memories.delete(Key(1), mode="soft")
        assert 0 == memories.bin.purge(filter=Untagged()).removed

        assert 1 == memories.restore(Tags(any=["pinned"])).restored


LISTS = [
    '{"a": "h1", "b": "keep"}',
    '"h1"',
    '["h1", true, null, 1.5, {"x": "h1"}, ["h1"], "keep"]',
    '["keep"]',
    "not json",
    '[1, "1", "h1"]',
]


def test_references_touch_only_arrays_and_keep_every_other_item(tmp_path: Path) -> None:
    """
    Only items that are the reference leave a reference array, and only arrays are touched.
    """
    path = make(tmp_path / "m.db", *PLAIN, "CREATE TABLE b (id INTEGER PRIMARY KEY, l TEXT)")
    for text in LISTS:
        do(path, "INSERT INTO b (l) VALUES (?)", text)
    before = whole(path, vectors=False)
    store = one(hash="sha", sidecars=[References("b", "id", "l")])
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key(1), mode="archive")
        got = [text for (text,) in do(path, "SELECT l FROM b ORDER BY id")]
        memories.restore(receipt)

    expected = json.loads(LISTS[2])[1:]
    assert LISTS[:2] == got[:2]
    assert expected == json.loads(str(got[2]))
    assert LISTS[3:5] == got[3:5]
    assert [1, "1"] == json.loads(str(got[5]))
    assert before == whole(path, vectors=False)


def test_references_by_key_are_matched_by_class(tmp_path: Path) -> None:
    """
    The text "1" is no reference to the key 1.
    """
    path = make(tmp_path / "m.db", *PLAIN, "CREATE TABLE b (id INTEGER PRIMARY KEY, l TEXT)")
    do(path, """INSERT INTO b (l) VALUES ('["1", "2"]'), ('[1, 2]')""")
    store = one(sidecars=[References("b", "id", "l", by="key")])
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key(1), mode="archive")
        assert [('["1", "2"]',), ("[2]",)] == do(path, "SELECT l FROM b ORDER BY id")
        memories.restore(receipt)

    assert [('["1", "2"]',), ("[1, 2]",)] == do(path, "SELECT l FROM b ORDER BY id")


@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE m DROP COLUMN body", "ALTER TABLE m RENAME COLUMN body TO text"],
)
def test_a_bin_of_an_older_shape(tmp_path: Path, change: str) -> None:
    """
    Where columns went since, an empty bin is made anew, and a full one refuses the delete.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    store = one(hash="sha")
    with Deleter(SQLite(path), store) as memories:
        memories.delete(Key(1), mode="archive")
        do(path, change)
        with pytest.raises(StoreError, match=r"memdelete_bin_m: .* body was TEXT|body was TEXT"):
            memories.delete(Key(2), mode="archive")
        assert 2 == memories.preview(Everything()).matched
        memories.bin.purge(filter=Everything())
        receipt = memories.delete(Key(2), mode="archive")

        assert 1 == memories.restore(receipt).restored


@pytest.mark.parametrize("quoted", ["t", '"t"', "[t]", "`t`", "main.t", 'main."t"'])
def test_triggers_are_read_not_guessed(tmp_path: Path, quoted: str) -> None:
    """
    Which index a trigger keeps is told by its whole name, however quoted.
    """
    fts = "USING fts5(body, content='m', content_rowid='id')"
    # SQLite forbids a schema within a trigger, so there only the bare name can stand.
    name = quoted.rpartition(".")[2]
    path = make(
        tmp_path / "m.db",
        PLAIN[0],
        f"CREATE VIRTUAL TABLE t {fts}",
        f"CREATE VIRTUAL TABLE t2 {fts}",
        "CREATE TRIGGER i2 AFTER INSERT ON m BEGIN"
        " INSERT INTO t2(rowid, body) VALUES (new.id, new.body); END",
        "CREATE TRIGGER i AFTER INSERT ON m BEGIN"
        f" INSERT INTO {name}(rowid, body) VALUES (new.id, new.body); END",
        "CREATE TRIGGER d2 AFTER DELETE ON m BEGIN"
        " INSERT INTO t2(t2, rowid, body) VALUES ('delete', old.id, old.body); END",
        f"CREATE TRIGGER d AFTER DELETE ON m BEGIN DELETE FROM {name} WHERE rowid = old.id; END",
        PLAIN[1],
    )
    before = whole(path, vectors=False)
    store = one(hash="sha", sidecars=[FullText("t"), FullText("t2")])
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key(1, 2), mode="archive")
        assert {"file": "ok", "t": "ok", "t2": "ok"} == checks(path, vectors=False)
        memories.restore(receipt)

    assert {"file": "ok", "t": "ok", "t2": "ok"} == checks(path, vectors=False)
    assert before == whole(path, vectors=False)


def test_what_somebody_made_anew_stays_and_ours_waits(tmp_path: Path) -> None:
    """
    An edge or a text that was made anew meanwhile is kept, and ours is named as waiting.
    """
    path = make(
        tmp_path / "m.db",
        *PLAIN,
        "CREATE TABLE e (a TEXT, b TEXT, w REAL, PRIMARY KEY (a, b))",
        "INSERT INTO e VALUES ('h1', 'h2', 0.5)",
        "CREATE VIRTUAL TABLE t USING fts5(body)",
        "INSERT INTO t(rowid, body) VALUES (1, 'one'), (2, 'two')",
    )
    store = one(hash="sha", sidecars=[Edges("e", [End("a"), End("b")]), FullText("t")])
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key(1, 2), mode="archive")
        do(path, "INSERT INTO e VALUES ('h1', 'h2', 0.9)")
        do(path, "INSERT INTO t(rowid, body) VALUES (1, 'another')")
        back = memories.restore(receipt)

    assert 2 == back.restored
    assert {"e": 1, "t": 1} == back.incomplete
    assert [(0.9,)] == do(path, "SELECT w FROM e")
    assert [("another",), ("two",)] == do(path, "SELECT body FROM t ORDER BY rowid")


@pytest.mark.parametrize("event", ["INSERT ON m", "UPDATE OF gone ON m"])
def test_an_undo_that_a_trigger_rewrites_is_rolled_back(tmp_path: Path, event: str) -> None:
    """
    A row that would not come back as it was does not come back at all.
    """
    mode = "archive" if event.startswith("INSERT") else "soft"
    path = make(tmp_path / "m.db", *PLAIN)
    with Deleter(SQLite(path), SOFT) as memories:
        receipt = memories.delete(Key(1), mode=mode)
        do(
            path,
            f"CREATE TRIGGER rewrite AFTER {event} BEGIN"
            " UPDATE m SET body = 'other' WHERE id = new.id; END",
        )
        before = whole(path, vectors=False)
        with pytest.raises(Unverified, match="came back"):
            memories.restore(receipt)

    assert before == whole(path, vectors=False)


def test_a_unique_index_over_the_live_rows(tmp_path: Path) -> None:
    """
    A tombstone whose place among the live rows was taken is refused alone.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, topic TEXT, gone REAL)",
        "CREATE UNIQUE INDEX one_topic ON m (topic) WHERE gone IS NULL",
        "INSERT INTO m VALUES (1, 'x', NULL), (2, 'y', NULL), (3, 'z', 5.0)",
    )
    store = one(tombstone=times.EpochSeconds("gone"))
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Key(1, 2))
        do(path, "INSERT INTO m VALUES (4, 'x', NULL), (5, 'z', NULL)")
        back = memories.restore(receipt)
        assert [(1, "unique_taken", "topic")] == [(t.key, t.reason, t.detail) for t in back.refused]
        assert 1 == back.restored
        back = memories.restore(Key(3))

    assert [(3, "unique_taken")] == [(told.key, told.reason) for told in back.refused]


class Failing:
    """
    A session whose commit is lost, and whose connection is dead then.
    """

    def answer(self, question):
        match question:
            case Commit():
                raise BackendError("the connection was lost", in_doubt=True)
            case Rollback():
                raise BackendError("the connection is closed")
            case _:
                return True


def test_doubt_outlives_a_failing_rollback() -> None:
    """
    A commit whose outcome is unknown is told as such, though the rollback after it fails too.
    """

    def body(_: bool):
        return (yield from ask(Now()))

    with pytest.raises(InDoubt, match="op7") as caught:
        run(transaction(body, write=True, operation="op7"), Failing())

    assert "the rollback failed too" in str(caught.value.__cause__.__notes__)


def test_closing_a_talk_is_no_error() -> None:
    """
    A talk that is dropped halfway can be closed.
    """

    def body(_: bool):
        return (yield from ask(Now()))

    talk = transaction(body, write=True)
    next(talk)
    talk.send(True)
    talk.close()


def test_a_cancelled_failing_commit_is_a_cancellation() -> None:
    """
    When the commit fails while its task is cancelled, the cancellation is not lost.
    """

    class Slow(Failing):
        async def answer(self, question):
            if isinstance(question, Commit):
                task.cancel()
                await asyncio.sleep(0.01)
            return super().answer(question)

    def body(_: bool):
        return (yield from ask(Now()))

    async def play() -> None:
        nonlocal task
        task = asyncio.ensure_future(run_async(transaction(body, write=True), Slow()))
        with pytest.raises(asyncio.CancelledError):
            await task

    task: asyncio.Future[object]
    asyncio.run(play())


def test_cascades_one_step_away(tmp_path: Path) -> None:
    """
    What a declared table's own children would lose by cascade is refused by name.
    """
    path = make(
        tmp_path / "m.db",
        *PLAIN,
        "CREATE TABLE kid (id INTEGER PRIMARY KEY, m INTEGER)",
        "CREATE TABLE grandkid (kid INTEGER REFERENCES kid(id) ON DELETE CASCADE)",
    )
    store = one(sidecars=[Rows("kid", "m")])
    with Deleter(SQLite(path), store) as memories, pytest.raises(StoreError, match="grandkid"):
        memories.delete(Key(1))


def test_triggers_that_delete_elsewhere(tmp_path: Path) -> None:
    """
    A trigger that deletes from a table nobody declared is refused by both names.
    """
    path = make(
        tmp_path / "m.db",
        *PLAIN,
        "CREATE TABLE notes_of (m INTEGER)",
        "CREATE TRIGGER clean AFTER DELETE ON m BEGIN DELETE FROM notes_of WHERE m = old.id; END",
    )
    with Deleter(SQLite(path), SOFT) as memories:
        with pytest.raises(StoreError, match="clean deletes from notes_of"):
            memories.delete(Key(1), mode="archive")

        assert 1 == memories.delete(Key(1), mode="soft").removed


def test_protect_binds_in_the_bin(tmp_path: Path) -> None:
    """
    What a preview of the bin shows is what its purge takes, protected rows aside in both.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    with Deleter(SQLite(path), SOFT) as memories:
        memories.delete(Everything(), mode="archive")
    with Deleter(SQLite(path), SOFT, protect=field("body").eq("b")) as memories:
        shown = memories.bin.preview(Everything())
        purged = memories.bin.purge(filter=Everything())

    assert shown.keys == purged.keys == {"m": (1, 3)}


def test_deleted_at_is_known_without_a_tombstone(tmp_path: Path) -> None:
    """
    The time of deletion can be asked of the bin of a store that has no tombstone.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    with Deleter(SQLite(path), one()) as memories:
        memories.delete(Key(1))
        assert 1 == memories.bin.preview(Before("2100-01-01", on="deleted_at")).matched
        assert 1 == memories.purge(deleted_before="2100-01-01").removed


def test_a_flag_has_no_age(tmp_path: Path) -> None:
    """
    Where a flag marks the deleted, a purge by age leaves row and image, and one by filter takes both.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, body TEXT, gone INTEGER DEFAULT 0)",
        "INSERT INTO m VALUES (1, 'secret', 0), (2, 'b', 0)",
    )
    with Deleter(SQLite(path), one(tombstone=Flag("gone"))) as memories:
        receipt = memories.delete(Key(1))
        assert 0 == memories.purge(deleted_before="2100-01-01").removed
        assert 1 == memories.restore(receipt).restored
        memories.delete(Key(1))
        purged = memories.purge(filter=Key(1))

    assert (1, {"m": 1, "memdelete_bin_m": 1}) == (purged.removed, purged.tables)
    assert [(2,)] == do(path, "SELECT id FROM m")


def test_a_column_called_rowid(tmp_path: Path) -> None:
    """
    A column of the user's that is called rowid is only a column.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, rowid TEXT)",
        "INSERT INTO m VALUES (1, 'same'), (2, 'same'), (3, 'same')",
    )
    before = whole(path, vectors=False)
    with Deleter(SQLite(path), one()) as memories:
        receipts = [memories.delete(Key(1)), memories.delete(Key(2, 3))]
        for receipt in receipts:
            assert () == memories.restore(receipt).refused

    assert before == whole(path, vectors=False)


def test_one_table_for_two_ties(tmp_path: Path) -> None:
    """
    A row that hangs on two memories, or on two collections, is counted once and goes once.
    """
    path = make(
        tmp_path / "m.db",
        *PLAIN,
        "CREATE TABLE n (id INTEGER PRIMARY KEY)",
        "INSERT INTO n VALUES (1), (2)",
        "CREATE TABLE l (m INTEGER, n INTEGER, other INTEGER)",
        "INSERT INTO l VALUES (1, 1, 2), (3, 2, 3)",
    )
    store = Store(
        name="two",
        collections=[
            Collection(table="m", key="id", sidecars=[Rows("l", "m"), Rows("l", "other")]),
            Collection(table="n", key="id", sidecars=[Rows("l", "n")]),
        ],
    )
    with Deleter(SQLite(path), store) as memories:
        what = Key(1, 2, collection="m") | Key(1, collection="n")
        shown = memories.preview(what)
        receipt = memories.delete(shown, mode=None)

    assert {"m": 2, "n": 1, "l": 1} == shown.tables == receipt.tables


@pytest.mark.parametrize(
    ("create", "says"),
    [
        ("CREATE TABLE m (id INTEGER, body TEXT)", "neither PRIMARY KEY nor UNIQUE"),
        ("CREATE TABLE m (id TEXT PRIMARY KEY, body TEXT)", "by which no undo could find it"),
    ],
)
def test_keys_that_do_not_name_a_row(tmp_path: Path, create: str, says: str) -> None:
    """
    A key that is not unique, or a row without one, is refused where an undo is promised.
    """
    path = make(tmp_path / "m.db", create, "INSERT INTO m VALUES (NULL, 'x'), (x'00ff', 'y')")
    with Deleter(SQLite(path), one()) as memories, pytest.raises(StoreError, match=says):
        memories.delete(Everything())


def test_an_empty_key_can_be_asked_about(tmp_path: Path) -> None:
    """
    A row whose key is an empty text comes back, and a second undo tells why not.
    """
    path = make(
        tmp_path / "m.db", "CREATE TABLE m (id TEXT PRIMARY KEY)", "INSERT INTO m VALUES ('')"
    )
    with Deleter(SQLite(path), one()) as memories:
        receipt = memories.delete(Everything())
        assert 1 == memories.restore(receipt).restored

        assert 0 == memories.restore(receipt).restored


def test_equal_scopes_are_equal(tmp_path: Path) -> None:
    """
    A scope written in another order is the same scope, and the journal is cut after it is asked.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    mine, theirs = field("body").ne("x"), field("body").ne("y")
    with (
        Deleter(SQLite(path), SOFT, scope=mine & theirs) as one_way,
        Deleter(SQLite(path), SOFT, scope=theirs & mine) as other_way,
        Deleter(SQLite(path), SOFT) as everybody,
    ):
        receipt = one_way.delete(Key(1))
        for key in (2, 3):
            everybody.delete(Key(key))
        assert [receipt.operation] == [e.operation for e in other_way.history(limit=1)]

        assert 1 == other_way.restore(receipt).restored


def test_two_stores_in_one_file(tmp_path: Path) -> None:
    """
    The journal of a file with two stores tells each its own.
    """
    path = make(tmp_path / "m.db", *PLAIN, "CREATE TABLE n (id INTEGER PRIMARY KEY)")
    other = Store(name="other", collections=[Collection(table="n", key="id")])
    with Deleter(SQLite(path), SOFT) as memories, Deleter(SQLite(path), other) as others:
        receipt = memories.delete(Key(1))
        assert [] == list(others.history())
        with pytest.raises(StoreError, match="no operation"):
            others.restore(receipt.operation)


def test_a_table_that_refers_to_itself(tmp_path: Path) -> None:
    """
    A parent and its child go together; a parent whose child stays is refused.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, up INTEGER REFERENCES m(id))",
        "INSERT INTO m VALUES (1, NULL), (2, 1)",
    )
    with Deleter(SQLite(path), one()) as memories:
        with pytest.raises(Refused, match="still refer"):
            memories.delete(Key(1))
        receipt = memories.delete(Key(1, 2))
        assert 2 == memories.restore(receipt).restored

        assert 2 == memories.delete(Key(1, 2), mode="hard").removed


def test_an_index_that_could_not_be_filled_again(tmp_path: Path) -> None:
    """
    A contentless index over other columns is refused before a row moves, where an undo is promised.
    """
    path = make(
        tmp_path / "m.db",
        *PLAIN,
        "CREATE VIRTUAL TABLE t USING fts5(words, content='', contentless_delete=1)"
        if sqlite_is_new()
        else "CREATE VIRTUAL TABLE t USING fts5(words, content='m', content_rowid='id')",
    )
    store = one(hash="sha", sidecars=[FullText("t")])
    with Deleter(SQLite(path), store) as memories, pytest.raises(StoreError, match="words"):
        memories.delete(Key(1))

    assert 3 == do(path, "SELECT count(*) FROM m")[0][0]


def sqlite_is_new() -> bool:
    """
    Whether this SQLite knows contentless_delete.
    """
    import sqlite3

    return sqlite3.sqlite_version_info >= (3, 43)


def test_ages_of_many_digits() -> None:
    """
    Every age is written so that it reads back.
    """
    from memdelete.filters import Filter

    age = OlderThan(timedelta(days=30_000, microseconds=1))

    assert age == Filter.from_dict(age.to_dict())


def test_modes_of_a_preview(tmp_path: Path) -> None:
    """
    A delete of a preview cannot be given another mode than the preview's.
    """
    path = make(tmp_path / "m.db", *PLAIN, "CREATE TABLE n (id INTEGER PRIMARY KEY)")
    both = Store(
        name="both",
        collections=[*SOFT.collections, Collection(table="n", key="id")],
    )
    with Deleter(SQLite(path), both) as memories:
        shown = memories.preview(Everything())
        assert {"m": "soft", "n": "archive"} == shown.mode
        with pytest.raises(FilterError, match="mode"):
            memories.delete(shown, mode="archive")


@pytest.mark.parametrize(
    "words",
    [{"at_most": "7"}, {"at_most": True}, {"at_most": -1}, {"max_share": 0}, {"max_share": "x"}],
)
def test_ceilings_that_are_none(tmp_path: Path, words: dict[str, object]) -> None:
    """
    A ceiling that is no number is an error, for a deleter and for a delete.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    with pytest.raises(FilterError):
        Deleter(SQLite(path), SOFT, **words)
    with Deleter(SQLite(path), SOFT) as memories, pytest.raises(FilterError):
        memories.delete(Key(1), **words)


def test_nothing_is_left_in_the_caller_s_connection(tmp_path: Path) -> None:
    """
    After an operation the caller's connection holds no temporary table of ours.
    """
    import sqlite3

    mine = sqlite3.connect(make(tmp_path / "m.db", *PLAIN))
    memories = Deleter(SQLite(mine), SOFT)
    memories.restore(memories.delete(Key(1)))
    memories.purge(filter=Everything())

    assert [] == mine.execute("SELECT name FROM temp.sqlite_master").fetchall()
    mine.close()


def test_nothing_happened_nothing_written(tmp_path: Path) -> None:
    """
    A delete that matches nothing makes no table and no entry.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    before = path.read_bytes()
    with Deleter(SQLite(path), SOFT) as memories:
        assert 0 == memories.delete(field("body").eq("nothing like it")).removed

    assert before == path.read_bytes()


@pytest.mark.parametrize("limit", [0, -1, True, "3"])
def test_limits_of_history(tmp_path: Path, limit: object) -> None:
    """
    A limit that would show nothing is refused.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    with Deleter(SQLite(path), SOFT) as memories, pytest.raises(FilterError, match="limit"):
        memories.history(limit=limit)


def test_a_purge_in_one_scope_keeps_another_s_images(tmp_path: Path) -> None:
    """
    An image under a key that was used again belongs to its own memory, and its own owner.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, owner TEXT, gone REAL)",
        "INSERT INTO m VALUES (1, 'ana', NULL), (3, 'bob', NULL)",
    )
    words = {"tombstone": times.EpochSeconds("gone"), "fields": {"owner": "owner"}}
    with (
        Deleter(SQLite(path), one(**words), scope=field("owner").eq("ana")) as ana,
        Deleter(SQLite(path), one(**words), scope=field("owner").eq("bob")) as bob,
    ):
        his = bob.delete(Key(3), mode="archive")
        do(path, "INSERT INTO m VALUES (3, 'ana', NULL)")
        ana.delete(Key(3), mode="soft")
        ana.purge(filter=Everything())

        assert 1 == bob.restore(his).restored


def test_an_older_image_waits_for_a_newer_one(tmp_path: Path) -> None:
    """
    A row that was marked and later archived comes back by the later operation first.
    """
    path = make(tmp_path / "m.db", *PLAIN, "CREATE TABLE c (m INTEGER)", "INSERT INTO c VALUES (1)")
    store = one(hash="sha", tombstone=times.EpochSeconds("gone"), sidecars=[Rows("c", "m")])
    before = whole(path, vectors=False)
    with Deleter(SQLite(path), store) as memories:
        first = memories.delete(Key(1))
        second = memories.delete(Key(1), mode="archive", include="deleted")
        assert ["changed_since"] == [told.reason for told in memories.restore(first).refused]
        assert 1 == memories.restore(second).restored
        assert 1 == memories.restore(first).restored

    assert before == whole(path, vectors=False)


def test_a_shared_table_keeps_what_another_collection_claims(tmp_path: Path) -> None:
    """
    Purging one collection keeps the binned rows of another in the table they share.
    """
    path = make(
        tmp_path / "m.db",
        *PLAIN,
        "CREATE TABLE n (id INTEGER PRIMARY KEY)",
        "INSERT INTO n VALUES (11)",
        "CREATE TABLE c (owner INTEGER)",
        "INSERT INTO c VALUES (1), (11)",
    )
    store = Store(
        name="two",
        collections=[
            Collection(table=name, key="id", sidecars=[Rows("c", "owner")]) for name in ("m", "n")
        ],
    )
    with Deleter(SQLite(path), store) as memories:
        memories.delete(Key(1, collection="m"))
        receipt = memories.delete(Key(11, collection="n"))
        memories.purge(filter=Key(1, collection="m"))
        memories.restore(receipt)

    assert [(11,)] == do(path, "SELECT owner FROM c")


def test_a_time_that_the_product_sets_itself(tmp_path: Path) -> None:
    """
    Where a trigger sets a touched time at each update, the undo names that time as lost.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, at REAL, gone REAL)",
        "INSERT INTO m VALUES (1, 5.0, NULL)",
        "CREATE TRIGGER t AFTER UPDATE OF gone ON m BEGIN UPDATE m SET at = 9.0 WHERE id = new.id; END",
    )
    store = one(tombstone=times.EpochSeconds("gone"), touch=[times.EpochSeconds("at")])
    with Deleter(SQLite(path), store) as memories:
        back = memories.restore(memories.delete(Key(1)))

    assert (1, {"m.at": 1}) == (back.restored, back.incomplete)


def test_tags_and_hashes_that_are_content(tmp_path: Path) -> None:
    """
    Values of tags and hashes whose columns are content stand in no receipt and no journal.
    """
    path = make(
        tmp_path / "m.db",
        "CREATE TABLE m (id INTEGER PRIMARY KEY, sha TEXT UNIQUE, tags TEXT)",
        "INSERT INTO m VALUES (1, 'hush', 'secret')",
    )
    store = one(hash="sha", tags=tags.CommaText("tags"), content=["tags", "sha"])
    with Deleter(SQLite(path), store) as memories:
        receipt = memories.delete(Tags(any=["secret"]) & ~Tags(any=["other secret"]), mode="hard")

    told = json.dumps(receipt.filter) + str(do(path, "SELECT report FROM memdelete_operations"))
    assert "secret" not in told
    assert "digest" in told


def test_deleting_in_a_loop_over_an_open_cursor(tmp_path: Path) -> None:
    """
    The caller may loop over a cursor of the same connection while deleting.
    """
    import sqlite3

    mine = sqlite3.connect(make(tmp_path / "m.db", *PLAIN))
    memories = Deleter(SQLite(mine), SOFT)
    memories.prepare()
    for (key,) in mine.execute("SELECT id FROM m"):
        memories.delete(Key(key), mode="archive")

    assert 0 == mine.execute("SELECT count(*) FROM m").fetchone()[0]
    mine.close()


@pytest.mark.parametrize("word", ["reason", "actor"])
def test_reasons_are_text(tmp_path: Path, word: str) -> None:
    """
    An actor or a reason that is no text is an error.
    """
    path = make(tmp_path / "m.db", *PLAIN)
    given = {word: b"x"} if word == "actor" else {}
    said = {word: b"x"} if word == "reason" else {}
    with pytest.raises(FilterError, match=word), Deleter(SQLite(path), SOFT, **given) as memories:
        memories.delete(Key(1), **said)


def test_an_update_trigger_that_unindexes(tmp_path: Path) -> None:
    """
    What a soft delete's trigger took out of an index is in it again after the undo, and no more.
    """
    path = make(
        tmp_path / "m.db",
        PLAIN[0],
        "CREATE VIRTUAL TABLE t USING fts5(body, content='m', content_rowid='id')",
        "CREATE TRIGGER i AFTER INSERT ON m BEGIN"
        " INSERT INTO t(rowid, body) VALUES (new.id, new.body); END",
        "CREATE TRIGGER u AFTER UPDATE OF gone ON m WHEN new.gone IS NOT NULL BEGIN"
        " INSERT INTO t(t, rowid, body) VALUES ('delete', old.id, old.body); END",
        "CREATE TRIGGER d AFTER DELETE ON m BEGIN DELETE FROM t WHERE rowid = old.id; END",
        PLAIN[1],
        "DELETE FROM t WHERE rowid = 3",
    )
    store = one(hash="sha", tombstone=times.EpochSeconds("gone"), sidecars=[FullText("t")])
    before = whole(path, vectors=False)
    with Deleter(SQLite(path), store) as memories:
        for mode in ("soft", "archive"):
            memories.restore(memories.delete(Key(1, 3) if mode == "archive" else Key(1), mode=mode))
            assert before == whole(path, vectors=False)


def test_a_rollback_is_seen_through() -> None:
    """
    A rollback that takes its time is finished, however often its task is cancelled meanwhile.
    """
    done: list[str] = []

    class Slow:
        async def answer(self, question):
            if isinstance(question, Now):
                raise BackendError("no")
            if isinstance(question, Rollback):
                task.cancel()
                await asyncio.sleep(0.01)
                task.cancel()
                await asyncio.sleep(0.01)
                done.append("rolled back")
            return True

    def body(_: bool):
        return (yield from ask(Now()))

    async def play() -> None:
        nonlocal task
        task = asyncio.ensure_future(run_async(transaction(body, write=True), Slow()))
        with pytest.raises(asyncio.CancelledError):
            await task

    task: asyncio.Future[object]
    asyncio.run(play())

    assert ["rolled back"] == done
