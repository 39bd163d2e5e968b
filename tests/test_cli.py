"""
The command line: what it asks for, what it prints and where, and how it ends.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

from contextlib import closing

import pytest

from memdelete import (
    After,
    Before,
    Collection,
    Deleter,
    Everything,
    Filter,
    Hash,
    Key,
    NewerThan,
    OlderThan,
    Since,
    Store,
    Tags,
    Untagged,
    Until,
    cli,
    cli_words,
    demo,
    field,
    opening,
)


ZONE = "Europe/Vienna"


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """
    The demo's store, without vectors: Python's own sqlite3 looks at it too.
    """
    path = tmp_path_factory.mktemp("grown") / "memory.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "vec_path", lambda: None)
        demo.make(path)

    return path


@pytest.fixture
def store(grown, tmp_path):
    """
    A copy of it for one test.
    """
    return shutil.copy(grown, tmp_path / "memory.db")


@pytest.fixture
def run(store, capsys):
    """
    Runs a command on the store in this process: exit code, stdout, stderr.
    """

    def run(command, *words, on=store):
        code = cli.main([command, *([os.fspath(on)] if on else []), *words])
        out, err = capsys.readouterr()

        return code, out, err

    return run


@pytest.fixture
def somebody(monkeypatch):
    """
    Sits somebody in front of it, who answers what is given.
    """

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def sits(answer):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    return sits


def digest(path):
    """
    The bytes of a file, in short.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()


def neighbours(path):
    """
    The names in the folder of a file.
    """
    return [each.name for each in path.parent.iterdir()]


def rows(path, sql):
    """
    What another connection sees.
    """
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def live(path):
    """
    How many notes are not deleted.
    """
    return rows(path, "SELECT count(*) FROM demo_notes WHERE deleted IS NULL")[0][0]


def process(*words, **more):
    """
    The command in a process of its own.
    """
    return subprocess.run(
        [sys.executable, "-m", "memdelete", *map(os.fspath, words)],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        **more,
    )


# --- what is said ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--hash", "a"], Hash("a")),
        (["--hash", "a", "--hash", "b"], Hash("a", "b")),
        (["--key", "7", "--key", "-1"], Key(7, -1)),
        (["--tags", "draft"], Tags(any=["draft"])),
        (["--tags", "a, b"], Tags(any=["a", "b"])),
        (["--tags", "a,b", "--tag-match", "all"], Tags(all=["a", "b"])),
        (["--untagged"], Untagged()),
        (["--before", "2024-06-01"], Before("2024-06-01")),
        (["--after", "2024-06-01 10:00"], After("2024-06-01 10:00")),
        (["--since", "2024-06-01T10:00Z"], Since("2024-06-01T10:00Z")),
        (["--until", "2024-06-01"], Until("2024-06-01")),
        (["--everything"], Everything()),
        (["--filter", '{"not": {"untagged": true}}'], ~Untagged()),
        (
            ["--untagged", "--hash", "a", "--before", "2025-01-01", "--filter", '{"key": [1]}'],
            Untagged() & Hash("a") & Before("2025-01-01") & Key(1),
        ),
        (["--everything", "--tags", "a"], Everything() & Tags(any=["a"])),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_conditions(run, words, expected):
    """
    Each condition is the filter of its name, all of them AND, and bare times are in the zone.
    """
    code, out, _ = run("preview", *words, "--json", "--zone", ZONE)

    assert 0 == code
    assert expected.resolve(ZONE) == Filter.from_dict(json.loads(out)["filter"])


@pytest.mark.parametrize(
    ("option", "kind", "becomes"),
    [("--older-than", OlderThan, "before"), ("--newer-than", NewerThan, "after")],
)
def test_ages(run, store, option, kind, becomes):
    """
    An age counts back from now, once, and the preview shows from when.
    """
    _, out, _ = run("preview", option, "400d", "--json")
    with opening.open(store) as memories:
        expected = memories.preview(kind("400d"))

    assert [becomes] == list(json.loads(out)["filter"])
    assert expected.matched == json.loads(out)["matched"]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("INTEGER PRIMARY KEY", Key(7, "007", "x")),
        ("BIGINT", Key(7, "007", "x")),
        ("TEXT", Key("7", "007", "x")),
        ("POINT", Key("7", "007", "x")),
        ("", Key("7", "007", "x")),
    ],
)
def test_keys_have_the_class_of_their_column(declared, expected):
    """
    What looks like a number is one where the column is declared so, and text elsewhere.
    """
    said = cli_words.parse(["preview", "x", "--key", "7", "--key", "007", "--key", "x"])
    shelf = Store(name="n", collections=[Collection(table="n", key="id")])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE n (id {declared})")

        assert expected == cli_words.wanted(said, opening.open(connection, store=shelf))


def test_keys_of_several_columns():
    """
    A key of several columns is a JSON array, and nothing else is.
    """
    shelf = Store(name="n", collections=[Collection(table="n", key=("owner", "id"))])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE n (owner TEXT, id INTEGER)")
        memories = opening.open(connection, store=shelf)
        said = cli_words.parse(["preview", "x", "--key", '["ana", 7]'])

        assert Key(("ana", 7)) == cli_words.wanted(said, memories)
        with pytest.raises(ValueError, match="is no JSON array"):
            cli_words.wanted(cli_words.parse(["preview", "x", "--key", "7"]), memories)


def test_keys_are_one_collections():
    """
    Where a store has several collections a key says of which, or is refused.
    """
    shelf = Store(name="n", collections=[Collection(table=name, key="id") for name in ("n", "m")])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("CREATE TABLE n (id INTEGER); CREATE TABLE m (id TEXT)")
        memories = opening.open(connection, store=shelf)
        words = ["preview", "x", "--key", "7"]

        with pytest.raises(ValueError, match="say --collection, of: n, m"):
            cli_words.wanted(cli_words.parse(words), memories)
        for name, key in (("n", 7), ("m", "7")):
            said = cli_words.parse([*words, "--collection", name])
            assert Key(key, collection=name) == cli_words.wanted(said, memories)


def test_filters_from_elsewhere(run, tmp_path, monkeypatch):
    """
    A filter can lie in a file or come in by stdin.
    """
    text = '{"tags": {"any": ["draft"]}}'
    (tmp_path / "f.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    said = [
        run("preview", "--filter", source, "--quiet")
        for source in (text, f"@{tmp_path / 'f.json'}", "-")
    ]

    assert said[0] == said[1] == said[2]
    assert int(said[0][1]) > 0


@pytest.mark.parametrize("command", ["preview", "delete"])
def test_guards(run, store, command):
    """
    Scope and protect bind what happens, in JSON.
    """
    scope, protect = field("project").eq("atlas"), Tags(any=["pinned"])
    yes = ["--yes"] if command == "delete" else []
    with opening.open(store, scope=scope, protect=protect) as memories:
        expected = memories.preview(Everything()).matched
    code, out, _ = run(
        command,
        "--everything",
        *yes,
        "--scope",
        json.dumps(scope.to_dict()),
        "--protect",
        json.dumps(protect.to_dict()),
        "--json",
    )

    assert 0 == code
    assert 0 < expected == json.loads(out)["matched"] < demo.NOTES


# --- what makes no sense --------------------------------------------------------------------

WRONG = {
    "no command": [],
    "no such command": ["forget", "STORE"],
    "no condition to preview": ["preview", "STORE"],
    "no condition to delete": ["delete", "STORE", "--yes"],
    "nothing to restore": ["restore", "STORE"],
    "two things to restore": ["restore", "STORE", "abc", "--everything"],
    "given twice": ["preview", "STORE", "--before", "2024-01-01", "--before", "2025-01-01"],
    "tags twice": ["delete", "STORE", "--yes", "--tags", "draft", "--tags", "idea"],
    "abbreviated": ["delete", "STORE", "--yes", "--every"],
    "match without tags": ["preview", "STORE", "--everything", "--tag-match", "all"],
    "no mode": ["delete", "STORE", "--everything", "--yes", "--mode", "gentle"],
    "no count": ["delete", "STORE", "--everything", "--yes", "--at-most", "-1"],
    "no share": ["delete", "STORE", "--everything", "--yes", "--max-share", "20"],
    "no number": ["delete", "STORE", "--everything", "--yes", "--max-share", "nan"],
    "no JSON": ["delete", "STORE", "--yes", "--filter", "{"],
    "unknown key": ["delete", "STORE", "--yes", "--filter", '{"everything": true, "x": 1}'],
    "no such file": ["delete", "STORE", "--yes", "--filter", "@nowhere.json"],
    "empty filter": ["delete", "STORE", "--yes", "--filter", "{}"],
    "empty scope": ["delete", "STORE", "--yes", "--everything", "--scope", ""],
    "blank tag": ["delete", "STORE", "--yes", "--tags", "draft,"],
    "blank hash": ["delete", "STORE", "--yes", "--hash", ""],
    "free text": ["delete", "STORE", "--yes", "--before", "last year"],
    "bare number": ["delete", "STORE", "--yes", "--before", "1704067200"],
    "no age": ["delete", "STORE", "--yes", "--older-than", "30"],
    "empty range": ["delete", "STORE", "--yes", "--after", "2025-01-01", "--before", "2024-01-01"],
    "no zone": ["delete", "STORE", "--yes", "--everything", "--zone", "Mars"],
    "stdin twice": ["delete", "STORE", "--yes", "--filter", "-", "--scope", "-"],
    "two ages": ["purge", "STORE", "--yes", "--older-than", "1d", "--deleted-before", "2024-01-01"],
    "bin with a reason": ["purge", "STORE", "--yes", "--bin", "--reason", "why"],
}


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_wrong_usage(run, store, words, as_json):
    """
    Words that make no sense end with 2 and one sentence, and nothing is touched.
    """
    before = digest(store)
    given = [os.fspath(store) if word == "STORE" else word for word in words]
    code, out, err = run(*(given or ["--quiet"]), *(["--json"] if as_json else []), on=None)

    assert 2 == code
    assert before == digest(store)
    assert [store.name] == neighbours(store)
    if as_json:
        assert {"error", "message"} <= json.loads(out).keys()
        assert "" == err
    else:
        assert "" == out
        assert 1 == err.count("\n")
        assert err.startswith("memdelete: ")


def damaged(path):
    """
    Overwrite all but the first page.
    """
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)


def strange(path):
    """
    A database of somebody else.
    """
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def folder(path):
    """
    A folder in its place.
    """
    path.unlink()
    path.mkdir()


BAD = {
    "there is no such file": lambda path: path.unlink(),
    "this is a folder": folder,
    "the file is empty": lambda path: path.write_bytes(b""),
    "this is no SQLite database, or it is encrypted": lambda path: path.write_bytes(b"?" * 9999),
    "the database file is damaged": damaged,
    "no known memory store": strange,
}


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("words", [["preview"], ["delete", "--yes"]], ids=["preview", "delete"])
@pytest.mark.parametrize("sentence", BAD)
def test_bad_stores(run, store, sentence, words, as_json):
    """
    What is no memory store ends with 1 and one sentence, and is left as it is.
    """
    BAD[sentence](store)
    before = digest(store) if store.is_file() else None
    command, *rest = words
    code, out, err = run(command, "--everything", *rest, *(["--json"] if as_json else []))

    assert 1 == code
    assert before == (digest(store) if store.is_file() else None)
    assert sentence in (json.loads(out)["message"] if as_json else err)
    assert ("" == err) if as_json else ("" == out and 1 == err.count("\n"))


def test_unknown_fields(run, store):
    """
    A field that nothing has ends with 1 and tells which there are.
    """
    before = digest(store)
    code, out, err = run("delete", "--yes", "--filter", '{"field": "size", "op": "missing"}')

    assert (1, "") == (code, out)
    assert "fields and times there are: body, created_at, deleted_at, project" in err
    assert before == digest(store)


def test_missing_drivers(run, monkeypatch):
    """
    A driver that is not installed is a sentence too.
    """

    def missing(*_, **__):
        raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

    monkeypatch.setattr(opening, "open", missing)

    assert (
        1,
        "",
        "memdelete: the package duckdb is not installed; pip install 'memdelete[duckdb]'\n",
    ) == (run("preview", "--everything", on="duckdb:///notes.duckdb"))


# --- previews and deletions -----------------------------------------------------------------


def test_json_is_to_dict(run, store):
    """
    What --json prints is one object, the same as `to_dict`.
    """
    with opening.open(store) as memories:
        expected = memories.preview(Tags(any=["draft"]), mode="archive", include="all").to_dict()
    code, out, err = run(
        "preview", "--tags", "draft", "--mode", "archive", "--include", "all", "--json"
    )
    said = json.loads(out)

    assert (0, "") == (code, err)
    assert expected | {"at": said["at"]} == said


def test_preview_writes_nothing(run, store):
    """
    A preview leaves the file as it was, byte for byte, and nothing beside it.
    """
    before = digest(store)
    code, out, err = run("preview", "--everything")

    assert (0, "") == (code, err)
    assert out.startswith(f"{demo.NOTES} memories of {demo.NOTES} would go (soft)\n")
    assert before == digest(store)
    assert [store.name] == neighbours(store)


def test_deletes_and_restores(run, store):
    """
    A deletion and its undo, as a script would do it.
    """
    count = int(run("preview", "--tags", "draft", "--quiet")[1])
    before = live(store)
    _, operation, err = run("delete", "--tags", "draft", "--yes", "--quiet")

    assert ("", before - count) == (err, live(store))
    code, out, err = run("restore", operation.strip())
    assert (0, "", before) == (code, err, live(store))
    assert out.startswith(f"{count} memories restored\n")


def test_receipt_as_json(run, store):
    """
    A receipt tells who, why and how, and is all there is on stdout.
    """
    code, out, err = run(
        "delete",
        "--key",
        "7",
        "--yes",
        "--json",
        "--mode",
        "hard",
        "--actor",
        "ana",
        "--reason",
        "test",
    )
    receipt = json.loads(out)

    assert (0, "") == (code, err)
    assert ("ana", "test", {"notes": "hard"}, {"notes": [7]}, 1) == (
        receipt["actor"],
        receipt["reason"],
        receipt["mode"],
        receipt["keys"],
        receipt["removed"],
    )
    assert [] == rows(store, "SELECT * FROM demo_notes WHERE id = 7")


def test_nothing_matches(run):
    """
    Nothing to delete is no failure, and nothing to ask about.
    """
    code, out, err = run("delete", "--hash", "nowhere")

    assert (0, "") == (code, err)
    assert out.startswith("0 memories removed")
    assert "not found  nowhere" in out


@pytest.mark.parametrize("yes", [[], ["--yes"]], ids=["asks", "yes"])
def test_ceilings(run, store, yes):
    """
    More than the ceiling ends with 1, asks nobody and changes nothing; JSON tells both numbers.
    """
    code, out, err = run("delete", "--everything", "--at-most", "3", *yes, "--json")
    said = json.loads(out)

    assert (1, "", demo.NOTES) == (code, err, live(store))
    assert ("Refused", "at_most", 3, demo.NOTES) == (
        said["error"],
        said["guard"],
        said["limit"],
        said["found"],
    )


def test_shares(run, store):
    """
    So does more than the share.
    """
    code, _, err = run("delete", "--everything", "--max-share", "0.5", "--yes")

    assert (1, demo.NOTES) == (code, live(store))
    assert "more than the share 0.5" in err


@pytest.mark.parametrize("command", ["delete", "purge"])
def test_nobody_there(run, store, command):
    """
    Without a terminal nothing is deleted unasked; the sentence says what to do.
    """
    before = digest(store)
    code, out, err = run(command, "--everything")

    assert (1, "") == (code, out)
    assert "there is nobody to ask; look with memdelete preview, then say --yes" in err
    assert before == digest(store)


@pytest.mark.parametrize(
    ("answer", "goes"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("yep\n", False)],
)
def test_asks(run, store, somebody, answer, goes):
    """
    It shows what would go, asks, and takes nothing but yes for yes.
    """
    somebody(answer)
    code, out, err = run("delete", "--tags", "draft", "--mode", "hard")
    number = demo.NOTES - rows(store, "SELECT count(*) FROM demo_notes")[0][0]

    assert (0 if goes else 1) == code
    assert goes == (number > 0)
    assert goes == out.startswith(f"{number} memories removed (hard)")
    assert "would go (hard)" in err
    assert "for good? [y/N] " in err


def test_quiet_asks_all_the_same(run, somebody):
    """
    --quiet spares the preview and not the question.
    """
    somebody("y\n")
    _, out, err = run("delete", "--key", "7", "--quiet")

    assert "Delete 1 memory? [y/N] " == err
    assert 33 == len(out)


def test_exactly_the_preview(run, store, somebody, monkeypatch):
    """
    What changed while the question stood open is noticed, and nothing is deleted.
    """
    somebody("y\n")
    ask = cli._ask

    def slowly(question):
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute("UPDATE demo_notes SET tags = '[\"idea\"]' WHERE id = 5")
            connection.execute("UPDATE demo_notes SET tags = '[\"draft\"]' WHERE id = 6")
        ask(question)

    monkeypatch.setattr(cli, "_ask", slowly)
    code, out, err = run("delete", "--tags", "draft")

    assert (1, "", demo.NOTES) == (code, out, live(store))
    assert "the preview is stale" in err


# --- the other commands ---------------------------------------------------------------------


def test_restore_by_condition(run, store):
    """
    Conditions restore what they select of the deleted, and only that.
    """
    run("delete", "--everything", "--yes")
    code, out, _ = run("restore", "--filter", '{"field": "project", "op": "eq", "value": "atlas"}')

    assert 0 == code
    assert out.startswith(f"{live(store)} memories restored")
    assert [("atlas",)] == rows(
        store, "SELECT DISTINCT project FROM demo_notes WHERE deleted IS NULL"
    )


def test_refused_rows(run, store):
    """
    Rows that cannot come back end with 1, and stdout still tells what did.
    """
    operation = run("delete", "--key", "7", "--key", "8", "--yes", "--quiet", "--mode", "archive")[
        1
    ]
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(
            "INSERT INTO demo_notes (id, hash, body, created) VALUES (7, 'other', 'b', 0)"
        )
    strict = run("restore", operation.strip(), "--strict")
    code, out, err = run("restore", operation.strip(), "--json")

    assert 1 == strict[0]
    assert "strict asks for all or none" in strict[2]
    assert (1, "memdelete: 1 memory could not come back\n") == (code, err)
    assert (1, [7]) == (
        json.loads(out)["restored"],
        [refusal["key"] for refusal in json.loads(out)["refused"]],
    )


def test_unknown_operation(run):
    """
    An operation that never was is a sentence.
    """
    assert "there is no operation 'abc'" in run("restore", "abc")[2]
    assert (1, "") == run("history", "abc")[:2]


@pytest.fixture
def aged(run, store):
    """
    The store with 300 deleted, those up to 100 in 2020.
    """
    run("delete", "--everything", "--yes")
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE demo_notes SET deleted = 1577836800 WHERE id <= 100")
        connection.execute(
            "UPDATE memdelete_bin_demo_notes SET memdelete_at = 1577836800000000 WHERE id <= 100"
        )

    return store


@pytest.mark.parametrize("words", [["--older-than", "30d"], ["--deleted-before", "2021-01-01"]])
def test_purge_counts_from_the_deletion(run, aged, somebody, words):
    """
    The age of a purge is that of the deletion; it counts first, asks, and then is for good.
    """
    somebody("y\n")
    code, out, err = run("purge", *words)

    assert 0 == code
    assert out.startswith("100 memories removed (purge)")
    assert "Purge 100 memories for good? [y/N] " == err
    assert 200 == rows(aged, "SELECT count(*) FROM demo_notes")[0][0]


def test_purge_takes_no_for_an_answer(run, aged, somebody):
    """
    Asked and not answered by yes, nothing is purged, and nothing of the counting stays.
    """
    somebody("n\n")
    counted = rows(aged, "SELECT count(*) FROM memdelete_operations")
    code, out, _ = run("purge", "--older-than", "30d")

    assert (1, "") == (code, out)
    assert demo.NOTES == rows(aged, "SELECT count(*) FROM demo_notes")[0][0]
    assert counted == rows(aged, "SELECT count(*) FROM memdelete_operations")


def test_purge_by_condition_and_bin(run, aged):
    """
    Conditions narrow a purge; --bin leaves the tombstones alone.
    """
    _, out, _ = run("purge", "--key", "1", "--key", "2", "--yes", "--json")
    _, binned, _ = run("purge", "--bin", "--older-than", "30d", "--yes", "--json")

    assert [1, 2] == json.loads(out)["keys"]["notes"]
    assert 98 == json.loads(binned)["removed"]
    assert 298 == rows(aged, "SELECT count(*) FROM demo_notes")[0][0]
    assert 200 == rows(aged, "SELECT count(*) FROM memdelete_bin_demo_notes")[0][0]


def test_purge_has_a_ceiling(run, aged):
    """
    More than the ceiling ends with 1 and purges nothing.
    """
    code, _, err = run("purge", "--older-than", "30d", "--at-most", "99", "--yes")

    assert 1 == code
    assert "100 memories match, at most 99 may go" in err
    assert demo.NOTES == rows(aged, "SELECT count(*) FROM demo_notes")[0][0]


def test_history(run):
    """
    The journal is an aligned table, an object, ids, or one entry.
    """
    assert (0, '{"operations": []}\n', "") == run("history", "--json")
    ids = [
        run("delete", "--key", key, "--yes", "--quiet", "--actor", "ana", "--reason", "old")[
            1
        ].strip()
        for key in ("1", "2")
    ]
    head, *lines = run("history")[1].splitlines()

    assert ids[::-1] == run("history", "--quiet")[1].split()
    assert ids[::-1] == [
        each["operation"] for each in json.loads(run("history", "--json")[1])["operations"]
    ]
    assert ids[::-1] == [line[head.index("operation") :].split()[0] for line in lines]
    assert all(line.endswith("1  ana  old") for line in lines)
    assert 2 == len(run("history", "--limit", "1")[1].splitlines())
    assert ids[0] == json.loads(run("history", ids[0], "--json")[1])["operation"]
    assert ids[0] in run("history", ids[0])[1]
    assert all("delete (archive)" in line or "delete (soft)" in line for line in lines)


def test_an_id_may_be_shortened(run, store):
    """
    The beginning of an id names an operation, unless two begin so; an undo takes it too.
    """
    _, receipt, told = run("delete", "--key", "1", "--yes")
    operation = json.loads(run("history", "--json")[1])["operations"][0]["operation"]
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(
            "INSERT INTO memdelete_operations SELECT substr(operation, 1, 8) || 'x', verb, state, "
            "store, scope, report, at FROM memdelete_operations"
        )

    assert operation in receipt
    assert told.rstrip().endswith(operation)
    assert operation == json.loads(run("history", operation[:9], "--json")[1])["operation"]
    assert f"2 operations begin with '{operation[:8]}'" in run("restore", operation[:8])[2]
    assert 0 == run("restore", operation[:9])[0]


def test_prepare(run, store):
    """
    Statements are told beforehand without a change; once they ran there is nothing to do.
    """
    before = digest(store)
    code, told, _ = run("prepare", "--dry-run")

    assert 0 == code
    assert before == digest(store)
    assert all(line.endswith(";") for line in told.splitlines() if line.startswith("CREATE"))
    assert told == run("prepare")[1]
    assert (0, "", "nothing to do: the journal and the bins are there\n") == run("prepare")
    assert {"dry_run": True, "statements": []} == json.loads(
        run("prepare", "--dry-run", "--json")[1]
    )


# --- as a process ---------------------------------------------------------------------------


def test_streams(store):
    """
    In a process of its own: results on stdout, sentences on stderr, the code for the shell.
    """
    preview = process("preview", store, "--tags", "draft", "--json")
    refused = process("delete", store, "--tags", "draft")
    wrong = process("preview", store)

    assert (0, "") == (preview.returncode, preview.stderr)
    assert json.loads(preview.stdout)["matched"] > 0
    assert (1, "") == (refused.returncode, refused.stdout)
    assert (2, "") == (wrong.returncode, wrong.stdout)
    assert "memdelete: preview needs a condition; --everything says all of them\n" == wrong.stderr


def test_help():
    """
    Each command tells what it takes, and what its exit codes mean.
    """
    for command in ("preview", "delete", "restore", "purge", "history", "prepare", "demo"):
        told = process(command, "--help")
        assert 0 == told.returncode
        assert "Exit codes: 0 done" in told.stdout
        assert f"usage: memdelete {command} " in told.stdout


def test_poor_terminals(store):
    """
    A terminal that knows ASCII only gets every letter, by its number.
    """
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE demo_notes SET body = 'Grüße, 日本語' WHERE id = 7")
    poor = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = process("preview", store, "--key", "7", env=poor | {"PYTHONIOENCODING": "ascii"})

    assert (0, "") == (done.returncode, done.stderr)
    assert r"Gr\xfc\xdfe, \u65e5\u672c\u8a9e" in done.stdout


def test_nobody_reads(store):
    """
    Whoever stops reading gets no traceback.
    """
    for _ in range(3):
        process("delete", store, "--key", "7", "--yes")
    piped = subprocess.Popen(
        [sys.executable, "-u", "-m", "memdelete", "history", store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    piped.stdout.close()
    complaint = piped.stderr.read()
    piped.stderr.close()

    assert 141 == piped.wait()
    assert b"" == complaint


def test_interrupted(run, monkeypatch):
    """
    Ctrl-C ends with 130 and a sentence.
    """

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Deleter, "preview", interrupted)
    code, out, err = run("preview", "--everything")

    assert (130, "") == (code, out)
    assert err.startswith("memdelete: interrupted")


def test_patience(run, somebody, monkeypatch):
    """
    Long work tells on a terminal that it goes on, and wipes it away; elsewhere it is silent.
    """
    preview = Deleter.preview

    def slow(*args, **named):
        time.sleep(0.2)
        return preview(*args, **named)

    monkeypatch.setattr(Deleter, "preview", slow)
    monkeypatch.setattr(cli, "_TICK", 0.05)

    assert "" == run("preview", "--everything")[2]
    somebody("")
    _, _, err = run("preview", "--everything")
    assert "\rlooking, 0 s " in err
    assert err.endswith("\r\x1b[K")
    assert "" == run("preview", "--everything", "--json")[2]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("plain", [{}, {"NO_COLOR": "1"}], ids=["colour", "plain"])
def test_terminal(store, plain):
    """
    On a real terminal it asks, does what is answered, and has colours unless NO_COLOR is set.
    """
    import pty

    ours, theirs = pty.openpty()
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [sys.executable, "-m", "memdelete", "delete", store, "--tags", "draft"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=known | {"TERM": "xterm"} | plain,
    ) as asking:
        os.close(theirs)
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(ours, 4096)
        os.write(ours, b"y\n")
        try:
            while more := os.read(ours, 4096):
                seen += more
        except OSError:
            pass  # how Linux says that nobody is at the other end any more
    os.close(ours)

    assert 0 == asking.returncode
    assert (b"\x1b[1m" in seen) is (not plain)
    assert live(store) < demo.NOTES
