"""
What a backend says is there, held against tables that were made a line before.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time

import pytest

from memdelete.backends.sqlite import SQLite
from memdelete.schema import LiveColumn, LiveForeignKey, LiveIndex, LiveTrigger
from memdelete.sql.created import collations, is_shadow, lone_names, options, virtual
from tests.conftest import require


def look(*statements):
    """
    The live schema of a database made by these statements.
    """
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    try:
        return SQLite(connection).introspect()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT)", {"a": "NOCASE"}),
        ("create table t(a text collate nocase)", {"a": "NOCASE"}),
        ('CREATE TABLE "t(x" ("a b" TEXT COLLATE "rtrim")', {"a b": "RTRIM"}),
        ("CREATE TABLE t ([a,b] TEXT COLLATE NOCASE, `c``d` COLLATE RTRIM)",
         {"a,b": "NOCASE", "c`d": "RTRIM"}),
        ("CREATE TABLE t (a TEXT DEFAULT 'x, COLLATE NOCASE (' , b TEXT COLLATE RTRIM)",
         {"b": "RTRIM"}),
        ("CREATE TABLE t (a TEXT DEFAULT ('it''s' COLLATE NOCASE), b)", {}),
        ("CREATE TABLE t (a CHECK (a COLLATE NOCASE <> 'x'), b NUMERIC(10, 2) COLLATE NOCASE)",
         {"b": "NOCASE"}),
        ("CREATE TABLE t (a TEXT -- COLLATE NOCASE, )\n, b TEXT /* COLLATE RTRIM */ COLLATE BINARY)",
         {"b": "BINARY"}),
        ("CREATE TABLE t (a AS (b COLLATE NOCASE), b, UNIQUE (b COLLATE NOCASE))", {}),
        ('CREATE TABLE t ("collate" TEXT, a TEXT PRIMARY KEY COLLATE NOCASE NOT NULL)',
         {"a": "NOCASE"}),
        ("CREATE TABLE t (É TEXT COLLATE NOCASE)", {"é": "NOCASE"}),
    ],
)  # fmt: skip
def test_collations(sql, expected):
    """
    The collation of a column is read off its definition, not off what looks like one.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql)  # SQLite itself takes it

    assert expected == collations(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE t (a)", set()),
        ("CREATE TABLE t (a PRIMARY KEY) WITHOUT  ROWID", {"WITHOUT ROWID"}),
        ("CREATE TABLE t (a TEXT PRIMARY KEY) strict, without rowid", {"STRICT", "WITHOUT ROWID"}),
        ("CREATE TABLE t (a DEFAULT 'WITHOUT ROWID')", set()),
        ("CREATE TABLE t (a) -- STRICT", set()),
    ],
)
def test_options(sql, expected):
    """
    Options stand behind the columns and nowhere else.
    """
    assert expected == options(sql)


def test_columns():
    """
    Each column comes with its type, default, place in the key and whether it is generated.
    """
    live = look(
        "CREATE TABLE t (b INT NOT NULL DEFAULT (1 + 2), a TEXT COLLATE NOCASE DEFAULT 'x, )',"
        " g AS (b * 2), h AS (b) STORED, PRIMARY KEY (a, b))"
    )

    assert (
        LiveColumn("b", "INT", not_null=True, default="1 + 2", primary=2),
        LiveColumn("a", "TEXT", default="'x, )'", primary=1, collation="NOCASE"),
        LiveColumn("g", generated=True),
        LiveColumn("h", generated=True),
    ) == live.tables["t"].columns
    assert ("a", "b") == live.tables["t"].primary


def test_kinds_of_tables():
    """
    Tables with and without rowid, strict ones, views and virtual tables are told apart.
    """
    live = look(
        "CREATE TABLE plain (a)",
        "CREATE TABLE bare (a PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE strict (a TEXT) STRICT",
        "CREATE VIEW seen AS SELECT a, 1 AS one FROM plain",
        "CREATE VIEW broken AS SELECT * FROM gone",
        "CREATE VIRTUAL TABLE words USING fts5(a, b UNINDEXED, tokenize = 'trigram')",
    )
    kinds = {name: table.kind for name, table in live.tables.items() if "_" not in name}

    assert {
        "plain": "table",
        "bare": "table",
        "strict": "table",
        "seen": "view",
        "broken": "view",
        "words": "virtual",
    } == kinds
    assert {"bare"} == {n for n, t in live.tables.items() if t.kind == "table" and not t.rowid}
    assert {"strict"} == {n for n, t in live.tables.items() if t.strict}
    assert ("a", "one") == tuple(column.name for column in live.tables["seen"].columns)
    assert () == live.tables["broken"].columns
    assert {"shadow"} == {t.kind for n, t in live.tables.items() if n.startswith("words_")}


def test_temporary_and_attached_tables_are_not_there():
    """
    Only the store itself is described, even where a temporary table borrows a name.
    """
    live = look(
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (x, y)",
        "CREATE TEMP TABLE memdelete_targets_0 (k)",
        "ATTACH ':memory:' AS other",
        "CREATE TABLE other.u (a)",
    )

    assert ["t"] == list(live.tables)
    assert (LiveColumn("a"),) == live.tables["t"].columns


def test_indexes():
    """
    An index says what is unique, partial, an expression, and how it compares.
    """
    live = look(
        "CREATE TABLE t (a TEXT UNIQUE, b TEXT)",
        "CREATE UNIQUE INDEX one ON t (b COLLATE NOCASE, lower(a)) WHERE a IS NOT NULL",
        "CREATE INDEX two ON t (b)",
    )

    assert {
        LiveIndex("two", ("b",), collations=("BINARY",)),
        LiveIndex("one", ("b", None), unique=True, partial=True, collations=("NOCASE", "BINARY")),
        LiveIndex("sqlite_autoindex_t_1", ("a",), unique=True, collations=("BINARY",)),
    } == set(live.tables["t"].indexes)


def test_foreign_keys():
    """
    A foreign key names its columns pairwise, also where it leaves the parent's to its key.
    """
    live = look(
        "CREATE TABLE Parent (x, y, PRIMARY KEY (y, x))",
        "CREATE TABLE child (a, b, c REFERENCES parent (x) ON DELETE SET NULL,"
        " FOREIGN KEY (a, b) REFERENCES PARENT ON DELETE CASCADE)",
    )

    assert {
        LiveForeignKey(("c",), "Parent", ("x",), "SET NULL"),
        LiveForeignKey(("a", "b"), "Parent", ("y", "x"), "CASCADE"),
    } == set(live.tables["child"].foreign_keys)


def test_triggers():
    """
    A trigger comes with its whole text, a temporary one of this connection's too.
    """
    said = "CREATE TRIGGER kept AFTER DELETE ON t BEGIN SELECT ';'; END"
    live = look(
        "CREATE TABLE T (a)",
        said,
        "CREATE TEMP TRIGGER passing AFTER DELETE ON main.t BEGIN SELECT 1; END",
    )

    assert LiveTrigger("kept", said) in live.tables["T"].triggers
    assert {"kept", "passing"} == {trigger.name for trigger in live.tables["T"].triggers}


def test_virtual_columns_and_arguments():
    """
    FTS5 and vec0 tables are read off their text: columns apart from options.
    """
    words = virtual(
        """CREATE VIRTUAL TABLE "w" USING fts5( title, [body, text] UNINDEXED,
           content = 'notes' , tokenize="porter 'unicode61'")"""
    )
    vectors = virtual(
        "CREATE VIRTUAL TABLE v USING vec0(note_id integer primary key, owner text partition key,"
        " e FLOAT[384] distance_metric=cosine, year integer, +body text, chunk_size=8)"
    )
    bare = virtual("CREATE VIRTUAL TABLE x USING dbstat")

    assert (LiveColumn("title"), LiveColumn("body, text")) == words.columns
    assert (
        "title",
        "[body, text] UNINDEXED",
        "content = 'notes'",
        "tokenize=\"porter 'unicode61'\"",
    ) == words.arguments
    assert (
        LiveColumn("note_id", "integer", primary=1),
        LiveColumn("owner", "text"),
        LiveColumn("e", "FLOAT[384]"),
        LiveColumn("year", "integer"),
        LiveColumn("body", "text"),
    ) == vectors.columns
    assert "e FLOAT[384] distance_metric=cosine" == vectors.arguments[2]
    assert ("dbstat", (), None) == (bare.module, bare.arguments, bare.columns)


def test_shadows():
    """
    A table that FTS5 reads from is nobody's shadow, though its name says so.
    """
    owners = {
        "notes": virtual("CREATE VIRTUAL TABLE notes USING fts5(a, content='notes_content')"),
        "v": virtual("CREATE VIRTUAL TABLE v USING vec0(e float[2])"),
    }
    names = ["notes_content", "notes_data", "notes_date", "v_vector_chunks00", "v_chunks", "v_x"]

    assert ["notes_data", "v_vector_chunks00", "v_chunks"] == [
        name for name in names if is_shadow(name, owners)
    ]


def test_lone_names():
    """
    A column of an index is a column, an expression is None.
    """
    assert ("a", None, "b c") == lone_names('CREATE INDEX i ON t (a DESC, lower(b), "b c")')


def test_the_engine():
    """
    The engine tells its version, and that it folds ASCII letters only.
    """
    live = look()

    assert ("sqlite", sqlite3.sqlite_version_info, True) == (
        live.dialect,
        live.version,
        live.ascii_case,
    )


def test_a_lower_that_folds_more_is_noticed():
    """
    A connection whose `lower` folds all letters says so.
    """
    connection = sqlite3.connect(":memory:")
    connection.create_function("lower", 1, str.lower)
    live = SQLite(connection).introspect()
    connection.close()

    assert not live.ascii_case


def test_the_vector_store_is_read_without_vec0(shared_dir, tmp_path):
    """
    A real store's vector table is described by a module that cannot load its extension.
    """
    path = shutil.copy(shared_dir / "stores" / "mcp-memory-service-12.4.db", tmp_path)
    backend = SQLite(path)
    live = backend.introspect()
    backend.close()
    vectors = live.tables["memory_embeddings"]

    assert ("virtual", "vec0") == (vectors.kind, vectors.module)
    assert {"content_embedding": "FLOAT[384]", "store": "TEXT"} == {
        column.name: column.type for column in vectors.columns
    }
    assert {"shadow"} == {
        table.kind for name, table in live.tables.items() if name.startswith("memory_embeddings_")
    }


def test_many_tables_are_described_fast():
    """
    The statements are few however many the tables: 40 tables take milliseconds.
    """
    made = [
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b TEXT, c REAL, d, e, f)"
        for n in range(40)
    ]
    connection = sqlite3.connect(":memory:")
    for statement in made:
        connection.execute(statement)
    backend = SQLite(connection)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        backend.introspect()
        times.append(time.perf_counter() - started)
    connection.close()

    assert min(times) < 0.03  # some 4 ms; a statement a table took ten times as long


def test_postgres(postgres_database):
    """
    PostgreSQL's catalog says the same things, with schemas.
    """
    psycopg = require("psycopg")
    from memdelete.backends.psycopg import Psycopg

    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute(
            """
            CREATE TABLE parent (a int, b text COLLATE "C", PRIMARY KEY (b, a));
            CREATE TABLE child (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, dropped int,
                pa int, pb text, twice int GENERATED ALWAYS AS (pa * 2) STORED,
                tags text[] NOT NULL DEFAULT '{}', at timestamptz(3),
                FOREIGN KEY (pb, pa) REFERENCES parent ON DELETE CASCADE
            );
            ALTER TABLE child DROP COLUMN dropped;
            CREATE UNIQUE INDEX picked ON child (pa, lower(pb)) INCLUDE (at) WHERE pa > 0;
            CREATE VIEW seen AS SELECT id FROM child;
            CREATE SCHEMA aside; CREATE TABLE aside.child (x int);
            CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
            CREATE TRIGGER watch BEFORE DELETE ON child FOR EACH ROW EXECUTE FUNCTION f();
            """
        )
    backend = Psycopg(postgres_database)
    live = backend.introspect()
    backend.close()
    child = live.tables["child"]

    assert {"parent", "child", "seen", "aside.child"} == live.tables.keys()
    assert (
        LiveColumn("id", "bigint", not_null=True, primary=1, identity=True),
        LiveColumn("pa", "integer"),
        LiveColumn("pb", "text"),
        LiveColumn("twice", "integer", default="(pa * 2)", generated=True),
        LiveColumn("tags", "text[]", not_null=True, default="'{}'::text[]"),
        LiveColumn("at", "timestamp(3) with time zone"),
    ) == child.columns
    assert (LiveForeignKey(("pb", "pa"), "parent", ("b", "a"), "CASCADE"),) == child.foreign_keys
    assert ("pa", None) == next(i.columns for i in child.indexes if i.name == "picked")
    assert (True, True) == next((i.unique, i.partial) for i in child.indexes if i.name == "picked")
    assert ("b", "a") == live.tables["parent"].primary
    assert "C" == live.tables["parent"].column("b").collation
    assert ["watch"] == [trigger.name for trigger in child.triggers]
    assert ("view", "public") == (live.tables["seen"].kind, child.schema)
    assert live.version >= (14,)


def test_duckdb():
    """
    DuckDB's catalog says the same things.
    """
    duckdb = require("duckdb")
    from memdelete.backends.duckdb import DuckDB

    with duckdb.connect() as connection:
        connection.execute(
            """
            CREATE TABLE parent (a INTEGER, b VARCHAR COLLATE NOCASE, PRIMARY KEY (b, a));
            CREATE TABLE child (a INTEGER, b VARCHAR DEFAULT 'x, y', tags VARCHAR[] NOT NULL,
                g INTEGER GENERATED ALWAYS AS (a + 1), UNIQUE (a, b),
                FOREIGN KEY (b, a) REFERENCES parent (b, a));
            CREATE INDEX picked ON child (b, lower(b));
            CREATE VIEW seen AS SELECT a FROM child;
            CREATE TEMP TABLE passing (a INTEGER);
            """
        )
        live = DuckDB(connection).introspect()
    child = live.tables["child"]

    assert {"parent", "child", "seen"} == live.tables.keys()
    assert ("b", "a") == live.tables["parent"].primary
    assert "NOCASE" == live.tables["parent"].column("b").collation
    assert ["INTEGER", "VARCHAR", "VARCHAR[]", "INTEGER"] == [c.type for c in child.columns]
    assert [False, False, True, False] == [c.not_null for c in child.columns]
    assert [False, False, False, True] == [c.generated for c in child.columns]
    assert {("a", "b"): True, ("b", None): False} == {i.columns: i.unique for i in child.indexes}
    assert (LiveForeignKey(("b", "a"), "parent", ("b", "a")),) == child.foreign_keys
    assert not live.ascii_case
