"""
The few pieces that statements are put together from: stock nodes of the tree, always quoted.

Columns are always qualified by their relation, since an engine may read a lone quoted name as a
text. Nothing here decides anything; the rooms of statements visit.
"""

from __future__ import annotations

import re

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, cast

from sqlglot import exp

from memdelete.errors import StoreError, Unsupported
from memdelete.memories import Truth
from memdelete.questions import Selection, Site, Staged, Targets
from memdelete.schema import LiveTable

from .compile import Condition, condition, dead_condition, live_condition
from .render import Expression, Paramstyle, Result, Statement, identifier, render


__all__ = [
    "Speech",
    "across",
    "alias",
    "binding",
    "column",
    "counted",
    "delete",
    "each_of",
    "hidden",
    "insert",
    "keys_match",
    "member",
    "number_in",
    "ordered",
    "picked",
    "same_hash",
    "say",
    "select",
    "staging",
    "staging_name",
    "table",
    "tie_value",
    "where",
]


class Speech(Protocol):
    """
    How one backend speaks: its dialect, and how its driver marks parameters.
    """

    @property
    def dialect(self) -> str: ...
    @property
    def paramstyle(self) -> Paramstyle: ...


def say(speech: Speech, tree: Expression, params: Mapping[str, object] | None = None) -> Statement:
    """
    *tree* as the driver takes it, by way of the guard.
    """
    return render(tree, dialect=speech.dialect, paramstyle=speech.paramstyle, params=params or {})


def column(relation: str, name: str) -> exp.Column:
    """
    A quoted column of *relation*.
    """
    return exp.Column(this=identifier(name), table=identifier(relation))


_MAIN = {"sqlite": "main", "duckdb": None, "postgres": None}
_TEMP = {"sqlite": "temp", "duckdb": "temp", "postgres": "pg_temp"}


def table(site: Site, name: str, alias: str | None = None) -> exp.Table:
    """
    A table beside the site's own, qualified by its schema.
    """
    schema = site.collection.schema or _MAIN[site.schema.dialect]

    return _table(name, schema, alias)


def staging(site: Site, alias: str | None = None) -> exp.Table:
    """
    The temporary table that remembers the site's targets.
    """
    return _table(staging_name(site), _TEMP[site.schema.dialect], alias)


def staging_name(site: Site) -> str:
    """
    Its name, without the schema.
    """
    return f"memdelete_targets_{len(site.collection.key)}_{site.collection.table}"


def _table(name: str, schema: str | None, alias: str | None) -> exp.Table:
    found = exp.Table(
        this=identifier(name),
        db=identifier(schema) if schema else None,
    )
    if alias:
        found.set("alias", exp.TableAlias(this=identifier(alias)))

    return found


def select(
    expressions: Iterable[Expression], source: exp.Table | exp.Subquery, *wheres: Expression
) -> exp.Select:
    """
    ``SELECT expressions FROM source WHERE every one of wheres``.
    """
    found = exp.Select(expressions=list(expressions)).from_(source, copy=False)

    return found.where(*wheres, copy=False) if wheres else found


def counted(source: exp.Table | exp.Subquery, *wheres: Expression) -> exp.Select:
    """
    ``SELECT COUNT(*) FROM source WHERE every one of wheres``.
    """
    return select([exp.Count(this=exp.Star(), big_int=True)], source, *wheres)


def number_in(result: Result) -> int:
    """
    The one number that a count came back with.
    """
    return int(cast("int", result.rows[0][0]))


def ordered(
    tree: exp.Select, columns: Iterable[Expression], speech: Speech, *, desc: bool = False
) -> exp.Select:
    """
    *tree* in the order of *columns*.
    """
    first = speech.dialect == "sqlite" and not desc  # where the parser reads NULLs as small
    trees = [exp.Ordered(this=found, desc=desc, nulls_first=first) for found in columns]

    return tree.order_by(*trees, copy=False)


def across(tree: exp.Select, other: exp.Table) -> exp.Select:
    """
    *tree* CROSS JOIN *other*: in SQLite the left side leads.
    """
    tree.append("joins", exp.Join(this=other, kind="CROSS"))

    return tree


def assign(values: Mapping[str, Expression]) -> list[Expression]:
    """
    The assignments of an UPDATE.
    """
    return [
        exp.EQ(this=exp.Column(this=identifier(name)), expression=value)
        for name, value in values.items()
    ]


def update(source: exp.Table, values: Mapping[str, Expression], where: Expression) -> exp.Update:
    """
    ``UPDATE source SET values WHERE where``; here too the condition cannot be left out.
    """
    return exp.Update(this=source, expressions=assign(values), where=exp.Where(this=where))


def insert(into: exp.Table, columns: Sequence[str], source: Expression) -> exp.Insert:
    """
    ``INSERT INTO into (columns) source``.
    """
    return exp.Insert(
        this=exp.Schema(this=into, expressions=[identifier(name) for name in columns]),
        expression=source,
    )


def delete(source: exp.Table, where: Expression) -> exp.Delete:
    """
    ``DELETE FROM source WHERE where``; there is no way here to leave the condition out.
    """
    return exp.Delete(this=source, where=exp.Where(this=where))


def hidden(live: LiveTable) -> str | None:
    """
    A name by which rows' hidden rowid can be said, or None where there is none.
    """
    if not live.rowid:
        return None
    taken = {column.name.lower() for column in live.columns}

    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), alias(live))


def alias(live: LiveTable) -> str | None:
    """
    The INTEGER PRIMARY KEY column that is the rowid itself, if there is one.
    """
    if not live.rowid or len(live.primary) != 1:
        return None
    found = live.column(live.primary[0])
    if re.search(r"\bprimary\s+key\s+desc\b", live.sql or "", re.IGNORECASE):
        return None  # an old quirk of SQLite: written so, the column is no alias

    return found.name if found is not None and found.type.upper() == "INTEGER" else None


def tie_value(site: Site, relation: str) -> Expression:
    """
    What a row-tied sidecar knows a memory by: the hidden rowid, or the key itself.
    """
    return column(relation, hidden(site.table) or site.collection.key[0])


def where(selection: Selection, prefix: str = "") -> Condition:
    """
    The selection as one condition on its table: filter, view, scope and protect.
    """
    site = selection.site
    collection = site.binned if selection.binned else site.collection
    dialect = site.schema.dialect

    def said(filter: object, want: Truth, mark: str) -> Condition:
        return condition(
            filter,  # type: ignore[arg-type]
            collection,
            dialect=dialect,
            live=site.schema,
            want=want,
            prefix=f"{prefix}{mark}",
        )

    outcome = Truth.TRUE if selection.outcome == "true" else Truth.FALSE
    parts = [said(selection.filter, outcome, "f")]
    if selection.scope is not None:
        parts.append(said(selection.scope, Truth.TRUE, "s"))
    if selection.protect is not None:
        parts.append(said(selection.protect, Truth.FALSE, "g"))
    view = None if selection.binned else _view(selection, dialect)
    trees = [part.expression for part in parts] + ([view] if view is not None else [])
    params = {name: value for part in parts for name, value in part.params.items()}

    return Condition(exp.and_(*trees, copy=False), params)


def _view(selection: Selection, dialect: str) -> Expression | None:
    collection = selection.site.collection
    match selection.include:
        case "live":
            return live_condition(collection, dialect=dialect, relation=collection.table)
        case "deleted":
            found = dead_condition(collection, dialect=dialect, relation=collection.table)
            return exp.false() if found is None else found
        case "all":
            return None


def picked(targets: Targets, what: str, prefix: str = "t") -> tuple[exp.Select, dict[str, object]]:
    """
    A subselect of the targets' ``keys``, ``hash`` or ``row`` (the row tie).
    """
    site = targets.site
    collection = site.collection
    if isinstance(targets, Staged):
        columns = {
            "keys": [f"k{number}" for number in range(len(collection.key))],
            "hash": ["h"],
            "row": ["r"],
        }[what]
        name = staging_name(site)
        # One NULL among the values would make every IN that does not match unknown.
        present = [
            exp.not_(exp.Is(this=column(name, each), expression=exp.null())) for each in columns
        ]
        return select([column(name, each) for each in columns], staging(site), *present), {}
    found = where(targets, prefix)
    relation = collection.table
    trees: list[Expression]
    match what:
        case "keys":
            trees = [column(relation, each) for each in collection.key]
        case "hash":
            trees = [column(relation, _hash(site))]
        case _:
            trees = [tie_value(site, relation)]

    present = [exp.not_(exp.Is(this=tree.copy(), expression=exp.null())) for tree in trees]

    return select(trees, table(site, relation), found.expression, *present), dict(found.params)


def member(targets: Targets, prefix: str = "t") -> tuple[Expression, dict[str, object]]:
    """
    The condition, on the site's own table, that a row is one of the targets.
    """
    if not isinstance(targets, Staged):
        found = where(targets, prefix)
        return found.expression, dict(found.params)
    site = targets.site
    relation = site.collection.table
    if hidden(site.table):
        inner, params = picked(targets, "row")
        return each_of(tie_value(site, relation), inner), params
    inner, params = picked(targets, "keys")
    keys = [column(relation, each) for each in site.collection.key]

    return each_of(keys[0] if len(keys) == 1 else exp.Tuple(expressions=keys), inner), params


def each_of(value: Expression, inner: exp.Select) -> exp.In:
    """
    ``value IN (inner)``.
    """
    return exp.In(this=value, query=exp.Subquery(this=inner))


def keys_match(site: Site, left: str, right: str, *, staged: bool) -> list[Expression]:
    """
    The equalities of the key between *left*, a table or bin, and *right* (*staged*: ``k0`` …).
    """
    return [
        exp.EQ(this=column(left, key), expression=column(right, f"k{number}" if staged else key))
        for number, key in enumerate(site.collection.key)
    ]


def same_hash(site: Site, relation: str, other: Expression) -> list[Expression]:
    """
    That *relation* is of the same memory as *other*, as far as a hash can tell.
    """
    name = site.collection.hash

    return [exp.NullSafeEQ(this=column(relation, name), expression=other)] if name else []


def binding(
    tie: str, site: Site, prefix: str, targets: Targets
) -> tuple[exp.Select, dict[str, object]]:
    """
    The subselect of the values by which *tie* (``key`` or ``hash``) holds the targets.
    """
    if tie == "hash":
        _hash(site)
        return picked(targets, "hash", prefix)
    if len(site.collection.key) > 1:
        raise Unsupported(
            "a sidecar tied to a key of several columns",
            site.schema.dialect,
            advice="tie it by hash",
        )

    return picked(targets, "keys", prefix)


def _hash(site: Site) -> str:
    if site.collection.hash is None:
        raise StoreError(
            "a sidecar is tied to the hash, but the collection declares none",
            place=site.collection.name,
            advice="declare hash=…, or tie it by key",
        )

    return site.collection.hash
