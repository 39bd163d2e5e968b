"""
What every adapter promises, held against real engines: bytes, locks, transactions, values.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from memdelete.backends.abc import Statement
from memdelete.backends.sqlite import SQLite, loads_extensions
from memdelete.errors import BackendError, StoreError, Unsupported
from tests.conftest import require


class Engine:
    """
    One SQLite module: how to open a plain connection with it, and our adapter around it.
    """

    def __init__(self, name):
        self.name = name
        self.module = sqlite3 if name == "sqlite3" else require(name)

    def __repr__(self):
        return self.name

    @property
    def loads(self):
        return self.name == "apsw" or loads_extensions(self.module)

    def backend(self, target, **words):
        if self.name == "apsw":
            from memdelete.backends.apsw import APSW

            return APSW(target, **words)
        known = {} if not isinstance(target, str | os.PathLike) else {"module": self.module}
        return SQLite(target, **known, **words)

    def connect(self, path=":memory:"):
        """
        A connection as a caller would have it, in autocommit.
        """
        if self.name == "apsw":
            return self.module.Connection(str(path))

        return self.module.connect(str(path), isolation_level=None)


MODULES = ("sqlite3", "pysqlite3", "sqlean", "apsw")


@pytest.fixture(params=MODULES)
def engine(request):
    """
    Each of the modules that are installed.
    """
    return Engine(request.param)


@pytest.fixture
def path(tmp_path):
    """
    A small store in a file.
    """
    path = tmp_path / "memory.db"
    make(path)

    return path


@pytest.fixture
def given(engine):
    """
    A caller's own connection to a small store in memory.
    """
    connection = engine.connect()
    for statement in SCHEMA:
        connection.execute(statement)
    yield connection
    connection.close()


SCHEMA = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
    "CREATE TABLE log (id)",
    "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')",
)


def make(path, *more):
    """
    Write the small store to a file.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (*SCHEMA, *more):
        connection.execute(statement)
    connection.close()


def say(sql, **params):
    """
    A statement with named parameters.
    """
    return Statement(sql, params)


def left(path):
    """
    The rows that a second pair of eyes finds in the file.
    """
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return ids(connection)


def ids(connection):
    """
    The keys of the rows that a connection sees.
    """
    return [row[0] for row in connection.execute("SELECT id FROM t ORDER BY id").fetchall()]


def digests(folder):
    """
    Every file of the folder but the shared memory, which holds no data.
    """
    return {
        found.name: hashlib.sha256(found.read_bytes()).hexdigest()
        for found in folder.iterdir()
        if not found.name.endswith("-shm")
    }


@contextlib.contextmanager
def another_process(path, *statements):
    """
    Somebody else, who has run these statements and keeps the connection open.
    """
    code = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for s in sys.argv[2:]: c.execute(s)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
        "import os; os._exit(0)\n"  # as a crash does: nothing is checkpointed
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert b"ready\n" == process.stdout.readline()

        yield
    finally:
        process.communicate()


# --- files ----------------------------------------------------------------------------------


def test_reading_changes_no_byte(engine, path, tmp_path):
    """
    A read session leaves the file and its unwritten log as they were, also after close.
    """
    with another_process(
        path, "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0", "DELETE FROM t"
    ):
        pass
    before = digests(tmp_path)
    backend = engine.backend(path)
    with backend.session(write=False) as session:
        session.begin(write=False)
        rows = session.execute(say("SELECT * FROM t")).rows
        session.commit()
    backend.introspect()
    backend.close()

    assert [] == rows
    assert (tmp_path / "memory.db-wal").stat().st_size > 0
    assert before == digests(tmp_path)


def test_a_read_session_cannot_write(engine, path):
    """
    Even a statement that tries to write through a read session changes nothing.
    """
    backend = engine.backend(path)
    with backend.session(write=False) as session, pytest.raises(BackendError, match="read-only"):
        session.execute(say("DELETE FROM t"))
    backend.close()

    assert [1, 2, 3] == left(path)


@pytest.mark.parametrize("write", [False, True])
def test_a_missing_file_is_not_created(engine, tmp_path, write):
    """
    Neither reading nor writing makes a database of a wrong path.
    """
    path = tmp_path / "typo.db"
    with (
        pytest.raises(BackendError, match=r"typo\.db: the database cannot be opened"),
        engine.backend(path).session(write=write),
    ):
        pass

    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["a b.db", "50%25.db", "what?mode=memory.db", "#1&x=y.db", "é😀.db"]
)
def test_names_that_mean_something_in_an_address(engine, tmp_path, name):
    """
    Any letter may stand in a file's name.
    """
    make(tmp_path / name)
    backend = engine.backend(tmp_path / name)
    for write in (False, True):
        with backend.session(write=write) as session:
            assert 3 == len(session.execute(say("SELECT * FROM t")).rows)
    backend.close()

    assert [name] == [found.name for found in tmp_path.iterdir()]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to give up root")
def test_a_log_less_file_in_a_read_only_folder_is_read():
    """
    A WAL-mode file that nobody can write beside is read as immutable.
    """
    folder = Path(tempfile.mkdtemp())  # not tmp_path, where only its owner may enter
    path = folder / "memory.db"
    make(path, "PRAGMA journal_mode = WAL")
    folder.chmod(0o555)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setuid(65534)
            code = 0 if SQLite(path).introspect().has("t", "id", "a") else 2
        finally:
            os._exit(code)

    outcome = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = [found.name for found in folder.iterdir()]
    shutil.rmtree(folder)

    assert (0, ["memory.db"]) == (outcome, left)


def test_settings_of_the_file_are_left_alone(engine, path):
    """
    Journal mode and versions are what they were, after a write too.
    """
    asked = "SELECT * FROM pragma_journal_mode, pragma_user_version, pragma_application_id"
    other = sqlite3.connect(path)
    before = other.execute(asked).fetchall()
    backend = engine.backend(path)
    with backend.session(write=True) as session:
        session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        session.commit()
    backend.close()

    assert before == other.execute(asked).fetchall()
    assert [2, 3] == ids(other)
    other.close()


# --- values and counts ----------------------------------------------------------------------

VALUES = [
    2**63 - 1,
    -(2**63),
    0.1 + 0.2,
    5e-324,
    b"",
    bytes(range(256)),
    "",
    "nul\0inside",
    "é😀\u202e",
    None,
]


def test_values_come_back_as_they_are(engine, given):
    """
    Whatever SQLite can hold goes in and comes out equal, and of the same type.
    """
    with engine.backend(given).session(write=True) as session:
        found = [session.execute(say("SELECT :p0", p0=value)).rows[0][0] for value in VALUES]

    assert VALUES == found
    assert [type(value) for value in VALUES] == [type(value) for value in found]


def test_what_sqlite_cannot_hold_is_our_error(engine, given):
    """
    A number beyond 64 bits is an error of ours, not Python's.
    """
    with engine.backend(given).session(write=True) as session, pytest.raises(BackendError):
        session.execute(say("SELECT :p0", p0=2**63))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("DELETE FROM t WHERE id > 1", 2),
        ("DELETE FROM t", 3),
        ("DELETE FROM t WHERE id > 1 RETURNING id", 2),
        ("WITH x AS (SELECT 1 AS id) DELETE FROM t WHERE id IN (SELECT id FROM x)", 1),
        ("DELETE FROM t WHERE id > 9", 0),
        ("DELETE FROM t WHERE id > 9 RETURNING id", 0),
        ("UPDATE t SET a = a", 3),
        ("INSERT INTO t SELECT id + 10, a FROM t", 3),
        ("INSERT OR IGNORE INTO t VALUES (1, 'x'), (4, 'y')", 1),
        ("SELECT * FROM t", 0),
        ("DELETE FROM words WHERE rowid = 1", 1),
    ],
)
def test_changes_are_the_statements_own(engine, given, sql, expected):
    """
    What a statement changed is counted truly, whatever returns rows, and triggers aside.
    """
    for statement in (
        "CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO log VALUES (1), (2); END",
        "CREATE VIRTUAL TABLE words USING fts5(a)",
        "INSERT INTO words VALUES ('x'), ('y')",
    ):
        given.execute(statement)
    with engine.backend(given).session(write=True) as session:
        session.begin(write=True)
        result = session.execute(say(sql))

        assert expected == result.changed
        assert expected == len(result.rows) or "RETURNING" not in sql


def test_a_big_select_streams(engine, given):
    """
    Rows come in pieces, and one may stop in the middle.
    """
    numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with engine.backend(given).session(write=False) as session:
        first = next(session.stream(say(numbers), 100))
        sizes = [len(some) for some in session.stream(say(f"{numbers} LIMIT 250"), 100)]

    assert [(i,) for i in range(1, 101)] == list(first)
    assert [100, 100, 50] == sizes


# --- transactions ---------------------------------------------------------------------------


def test_our_own_transaction(engine, path):
    """
    Nobody sees it before the commit, everybody after; a rollback leaves nothing.
    """
    backend, other = engine.backend(path), sqlite3.connect(path)
    with backend.session(write=True) as session:
        assert session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        session.rollback()
        assert session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 2"))
        assert [1, 2, 3] == ids(other)
        session.commit()
    backend.close()

    assert [1, 3] == ids(other)
    other.close()


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_the_callers_transaction_stays_the_callers(engine, path, end):
    """
    Within it we work in a savepoint: the caller's pending row is pending still.
    """
    connection, other = engine.connect(path), sqlite3.connect(path)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO t VALUES (4, 'pending')")
    with engine.backend(connection).session(write=True) as session:
        assert not session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        getattr(session, end)()

    assert ([2, 3, 4] if end == "commit" else [1, 2, 3, 4]) == ids(connection)
    assert [1, 2, 3] == ids(other)

    connection.execute("ROLLBACK")

    assert [1, 2, 3] == ids(connection)
    connection.close()
    other.close()


def test_savepoints_nest(engine, given):
    """
    Within the caller's savepoint, of our very name, and within our own.
    """
    given.execute("SAVEPOINT memdelete_0")
    given.execute("DELETE FROM t WHERE id = 1")
    with engine.backend(given).session(write=True) as session:
        session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 2"))
        session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 3"))
        session.rollback()
        session.commit()

    assert [3] == ids(given)

    given.execute("ROLLBACK TO memdelete_0")

    assert [1, 2, 3] == ids(given)


def test_what_is_left_open_is_rolled_back(engine, path):
    """
    A session that ends in the middle leaves neither rows nor a lock.
    """
    backend = engine.backend(path)
    with contextlib.suppress(ZeroDivisionError), backend.session(write=True) as session:
        session.begin(write=True)
        session.execute(say("DELETE FROM t"))
        raise ZeroDivisionError
    other = sqlite3.connect(path, timeout=0)
    other.execute("DELETE FROM t WHERE id = 1")
    other.commit()

    assert [2, 3] == ids(other)
    other.close()
    backend.close()


@pytest.mark.parametrize("ours", [True, False])
def test_when_the_engine_has_rolled_back_already(engine, given, ours):
    """
    A rollback then has nothing to do, and the connection works.
    """
    given.execute(
        "CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ROLLBACK, 'vetoed'); END"
    )
    if not ours:
        given.execute("BEGIN")
    with engine.backend(given).session(write=True) as session:
        session.begin(write=True)
        with pytest.raises(BackendError, match="vetoed"):
            session.execute(say("DELETE FROM t"))
        session.rollback()
        session.rollback()

        assert [(3,)] == session.execute(say("SELECT count(*) FROM t")).rows


def test_a_commit_that_comes_too_late_is_an_error(engine, given):
    """
    Nothing of ours is open, so the caller's transaction is not committed by mistake.
    """
    given.execute("BEGIN")
    with engine.backend(given).session(write=True) as session:
        with pytest.raises(BackendError, match="no transaction of ours"):
            session.commit()
        session.rollback()

    given.execute("ROLLBACK")  # it is there still


def test_a_statement_by_itself_is_kept(engine, path):
    """
    Outside begin and commit a change commits by itself, on the caller's connection too.
    """
    # Not engine.connect: the default of the modules is to begin a transaction by themselves.
    open_one = engine.connect if engine.name == "apsw" else engine.module.connect
    connection = open_one(str(path))
    with engine.backend(connection).session(write=True) as session:
        session.execute(say("DELETE FROM t WHERE id = 1"))

    assert [2, 3] == left(path)
    connection.close()


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_connection_that_begins_by_itself(path, end):
    """
    With sqlite3's old default the caller's change is in a transaction, and so ours is not alone.
    """
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM t WHERE id = 3")
    with SQLite(connection).session(write=True) as session:
        assert not session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        getattr(session, end)()

    assert connection.in_transaction
    assert [1, 2, 3] == left(path)

    connection.rollback()
    with SQLite(connection).session(write=True) as session:
        assert session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        session.commit()

    assert [2, 3] == left(path)
    connection.close()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="autocommit= is new in Python 3.12")
def test_a_connection_that_is_always_in_a_transaction(path):
    """
    With ``autocommit=False`` a transaction is always the caller's.
    """
    connection = sqlite3.connect(path, autocommit=False)
    with SQLite(connection).session(write=True) as session:
        assert not session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        session.commit()

    assert [1, 2, 3] == left(path)

    connection.commit()

    assert [2, 3] == left(path)
    connection.close()


def test_a_transaction_that_reads_sees_one_state(engine, path):
    """
    What others commit in between is not seen before the end.
    """
    make_wal = sqlite3.connect(path, isolation_level=None)
    make_wal.execute("PRAGMA journal_mode = WAL")
    backend = engine.backend(path)
    counted = say("SELECT count(*) FROM t")
    with backend.session(write=False) as session:
        session.begin(write=False)
        before = session.execute(counted).rows
        make_wal.execute("DELETE FROM t")
        after = session.execute(counted).rows
        session.commit()

        assert before == after
        assert [(0,)] == session.execute(counted).rows
    backend.close()
    make_wal.close()


# --- the caller's connection ----------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES[:3])
def test_factories_are_not_met_and_not_lost(name):
    """
    Row and text factories change nothing of what we get, and are the caller's afterwards.
    """
    connection = Engine(name).connect()
    connection.row_factory = lambda _, row: {"row": row}
    connection.text_factory = bytes
    with SQLite(connection).session(write=False) as session:
        rows = session.execute(say("SELECT 'text', 1")).rows
        streamed = list(session.stream(say("SELECT 'text', 1")))

    assert [("text", 1)] == rows
    assert [[("text", 1)]] == streamed
    assert [{"row": (b"text", 1)}] == connection.execute("SELECT 'text', 1").fetchall()
    connection.close()


def test_tracers_are_not_met_and_not_lost():
    """
    APSW's tracers change nothing of what we get, and are the caller's afterwards.
    """
    engine = Engine("apsw")
    connection = engine.connect()
    seen = []
    connection.row_trace = lambda _, row: {"row": row}
    connection.exec_trace = lambda _, sql, __: seen.append(sql) or True
    with engine.backend(connection).session(write=False) as session:
        rows = session.execute(say("SELECT 1")).rows
        streamed = list(session.stream(say("SELECT 1")))

    assert [(1,)] == rows
    assert [[(1,)]] == streamed
    assert [] == seen
    assert [{"row": (2,)}] == connection.execute("SELECT 2").fetchall()
    assert ["SELECT 2"] == seen


def test_a_connection_that_converts_is_refused():
    """
    Dates in the place of stored texts would match nothing, so they are an error.
    """
    sqlite3.register_converter("memdelete_test", lambda raw: [raw])
    connection = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
    connection.execute("CREATE TABLE t (a memdelete_test)")
    connection.execute("INSERT INTO t VALUES ('x')")
    with (
        SQLite(connection).session(write=False) as session,
        pytest.raises(StoreError, match="detect_types"),
    ):
        session.execute(say("SELECT a FROM t"))
    connection.close()


def test_what_is_no_connection(engine):
    """
    Something else in the place of a path or a connection is told at once.
    """
    with pytest.raises(StoreError, match="a int is no path and no"):
        engine.backend(42)


def test_one_operation_at_a_time(engine, given):
    """
    A second operation in the middle of the first is refused, not mixed in.
    """
    backend = engine.backend(given)
    with (
        backend.session(write=True),
        pytest.raises(BackendError, match="in the middle"),
        backend.session(write=True),
    ):
        pass


def test_a_closed_connection_is_our_error(engine):
    """
    It cannot be used any more, and the error says so as any other does.
    """
    connection = engine.connect()
    backend = engine.backend(connection)
    connection.close()
    with pytest.raises(BackendError, match=r"[Cc]losed"), backend.session(write=False):
        pass


def test_close_leaves_the_callers_connection_open(engine, given):
    """
    Only what we opened is closed.
    """
    backend = engine.backend(given)
    backend.introspect()
    backend.close()

    assert [1, 2, 3] == ids(given)


# --- errors and locks -----------------------------------------------------------------------


def test_a_lock_of_another_process(engine, path):
    """
    It is an error that says so; the connection works as soon as the lock is gone.
    """
    backend = engine.backend(path, busy_timeout=0.05)
    with backend.session(write=True) as session:
        with another_process(path, "BEGIN IMMEDIATE", "DELETE FROM t WHERE id = 1"):
            with pytest.raises(BackendError, match="another connection holds") as caught:
                session.begin(write=True)
            session.rollback()

            assert 3 == len(session.execute(say("SELECT * FROM t")).rows)
        assert session.begin(write=True)
        assert 3 == session.execute(say("DELETE FROM t")).changed
        session.commit()
    backend.close()

    assert (True, False) == (caught.value.locked, caught.value.in_doubt)
    assert str(path) == caught.value.place
    assert isinstance(caught.value.__cause__, getattr(engine.module, "Error", sqlite3.Error))


def test_a_reader_in_the_way_of_a_commit(engine, path):
    """
    A commit that finds the file locked is told as such, and may be rolled back.
    """
    backend = engine.backend(path, busy_timeout=0.05)
    with backend.session(write=True) as session:
        with another_process(path, "BEGIN", "SELECT * FROM t"):
            session.begin(write=True)
            session.execute(say("DELETE FROM t"))
            with pytest.raises(BackendError) as caught:
                session.commit()
            session.rollback()

        assert [(3,)] == session.execute(say("SELECT count(*) FROM t")).rows
    backend.close()

    assert (True, False) == (caught.value.locked, caught.value.in_doubt)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no database at all, but long enough to look for a header" * 20, "no SQLite database"),
        (None, "damaged"),
    ],
)
def test_files_that_are_no_databases(engine, path, content, sentence):
    """
    A strange or a damaged file is told in a sentence, and is not touched.
    """
    if content is None:
        content = path.read_bytes()[:1000] + b"\xff" * 3096 + path.read_bytes()[4096:]
    path.write_bytes(content)
    backend = engine.backend(path)
    with pytest.raises(BackendError, match=sentence) as caught:
        backend.introspect()
    backend.close()

    assert not caught.value.locked
    assert content == path.read_bytes()


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("SELECT nothing", "nothing"),
        ("INSERT INTO t VALUES (1, 'again')", "UNIQUE"),
        ("SELEC 1", "syntax"),
        ("CREATE VIRTUAL TABLE x USING nope(a)", "module nope is not loaded; name its library"),
        ("CREATE VIRTUAL TABLE x USING vec0(a float[2])", r"install memdelete\[vec\]"),
    ],
)
def test_errors_are_ours_and_keep_their_cause(engine, given, sql, sentence):
    """
    Whatever the driver raises becomes a BackendError from it.
    """
    with (
        engine.backend(given).session(write=True) as session,
        pytest.raises(BackendError, match=sentence) as caught,
    ):
        session.execute(say(sql))

    assert "the given connection" == caught.value.place
    assert caught.value.__cause__ is not None


def test_an_error_is_thrown_into_the_steps(engine, given):
    """
    Steps may handle the failure of a statement, and go on with what comes back.
    """

    def steps():
        try:
            yield say("SELECT nothing")
        except BackendError:
            result = yield say("SELECT 42")
        return result.rows[0][0]

    with engine.backend(given).session(write=False) as session:
        assert 42 == session.drive(steps())


def test_the_clock(engine, given):
    """
    The time is the host's, aware; or whatever clock was given.
    """
    fixed = datetime(2024, 1, 1, tzinfo=UTC)
    with engine.backend(given, clock=lambda: fixed).session(write=False) as session:
        assert fixed == session.now()
    with engine.backend(given).session(write=False) as session:
        assert abs((datetime.now(UTC) - session.now()).total_seconds()) < 5


# --- vectors --------------------------------------------------------------------------------


@pytest.fixture
def vectors(path):
    """
    A store with a vector table.
    """
    vec = require("sqlite_vec")
    apsw = require("apsw")
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)
    connection.load_extension(vec.loadable_path())
    connection.execute("CREATE VIRTUAL TABLE v USING vec0(e float[2], owner text partition key)")
    for number in (1, 2, 3):
        connection.execute("INSERT INTO v (rowid, e, owner) VALUES (?, '[1, 2]', 'ana')", (number,))
    connection.close()

    return path


def test_vec0_is_loaded_where_it_is_needed(engine, vectors):
    """
    A vector is deleted by its rowid; a module that cannot load vec0 says what to install.
    """
    gone = say("DELETE FROM v WHERE rowid = :p0", p0=1)
    backend = engine.backend(vectors)
    with backend.session(write=True) as session:
        session.begin(write=True)
        if engine.loads:
            assert 1 == session.execute(gone).changed
            assert [(2,)] == session.execute(say("SELECT count(*) FROM v")).rows
        else:
            with pytest.raises(BackendError, match=r"memdelete\[vec\]"):
                session.execute(gone)
    backend.close()


def test_vec0_is_loaded_into_a_callers_connection_only_if_permitted(engine, vectors):
    """
    What its owner has not permitted stays unloaded, and nothing else fails for it.
    """
    if not engine.loads:
        pytest.skip(f"this {engine} cannot load extensions at all")
    connection = engine.connect(vectors)
    connection.enable_load_extension(False)  # pysqlite3 permits it by default
    asked = say("SELECT count(*) FROM v")
    with engine.backend(connection).session(write=False) as session:
        assert 3 == len(session.execute(say("SELECT * FROM t")).rows)
        with pytest.raises(BackendError, match=r"memdelete\[vec\]"):
            session.execute(asked)
    connection.enable_load_extension(True)
    with engine.backend(connection).session(write=False) as session:
        assert [(3,)] == session.execute(asked).rows
    connection.close()


def test_extensions_that_cannot_be_loaded(engine, path, tmp_path):
    """
    A library that is not there, or a module that loads none, is an error before anything runs.
    """
    backend = engine.backend(path, extensions=[str(tmp_path / "nothing")])
    with pytest.raises(BackendError if engine.loads else StoreError), backend.session(write=False):
        pass


# --- async ----------------------------------------------------------------------------------


async def by_path(path):
    """
    A path, in a thread of its own.
    """
    from memdelete.backends.aiosqlite import AioSQLite

    return AioSQLite(path), None


async def by_factory(path):
    """
    A connection lent for each operation.
    """
    aiosqlite = require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    async def connect():
        return await aiosqlite.connect(path)

    return AioSQLite(connect), None


async def by_shared_connection(path):
    """
    The connection of a host with settings of its own.
    """
    aiosqlite = require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    connection = await aiosqlite.connect(path)
    connection.row_factory = sqlite3.Row
    connection.text_factory = bytes

    return AioSQLite(connection, lock=asyncio.Lock()), connection


async def by_apsw(path):
    """
    A path, by APSW in a thread.
    """
    require("apsw")
    from memdelete.backends.apsw import AsyncAPSW

    return AsyncAPSW(path), None


@pytest.fixture(params=[by_path, by_factory, by_shared_connection, by_apsw])
def run_async(request, path):
    """
    Run a coroutine function with an async backend on *path*; it is closed afterwards.
    """
    if request.param is not by_apsw:
        require("aiosqlite")

    def run(work):
        async def main():
            backend, connection = await request.param(path)
            try:
                return await work(backend)
            finally:
                await backend.close()
                if connection is not None:
                    assert (sqlite3.Row, bytes) == (
                        connection.row_factory,
                        connection.text_factory,
                    )
                    await connection.close()

        return asyncio.run(main())

    return run


def test_async_words(run_async, path):
    """
    The async words do what the sync ones do.
    """

    async def work(backend):
        async with backend.session(write=True) as session:
            assert await session.begin(write=True)
            assert 1 == (await session.execute(say("DELETE FROM t WHERE id = 1"))).changed
            assert await session.begin(write=True)  # ours still: the outermost is
            await session.execute(say("DELETE FROM t WHERE id = 2"))
            await session.rollback()
            await session.commit()
            streamed = [list(some) async for some in session.stream(say("SELECT * FROM t"), 1)]
            found = [(await session.execute(say("SELECT :p0", p0=v))).rows[0][0] for v in VALUES]
            with pytest.raises(BackendError, match="nothing"):
                await session.execute(say("SELECT nothing"))
            now = await session.now()
        live = await backend.introspect()
        return streamed, found, now, live

    streamed, found, now, live = run_async(work)

    assert [[(2, "two")], [(3, "three")]] == streamed
    assert VALUES == found
    assert now.tzinfo is not None
    assert live.has("t", "id", "a")
    assert [2, 3] == left(path)


def test_async_steps(run_async):
    """
    An error is thrown into the steps in this colour too.
    """

    def steps():
        try:
            yield say("SELECT nothing")
        except BackendError:
            result = yield say("SELECT 42")
        return result.rows[0][0]

    async def work(backend):
        async with backend.session(write=False) as session:
            return await session.drive(steps())

    assert 42 == run_async(work)


@pytest.mark.parametrize("moment", [0, 0.001, 0.01, 0.1])
def test_a_cancelled_statement_leaves_the_connection_usable(run_async, path, moment):
    """
    Cancelled at any moment, what was begun is rolled back, and the next operation works.
    """
    slow = say(
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 400000)"
        " DELETE FROM t WHERE id < (SELECT max(i) FROM n)"
    )

    async def operation(backend):
        async with backend.session(write=True) as session:
            await session.begin(write=True)
            try:
                await session.execute(slow)
                await asyncio.sleep(10)
            finally:
                await session.rollback()

    async def work(backend):
        task = asyncio.create_task(operation(backend))
        await asyncio.sleep(moment)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with backend.session(write=True) as session:
            assert await session.begin(write=True)
            changed = (await session.execute(say("DELETE FROM t WHERE id = 1"))).changed
            await session.commit()
            return changed

    assert 1 == run_async(work)
    assert [2, 3] == left(path)


def test_tasks_take_turns(run_async, path):
    """
    Two operations of one backend never interleave.
    """
    order = count()

    async def work(backend):
        async def operation(number):
            async with backend.session(write=True) as session:
                entered = next(order)
                assert await session.begin(write=True)
                await session.execute(say("INSERT INTO t VALUES (:p0, 'x')", p0=number))
                await asyncio.sleep(0.01)
                await session.commit()
                return next(order) - entered

        return await asyncio.gather(*(operation(number) for number in range(10, 15)))

    assert [1] * 5 == run_async(work)
    assert [1, 2, 3, *range(10, 15)] == left(path)


def test_a_shared_connection_needs_to_know_whose_turn_it_is():
    """
    Without a lock or a promise, a shared aiosqlite connection is refused, with advice.
    """
    aiosqlite = require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    async def main():
        async with aiosqlite.connect(":memory:") as connection:
            with pytest.raises(StoreError, match="lock="):
                AioSQLite(connection)
        with pytest.raises(StoreError, match="no path, no aiosqlite connection"):
            AioSQLite(42)

    asyncio.run(main())


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_the_hosts_transaction_stays_the_hosts(path, end):
    """
    ``transaction=True`` works in a savepoint of the transaction that the host holds.
    """
    aiosqlite = require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    async def main():
        async with aiosqlite.connect(path) as connection:
            await connection.execute("INSERT INTO t VALUES (4, 'pending')")
            backend = AioSQLite(connection, transaction=True)
            async with backend.session(write=True) as session:
                assert not await session.begin(write=True)
                await session.execute(say("DELETE FROM t WHERE id = 1"))
                await getattr(session, end)()
            assert connection.in_transaction
            assert [1, 2, 3] == left(path)
            await connection.commit()
            with pytest.raises(BackendError, match="holds no transaction"):
                async with backend.session(write=True):
                    pass

    asyncio.run(main())

    assert ([2, 3, 4] if end == "commit" else [1, 2, 3, 4]) == left(path)


def test_the_hosts_lock_is_waited_for(path):
    """
    While the host holds its lock, an operation waits.
    """
    aiosqlite = require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    async def main():
        lock = asyncio.Lock()
        async with aiosqlite.connect(path) as connection:
            backend = AioSQLite(connection, lock=lock)

            async def operation():
                async with backend.session(write=True) as session:
                    return await session.begin(write=True)

            async with lock:
                await connection.execute("INSERT INTO t VALUES (4, 'pending')")
                task = asyncio.create_task(operation())
                await asyncio.sleep(0.02)
                assert not task.done()
                await connection.rollback()
            assert await task

    asyncio.run(main())


def test_an_async_lock_of_another_process(run_async, path):
    """
    It is an error in this colour too, and nothing is left open.
    """

    async def work(backend):
        async with backend.session(write=True) as session:
            await session.execute(say("PRAGMA busy_timeout = 10"))
            with another_process(path, "BEGIN IMMEDIATE"):
                with pytest.raises(BackendError) as caught:
                    await session.begin(write=True)
                await session.rollback()
            assert await session.begin(write=True)
            return caught.value.locked

    assert run_async(work)


def test_the_thread_ends_with_the_backend(path):
    """
    A closed backend leaves no thread behind, and may be used again.
    """
    from memdelete.backends.threads import Threaded

    async def main():
        backend = Threaded(SQLite(path))
        for _ in range(2):
            await backend.introspect()
            await backend.close()

    asyncio.run(main())

    assert [] == [each for each in threading.enumerate() if each.name.startswith("memdelete")]


# --- PostgreSQL -----------------------------------------------------------------------------


@pytest.fixture
def pg(postgres_database):
    """
    A connection in autocommit to a small store in PostgreSQL.
    """
    psycopg = require("psycopg")
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, a text)")
        connection.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
        yield connection


@pytest.mark.parametrize("autocommit", [True, False])
def test_postgres_transactions(postgres_database, pg, autocommit):
    """
    Ours where the connection is idle, a savepoint where it is in the caller's transaction.
    """
    import psycopg

    from memdelete.backends.psycopg import Psycopg

    connection = psycopg.connect(postgres_database, autocommit=autocommit)
    backend = Psycopg(connection)
    with backend.session(write=True) as session:
        assert session.begin(write=True)
        assert 1 == session.execute(say("DELETE FROM t WHERE id = %(p0)s", p0=1)).changed
        session.rollback()
        assert session.begin(write=True)
        assert 1 == session.execute(say("DELETE FROM t WHERE id = 2 RETURNING id")).changed
        assert [1, 2, 3] == ids(pg)
        session.commit()
    assert [1, 3] == ids(pg)

    with connection.transaction():
        connection.execute("INSERT INTO t VALUES (4, 'pending')")
        with backend.session(write=True) as session:
            assert not session.begin(write=True)
            with pytest.raises(BackendError, match="duplicate"):
                session.execute(say("INSERT INTO t VALUES (4, 'again')"))
            session.rollback()
            assert not session.begin(write=True)
            session.execute(say("DELETE FROM t WHERE id = 3"))
            session.commit()
        assert [1, 3] == ids(pg)
    assert [1, 4] == ids(pg)

    with backend.session(write=True) as session:
        session.execute(say("DELETE FROM t WHERE id = 4"))
        with contextlib.suppress(BackendError):
            session.execute(say("SELECT nothing"))
    assert [1] == ids(pg)

    with backend.session(write=False) as session:
        assert session.begin(write=False)
        assert [(1,)] == session.execute(say("SELECT id FROM t")).rows
        pg.execute("DELETE FROM t")
        assert [[(1,)]] == list(session.stream(say("SELECT id FROM t")))
        assert 0 == session.execute(say("SELECT id FROM t")).changed
        with pytest.raises(BackendError, match="read-only"):
            session.execute(say("DELETE FROM t"))
    assert psycopg.pq.TransactionStatus.IDLE == connection.info.transaction_status

    connection.close()


def test_postgres_failed_transaction_is_not_committed(postgres_database, pg):
    """
    After a failed statement, a commit is an error and not a silent rollback.
    """
    from memdelete.backends.psycopg import Psycopg

    backend = Psycopg(postgres_database)
    with backend.session(write=True) as session:
        session.begin(write=True)
        session.execute(say("DELETE FROM t"))
        with pytest.raises(BackendError):
            session.execute(say("SELECT nothing"))
        with pytest.raises(BackendError, match="has failed") as caught:
            session.commit()
        session.rollback()
        assert session.now().tzinfo is not None
    backend.close()

    assert not caught.value.in_doubt
    assert [1, 2, 3] == ids(pg)


def test_postgres_locks(postgres_database, pg):
    """
    A row that another transaction holds is told as such.
    """
    from memdelete.backends.psycopg import Psycopg

    backend = Psycopg(postgres_database)
    with pg.transaction():
        pg.execute("DELETE FROM t WHERE id = 1")
        with backend.session(write=True) as session:
            session.begin(write=True)
            session.execute(say("SET LOCAL lock_timeout = 10"))
            with pytest.raises(BackendError, match="another transaction") as caught:
                session.execute(say("DELETE FROM t WHERE id = 1"))
            session.rollback()
    backend.close()

    assert caught.value.locked


def test_postgres_commit_in_doubt(postgres_database, pg):
    """
    A connection that is lost during the commit leaves the outcome unknown, and says so.
    """
    from memdelete.backends.psycopg import Psycopg

    pg.execute(
        """
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(10); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER late AFTER DELETE ON t DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION slow();
        """
    )
    backend = Psycopg(postgres_database)
    with backend.session(write=True) as session:
        session.begin(write=True)
        session.execute(say("DELETE FROM t WHERE id = 1"))
        ((pid,),) = session.execute(say("SELECT pg_backend_pid()")).rows
        killer = threading.Timer(0.3, pg.execute, ["SELECT pg_terminate_backend(%s)", (pid,)])
        killer.start()
        with pytest.raises(BackendError) as caught:
            session.commit()
        killer.join()
        session.rollback()
    assert (True, False) == (caught.value.in_doubt, caught.value.locked)

    with backend.session(write=True) as session:  # a new connection, since the old one is gone
        assert [(3,)] == session.execute(say("SELECT count(*) FROM t")).rows
    backend.close()


def test_postgres_password_is_never_told():
    """
    An address that cannot be reached is named without its password.
    """
    require("psycopg")
    from memdelete.backends.psycopg import Psycopg

    backend = Psycopg("postgresql://ana:s3cret@localhost:1/memory")
    with pytest.raises(BackendError) as caught:
        backend.introspect()

    assert "s3cret" not in str(caught.value)
    assert "user=ana" in str(caught.value)


# --- DuckDB ---------------------------------------------------------------------------------


@pytest.fixture
def duck(tmp_path):
    """
    A small store in a DuckDB file.
    """
    path = tmp_path / "memory.duckdb"
    with require("duckdb").connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR)")
        connection.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")

    return path


def test_duckdb_file(duck):
    """
    It is read without a change, then written; counts are true.
    """
    from memdelete.backends.duckdb import DuckDB

    before = duck.read_bytes()
    backend = DuckDB(duck)
    with backend.session(write=False) as session:
        session.begin(write=False)
        assert [[(1,), (2,)], [(3,)]] == list(session.stream(say("SELECT id FROM t"), 2))
        with pytest.raises(BackendError):
            session.execute(say("DELETE FROM t"))
    backend.introspect()
    assert before == duck.read_bytes()

    with backend.session(write=True) as session:
        assert session.begin(write=True)
        assert 1 == session.execute(say("DELETE FROM t WHERE id = $p0", p0=1)).changed
        session.rollback()
        session.rollback()
        assert session.begin(write=True)
        gone = session.execute(say("DELETE FROM t WHERE id > 1 RETURNING id"))
        assert (2, [(2,), (3,)]) == (gone.changed, sorted(gone.rows))
        assert 0 == session.execute(say("DELETE FROM t WHERE id > 9")).changed
        assert 0 == session.execute(say("SELECT 1")).changed
        found = [session.execute(say("SELECT $p0", p0=v)).rows[0][0] for v in VALUES]
        session.commit()
        with pytest.raises(BackendError, match="nothing"):
            session.execute(say("SELECT nothing"))
    backend.close()

    assert VALUES == found
    with require("duckdb").connect(duck) as connection:
        assert [1] == ids(connection)


def test_duckdb_has_no_savepoints(duck):
    """
    Within the caller's transaction it refuses, and leaves that as it was.
    """
    from memdelete.backends.duckdb import DuckDB

    with require("duckdb").connect(duck) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (4, 'pending')")
        with (
            DuckDB(connection).session(write=True) as session,
            pytest.raises(Unsupported, match="savepoint"),
        ):
            session.begin(write=True)
        connection.execute("COMMIT")

        assert [1, 2, 3, 4] == ids(connection)


def test_duckdb_missing_file(tmp_path):
    """
    A wrong path does not make a database.
    """
    require("duckdb")
    from memdelete.backends.duckdb import DuckDB

    with pytest.raises(StoreError, match="no such file"):
        DuckDB(tmp_path / "typo.duckdb").introspect()

    assert [] == list(tmp_path.iterdir())


# --- rooms ----------------------------------------------------------------------------------


def test_no_driver_is_loaded_before_it_is_chosen():
    """
    Importing the front door imports none of the drivers.
    """
    code = (
        "import memdelete, memdelete.opening, memdelete.deleter, memdelete.backends.threads, sys\n"
        "drivers = {'sqlite3', 'aiosqlite', 'apsw', 'pysqlite3', 'sqlean', 'duckdb', 'psycopg'}\n"
        "print(sorted(drivers & sys.modules.keys()))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert "[]" == told.strip()
