"""
Preview, delete, restore and purge on a garden that has one of everything.
"""

from __future__ import annotations

import re

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memdelete.backends.sqlite import SQLite
from memdelete.deleter import Deleter
from memdelete.errors import (
    BackendError,
    FilterError,
    PreviewStale,
    Refused,
    StoreError,
    Unverified,
)
from memdelete.filters import Before, Everything, Hash, Key, Since, Tags, field
from memdelete.receipts import Mode
from memdelete.testing import garden
from tests.conftest import require
from tests.gardens import checks, counts, eyes, plant, whole


LATER = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """
    A garden with vectors.
    """
    return plant(tmp_path / "garden.db")


@pytest.fixture
def memories(path: Path) -> Iterator[Deleter]:
    """
    A deleter over the garden, by way of apsw.
    """
    require("apsw")
    from memdelete.backends.apsw import APSW

    with Deleter(APSW(path), garden.store(), actor="tester") as deleter:
        yield deleter


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[tuple[Path, Deleter]]:
    """
    A garden without vectors, by way of the standard library.
    """
    path = plant(tmp_path / "plain.db", vectors=False)
    with Deleter(SQLite(path), garden.store(vectors=False)) as deleter:
        yield path, deleter


SOME = Tags(any=["t1"]) | Hash("5feceb66ffc8")
MODES: tuple[Mode, ...] = ("soft", "archive", "hard")


class TestDelete:
    """
    What goes, what stays, and what is refused.
    """

    @pytest.mark.parametrize("mode", MODES)
    def test_preview_is_the_delete(self, path: Path, memories: Deleter, mode: Mode) -> None:
        """
        A delete takes the hashes that its preview showed, and each table loses what it said.
        """
        before = counts(path)
        shown = memories.preview(SOME, mode=mode)
        receipt = memories.delete(shown, reason="because")
        after = counts(path)

        assert 7 == shown.matched
        assert shown.hashes == receipt.hashes
        assert shown.tables == receipt.tables
        lost = {name: before[name] - after[name] for name in before if name != "events"}
        gone = {name: shown.tables.get(name, 0) for name in lost}
        if mode == "soft":
            gone["notes"] = 0
        assert gone == lost
        assert before["events"] + 7 == after["events"]

    @pytest.mark.parametrize("mode", MODES)
    def test_only_the_selected_go(self, path: Path, memories: Deleter, mode: Mode) -> None:
        """
        Rows that do not match stay live, and those that match do not.
        """
        with eyes(path) as rows:
            expected = rows(
                "SELECT id FROM notes WHERE deleted IS NULL AND NOT"
                " (labels LIKE '%\"t1\"%' OR sha = '5feceb66ffc8') ORDER BY id"
            )
        memories.delete(SOME, mode=mode)
        with eyes(path) as rows:
            got = rows("SELECT id FROM notes WHERE deleted IS NULL ORDER BY id")

        assert expected == got

    @pytest.mark.parametrize("mode", MODES)
    def test_no_orphans(self, path: Path, memories: Deleter, mode: Mode) -> None:
        """
        No vector, edge, chunk or index entry is left of what went for good.
        """
        memories.delete(SOME, mode=mode)
        with eyes(path) as rows:
            live = "(SELECT id FROM notes WHERE deleted IS NULL)"
            vectors = rows(f"SELECT count(*) FROM vectors WHERE rowid NOT IN {live}")
            here = "(SELECT sha FROM notes WHERE deleted IS NULL)"
            edges = rows(
                f"SELECT count(*) FROM links WHERE source NOT IN {here} OR (target NOT IN {here}"
                " AND coalesce(kind, '') <> 'has_entity' AND target <> 'a hash of nothing')"
            )
            ghosts = rows("SELECT id FROM words_docsize EXCEPT SELECT id FROM notes")

        assert [(1,)] == vectors  # the tombstone that was there before has one
        assert [(0,)] == edges
        assert [] == ghosts
        assert {"file": "ok", "titles": "ok", "words": "ok"} == checks(path)

    def test_at_most_refuses(self, path: Path, memories: Deleter) -> None:
        """
        More matches than `at_most` are refused with both numbers, and nothing is touched.
        """
        before = whole(path, aside=())
        with pytest.raises(Refused, match="7 memories match, at most 6") as caught:
            memories.delete(SOME, at_most=6)

        assert (6, 7) == (caught.value.limit, caught.value.found)
        assert before == whole(path, aside=())
        assert 7 == memories.delete(SOME, at_most=7).removed

    def test_max_share_refuses(self, path: Path, memories: Deleter) -> None:
        """
        More than the share of the rows in view is refused.
        """
        with pytest.raises(Refused, match="7 of 19"):
            memories.delete(SOME, max_share=0.3)

        assert 7 == memories.delete(SOME, max_share=0.5).removed

    def test_scope_and_protect_bind(self, path: Path) -> None:
        """
        A row outside the scope, or not certainly unprotected, stays whatever the filter says.
        """
        require("apsw")
        from memdelete.backends.apsw import APSW

        guards = {"scope": field("owner").eq("ana"), "protect": field("project").eq("beta")}
        with Deleter(APSW(path), garden.store(), **guards) as deleter:
            shown = deleter.preview(Everything(), mode="hard")
            receipt = deleter.delete(Everything(), mode="hard")
        with eyes(path) as rows:
            got = rows("SELECT count(*), sum(owner = 'bob') FROM notes")
            left = rows("SELECT DISTINCT project FROM notes WHERE owner = 'ana' ORDER BY 1")

        assert receipt.removed == shown.matched == 4
        assert 6 == shown.protected
        assert [(16, 10)] == got
        assert [(None,), ("beta",)] == left

    def test_not_found_and_already(self, memories: Deleter) -> None:
        """
        Values that every match needs are told apart: not there, or deleted already.
        """
        dead = "9400f1b21cb5"
        memories.delete(Hash("6b86b273ff34"))
        receipt = memories.delete(Hash("nope", "6b86b273ff34", dead, "d4735e3a265e"))

        assert ("nope",) == receipt.not_found
        assert {"6b86b273ff34", dead} == set(receipt.already)
        assert ("d4735e3a265e",) == receipt.hashes

    def test_hard_by_hash_sees_tombstones(self, path: Path, memories: Deleter) -> None:
        """
        Hard by hash or key reaches what is only marked.
        """
        memories.delete(Key(2))
        receipt = memories.delete(Key(2), mode="hard")

        assert 1 == receipt.removed

    def test_unknown_rows_survive_and_are_counted(self, path: Path, memories: Deleter) -> None:
        """
        A row of which the filter is unknown stays, under NOT too, and the preview counts it.
        """
        shown = memories.preview(~field("project").eq("Alpha"))

        assert 6 == shown.unknown
        assert 6 == shown.matched

    @pytest.mark.parametrize(
        ("build", "error", "says"),
        [
            (lambda m: m.delete(field("nowhere").eq(1)), StoreError, "body, created_at"),
            (lambda m: m.delete(Tags(any=["a"]), mode="gone"), FilterError, "mode='gone'"),
            (lambda m: m.delete(Tags(any=["a"]), include="some"), FilterError, "include='some'"),
            (lambda m: m.delete(Tags(any=["a"]), collections=[]), StoreError, "no collection"),
            (lambda m: m.delete(Tags(any=["a"]), collections=["x"]), StoreError, "notes"),
            (lambda m: m.delete("all"), FilterError, "'all' is no filter"),
            (lambda m: m.delete(field("project").eq(3)), StoreError, "project"),
            (lambda m: m.delete(Key("1x")), StoreError, "1x"),
            (lambda m: m.restore("nothing"), StoreError, "no operation 'nothing'"),
            (lambda m: m.restore(3), FilterError, "int is nothing to restore"),
        ],
    )
    def test_bad_words(self, path: Path, memories: Deleter, build, error, says) -> None:
        """
        A word that means nothing is a typed error that names it, and nothing is touched.
        """
        before = whole(path, aside=())
        with pytest.raises(error, match=re.escape(says)):
            build(memories)

        assert before == whole(path, aside=())

    def test_vetoing_trigger_rolls_back(self, path: Path, memories: Deleter) -> None:
        """
        A trigger that silently keeps a row makes the whole delete fail, and nothing is changed.
        """
        with eyes(path) as rows:
            rows(
                "CREATE TRIGGER veto BEFORE DELETE ON notes WHEN old.id = 2"
                " BEGIN SELECT RAISE(IGNORE); END"
            )
        before = whole(path, aside=())
        with pytest.raises(Unverified, match="notes: 7 rows were to change and 6 did"):
            memories.delete(SOME, mode="archive")

        assert before == whole(path, aside=())

    def test_rewriting_trigger_rolls_back(self, path: Path, memories: Deleter) -> None:
        """
        A trigger that rewrites a marked row makes the soft delete fail.
        """
        with eyes(path) as rows:
            rows(
                "CREATE TRIGGER rewrite AFTER UPDATE OF deleted ON notes"
                " BEGIN UPDATE notes SET body = 'gone' WHERE id = new.id; END"
            )
        before = whole(path, aside=())
        with pytest.raises(Unverified, match="rewrote"):
            memories.delete(SOME)

        assert before == whole(path, aside=())

    @pytest.mark.parametrize(
        ("action", "error", "says"),
        [
            ("ON DELETE CASCADE", StoreError, "scores refers to notes with ON DELETE CASCADE"),
            ("ON DELETE SET NULL", StoreError, "SET NULL"),
            ("", Refused, "2 rows of scores still refer"),
        ],
    )
    def test_foreign_keys_of_undeclared_tables(
        self, path: Path, memories: Deleter, action, error, says
    ) -> None:
        """
        A foreign key into a table that nobody declared is refused by name.
        """
        with eyes(path) as rows:
            rows(f"CREATE TABLE scores (note INTEGER REFERENCES notes(id) {action}, score)")
            rows("INSERT INTO scores VALUES (2, 1), (5, 1), (3, 1)")
        with pytest.raises(error, match=re.escape(says)):
            memories.delete(SOME, mode="archive")

        assert 7 == memories.delete(SOME, mode="soft").removed


class TestRestore:
    """
    What comes back, and why not.
    """

    @pytest.mark.parametrize("mode", ["soft", "archive"])
    @pytest.mark.parametrize("what", [SOME, Everything(), Key(1), Hash("5feceb66ffc8")])
    def test_whole(self, path: Path, memories: Deleter, mode: Mode, what) -> None:
        """
        An undo gives the store back whole, vectors, edges, text and references included.
        """
        before = whole(path)
        receipt = memories.delete(what, mode=mode)
        assert before != whole(path)
        back = memories.restore(receipt)

        assert receipt.removed == back.restored > 0
        assert () == back.refused
        assert {} == back.incomplete
        assert before == whole(path)
        assert {"file": "ok", "titles": "ok", "words": "ok"} == checks(path)

    @pytest.mark.parametrize("first", [0, 1])
    @pytest.mark.parametrize(
        "modes", [("soft", "archive"), ("archive", "soft"), ("archive", "archive")]
    )
    def test_whole_in_any_order(self, path: Path, memories: Deleter, first: int, modes) -> None:
        """
        Two deletes that share edges and references are undone in either order, whole.
        """
        before = whole(path)
        receipts = [
            memories.delete(Key(1, 3), mode=modes[0]),
            memories.delete(Key(2, 4), mode=modes[1]),
        ]
        memories.restore(receipts[first])
        memories.restore(receipts[1 - first])

        assert before == whole(path)

    @pytest.mark.parametrize("mode", ["soft", "archive"])
    def test_by_operation_and_by_filter(self, path: Path, memories: Deleter, mode: Mode) -> None:
        """
        An operation's id, and a filter over the deleted, give back as a receipt does.
        """
        before = whole(path)
        receipt = memories.delete(SOME, mode=mode)
        memories.restore(receipt.operation)
        assert before == whole(path)
        memories.delete(SOME, mode=mode)
        back = memories.restore(SOME & field("owner").isin(["ana", "bob"]) & ~Key(20))

        assert 7 == back.restored
        assert before == whole(path)

    def test_twice_is_told(self, memories: Deleter) -> None:
        """
        A second undo of the same receipt restores nothing and says why.
        """
        receipt = memories.delete(Key(1))
        memories.restore(receipt)
        again = memories.restore(receipt)

        assert 0 == again.restored
        assert [(1, "key_taken")] == [(told.key, told.reason) for told in again.refused]

    @pytest.mark.parametrize("mode", ["soft", "archive"])
    def test_key_taken(self, path: Path, memories: Deleter, mode: Mode) -> None:
        """
        A row whose key another row has taken is refused, and the rest comes back.
        """
        receipt = memories.delete(Key(1, 2), mode=mode)
        with eyes(path) as rows:
            rows("DELETE FROM words WHERE rowid = 1")
            rows("DELETE FROM notes WHERE id = 1")
            rows("INSERT INTO notes (id, sha, body) VALUES (1, 'new', 'another')")
        back = memories.restore(receipt)

        assert [(1, "key_taken")] == [(told.key, told.reason) for told in back.refused]
        assert 1 == back.restored

    def test_unique_taken(self, path: Path, memories: Deleter) -> None:
        """
        A row whose unique value is held elsewhere is refused by the column's name.
        """
        receipt = memories.delete(Key(1, 2), mode="archive")
        with eyes(path) as rows:
            rows("INSERT INTO notes (id, sha, body) VALUES (99, '5feceb66ffc8', 'again')")
        back = memories.restore(receipt)

        assert [(1, "unique_taken", "sha")] == [
            (told.key, told.reason, told.detail) for told in back.refused
        ]
        assert 1 == back.restored

    def test_unique_expression_taken(self, path: Path, memories: Deleter) -> None:
        """
        A unique index over an expression or some rows refuses its row alone.
        """
        with eyes(path) as rows:
            rows("CREATE UNIQUE INDEX one_body ON notes (lower(body)) WHERE deleted IS NULL")
        receipt = memories.delete(Key(1, 2), mode="archive")
        with eyes(path) as rows:
            body = "NOTE 0 about word0 and \N{SNOWMAN}"
            rows("INSERT INTO notes (id, sha, body) VALUES (99, 'other', ?)", (body,))
        back = memories.restore(receipt)

        assert [(1, "unique_taken")] == [(told.key, told.reason) for told in back.refused]
        assert 1 == back.restored

    def test_changed_since(self, path: Path, memories: Deleter) -> None:
        """
        A soft-deleted row that was edited meanwhile is refused, and keeps its edit.
        """
        receipt = memories.delete(Key(1, 2))
        with eyes(path) as rows:
            rows("UPDATE notes SET project = 'ALPHA' WHERE id = 1")
        back = memories.restore(receipt)

        assert [(1, "changed_since")] == [(told.key, told.reason) for told in back.refused]
        assert 1 == back.restored

    def test_purged(self, memories: Deleter) -> None:
        """
        A row whose image was purged is refused as purged.
        """
        receipt = memories.delete(Key(1, 2), mode="archive")
        memories.purge(filter=Key(1))
        back = memories.restore(receipt)

        assert [(1, "purged")] == [(told.key, told.reason) for told in back.refused]
        assert (2,) == back.keys["notes"]

    def test_schema_changed(self, path: Path, memories: Deleter) -> None:
        """
        When the table lost, retyped or demands columns since, their names are told.
        """
        receipt = memories.delete(Key(1, 2), mode="archive")
        with eyes(path) as rows:
            rows("ALTER TABLE notes DROP COLUMN weight")
            rows("ALTER TABLE notes ADD COLUMN color TEXT NOT NULL DEFAULT 'red'")
        back = memories.restore(receipt)

        assert 0 == back.restored
        assert ["schema_changed"] * 2 == [told.reason for told in back.refused]
        assert "weight is gone" == back.refused[0].detail

    def test_new_column_with_a_default_is_no_change(self, path: Path, memories: Deleter) -> None:
        """
        A column that came since and needs no value does not keep rows from coming back.
        """
        receipt = memories.delete(Key(1, 2), mode="archive")
        with eyes(path) as rows:
            rows("ALTER TABLE notes ADD COLUMN color TEXT NOT NULL DEFAULT 'red'")
        assert 2 == memories.restore(receipt).restored
        receipt = memories.delete(Key(1, 2), mode="archive")

        assert 2 == memories.restore(receipt).restored

    def test_another_scope_is_not_found(self, path: Path) -> None:
        """
        What another scope deleted does not exist: its operation, its rows, its bin.
        """
        require("apsw")
        from memdelete.backends.apsw import APSW

        ana = Deleter(APSW(path), garden.store(), scope=field("owner").eq("ana"))
        bob = Deleter(APSW(path), garden.store(), scope=field("owner").eq("bob"))
        receipt = ana.delete(Key(1), mode="archive")
        before = whole(path, aside=())
        with pytest.raises(StoreError, match="there is no operation"):
            bob.restore(receipt)
        assert 0 == bob.restore(Everything()).restored - 1  # his own old tombstone
        assert [] == list(bob.history(receipt.operation))
        assert before != whole(path, aside=())
        assert 1 == ana.restore(receipt).restored
        both = Deleter(APSW(path), garden.store())
        every = both.delete(Key(1, 2), mode="archive")
        back = bob.restore(every)

        assert (2,) == back.keys["notes"]
        assert [(1, "not_found")] == [(told.key, told.reason) for told in back.refused]
        for deleter in (ana, bob, both):
            deleter.close()

    def test_strict_is_all_or_none(self, path: Path, memories: Deleter) -> None:
        """
        With `strict`, one refusal keeps everything as it is.
        """
        receipt = memories.delete(Key(1, 2), mode="archive")
        with eyes(path) as rows:
            rows("INSERT INTO notes (id, sha, body) VALUES (1, 'new', 'another')")
        before = whole(path, aside=())
        with pytest.raises(Refused, match="key_taken"):
            memories.restore(receipt, strict=True)

        assert before == whole(path, aside=())

    def test_an_edge_waits_for_its_other_end(self, path: Path, memories: Deleter) -> None:
        """
        An edge to a memory that is still deleted waits, is named, and comes with that memory.
        """
        first = memories.delete(Key(1), mode="archive")
        second = memories.delete(Key(2), mode="archive")
        back = memories.restore(first)
        assert 1 == back.incomplete["links"]
        with eyes(path) as rows:
            here = "(SELECT sha FROM notes)"
            loose = f"source NOT IN {here} OR (kind = 'next' AND target NOT IN {here})"
            assert [] == rows(f"SELECT * FROM links WHERE {loose}")
        last = memories.restore(second)

        assert {} == last.incomplete

    def test_references_others_added_stay(self, path: Path, memories: Deleter) -> None:
        """
        What was put into a reference array meanwhile stays, and what comes back is woven in.
        """
        receipt = memories.delete(Hash("5feceb66ffc8"), mode="archive")
        with eyes(path) as rows:
            rows("UPDATE beliefs SET derived = json_insert(derived, '$[#]', 'new') WHERE id = 1")
        memories.restore(receipt)
        with eyes(path) as rows:
            got = rows("SELECT derived->>'$[0]', derived->>'$[#-1]' FROM beliefs WHERE id = 1")

        assert [("5feceb66ffc8", "new")] == got

    def test_hard_cannot_be_undone(self, memories: Deleter) -> None:
        """
        Undoing a hard delete is refused in so many words.
        """
        receipt = memories.delete(Key(1), mode="hard")
        with pytest.raises(Refused, match="nothing was kept"):
            memories.restore(receipt)

    def test_what_the_product_marked_comes_back(self, path: Path, memories: Deleter) -> None:
        """
        A filter also unmarks tombstones of the product's own, and names what is lost of them.
        """
        with eyes(path) as rows:
            rows("DELETE FROM vectors WHERE rowid = 20")
        back = memories.restore(Key(20))
        with eyes(path) as rows:
            got = rows("SELECT deleted FROM notes WHERE id = 20")

        assert 1 == back.restored
        assert {"links": 1, "vectors": 1} == back.incomplete
        assert [(None,)] == got


class TestPurge:
    """
    What goes for good.
    """

    def test_age_is_of_the_deletion_and_strict(self, path: Path, memories: Deleter) -> None:
        """
        Purging counts from the deletion, not from the memory's birth, and the cutoff is strict.
        """
        receipt = memories.delete(Key(1), mode="archive")
        memories.delete(Key(2))
        assert 0 == memories.purge(deleted_before=datetime(2024, 3, 9, 16, 0, tzinfo=UTC)).removed
        got = memories.purge(deleted_before=datetime(2024, 3, 9, 16, 0, 0, 1, tzinfo=UTC))
        assert {"notes": (20,)} == got.keys
        got = memories.purge(older_than=timedelta(hours=1))
        assert 0 == got.removed
        got = memories.purge(deleted_before=LATER)
        assert {"notes": (2, 1)} == {name: tuple(keys) for name, keys in got.keys.items()}
        with eyes(path) as rows:
            left = [
                rows(f"SELECT count(*) FROM memdelete_bin_{name}")[0][0]
                for name in ("notes", "links", "vectors", "chunks", "titles")
            ]

        assert [0] * 5 == left
        assert ["purged"] == [told.reason for told in memories.restore(receipt).refused]
        assert {"file": "ok", "titles": "ok", "words": "ok"} == checks(path)

    def test_live_rows_are_never_purged(self, path: Path, memories: Deleter) -> None:
        """
        A purge with `Everything` leaves every live row.
        """
        got = memories.purge(filter=Everything())

        assert {"notes": (20,)} == got.keys
        assert 19 == counts(path)["notes"]

    def test_without_words_only_the_bin_ages(self, path: Path, memories: Deleter) -> None:
        """
        Without arguments only the bin is held to its retention.
        """
        memories.delete(Key(1))

        assert 0 == memories.purge().removed
        assert 20 == counts(path)["notes"]

    def test_both_ages_are_refused(self, memories: Deleter) -> None:
        """
        Two words for the age of deletion are an error.
        """
        with pytest.raises(FilterError, match="both"):
            memories.purge(older_than="1d", deleted_before=LATER)

    def test_bin_alone(self, memories: Deleter) -> None:
        """
        The bin can be looked into, emptied and restored from by filters, by itself.
        """
        memories.delete(SOME, mode="archive")
        shown = memories.bin.preview(Tags(any=["t1"]) & Since("2020-01-01", on="deleted_at"))
        assert 6 == shown.matched
        assert {"memdelete_bin_notes": 6} == shown.tables
        assert 1 == memories.bin.restore(Key(1)).restored
        assert 6 == memories.bin.purge(filter=Everything()).removed

        assert 0 == memories.bin.preview(Everything()).matched


class TestPreview:
    """
    What is shown, and that nothing is written.
    """

    def test_writes_nothing(self, path: Path, memories: Deleter) -> None:
        """
        A preview creates no table and no journal row, and leaves every byte as it was.
        """
        files = sorted(path.parent.iterdir())
        before = [file.read_bytes() for file in files]
        memories.preview(SOME)
        memories.close()

        assert before == [file.read_bytes() for file in files]

    @pytest.mark.parametrize(
        ("change", "group"),
        [
            ("INSERT INTO notes (id, sha, body, labels) VALUES (50, 'x', 'y', '[\"t1\"]')", "came"),
            ("DELETE FROM notes WHERE id = 2", "gone"),
            ('UPDATE notes SET labels = \'["t1", "more"]\' WHERE id = 2', "changed"),
            ("UPDATE notes SET labels = '[\"t2\"]' WHERE id = 2", "gone"),
            ("UPDATE notes SET sha = 'other' WHERE id = 2", "changed"),
        ],
    )
    @pytest.mark.parametrize("mode", MODES)
    def test_stale(
        self, path: Path, memories: Deleter, change: str, group: str, mode: Mode
    ) -> None:
        """
        A preview that no longer fits is refused, naming what came and went; nothing is changed.
        """
        shown = memories.preview(SOME, mode=mode)
        with eyes(path) as rows:
            rows(change)
        before = whole(path, aside=())
        with pytest.raises(PreviewStale) as caught:
            memories.delete(shown)

        got = {word: getattr(caught.value, word) for word in ("came", "gone", "changed")}
        expected = {word: {} for word in got} | {group: {"notes": (50 if group == "came" else 2,)}}
        assert expected == got
        assert before == whole(path, aside=())

    def test_relative_times_are_resolved_once(self, memories: Deleter) -> None:
        """
        What a preview resolved is what the delete uses, whatever the clock says then.
        """
        from memdelete.filters import OlderThan

        shown = memories.preview(OlderThan("1d"))

        assert shown.filter.resolved
        assert isinstance(shown.filter, Before)
        assert 19 == memories.delete(shown).removed


class TestJournal:
    """
    What is remembered.
    """

    def test_history(self, memories: Deleter) -> None:
        """
        The journal tells each operation with its actor and reason, newest first.
        """
        assert [] == list(memories.history())
        receipt = memories.delete(Key(1), reason="spring clean")
        back = memories.restore(receipt)
        got = memories.history()

        assert [back.operation, receipt.operation] == [entry.operation for entry in got]
        assert ("tester", "spring clean") == (got[1].report["actor"], got[1].report["reason"])
        assert [receipt.operation] == [e.operation for e in memories.history(receipt.operation)]

    def test_no_content_is_remembered(self, path: Path, memories: Deleter) -> None:
        """
        Neither a content value of the filter nor any content of a row stands in the journal.
        """
        memories.delete(field("body").contains("note 3 about"), mode="hard")
        with eyes(path) as rows:
            told = str(rows("SELECT * FROM memdelete_operations"))

        assert "note 3" not in told
        assert '"digest"' in told

    def test_prepare_tells_and_makes(self, path: Path, memories: Deleter) -> None:
        """
        `prepare` tells its statements without running them, makes the tables once, then nothing.
        """
        told = memories.prepare(dry_run=True)
        with eyes(path) as rows:
            assert [] == rows("SELECT name FROM sqlite_schema WHERE name LIKE 'memdelete%'")
        made = memories.prepare()

        assert list(told) == list(made)
        assert [] == list(memories.prepare())


class TestStandardLibrary:
    """
    The same by way of the standard library.
    """

    @pytest.mark.parametrize("mode", ["soft", "archive"])
    def test_whole(self, plain: tuple[Path, Deleter], mode: Mode) -> None:
        """
        The standard library's SQLite does and undoes all of it where no vectors are.
        """
        path, memories = plain
        before = whole(path, vectors=False)
        receipt = memories.delete(SOME, mode=mode)
        memories.restore(receipt)

        assert before == whole(path, vectors=False)

    def test_read_only_file(self, plain: tuple[Path, Deleter]) -> None:
        """
        A preview works on a file nobody may write.
        """
        path, memories = plain
        path.chmod(0o400)

        assert 7 == memories.preview(SOME).matched

    def test_locked(self, plain: tuple[Path, Deleter]) -> None:
        """
        A lock that another connection holds is an error that says so; nothing is changed.
        """
        path, _ = plain
        deleter = Deleter(SQLite(path, busy_timeout=0.05), garden.store(vectors=False))
        with eyes(path, vectors=False) as rows:
            rows("BEGIN IMMEDIATE")
            with pytest.raises(BackendError) as caught:
                deleter.delete(SOME)
            rows("ROLLBACK")

        assert caught.value.locked
        assert 7 == deleter.delete(SOME).removed
        deleter.close()


def test_a_preview_of_the_bin_is_no_order(memories: Deleter) -> None:
    """
    What a preview of the bin shows cannot be deleted from the store by mistake.
    """
    memories.delete(Key(1))
    with pytest.raises(FilterError, match="of the bin"):
        memories.delete(memories.bin.preview(Key(1)))


def test_a_scope_on_content_is_remembered_as_a_digest(path: Path) -> None:
    """
    Even a scope on a content column leaves no text in the journal, and still tells whose it was.
    """
    require("apsw")
    from memdelete.backends.apsw import APSW

    scope = field("body").startswith("note 1")
    with Deleter(APSW(path), garden.store(), scope=scope) as deleter:
        receipt = deleter.delete(Key(2), mode="archive")
        with eyes(path) as rows:
            assert "note 1" not in str(rows("SELECT * FROM memdelete_operations"))
        assert [receipt.operation] == [entry.operation for entry in deleter.history()]

        assert 1 == deleter.restore(receipt).restored
