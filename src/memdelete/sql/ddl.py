"""
The tables that are memdelete's own: the journal and the bins, and how they follow their tables.

A bin has its table's columns with the declared types and collations, and none of its
constraints, so that whatever the table ever held fits in. Texts are put together here from a
closed set of forms; what a schema says of a type is checked before it is repeated.
"""

from __future__ import annotations

import re

from collections.abc import Generator, Iterator, Sequence

import attrs

from attrs import frozen

from memdelete.errors import StoreError, Unsupported
from memdelete.questions import META, Site, tie_bin
from memdelete.schema import (
    Edges,
    FullText,
    Ledger,
    LiveColumn,
    LiveTable,
    References,
    Rows,
    Sidecar,
    Vectors,
)
from memdelete.tags import JoinTable

from .render import Result, Statement


__all__ = [
    "JOURNAL",
    "META",
    "VERSION",
    "bin_columns",
    "made",
    "quoted",
    "staging_tables",
    "tie_columns",
]

JOURNAL = "memdelete_operations"
VERSION = 1

_TYPE = re.compile(r"[\w ,.()\[\]-]*", re.ASCII)
_TAGS = LiveColumn("memdelete_tags", "TEXT")
_MARKS = (
    LiveColumn("memdelete_id", "INTEGER"),
    LiveColumn("memdelete_rowid", "INTEGER"),
    LiveColumn("memdelete_operation", "TEXT"),
    LiveColumn("memdelete_at", "INTEGER"),
)


@frozen
class _Wanted:
    name: str
    columns: tuple[LiveColumn, ...]
    indexes: tuple[tuple[str, ...], ...]
    strict: bool = False


def quoted(name: str) -> str:
    """
    *name* as a quoted identifier.
    """
    if "\0" in name:
        raise StoreError(f"{name!r} is no name of a table or column")

    return '"' + name.replace('"', '""') + '"'


def bin_columns(live: LiveTable) -> tuple[LiveColumn, ...]:
    """
    The columns of the table that its bin repeats: all of them, generated ones as plain values.
    """
    return live.columns


def tie_columns(site: Site, sidecar: Sidecar) -> tuple[LiveColumn, ...]:
    """
    The columns of a sidecar's bin without the marks; empty where it needs no bin.
    """
    live = site.schema.tables[sidecar.table]
    match sidecar:
        case Vectors():
            return tuple(
                # The type with its dimension, so that a table of another one is noticed.
                LiveColumn(found.name, found.type)
                for found in live.columns
                if not found.primary
            )
        case FullText():
            # An index over external content is rebuilt from its table; one that keeps its own
            # text would lose it.
            # What was indexed is remembered, so that an undo indexes no more and no less.
            sized = site.schema.has(f"{sidecar.table}_docsize")
            marked = (LiveColumn("memdelete_indexed", "INTEGER"),) if sized else ()
            return live.columns if keeps_text(live) else marked
        case Edges(_, ends):
            flags = [LiveColumn(f"memdelete_end_{n}", "INTEGER") for n in range(len(ends))]
            return (*live.columns, *flags, LiveColumn("memdelete_held", "INTEGER"))
        case Rows():
            flag = LiveColumn("memdelete_end_0", "INTEGER")
            return (*live.columns, flag, LiveColumn("memdelete_held", "INTEGER"))
        case References(_, key):
            found = live.column(key) or LiveColumn(key)
            texts = (
                LiveColumn(f"memdelete_{name}", "TEXT") for name in ("before", "after", "taken")
            )
            return (found, *texts)
        case Ledger():
            return ()


def keeps_text(live: LiveTable) -> bool:
    """
    Whether an FTS5 table keeps its own content.
    """
    return "content" not in live.options


def made(
    sites: Sequence[Site], *, bins: bool, dry_run: bool
) -> Generator[Statement, Result, list[str]]:
    """
    Make what *sites* lack of a journal and *bins*: tables, columns and indexes; tells how.

    A bin whose table lost or retyped a column is made anew while it is empty. While it holds
    rows of the older shape they would come back cut or cast, so that is refused.
    """
    schema = sites[0].schema
    if schema.dialect != "sqlite":
        raise Unsupported("a journal of operations", schema.dialect, advice="preview works there")
    told: list[str] = []
    done: set[str] = set()
    for site, wanted in _wanted(sites, bins=bins):
        if wanted.name in done:
            continue
        done.add(wanted.name)
        place = quoted(site.collection.schema or "main")
        live = schema.table(wanted.name)
        changed = "" if live is None else _outdated(wanted, live)
        if changed:
            count = Statement(f"SELECT COUNT(*) FROM {place}.{quoted(wanted.name)}")
            if (yield count).rows[0][0]:
                raise StoreError(
                    f"the table changed since its bin was made ({changed})",
                    place=wanted.name,
                    advice="restore or purge what lies in the bin first",
                )
        statements = list(_follow(wanted, None if changed else live, place))
        if changed:
            statements.insert(0, Statement(f"DROP TABLE {place}.{quoted(wanted.name)}"))
        for statement in statements:
            told.append(statement.sql)
            if not dry_run:
                yield statement

    return told


def _outdated(wanted: _Wanted, live: LiveTable) -> str:
    types = {column.name: column.type.upper() for column in wanted.columns}
    told = [
        f"{column.name} was {column.type or 'untyped'}"
        for column in live.columns
        if types.get(column.name) != column.type.upper()
    ]

    return ", ".join(told)


def staging_tables(site: Site, name: str) -> Iterator[Statement]:
    """
    The temporary table that remembers targets: key, hash, row tie, and where in the bin.

    Its columns have the types and collations of what they repeat, or no index of it would serve.
    """
    live, collection = site.table, site.collection
    keys = [_renamed(live, key, f"k{number}") for number, key in enumerate(collection.key)]
    hashed = _renamed(live, collection.hash, "h") if collection.hash else LiveColumn("h")
    row = LiveColumn("r", "INTEGER") if live.rowid else attrs.evolve(keys[0], name="r")
    columns = [*keys, hashed, row, LiveColumn("b", "INTEGER"), LiveColumn("o", "TEXT")]
    # Not dropped first: that fails while the caller has a cursor open on the same connection.
    yield Statement(
        f"CREATE TEMP TABLE IF NOT EXISTS {quoted(name)} ({', '.join(map(_defined, columns))})"
    )
    yield Statement(f"DELETE FROM temp.{quoted(name)}")
    for way in (tuple(key.name for key in keys), "h", "r", "b"):
        index = quoted(f"{name}_{way[0]}")
        yield Statement(
            f"CREATE INDEX IF NOT EXISTS temp.{index} ON {quoted(name)} ({', '.join(way)})"
        )


def _renamed(live: LiveTable, column: str, name: str) -> LiveColumn:
    found = live.column(column) or LiveColumn(column)
    # ANY keeps what it is given in a STRICT table, and makes a number of it elsewhere.
    kept = "" if found.type.upper() == "ANY" else found.type

    return LiveColumn(name, kept, collation=found.collation)


def _wanted(sites: Sequence[Site], *, bins: bool) -> Iterator[tuple[Site, _Wanted]]:
    first = sites[0]
    yield (
        first,
        _Wanted(
            JOURNAL,
            (
                LiveColumn("operation", "TEXT", not_null=True, primary=1),
                *(
                    LiveColumn(name, "TEXT")
                    for name in ("verb", "state", "store", "scope", "report")
                ),
                LiveColumn("at", "INTEGER"),
            ),
            (("at",),),
        ),
    )
    yield (
        first,
        _Wanted(
            META, (LiveColumn("key", "TEXT", not_null=True, primary=1), LiveColumn("value", "")), ()
        ),
    )
    for site in sites if bins else ():
        yield (
            site,
            _Wanted(
                site.bin,
                (*bin_columns(site.table), *_tags_of(site), *_MARKS),
                (("memdelete_operation",), *_looked_up(site)),
                site.table.strict,
            ),
        )
        for sidecar in site.collection.ties:
            columns = tie_columns(site, sidecar)
            if columns:
                yield (
                    site,
                    _Wanted(
                        tie_bin(sidecar),
                        (*columns, *_MARKS[1:]),
                        (("memdelete_operation", "memdelete_rowid"), *_tied(sidecar)),
                        site.schema.tables[sidecar.table].strict,
                    ),
                )


def _tags_of(site: Site) -> tuple[LiveColumn, ...]:
    # Tags in rows of their own are kept with the image too: the bin's filters ask them of each
    # image, and a key may have several.
    return (_TAGS,) if isinstance(site.collection.tags, JoinTable) else ()


def _looked_up(site: Site) -> Iterator[tuple[str, ...]]:
    # What an undo or a purge asks the bin by: key, hash, row tie, and what must be unique.
    collection = site.collection
    yield ("memdelete_id",)
    yield ("memdelete_at",)
    ways = [collection.key]
    ways += [(collection.hash,)] if collection.hash else []
    ways += [("memdelete_rowid",)] if site.table.rowid else []
    for index in site.table.indexes:
        named = tuple(name for name in index.columns if name is not None)
        ways += [named] if index.unique and not index.partial and named == index.columns else []
    for way in dict.fromkeys(ways):
        yield (*way, "memdelete_operation")


def _tied(sidecar: Sidecar) -> tuple[tuple[str, ...], ...]:
    match sidecar:
        case Edges() | Rows():
            return tuple((end.column,) for end in sidecar.ends)
        case _:
            return ()


def _follow(wanted: _Wanted, live: LiveTable | None, place: str) -> Iterator[Statement]:
    name = f"{place}.{quoted(wanted.name)}"
    if live is None:
        columns = ", ".join(map(_defined, wanted.columns))
        keyed = [quoted(found.name) for found in wanted.columns if found.primary and found.not_null]
        primary = f", PRIMARY KEY ({', '.join(keyed)})" if wanted.name in {JOURNAL, META} else ""
        yield Statement(f"CREATE TABLE {name} ({columns}{primary}){' STRICT' * wanted.strict}")
    else:
        for found in wanted.columns:
            if live.column(found.name) is None:
                # Older images get what their rows would have got.
                given = f" DEFAULT {found.default}" if found.default else ""
                yield Statement(f"ALTER TABLE {name} ADD COLUMN {_defined(found)}{given}")
    present = {index.name for index in live.indexes} if live is not None else set()
    for keyed_by in wanted.indexes:
        index = f"{wanted.name}_{'_'.join(keyed_by)}"
        if index not in present:
            on = f"{quoted(wanted.name)} ({', '.join(map(quoted, keyed_by))})"
            yield Statement(f"CREATE INDEX IF NOT EXISTS {place}.{quoted(index)} ON {on}")
    if wanted.name == META and live is None:
        for key, value in (
            ("version", str(VERSION)),
            ("secret", "lower(hex(randomblob(32)))"),
            ("last_id", "0"),
        ):
            yield Statement(f'INSERT INTO {name} ("key", "value") VALUES (\'{key}\', {value})')


def _defined(column: LiveColumn) -> str:
    if not _TYPE.fullmatch(column.type):
        raise StoreError(
            f"the column {column.name!r} has the type {column.type!r}, which cannot be repeated",
            advice="leave the table to mode='hard'",
        )
    collation = f" COLLATE {quoted(column.collation)}" if column.collation else ""

    return f"{quoted(column.name)} {column.type}{collation}".rstrip()
