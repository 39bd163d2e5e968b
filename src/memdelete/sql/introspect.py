"""
What is there: the questions to a catalog that make a `LiveSchema`, for each dialect.

Generators of fixed statements; nothing that anybody says ever gets into one. They ask in sets, a
handful of statements however many tables there are. `statements` visits, by way of a backend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from memdelete.errors import BackendError, Unsupported
from memdelete.schema import (
    LiveColumn,
    LiveForeignKey,
    LiveIndex,
    LiveSchema,
    LiveTable,
    LiveTrigger,
)

from .created import Virtual, collations, is_shadow, lone_names, options, virtual
from .render import Result, Statement


__all__ = ["introspect"]

Asking: TypeAlias = Generator[Statement, Result, Any]
Looking: TypeAlias = Generator[Statement, Result, LiveSchema]
Row: TypeAlias = Sequence[Any]
Grouped: TypeAlias = Mapping[str, Sequence[Row]]


def introspect(dialect: str) -> Looking:
    """
    The statements that describe the store, and the schema read off their results.
    """
    match dialect:
        case "sqlite":
            return _sqlite()
        case "postgres":
            return _postgres()
        case "duckdb":
            return _duckdb()
        case _:
            raise Unsupported("a description of the schema", dialect)


def _ask(sql: str, **params: object) -> Generator[Statement, Result, Sequence[Row]]:
    result = yield Statement(sql, params)

    return result.rows


def _by_table(rows: Iterable[Row]) -> Grouped:
    """
    Rows by their first column, which is left out.
    """
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[str(row[0])].append(row[1:])

    return grouped


def _numbers(version: str) -> tuple[int, ...]:
    digits = version.lstrip("v").split("-", maxsplit=1)[0].split(".")

    return tuple(int(part) for part in digits if part.isdigit())


# --- SQLite ---------------------------------------------------------------------------------

# A table-valued pragma is a plain FROM item: CROSS JOIN keeps the order, so that it is asked of
# tables alone (rootpage > 0), never of a virtual one whose module may be missing.
_SQLITE_ENGINE = "SELECT sqlite_version(), lower(char(201)) = char(201)"
_SQLITE_OBJECTS = """
    SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_master WHERE type <> 'index'
    UNION ALL
    SELECT type, name, tbl_name, rootpage, sql FROM temp.sqlite_master WHERE type = 'trigger'
"""
_SQLITE_COLUMNS = """
    SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden
    FROM main.sqlite_master AS m CROSS JOIN pragma_table_xinfo(m.name, 'main') AS c
    WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, c.cid
"""
_SQLITE_OTHER_COLUMNS = """
    SELECT name, type, "notnull", dflt_value, pk, hidden
    FROM pragma_table_xinfo(:name, 'main') ORDER BY cid
"""
_SQLITE_INDEXES = """
    SELECT m.name, i.name, i."unique", i.partial, x.name, x.coll
    FROM main.sqlite_master AS m
    CROSS JOIN pragma_index_list(m.name, 'main') AS i
    CROSS JOIN pragma_index_xinfo(i.name, 'main') AS x
    WHERE m.type = 'table' AND m.rootpage > 0 AND x.key ORDER BY m.name, i.seq, x.seqno
"""
_SQLITE_FOREIGN_KEYS = """
    SELECT m.name, f.id, f."table", f."from", f."to", f.on_delete
    FROM main.sqlite_master AS m CROSS JOIN pragma_foreign_key_list(m.name, 'main') AS f
    WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, f.id, f.seq
"""


def _sqlite() -> Looking:
    ((version, ascii_case),) = yield from _ask(_SQLITE_ENGINE)
    objects = yield from _ask(_SQLITE_OBJECTS)
    columns = _by_table((yield from _ask(_SQLITE_COLUMNS)))
    indexes = _by_table((yield from _ask(_SQLITE_INDEXES)))
    foreign_keys = _by_table((yield from _ask(_SQLITE_FOREIGN_KEYS)))
    triggers: dict[str, list[LiveTrigger]] = defaultdict(list)
    for kind, name, table, _, sql in objects:
        if kind == "trigger":
            triggers[table.lower()].append(LiveTrigger(name, sql))
    tables = [row for row in objects if row[0] in {"table", "view"}]
    virtuals = {
        name: virtual(sql) for kind, name, _, root, sql in tables if kind == "table" and not root
    }

    live: dict[str, LiveTable] = {}
    for kind, name, _, _, sql in tables:
        fired = tuple(triggers[name.lower()])
        if kind == "view":
            seen = yield from _sqlite_other_columns(name)
            live[name] = LiveTable(name, "view", columns=seen, sql=sql, triggers=fired)
        elif name in virtuals:
            live[name] = yield from _sqlite_virtual(name, sql, virtuals[name])
        else:
            said = options(sql)
            live[name] = LiveTable(
                name,
                "shadow" if is_shadow(name, virtuals) else "table",
                columns=_sqlite_columns(columns.get(name, ()), collations(sql)),
                rowid="WITHOUT ROWID" not in said,
                strict="STRICT" in said,
                sql=sql,
                indexes=_indexes(indexes.get(name, ())),
                foreign_keys=_sqlite_foreign_keys(foreign_keys.get(name, ()), columns),
                triggers=fired,
            )

    return LiveSchema("sqlite", live, _numbers(version), bool(ascii_case))


def _sqlite_columns(rows: Iterable[Row], collated: Mapping[str, str]) -> tuple[LiveColumn, ...]:
    return tuple(
        LiveColumn(
            name,
            type=kind,
            not_null=bool(not_null),
            default=default,
            primary=primary,
            generated=hidden in {2, 3},
            collation=collated.get(name.lower()),
        )
        for name, kind, not_null, default, primary, hidden in rows
        if hidden != 1
    )


def _sqlite_other_columns(
    name: str,
) -> Generator[Statement, Result, tuple[LiveColumn, ...]]:
    """
    The columns of a view or a virtual table; none where it is broken or its module is missing.
    """
    try:
        rows = yield from _ask(_SQLITE_OTHER_COLUMNS, name=name)
    except BackendError as error:
        if error.locked:
            raise
        return ()

    return _sqlite_columns(rows, {})


def _sqlite_virtual(name: str, sql: str, said: Virtual) -> Generator[Statement, Result, LiveTable]:
    columns = said.columns
    if columns is None:
        columns = yield from _sqlite_other_columns(name)

    return LiveTable(
        name,
        "virtual",
        columns=columns,
        rowid=True,
        sql=sql,
        module=said.module,
        arguments=said.arguments,
    )


def _indexes(rows: Iterable[Row]) -> tuple[LiveIndex, ...]:
    """
    From one row for each column of each index, in order.
    """
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)

    return tuple(
        LiveIndex(
            name,
            columns=tuple(column for *_, column, _ in members),
            unique=bool(members[0][1]),
            partial=bool(members[0][2]),
            collations=tuple(collation for *_, collation in members),
        )
        for name, members in found.items()
    )


def _sqlite_foreign_keys(rows: Iterable[Row], columns: Grouped) -> tuple[LiveForeignKey, ...]:
    # A name is written as anybody likes; the table's own spelling is what others look it up by.
    spelled = {name.lower(): name for name in columns}
    found: dict[int, list[Row]] = defaultdict(list)
    for number, parent, *rest in rows:
        found[number].append((spelled.get(parent.lower(), parent), *rest))

    return tuple(
        LiveForeignKey(
            columns=tuple(column for _, column, _, _ in members),
            parent=members[0][0],
            parent_columns=(
                _primary(columns.get(members[0][0], ()))
                if members[0][2] is None
                else tuple(to for _, _, to, _ in members)
            ),
            on_delete=members[0][3],
        )
        for members in found.values()
    )


def _primary(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(name for _, name in sorted((row[4], row[0]) for row in rows if row[4]))


# --- PostgreSQL -----------------------------------------------------------------------------

# No percent sign in any of these: some paramstyles read it as theirs.
_POSTGRES_ENGINE = "SELECT current_setting('server_version_num')::int, lower('\u00c9') = '\u00c9'"
_POSTGRES_TABLES = """
    SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid),
           CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_' ORDER BY 2, 3
"""
_POSTGRES_COLUMNS = """
    SELECT c.oid::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
           pg_get_expr(d.adbin, d.adrelid),
           coalesce((SELECT k.place FROM pg_constraint AS p,
                     unnest(p.conkey) WITH ORDINALITY AS k(number, place)
                     WHERE p.conrelid = c.oid AND p.contype = 'p' AND k.number = a.attnum), 0),
           a.attgenerated <> '', a.attidentity <> '',
           CASE WHEN a.attcollation <> t.typcollation THEN o.collname END
    FROM pg_attribute AS a
    JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_type AS t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
    LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
      AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_' ORDER BY 1, a.attnum
"""
_POSTGRES_INDEXES = """
    SELECT c.oid::text, x.relname, i.indisunique, i.indpred IS NOT NULL, a.attname, o.collname
    FROM pg_index AS i
    JOIN pg_class AS c ON c.oid = i.indrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_class AS x ON x.oid = i.indexrelid
    CROSS JOIN unnest(i.indkey::int2[], i.indcollation::oid[])
      WITH ORDINALITY AS k(number, coll, place)
    LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number AND k.number > 0
    LEFT JOIN pg_collation AS o ON o.oid = k.coll
    WHERE k.place <= i.indnkeyatts AND i.indisvalid AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
    ORDER BY 1, 2, k.place
"""
_POSTGRES_FOREIGN_KEYS = """
    SELECT c.oid::text, f.conname, p.relname, a.attname, b.attname, f.confdeltype::text
    FROM pg_constraint AS f
    JOIN pg_class AS c ON c.oid = f.conrelid
    JOIN pg_class AS p ON p.oid = f.confrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    CROSS JOIN unnest(f.conkey, f.confkey) WITH ORDINALITY AS k(own, other, place)
    JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = k.own
    JOIN pg_attribute AS b ON b.attrelid = f.confrelid AND b.attnum = k.other
    WHERE f.contype = 'f' AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_' ORDER BY 1, 2, k.place
"""
_POSTGRES_TRIGGERS = """
    SELECT c.oid::text, g.tgname, pg_get_triggerdef(g.oid)
    FROM pg_trigger AS g
    JOIN pg_class AS c ON c.oid = g.tgrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE NOT g.tgisinternal AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_' ORDER BY 1, 2
"""
_ON_DELETE = {
    "a": "NO ACTION",
    "r": "RESTRICT",
    "c": "CASCADE",
    "n": "SET NULL",
    "d": "SET DEFAULT",
}


def _postgres() -> Looking:
    ((version, ascii_case),) = yield from _ask(_POSTGRES_ENGINE)
    tables = yield from _ask(_POSTGRES_TABLES)
    columns = _by_table((yield from _ask(_POSTGRES_COLUMNS)))
    indexes = _by_table((yield from _ask(_POSTGRES_INDEXES)))
    foreign_keys = _by_table((yield from _ask(_POSTGRES_FOREIGN_KEYS)))
    triggers = _by_table((yield from _ask(_POSTGRES_TRIGGERS)))
    live = {
        # What the search path does not reach needs its schema in the name.
        (name if visible else f"{schema}.{name}"): LiveTable(
            name,
            "view" if kind in {"v", "m"} else "table",
            schema=schema,
            columns=tuple(LiveColumn(*row) for row in columns.get(oid, ())),
            sql=sql,
            indexes=_indexes(indexes.get(oid, ())),
            foreign_keys=_named_foreign_keys(foreign_keys.get(oid, ())),
            triggers=tuple(LiveTrigger(*row) for row in triggers.get(oid, ())),
        )
        for oid, schema, name, kind, visible, sql in tables
    }

    return LiveSchema("postgres", live, (version // 10_000, version % 10_000), bool(ascii_case))


def _named_foreign_keys(rows: Iterable[Row]) -> tuple[LiveForeignKey, ...]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)

    return tuple(
        LiveForeignKey(
            columns=tuple(own for _, _, own, _, _ in members),
            parent=members[0][1],
            parent_columns=tuple(other for _, _, _, other, _ in members),
            on_delete=_ON_DELETE[members[0][4]],
        )
        for members in found.values()
    )


# --- DuckDB ---------------------------------------------------------------------------------

_DUCKDB_ENGINE = "SELECT version(), lower('\u00c9') = '\u00c9', current_schema()"
_DUCKDB_TABLES = """
    SELECT schema_name, table_name, 'table', sql FROM duckdb_tables()
    WHERE database_name = current_database() AND NOT internal
    UNION ALL
    SELECT schema_name, view_name, 'view', sql FROM duckdb_views()
    WHERE database_name = current_database() AND NOT internal
    ORDER BY 1, 2
"""
_DUCKDB_COLUMNS = """
    SELECT table_oid, column_name, data_type, NOT is_nullable, column_default, is_generated,
           schema_name, table_name
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
    ORDER BY schema_name, table_name, column_index
"""
_DUCKDB_CONSTRAINTS = """
    SELECT schema_name, table_name, constraint_name, constraint_type, constraint_column_names,
           referenced_table, referenced_column_names
    FROM duckdb_constraints()
    WHERE database_name = current_database()
      AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
    ORDER BY 1, 2, constraint_index
"""
_DUCKDB_INDEXES = """
    SELECT schema_name, table_name, index_name, is_unique, sql FROM duckdb_indexes()
    WHERE database_name = current_database() ORDER BY 1, 2, 3
"""


def _duckdb() -> Looking:
    ((version, ascii_case, current),) = yield from _ask(_DUCKDB_ENGINE)
    tables = yield from _ask(_DUCKDB_TABLES)
    columns: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for _, *row, schema, table in (yield from _ask(_DUCKDB_COLUMNS)):
        columns[schema, table].append(row)
    constraints: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for schema, table, *row in (yield from _ask(_DUCKDB_CONSTRAINTS)):
        constraints[schema, table].append(row)
    indexes: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for schema, table, *row in (yield from _ask(_DUCKDB_INDEXES)):
        indexes[schema, table].append(row)
    live = {
        (name if schema == current else f"{schema}.{name}"): _duckdb_table(
            (schema, name, kind, sql),
            columns[schema, name],
            constraints[schema, name],
            indexes[schema, name],
        )
        for schema, name, kind, sql in tables
    }

    return LiveSchema("duckdb", live, _numbers(version), bool(ascii_case))


def _duckdb_table(
    said: tuple[str, str, Any, str | None],
    columns: Iterable[Row],
    constraints: Iterable[Row],
    indexes: Iterable[Row],
) -> LiveTable:
    schema, table, kind, sql = said
    primary: Sequence[str] = next((row[2] for row in constraints if row[1] == "PRIMARY KEY"), ())
    collated = collations(sql) if sql and kind == "table" else {}

    return LiveTable(
        table,
        kind,
        schema=schema,
        columns=tuple(
            LiveColumn(
                name,
                type=declared,
                not_null=not_null,
                default=default,
                primary=primary.index(name) + 1 if name in primary else 0,
                generated=generated,
                collation=collated.get(name.lower()),
            )
            for name, declared, not_null, default, generated in columns
        ),
        sql=sql,
        indexes=(
            *(
                LiveIndex(name, tuple(names), unique=True, collations=(None,) * len(names))
                for name, constraint, names, *_ in constraints
                if constraint in {"PRIMARY KEY", "UNIQUE"}
            ),
            *(
                LiveIndex(name, found, unique=unique, collations=(None,) * len(found))
                for name, unique, text in indexes
                for found in (lone_names(text or ""),)
            ),
        ),
        foreign_keys=tuple(
            LiveForeignKey(tuple(names), parent, tuple(others))
            for _, constraint, names, parent, others in constraints
            if constraint == "FOREIGN KEY"
        ),
    )
