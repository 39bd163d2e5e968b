"""
Sentences of SQL with gaps, and the site at which a leaf fills them.

An arm of the compiler says its condition as one sentence in the engine's own words; parts are
put in as trees, never as text, so that a value or a name can't become syntax. Engines and the
compiler visit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from attrs import Factory, frozen
from sqlglot import exp

from memdelete.errors import StoreError
from memdelete.schema import Collection, LiveColumn, LiveSchema
from memdelete.tags import JoinTable

from .render import Expression, column, parameter, parse_predicate, table
from .values import Edge


__all__ = [
    "FALSE",
    "TRUE",
    "Reader",
    "Site",
    "all_of",
    "any_of",
    "filled",
    "literal",
    "loose",
    "negated",
    "owner",
    "phrase",
]

Reader = Callable[[Any], object]
"""Takes a leaf, gives the value to bind, in the column's encoding."""

TRUE: Final = exp.Boolean(this=True)
FALSE: Final = exp.Boolean(this=False)

# What stands anywhere without parentheses.
_WHOLE: Final = (
    exp.Boolean,
    exp.Cast,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Null,
    exp.Paren,
    exp.Placeholder,
    exp.Subquery,
    exp.Table,
)


@frozen
class Site:
    """
    Where a leaf is compiled: the collection under its relation, as far as it is known live.

    *readers* are what its parameters, allotted so far, are read by.
    """

    collection: Collection
    dialect: str
    relation: str
    live: LiveSchema | None = None
    tables: Mapping[str, str] = Factory(dict)
    prefix: str = "p"
    readers: list[Reader] = Factory(list)

    def column(self, name: str) -> exp.Column:
        """
        A column of the collection, qualified.
        """
        return column(name, self.relation)

    def table(self, name: str, alias: str) -> exp.Table:
        """
        Another table of the store, under the name it goes by in this statement.
        """
        return table(self.tables.get(name, name), self.collection.schema, alias)

    def bind(self, read: Reader) -> exp.Placeholder:
        """
        A new parameter, read from this leaf.
        """
        self.readers.append(read)

        return parameter(f"{self.prefix}{len(self.readers) - 1}")

    def edge(self, at: Edge, encode: Callable[[int], object]) -> exp.Placeholder:
        """
        An edge of an interval of time as a parameter, in the column's encoding.
        """
        if isinstance(at, int):
            fixed = encode(at)
            return self.bind(lambda _: fixed)

        return self.bind(lambda leaf: encode(at(leaf)))

    def live_column(self, name: str, table: str | None = None) -> LiveColumn | None:
        """
        What is known of a column; one that is not there is a `StoreError`.
        """
        of = table or self.collection.table
        found = self.live.table(of) if self.live else None
        if found is None:
            return None
        known = found.column(name)
        if known is None:
            names = [column.name for column in found.columns]
            raise StoreError(
                f"no column {name!r}",
                place=of,
                advice=f"there are: {', '.join(names)}",
                candidates=names,
            )

        return known


def phrase(dialect: str, text: str, **parts: Expression) -> Expression:
    """
    The predicate or value that *text* says, with each ``:gap`` filled by the part of its name.

    A table that is named like a part is that part. What could fall apart is put in parentheses.
    """
    tree = filled(_read(dialect, text), parts)
    for found in list(tree.find_all(exp.Table)):
        if isinstance(found.this, exp.Identifier) and found.name in parts:
            found.replace(parts[found.name].copy())

    return tree


def filled(tree: Expression, parts: Mapping[str, Expression]) -> Expression:
    """
    A copy of *tree* with a part in the place of each parameter.
    """
    tree = tree.copy()
    for node in list(tree.find_all(exp.Placeholder)):
        part = parts[str(node.this)].copy()
        put = exp.Paren(this=part) if loose(part) else part
        if node is tree:
            return put
        node.replace(put)

    return tree


def loose(tree: Expression) -> bool:
    """
    Whether *tree* could fall apart within another one without parentheses around it.
    """
    return not isinstance(tree, _WHOLE)


def all_of(*parts: Expression | None) -> Expression:
    """
    The conjunction of what is there.
    """
    return _joined(exp.and_, parts)


def any_of(*parts: Expression | None) -> Expression:
    """
    The disjunction of what is there.
    """
    return _joined(exp.or_, parts)


def literal(text: str) -> exp.Literal:
    """
    A constant text of our own; values are bound instead.
    """
    return exp.Literal.string(text)


def owner(collection: Collection, storage: JoinTable) -> str:
    """
    The column of the collection that the rows of a join table hold.
    """
    if storage.by == "hash" and collection.hash:
        return collection.hash
    if storage.by == "hash" or len(collection.key) > 1:
        raise StoreError(
            f"the tags in {storage.table!r} cannot be tied to {collection.name!r}",
            place=storage.table,
            advice="tie them by the hash, or by a key of one column",
        )

    return next(iter(collection.key))


def negated(part: Expression) -> Expression:
    """
    NOT around *part*; only for what is never NULL where it matters.
    """
    return exp.Not(this=part if isinstance(part, exp.Exists | exp.Paren) else exp.Paren(this=part))


def _joined(
    join: Callable[..., Expression], parts: Sequence[Expression | None], most: int = 64
) -> Expression:
    # SQLite parses no run of more than a thousand: long ones are put in groups.
    there = [part for part in parts if part is not None]
    while len(there) > most:
        groups = [there[at : at + most] for at in range(0, len(there), most)]
        there = [exp.paren(join(*group)) for group in groups]

    return join(*there)


@lru_cache(maxsize=512)
def _read(dialect: str, text: str) -> Expression:
    return _bare(parse_predicate(text, dialect))


def _bare(node: Expression) -> Expression:
    # A parser notes where each word stood in the text: of no use here, and slow to copy.
    return type(node)(**{name: _bared(part) for name, part in node.args.items()})


def _bared(part: object) -> object:
    match part:
        case exp.Expr():
            return _bare(part)
        case list():
            return [_bared(each) for each in part]
        case _:
            return part
