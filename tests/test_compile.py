"""
The compiler and its guard: what is refused, what indexes serve, how drivers are spoken to.

That the SQL means what the filter means is for the oracle to say; here are the promises around
it, mostly on SQLite, since they are the compiler's own.
"""

from __future__ import annotations

import sqlite3

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from sqlglot import exp

from memdelete import tags, times
from memdelete.errors import FilterError, StoreError, Unsupported
from memdelete.filters import (
    And,
    Before,
    Between,
    Compare,
    Everything,
    Filter,
    Hash,
    Key,
    OlderThan,
    Or,
    Since,
    Tags,
    Untagged,
    field,
)
from memdelete.memories import Truth
from memdelete.schema import Collection, Field, Flag, LiveColumn, LiveSchema, LiveTable, Store
from memdelete.sql import compile as compiling
from memdelete.sql import render as rendering
from memdelete.sql.compile import (
    columns_read,
    compile_filter,
    condition,
    dead_condition,
    live_condition,
    tag_image,
)
from memdelete.sql.render import Unfaithful, column, identifier, parameter, prepare, render, table
from tests.conftest import require


NEW_YEAR = Before(datetime(2024, 1, 1, tzinfo=UTC))
DIALECTS = ("sqlite", "postgres", "duckdb")


def notes(**changes: object) -> Collection:
    """
    A collection with something of everything.
    """
    given = {
        "table": "notes",
        "key": "id",
        "hash": "sha",
        "tags": tags.CommaText("labels"),
        "times": {"created_at": times.ISOText("created"), "seen": times.EpochSeconds("seen")},
        "fields": {"project": "project", "score": Field("score", "real")},
    }

    return Collection(**(given | changes))


def store(*collections: Collection) -> Store:
    """
    A store of *collections*.
    """
    return Store(name="notes", collections=collections or [notes()])


def live(
    table: str, dialect: str = "sqlite", version: tuple[int, ...] = (), **types: str
) -> LiveSchema:
    """
    A table as it would be found.
    """
    columns = []
    for name, declared in types.items():
        type_, _, collation = declared.partition(" COLLATE ")
        columns.append(LiveColumn(name, type=type_, collation=collation or None))

    return LiveSchema(dialect, {table: LiveTable(table, columns=tuple(columns))}, version=version)


@pytest.fixture
def memory() -> Iterator[sqlite3.Connection]:
    """
    An empty SQLite database.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def selected(
    connection: sqlite3.Connection,
    asked: Filter,
    collection: Collection,
    want: Truth = Truth.TRUE,
    schema: LiveSchema | None = None,
) -> list[object]:
    """
    The rowids of the rows of which *asked* is certainly *want*.
    """
    found = condition(asked, collection, dialect="sqlite", want=want, live=schema)
    where = render(found.expression, dialect="sqlite", paramstyle="named", params=found.params)
    sql = f'SELECT rowid FROM "{collection.table}" WHERE {where.sql} ORDER BY rowid'

    return [key for (key,) in connection.execute(sql, where.params)]


def plan(connection: sqlite3.Connection, asked: Filter, collection: Collection) -> str:
    """
    How SQLite would look for the rows.
    """
    found = compile_filter(asked, store(collection))
    sql = f"EXPLAIN QUERY PLAN SELECT * FROM notes WHERE {found.sql}"

    return "; ".join(row[-1] for row in connection.execute(sql, found.params))


# --- the guard ------------------------------------------------------------------------------


def comparison(name: str) -> exp.EQ:
    """
    A leaf.
    """
    return exp.EQ(this=column(name, "notes"), expression=parameter(name))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_guard_unwrapped_or(dialect):
    """
    An Or that loses its parentheses does not read back, and is not sent.
    """
    a, b, c = map(comparison, "abc")
    tree = exp.And(this=exp.Or(this=a, expression=b), expression=c)

    with pytest.raises(Unfaithful, match="does not read back"):
        prepare(tree, dialect=dialect, paramstyle="qmark")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_guard_unwrapped_or_within(dialect):
    """
    Nor does an Or deep within a leaf.
    """
    a, b, c = map(comparison, "abc")
    inner = exp.Select(expressions=[exp.Literal.number(1)])
    inner = inner.from_("others").where(exp.And(this=exp.Or(this=a, expression=b), expression=c))

    with pytest.raises(Unfaithful, match="does not read back"):
        prepare(exp.Exists(this=inner), dialect=dialect, paramstyle="qmark")


@pytest.mark.parametrize("word", ["all_of", "any_of"])
def test_guard_dropped_leaf(word, monkeypatch):
    """
    A compiler that forgets a part of the filter is caught by the filter itself.
    """
    honest = getattr(compiling, word)
    monkeypatch.setattr(compiling, word, lambda *parts: honest(*parts[:2]))
    join = And if word == "all_of" else Or
    asked = join(Hash("a"), Tags(any=["b"]), field("project").eq("c"))

    with pytest.raises(Unfaithful, match="does not say the filter"):
        condition(asked, notes(), dialect="sqlite")


def test_guard_swapped_connectives(monkeypatch):
    """
    A compiler that says Or for And is caught by the filter itself.
    """
    monkeypatch.setattr(compiling, "all_of", compiling.any_of)

    with pytest.raises(Unfaithful, match="does not say the filter"):
        condition(And(Hash("a"), Hash("b")), notes(), dialect="sqlite")


def test_guard_delete_without_condition():
    """
    A DELETE without WHERE is never rendered, however it was built.
    """
    with pytest.raises(Unfaithful, match="takes all"):
        prepare(exp.delete(table("notes")), dialect="sqlite", paramstyle="qmark")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (' WHERE "notes"."a" = \x01a\x01', ' WHERE TRUE OR "notes"."a" = \x01a\x01'),
        ('"a" = \x01a\x01', '"b" = \x01a\x01'),
        ("DELETE FROM", "DELETE FROM main."),
        ('FROM "notes"', 'FROM "others"'),
        ('DELETE FROM "notes"', 'SELECT * FROM "notes"'),
        ('"notes"."a" =', '"notes"."a" <>'),
        ("\x01a\x01", "\x01a\x01; DROP TABLE notes"),
    ],
)
def test_guard_another_text(right, wrong, monkeypatch):
    """
    Text that says another statement, table, column or condition than the tree is not sent.
    """
    tree = exp.delete(table("notes")).where(comparison("a"))
    text = rendering._marked(tree, "sqlite")
    assert right in text
    monkeypatch.setattr(rendering, "_marked", lambda *_: text.replace(right, wrong, 1))

    with pytest.raises(Unfaithful):
        prepare(tree, dialect="sqlite", paramstyle="qmark")


def test_guard_lost_condition(monkeypatch):
    """
    A renderer that loses the WHERE is caught.
    """
    tree = exp.delete(table("notes")).where(comparison("a"))
    monkeypatch.setattr(rendering, "_marked", lambda *_: 'DELETE FROM "notes"')

    with pytest.raises(Unfaithful, match="does not read back"):
        prepare(tree, dialect="sqlite", paramstyle="qmark")


def test_guard_lost_parameter():
    """
    An engine's rewriting that doubles a parameter is caught.
    """
    tree = exp.ArrayContains(this=column("labels", "notes"), expression=parameter("a"))

    with pytest.raises(Unfaithful, match="doubled"):
        prepare(tree, dialect="postgres", paramstyle="format")


def test_guard_lets_pass():
    """
    Statements of every kind read back as they were meant.
    """
    where = exp.and_(exp.or_(comparison("a"), comparison("b")), exp.not_(comparison("c")))
    source = exp.Select(expressions=[column("a", "notes")]).from_(table("notes")).where(where)
    target = exp.Schema(this=table("bin", "main"), expressions=[identifier("a")])
    trees = [
        source,
        source.order_by(column("a", "notes")).limit(3),
        exp.Delete(
            this=table("notes"),
            where=exp.Where(this=where.copy()),
            returning=exp.Returning(expressions=[column("a", "notes")]),
        ),
        exp.Insert(this=target, expression=source.copy()),
        exp.update(table("notes"), {"a": None}, where=where.copy()),
    ]
    for dialect in DIALECTS:
        for tree in trees:
            found = prepare(tree, dialect=dialect, paramstyle="named")

            assert {"a", "b", "c"} == set(found.order)


@pytest.mark.parametrize("name", ["", "a\0b", "a\nb", "\x01", "\x7f", "\ud800"])
def test_control_characters_in_names(name):
    """
    A name with a control character, or none at all, is refused.
    """
    with pytest.raises(StoreError, match="name"):
        identifier(name)


# --- how drivers are spoken to --------------------------------------------------------------


@pytest.mark.parametrize(
    ("paramstyle", "sql", "params"),
    [
        ("qmark", "? ? ?", ("a", "%b", "a")),
        ("format", "%s %s %s", ("a", "%b", "a")),
        ("named", ":x :y :x", {"x": "a", "y": "%b"}),
        ("pyformat", "%(x)s %(y)s %(x)s", {"x": "a", "y": "%b"}),
        ("dollar", "$x $y $x", {"x": "a", "y": "%b"}),
        ("numeric_dollar", "$1 $2 $1", ("a", "%b")),
    ],
)
def test_paramstyles(paramstyle, sql, params):
    """
    Values come in the order, and under the names, of the driver's style.
    """
    names = ("x", "y", "x")
    leaves = [exp.EQ(this=exp.Literal.string("%"), expression=parameter(name)) for name in names]
    found = render(
        exp.and_(*leaves), dialect="sqlite", paramstyle=paramstyle, params={"x": "a", "y": "%b"}
    )
    percent = "%%" if "format" in paramstyle else "%"

    assert " AND ".join(f"'{percent}' = {mark}" for mark in sql.split()) == found.sql
    assert params == found.params


def test_unknown_paramstyle():
    """
    A style that no driver has is refused.
    """
    with pytest.raises(StoreError, match="qmark"):
        compile_filter(Hash("a"), store(), paramstyle="question")


def test_unknown_dialect():
    """
    An engine nobody knows is refused, and the known ones are named.
    """
    with pytest.raises(Unsupported, match="sqlite"):
        compile_filter(Hash("a"), store(), dialect="oracle")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_names(dialect, memory):
    """
    Names with quotes, blanks, keywords and placeholders in them stay names.
    """
    hostile = ['a"b', "select", "a b", "a;--", ":p0", "%s", "it's", "json", "value", "key", "日本"]
    collection = notes(
        table='no"tes %s',
        key=hostile[0],
        hash=hostile[1],
        tags=tags.CommaText(hostile[2]),
        times={"created_at": times.ISOText(hostile[3])},
        fields={name: Field(name, "text") for name in hostile[4:]},
    )
    asked = And(
        Key(1),
        Hash("a"),
        Tags(all=["a"]),
        NEW_YEAR,
        *[field(name).eq("a") for name in hostile[4:]],
    )
    found = compile_filter(asked, store(collection), dialect=dialect, paramstyle="named")
    names = [name.name for name in found.expression.find_all(exp.Column) if name.args["table"]]

    assert {*hostile} <= {*names}
    if dialect == "sqlite":
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in hostile)
        memory.execute(f'CREATE TABLE "no""tes %s" ({quoted})')
        memory.execute(
            'INSERT INTO "no""tes %s" VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
            ["a", "a", "2023-01-01"] + ["a"] * 7,
        )
        where = compile_filter(asked, store(collection))
        sql = f'SELECT count(*) FROM "no""tes %s" WHERE {where.sql}'

        assert [(1,)] == memory.execute(sql, where.params).fetchall()


def test_schema_and_relation():
    """
    Columns belong to the relation, and the tables of tags to the collection's schema.
    """
    collection = notes(schema="app", tags=tags.JoinTable("labels", "memory", "tag"))
    found = condition(
        Tags(any=["a"]),
        collection,
        dialect="postgres",
        relation="m",
        tables={"labels": "bin_labels"},
        prefix="x",
    )
    sql = found.expression.sql("postgres")

    assert '"app"."bin_labels"' in sql
    assert '"m"."id"' in sql
    assert {"x0": ["a"]} == found.params


def test_expression_is_a_copy():
    """
    What the caller does to a condition's tree does not reach the next one.
    """
    first = condition(Hash("a"), notes(), dialect="sqlite")
    first.expression.find(exp.Column).set("table", identifier("elsewhere"))

    assert "elsewhere" not in condition(Hash("a"), notes(), dialect="sqlite").expression.sql()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_stock_nodes(dialect):
    """
    Trees are made of sqlglot's own nodes only, since its compiled build takes no others.
    """
    asked = And(Hash("a", "b"), Tags(any=["a"], none=["b"], ignore_case=True), NEW_YEAR)
    found = compile_filter(asked, store(), dialect=dialect, paramstyle="named")

    assert {"sqlglot"} == {
        type(node).__module__.partition(".")[0] for node in found.expression.walk()
    }


# --- shapes ---------------------------------------------------------------------------------


def test_shape_is_compiled_once(monkeypatch):
    """
    A filter of a known shape is only bound anew, and to its own values.
    """
    collection = notes()
    where = [compile_filter(And(Hash(h), Tags(any=[h, "x"])), store(collection)) for h in "ab"]
    monkeypatch.setattr(compiling, "_publish", None)
    where.append(compile_filter(And(Hash("c"), Tags(any=["y"])), store(collection)))

    assert 1 == len({each.sql for each in where})
    assert ["a", "b", "c"] == [each.params[0] for each in where]
    assert ['["a", "x"]', '["b", "x"]', '["y"]'] == [each.params[-1] for each in where]


def test_new_filters_of_known_leaves(monkeypatch):
    """
    A new combination of leaves is put together of what was compiled, with values in their places.
    """
    collection = notes()
    for leaf in (Hash("x"), Hash("x", "y"), Tags(any=["x"]), ~Hash("x")):
        compile_filter(leaf, store(collection))
    monkeypatch.setattr(compiling, "certain", None)
    asked = (Hash("a") | Tags(any=["b"])) & ~Hash("c") & (Hash("d", "e") | Hash("f"))
    found = compile_filter(asked, store(collection), paramstyle="named")

    assert {"a", "f", "c", '["b"]', '["d", "e"]'} == set(found.params.values())
    assert found.params.keys() == {node.name for node in found.expression.find_all(exp.Placeholder)}
    with pytest.raises(TypeError):
        compile_filter(Untagged(), store(collection))


@pytest.mark.parametrize(
    "asked",
    [
        Key(1, "2") & Hash("a"),
        Key(1, "2") | Hash("a"),
        ~Between(NEW_YEAR.at, NEW_YEAR.at + timedelta(days=1)) & Hash("a"),
        (Hash("a") | NEW_YEAR | Untagged()) & ~(Key(1, "2") & Tags(none=["b"])),
    ],
    ids=["and", "or", "outside", "nested"],
)
def test_a_text_is_its_tree(asked):
    """
    What is put together as text reads back as the tree that is put together beside it.
    """
    found = compile_filter(asked, store(), paramstyle="named")
    read = rendering.parse_predicate(found.sql, "sqlite")

    assert rendering.form(found.expression) == rendering.form(read)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_nesting_reads_back(dialect):
    """
    And, Or and Not in every nesting of four leaves are said by every dialect.
    """
    a, b, c, d = Hash("a"), Tags(any=["b"]), NEW_YEAR, Untagged()
    collection = notes()
    for one, two, three in product((And, Or), repeat=3):
        for asked in (
            one(two(a, b), three(c, d)),
            one(two(three(a, b), c), d),
            one(a, two(b, three(c, d))),
            one(~two(a, ~three(b, c)), d),
        ):
            for filter in (asked, ~asked):
                found = compile_filter(filter, store(collection), dialect=dialect)

                assert prepare(found.expression, dialect=dialect, paramstyle="qmark").sql


def test_an_equal_schema_is_known(monkeypatch):
    """
    The schema is looked at anew by each operation; while it is the same, so is the SQL.
    """
    collection = notes()
    condition(Hash("a"), collection, dialect="sqlite", live=live("notes", sha="TEXT"))
    monkeypatch.setattr(compiling, "_compile", None)

    assert {"p0": "b"} == condition(
        Hash("b"), collection, dialect="sqlite", live=live("notes", sha="TEXT")
    ).params
    with pytest.raises(TypeError):
        condition(Hash("a"), collection, dialect="sqlite", live=live("notes", sha="BLOB"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Hash("a"), Hash("a", "b")),
        (Key(1), Key("1")),
        (Key(1, "1"), Key(1, 2)),
        (field("loose").eq(1), field("loose").eq("1")),
        (field("loose").isin([1, 2]), field("loose").isin([1, 2.5])),
        (field("loose").lt(1), field("loose").le(1)),
        (Tags(any=["a"]), Tags(all=["a"])),
        (Tags(any=["a"]), Tags(any=["a"], ignore_case=True)),
        (NEW_YEAR, Since(NEW_YEAR.at)),
        (NEW_YEAR, Before(NEW_YEAR.at, on="seen")),
        (NEW_YEAR, ~NEW_YEAR),
        (And(Hash("a"), Untagged()), Or(Hash("a"), Untagged())),
    ],
)
def test_shapes_differ(one, other):
    """
    What decides the SQL is in the shape: no filter is given another one's text.
    """
    collection = notes(fields={"loose": "loose"})
    first, second = (compile_filter(each, store(collection)) for each in (one, other))

    assert first.sql != second.sql


def test_live_is_part_of_the_shape():
    """
    The same filter on the same collection under another schema, want or relation is another SQL.
    """
    collection = notes()
    found = {
        condition(
            Hash("a"), collection, dialect="sqlite", live=schema, want=want, relation=relation
        ).expression.sql()
        for schema in (None, live("notes", sha="TEXT"))
        for want in (Truth.TRUE, Truth.FALSE)
        for relation in (None, "n")
    }

    assert 8 == len(found)


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        OlderThan("30d"),
        Before("2024-01-01"),
        Hash("a") & Before("2024-01-01"),
        "tags = 'a'",
    ],
)
def test_unresolved(asked):
    """
    A filter with a naive or relative time, or none at all, has no SQL.
    """
    with pytest.raises(FilterError):
        compile_filter(asked, store())


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        (field("nowhere").eq("a"), "project"),
        (field("nowhere").missing(), "project"),
        (Before(NEW_YEAR.at, on="nowhere"), "created_at"),
        (Hash("a") | field("nowhere").eq("a"), "created_at"),
        (Key(1, collection="nowhere"), "notes"),
        (field("created_at").lt("2024"), "Before"),
    ],
)
def test_absent(asked, there):
    """
    What the only collection lacks is an error that lists what there is.
    """
    with pytest.raises(StoreError, match=there):
        compile_filter(asked, store())


@pytest.mark.parametrize("asked", [Hash("a"), Tags(any=["a"]), Untagged()])
def test_absent_columns(asked):
    """
    A collection without hashes or tags is not asked for them.
    """
    with pytest.raises(StoreError, match="none"):
        compile_filter(asked, store(notes(hash=None, tags=None)))


@pytest.mark.parametrize("want", [Truth.TRUE, Truth.FALSE])
@pytest.mark.parametrize(
    "asked",
    [
        Hash("a"),
        Tags(none=["a"]),
        Untagged(),
        NEW_YEAR,
        field("project").missing(),
        field("project").ne("a"),
        Key(1, collection="others"),
    ],
)
def test_lacking_is_unknown(asked, want, memory):
    """
    On a collection that lacks the column, a leaf is neither true nor false of any row.
    """
    memory.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
    memory.execute("INSERT INTO notes VALUES (1)")
    bare = Collection(table="notes", key="id")

    assert [] == selected(memory, asked, bare, want)
    assert [1] == selected(memory, asked | Everything(), bare)


def test_which_collection():
    """
    With several collections, one is chosen by name, and an unknown name lists them.
    """
    both = store(notes(), notes(name="others"))

    with pytest.raises(StoreError, match="notes, others"):
        compile_filter(Hash("a"), both)
    with pytest.raises(StoreError, match="notes, others"):
        compile_filter(Hash("a"), both, collection="nowhere")

    assert compile_filter(Hash("a"), both, collection="others").params


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("id", Key((1, 2))),
        ("id", Key(("a",))),
        (("a", "b"), Key(1)),
        (("a", "b"), Key((1, 2), (1, 2, 3))),
    ],
)
def test_arity(key, asked):
    """
    A key with another number of parts than the table's is an error of the store.
    """
    with pytest.raises(StoreError, match="key"):
        compile_filter(asked, store(notes(key=key)))


@pytest.mark.parametrize(
    ("dialect", "types", "asked"),
    [
        ("postgres", {"id": "bigint"}, Key("1x")),
        ("postgres", {"id": "text"}, Key(1)),
        ("postgres", {"id": "uuid"}, Key("1x")),
        ("postgres", {"id": "numeric(10,0)"}, Key(1)),
        ("postgres", {"sha": "bytea"}, Hash("abc")),
        ("postgres", {"project": "integer"}, field("project").eq("abc")),
        ("postgres", {"project": "text"}, field("project").eq(0)),
        ("postgres", {"project": "text"}, field("project").eq(True)),
        ("postgres", {"project": "integer"}, field("project").eq(0.5)),
        ("postgres", {"project": "jsonb"}, field("project").eq("abc")),
        ("postgres", {"created": "timestamptz"}, NEW_YEAR),
        ("postgres", {"seen": "text"}, Before(NEW_YEAR.at, on="seen")),
        ("duckdb", {"id": "BIGINT"}, Key("1x")),
        ("duckdb", {"sha": "UUID"}, Hash("abc")),
        ("duckdb", {"project": "VARCHAR"}, field("project").lt(1)),
        ("sqlite", {"project": "TEXT"}, field("project").eq(0)),
        ("sqlite", {"project": "INTEGER"}, field("project").eq("abc")),
        ("sqlite", {"project": "INTEGER"}, field("project").lt(0.5)),
        ("sqlite", {"project": "REAL"}, field("project").eq(2**53 + 1)),
        ("sqlite", {"project": "NUMERIC"}, field("project").eq(True)),
        ("sqlite", {"elsewhere": "TEXT"}, field("project").eq("a")),
    ],
)
def test_classes(dialect, types, asked):
    """
    A value of another class than its column's is refused, never cast by an engine.
    """
    with pytest.raises(StoreError):
        condition(asked, notes(), dialect=dialect, live=live("notes", dialect, **types))


@pytest.mark.parametrize(
    ("dialect", "changes", "asked"),
    [
        ("sqlite", {"tags": tags.NativeArray("labels")}, Tags(any=["a"])),
        ("sqlite", {"times": {"created_at": times.Native("created")}}, NEW_YEAR),
    ],
)
def test_unsupported(dialect, changes, asked):
    """
    What an engine cannot say exactly it does not say.
    """
    with pytest.raises(Unsupported, match=dialect):
        condition(asked, notes(**changes), dialect=dialect)


def test_unsupported_versions():
    """
    JSON text on a PostgreSQL that cannot tell valid JSON, and a DECIMAL in DuckDB, are not said.
    """
    collection = notes(tags=tags.JSONArray("labels"), fields={"score": "score"})
    old = live("notes", "postgres", (15, 4), labels="text")
    decimal = live("notes", "duckdb", (2, 0), score="DECIMAL(18,3)")

    with pytest.raises(Unsupported, match="16"):
        condition(Tags(any=["a"]), collection, dialect="postgres", live=old)
    with pytest.raises(Unsupported, match="DECIMAL"):
        condition(field("score").eq(1), collection, dialect="duckdb", live=decimal)


def test_unknown_has_no_condition():
    """
    Rows of which a filter is unknown are what is left, not a condition.
    """
    with pytest.raises(FilterError, match="neither"):
        condition(Hash("a"), notes(), dialect="sqlite", want=Truth.UNKNOWN)


# --- SQLite's traps -------------------------------------------------------------------------


@pytest.mark.parametrize("declared", ["TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", ""])
@pytest.mark.parametrize("known", [False, True])
def test_affinity(declared, known, memory):
    """
    Whatever the affinity of the column, a number never equals a text nor a text a number.
    """
    memory.execute(f"CREATE TABLE notes (id {declared}, project {declared})")
    for value in ("1", "1x", "abc", "01", 1, 0, 1.0, b"1", None):
        memory.execute("INSERT INTO notes VALUES (?, ?)", (value, value))
    stored = dict(memory.execute("SELECT rowid, id FROM notes").fetchall())
    collection = notes(fields={"project": Field("project", None if known else "any")})
    schema = live("notes", id="", project="") if known else None
    asked = {
        Key(1): lambda value: type(value) is int and value == 1,
        Key("1"): lambda value: value == "1" and isinstance(value, str),
        Key("abc", "1x"): lambda value: value in {"abc", "1x"},
        Key(0, "01"): lambda value: (type(value) is int and value == 0) or value == "01",
        field("project").eq("1"): lambda value: value == "1",
        field("project").eq(0): lambda value: isinstance(value, int | float) and value == 0,
        field("project").lt("0"): lambda value: isinstance(value, str) and value < "0",
        field("project").gt("0"): lambda value: isinstance(value, str) and value > "0",
    }
    for each, holds in asked.items():
        expected = [key for key, value in stored.items() if holds(value)]

        assert expected == selected(memory, each, collection, schema=schema), each


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM", "BINARY"])
@pytest.mark.parametrize("known", [False, True])
def test_collations(collation, known, memory):
    """
    Equal is equal code point by code point, whatever the collation, and an index still serves.
    """
    memory.execute(f"CREATE TABLE notes (id INTEGER PRIMARY KEY, sha TEXT COLLATE {collation})")
    memory.execute("CREATE INDEX shas ON notes (sha)")
    values = ("abc", "ABC", "abc  ", "abcd")
    memory.executemany("INSERT INTO notes (sha) VALUES (?)", [(value,) for value in values])
    collection = notes()
    schema = live("notes", sha=f"TEXT COLLATE {collation}") if known else None

    assert [1] == selected(memory, Hash("abc"), collection, schema=schema)
    assert [1, 4] == selected(memory, Hash("abc", "abcd"), collection, schema=schema)
    assert [2, 3] == selected(memory, Hash("abc", "abcd"), collection, Truth.FALSE, schema)
    assert "INDEX shas (sha=?)" in plan(memory, Hash("abc"), collection)
    assert "INDEX shas (sha=?)" in plan(memory, Hash("a", "b"), collection)


def test_composite_keys(memory):
    """
    A key of several columns is compared as a whole, each part in its own class.
    """
    memory.execute("CREATE TABLE notes (a TEXT, b, PRIMARY KEY (a, b))")
    rows = [("x", 1), ("x", "1"), ("X", 1), ("1", "x"), ("x", 1.5), (None, 1), ("y", None)]
    memory.executemany("INSERT INTO notes VALUES (?, ?)", rows)
    collection = notes(key=("a", "b"))

    assert [1] == selected(memory, Key(("x", 1)), collection)
    assert [1, 2] == selected(memory, Key(("x", 1), ("x", "1"), ("z", 9)), collection)
    assert [2, 3, 4, 5] == selected(memory, ~Key(("x", 1)), collection)
    assert "SEARCH notes" in plan(memory, Key(("x", 1), ("x", 2)), collection)


def test_indexes_serve(memory):
    """
    Hashes, keys, times and texts are looked up by their indexes, not by reading every row.
    """
    memory.execute(
        "CREATE TABLE notes "
        "(id INTEGER PRIMARY KEY, sha TEXT UNIQUE, created TEXT, seen REAL, project TEXT, slug TEXT)"
    )
    for name in ("created", "seen", "project", "slug"):
        memory.execute(f"CREATE INDEX {name}_index ON notes ({name})")
    at = NEW_YEAR.at
    searches = {
        Hash("a"): "(sha=?)",
        Hash("a", "b"): "(sha=?)",
        Key(1, 2): "(rowid=?)",
        Before(at): "(created<?)",
        Since(at): "(created>?)",
        Before(at, on="seen"): "(seen>? AND seen<?)",
        ~Before(at, on="seen"): "(seen>? AND seen<?)",
        field("project").eq("a"): "(project=?)",
        field("project").isin(["a", "b"]): "(project=?)",
    }
    for asked, search in searches.items():
        assert search in plan(memory, asked, notes()), asked
    assert "(slug=?)" in plan(memory, Key("a"), notes(key="slug"))


def test_indexes_serve_in_postgres(postgres):
    """
    PostgreSQL has a use for the indexes on hashes, keys, times and tags.
    """
    types = {
        "id": "bigint",
        "sha": "text",
        "labels": "text[]",
        "more": "jsonb",
        "created": "text",
        "seen": "double precision",
        "at": "timestamp with time zone",
    }
    schema = live("notes", "postgres", (18,), **types)
    clock = {
        "created_at": times.ISOText("created"),
        "seen": times.EpochSeconds("seen"),
        "at": times.Native("at"),
    }
    arrays = notes(tags=tags.NativeArray("labels"), times=clock)
    binary = notes(tags=tags.JSONArray("more"), times=clock)
    at = NEW_YEAR.at
    searches = [
        (arrays, Hash("a", "b"), "sha_index"),
        (arrays, Key(1, 2), "id_index"),
        (arrays, Tags(any=["a", "b"]), "labels_index"),
        (arrays, Tags(all=["a", "b"], none=["c"]), "labels_index"),
        (binary, Tags(any=["a"], all=["b"]), "more_index"),
        (arrays, Before(at), "created_index"),
        (arrays, Since(at, on="seen"), "seen_index"),
        (arrays, Before(at, on="at"), "at_index"),
    ]
    with require("psycopg").connect(postgres) as connection:
        columns = ", ".join(f"{name} {type_}" for name, type_ in types.items())
        connection.execute(f"CREATE TEMP TABLE notes ({columns})")
        for name in types:
            method = "gin" if name in {"labels", "more"} else "btree"
            connection.execute(f"CREATE INDEX {name}_index ON notes USING {method} ({name})")
        connection.execute("SET LOCAL enable_seqscan = off")
        for collection, asked, index in searches:
            found = condition(asked, collection, dialect="postgres", live=schema)
            where = render(
                found.expression, dialect="postgres", paramstyle="format", params=found.params
            )
            rows = connection.execute(
                f"EXPLAIN SELECT * FROM notes WHERE {where.sql}", where.params
            )

            assert f"on {index}" in "".join(line for (line,) in rows).replace("using", "on"), asked


def test_many_values(memory):
    """
    Forty thousand hashes are one parameter, and are looked up by the index.
    """
    memory.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, sha TEXT UNIQUE)")
    memory.executemany("INSERT INTO notes (sha) VALUES (?)", [(f"h{n}",) for n in range(1000)])
    asked = Hash(*[f"h{n}" for n in range(500, 40_500)])
    found = compile_filter(asked, store())

    assert [*range(501, 1001)] == selected(memory, asked, notes())
    assert 1 == len({*found.params})


def test_many_values_elsewhere(postgres):
    """
    The same in PostgreSQL and DuckDB.
    """
    asked = Hash(*[f"h{n}" for n in range(500, 40_500)])
    where = compile_filter(asked, store(), dialect="postgres", paramstyle="format")
    with require("psycopg").connect(postgres) as connection:
        connection.execute("CREATE TEMP TABLE notes (sha text)")
        connection.execute("INSERT INTO notes SELECT 'h' || n FROM generate_series(0, 999) AS n")
        sql = f"DELETE FROM notes WHERE {where.sql}"

        assert 500 == connection.execute(sql, where.params).rowcount
    where = compile_filter(asked, store(), dialect="duckdb")
    with require("duckdb").connect() as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'h' || n AS sha FROM range(1000) AS r(n)")
        found = connection.execute(f"DELETE FROM notes WHERE {where.sql}", where.params).fetchone()

        assert (500,) == found


def test_long_runs(memory):
    """
    A filter of thousands of parts is no deeper for the engine than it can parse.
    """
    memory.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, project TEXT)")
    memory.execute("INSERT INTO notes (project) VALUES ('p7'), ('q')")
    asked = Or(*[field("project").startswith(f"p{n}") for n in range(1100)])

    assert [1] == selected(memory, asked, notes())


def test_fractions_in_lists(memory):
    """
    A list of fractions is compared to the last place, which SQLite's JSON would lose.
    """
    memory.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, score REAL)")
    values = [0.1, 0.1 + 0.2, 0.3, 1.7976931348623157e308, 5e-324, 2.0, 2.0**70]
    memory.executemany("INSERT INTO notes (score) VALUES (?)", [(value,) for value in values])

    assert [1, 2, 4, 5, 6, 7] == selected(
        memory, field("score").isin([0.1, 0.1 + 0.2, values[3], 5e-324, 2, 2.0**70]), notes()
    )
    with pytest.raises(StoreError, match="too many"):
        compile_filter(field("score").isin([n + 0.5 for n in range(600)]), store())


# --- what goes with a condition -------------------------------------------------------------


def test_live_and_dead(memory):
    """
    Live rows have no tombstone, or the live value of the flag; dead ones have it.
    """
    memory.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, gone REAL, flag, state TEXT)")
    memory.execute("INSERT INTO notes VALUES (1, NULL, 0, 'live'), (2, 7, 1, 'it''s over')")
    tombstones = [
        times.EpochSeconds("gone"),
        Flag("flag"),
        Flag("flag", live=False, dead=True),
        Flag("state", live="live", dead="it's over"),
    ]
    for tombstone in tombstones:
        collection = notes(tombstone=tombstone)
        for said, expected in ((live_condition, 1), (dead_condition, 2)):
            where = said(collection, "sqlite").sql("sqlite")
            rows = memory.execute(f"SELECT id FROM notes WHERE {where}").fetchall()

            assert [(expected,)] == rows

    assert live_condition(notes(), "sqlite") is None
    assert dead_condition(notes(), "sqlite") is None


def test_compile_live_only(memory):
    """
    Asked for live rows, the condition leaves deleted ones alone, whatever the filter's shape.
    """
    memory.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, gone REAL)")
    memory.execute("INSERT INTO notes VALUES (1, NULL), (2, 7)")
    collection = notes(tombstone=times.EpochSeconds("gone"))
    where = compile_filter(Key(1) | Key(2), store(collection), live=True)

    assert [(1,)] == memory.execute(
        f"SELECT id FROM notes WHERE {where.sql}", where.params
    ).fetchall()


def test_columns_read():
    """
    The columns a filter reads, once each, without those of other tables.
    """
    asked = And(Key(1), Hash("a"), NEW_YEAR, field("project").missing(), ~Tags(any=["a"]), NEW_YEAR)

    assert ("id", "sha", "created", "project", "labels") == columns_read(asked, notes())
    assert ("id",) == columns_read(
        Tags(any=["a"]), notes(tags=tags.JoinTable("tagged", "memory", "tag"))
    )
    assert () == columns_read(Everything() | Compare("nowhere", "missing"), notes())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tag_image(dialect, memory, postgres):
    """
    The image of a row's tags tells sets of tags apart, and does not depend on their order.
    """
    collection = Collection(table="notes", key="id", tags=tags.JoinTable("labels", "memory", "tag"))
    image = tag_image(collection, dialect).sql(dialect)
    rows = [(1, "a"), (1, "b,c"), (2, "b,c"), (2, "a"), (3, "a"), (3, "b"), (3, "c"), (4, None)]
    values = ", ".join(f"({key}, {f'{tag!r}' if tag else 'NULL'})" for key, tag in rows)
    statements = [
        "CREATE TEMP TABLE notes (id INTEGER)",
        "CREATE TEMP TABLE labels (memory INTEGER, tag TEXT)",
        "INSERT INTO notes VALUES (1), (2), (3), (4), (5)",
        f"INSERT INTO labels VALUES {values}",
    ]
    connection = {
        "sqlite": lambda: memory,
        "postgres": lambda: require("psycopg").connect(postgres),
        "duckdb": lambda: require("duckdb").connect(),
    }[dialect]()
    for statement in statements:
        connection.execute(statement)
    found = connection.execute(f"SELECT {image} FROM notes ORDER BY id").fetchall()
    if connection is not memory:
        connection.close()
    first, second, third, fourth, fifth = (value for (value,) in found)

    assert first == second
    assert 4 == len({first, third, fourth, fifth})
    assert tag_image(notes(), dialect) is None
