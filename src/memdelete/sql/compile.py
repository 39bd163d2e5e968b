"""
From a filter to the SQL that is true of exactly its rows.

A filter is asked with a *wanted* truth: where it is certainly TRUE, or certainly FALSE. Not turns
the want around and goes away, And and Or change places under it; so no SQL NOT ever stands over a
condition that may be unknown. Leaves are told in `leaves`. Statements and the front door visit; engines are asked by way of
`dialects`, and no text is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from attrs import evolve, field, frozen
from sqlglot import exp

from memdelete.errors import FilterError, StoreError
from memdelete.filters import (
    After,
    And,
    Before,
    Between,
    Compare,
    Filter,
    Hash,
    Key,
    Not,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
    leaves,
)
from memdelete.memories import Scalar, Truth
from memdelete.schema import Collection, Flag, LiveSchema, Store
from memdelete.tags import JoinTable

from .dialects import dialect as words_of
from .leaves import certain, columns
from .phrases import Reader, Site, all_of, any_of, filled, literal, loose, phrase
from .render import (
    Expression,
    Form,
    Paramstyle,
    Template,
    Unfaithful,
    column,
    mark,
    parameter,
    proven,
    read_back,
    styled,
    substituted,
)
from .shapes import shape


__all__ = [
    "Condition",
    "Predicate",
    "columns_read",
    "compile_filter",
    "condition",
    "dead_condition",
    "live_condition",
    "tag_image",
]

_MOST_SHAPES: Final = 512
_NO_TABLES: Final[Mapping[str, str]] = MappingProxyType({})


@frozen
class Condition:
    """
    A condition as a tree with neutral placeholders, and the values by their names.
    """

    expression: Expression
    params: Mapping[str, object]


@frozen
class Predicate:
    """
    A WHERE condition for a driver: *sql* and *params* in its style, and the `expression` itself.
    """

    sql: str
    params: Mapping[str, object] | Sequence[object]
    _shape: _Published = field(repr=False)

    @property
    def expression(self) -> Expression:
        """
        The same as a tree of sqlglot with neutral placeholders, made anew for you.
        """
        return self._shape.expression


def condition(
    filter: Filter,
    collection: Collection,
    *,
    dialect: str,
    live: LiveSchema | None = None,
    want: Truth = Truth.TRUE,
    relation: str | None = None,
    tables: Mapping[str, str] | None = None,
    prefix: str = "p",
) -> Condition:
    """
    What is true of exactly the rows of *collection* of which *filter* is certainly *want*.

    Columns are qualified with *relation*, the collection's table if left out; *tables* renames
    others. What the collection lacks is unknown, so certain of nothing.
    """
    asked: list[Filter] = []
    site = Site(
        collection, dialect, relation or collection.table, live, tables or _NO_TABLES, prefix
    )
    seen = _seen(site)
    compiled = _remembered(
        collection,
        (shape(filter, asked), want, prefix, seen),
        lambda: _compile(filter, want, site, seen),
    )

    return Condition(compiled.expression, compiled.values(asked))


def compile_filter(
    filter: Filter,
    store: Store,
    *,
    dialect: str = "sqlite",
    paramstyle: Paramstyle = "qmark",
    collection: str | None = None,
    live: bool = False,
) -> Predicate:
    """
    The WHERE condition of a resolved *filter*, for those who only want that.

    *collection* is needed where the store has several; *live* adds that the row is not deleted.
    The condition is TRUE of exactly the rows to take, so nothing needs to stand around it. A
    filter of a known shape is only bound anew: a few microseconds.
    """
    chosen = _chosen(store, collection)
    asked: list[Filter] = []
    key = (shape(filter, asked), dialect, paramstyle, live)
    compiled = _remembered(
        chosen, key, lambda: _publish(filter, store, chosen, dialect, paramstyle, live=live)
    )

    return Predicate(
        compiled.template.sql, compiled.template.arrange(compiled.values(asked)), compiled
    )


def columns_read(filter: Filter, collection: Collection) -> tuple[str, ...]:
    """
    The columns of the collection's own table that *filter* reads, without repeats.
    """
    found = [name for leaf in leaves(filter) for name in columns(leaf, collection)]

    return tuple(dict.fromkeys(found))


def tag_image(
    collection: Collection,
    dialect: str,
    relation: str | None = None,
    tables: Mapping[str, str] | None = None,
) -> Expression | None:
    """
    A row's tags as one text, where they lie in a table of their own; else None.

    For digests: a changed tag must change the row's digest although the row is the same.
    """
    if not isinstance(collection.tags, JoinTable):
        return None
    site = Site(collection, dialect, relation or collection.table, None, tables or _NO_TABLES)

    return words_of(dialect).tag_image(site, collection.tags)


def live_condition(
    collection: Collection, dialect: str, relation: str | None = None
) -> Expression | None:
    """
    What is true of rows that are not deleted; None where nothing marks the deleted ones.
    """
    match collection.tombstone:
        case None:
            return None
        case Flag(name, live, _):
            return _flagged(collection, dialect, relation, name, live)
        case encoding:
            return exp.Is(
                this=_tombstone(collection, relation, encoding.column), expression=exp.Null()
            )


def dead_condition(
    collection: Collection, dialect: str, relation: str | None = None
) -> Expression | None:
    """
    What is true of rows that carry a tombstone; None where there are none.
    """
    match collection.tombstone:
        case None:
            return None
        case Flag(name, _, dead):
            return _flagged(collection, dialect, relation, name, dead)
        case encoding:
            # As an index of the deleted rows would say it.
            stored = _tombstone(collection, relation, encoding.column)
            return exp.Is(this=stored, expression=exp.Not(this=exp.Null()))


# --- shapes and their memory ----------------------------------------------------------------


@frozen
class _Leaf:
    """
    One leaf of a filter, compiled and read back by itself; its parameters count from 0.
    """

    expression: Expression
    text: str
    readers: tuple[Reader, ...]


@frozen
class _Compiled:
    """
    A filter's shape: its leaves, and the *skeleton* that joins them, a parameter for each.

    *names* are the leaves' parameters in the whole, leaf by leaf.
    """

    skeleton: Expression
    leaves: tuple[_Leaf, ...]
    names: tuple[tuple[str, ...], ...]

    def values(self, asked: Sequence[Filter]) -> dict[str, object]:
        found: dict[str, object] = {}
        # The view stands behind the leaves that were asked, and has no values.
        for filter, leaf, names in zip(asked, self.leaves, self.names, strict=False):
            for name, read in zip(names, leaf.readers, strict=True):
                found[name] = read(filter)

        return found

    @property
    def expression(self) -> Expression:
        """
        The whole as a tree, made anew, so that what is done to one does not reach the next.
        """
        parts = {}
        for place, (leaf, names) in enumerate(zip(self.leaves, self.names, strict=True)):
            own = {f"{_OWN}{number}": parameter(name) for number, name in enumerate(names)}
            parts[f"{_LEAF}{place}"] = filled(leaf.expression, own)

        return filled(self.skeleton, parts)

    def text(self, dialect: str) -> str:
        """
        The whole as text with its parameters marked.

        Each leaf reads back by itself and so does the skeleton: put together, with parentheses
        around what is loose, they can mean nothing else, and need not be read again.
        """
        parts = {}
        for place, (leaf, names) in enumerate(zip(self.leaves, self.names, strict=True)):
            own = {f"{_OWN}{number}": mark(name) for number, name in enumerate(names)}
            said = substituted(leaf.text, own)
            parts[f"{_LEAF}{place}"] = f"({said})" if loose(leaf.expression) else said

        return substituted(proven(self.skeleton, dialect), parts)


@frozen
class _Published(_Compiled):
    template: Template


_OWN: Final = "own"
_LEAF: Final = "leaf"
_memory: WeakKeyDictionary[Collection, dict[object, Any]] = WeakKeyDictionary()


def _remembered(collection: Collection, key: object, make: Callable[[], Any]) -> Any:
    shapes = _memory.get(collection)
    if shapes is None:
        shapes = _memory.setdefault(collection, {})
    found = shapes.get(key)
    if found is None:
        found = make()
        if len(shapes) >= _MOST_SHAPES:
            shapes.clear()
        shapes[key] = found

    return found


def _seen(site: Site) -> object:
    """
    All that a leaf's SQL depends on beside its own shape: equal where the same SQL serves.
    """
    tables: list[object] = []
    if site.live is not None:
        names = [site.collection.table]
        if isinstance(site.collection.tags, JoinTable):
            tags = site.collection.tags
            names += [tags.table, *([tags.names.table] if tags.names else [])]
        tables = [site.live.version, site.live.ascii_case, *map(site.live.table, names)]

    return (site.dialect, site.relation, tuple(sorted(site.tables.items())), tuple(tables))


def _compile(filter: Filter, want: Truth, site: Site, seen: object) -> _Compiled:
    if want is Truth.UNKNOWN:
        raise FilterError(
            "rows of which a filter is unknown have no condition of their own",
            value=want,
            advice="they are what neither TRUE nor FALSE takes",
        )
    wanted: list[tuple[Filter, Truth]] = []
    skeleton = _joined(filter, want, wanted)
    if read_back(skeleton, site.dialect) != _meant(filter, want, count()):
        raise Unfaithful("the condition does not say the filter", sql=skeleton.sql(site.dialect))
    found = tuple([_leaf(leaf, holds, site, seen) for leaf, holds in wanted])
    number = count()
    names = tuple([tuple([f"{site.prefix}{next(number)}" for _ in leaf.readers]) for leaf in found])

    return _Compiled(skeleton, found, names)


def _leaf(leaf: Filter, want: Truth, site: Site, seen: object) -> _Leaf:
    def make() -> _Leaf:
        own = evolve(site, prefix=_OWN, readers=[])
        said = certain(leaf, own, holds=want is Truth.TRUE)
        return _Leaf(said, proven(said, site.dialect), tuple(own.readers))

    found: _Leaf = _remembered(site.collection, (shape(leaf, []), want, seen), make)

    return found


def _publish(
    filter: Filter,
    store: Store,
    collection: Collection,
    dialect: str,
    paramstyle: Paramstyle,
    *,
    live: bool,
) -> _Published:
    _refuse_absent(filter, store, collection)
    site = Site(collection, dialect, collection.table)
    found = _compile(filter, Truth.TRUE, site, _seen(site))
    view = live_condition(collection, dialect) if live else None
    if view is not None:
        place = len(found.leaves)
        found = _Compiled(
            all_of(found.skeleton, parameter(f"{_LEAF}{place}")),
            (*found.leaves, _Leaf(view, proven(view, dialect), ())),
            (*found.names, ()),
        )

    return _Published(
        found.skeleton, found.leaves, found.names, styled(found.text(dialect), paramstyle)
    )


# --- polarity -------------------------------------------------------------------------------


def _joined(filter: Filter, want: Truth, wanted: list[tuple[Filter, Truth]]) -> Expression:
    """
    The skeleton of *filter*, where it is certainly *want*; what its leaves must be is *wanted*.
    """
    match filter:
        case And(parts) | Or(parts):
            joined = [_joined(part, want, wanted) for part in parts]
            both = isinstance(filter, And) is (want is Truth.TRUE)
            return (all_of if both else any_of)(*joined)
        case Not(part):
            return _joined(part, ~want, wanted)
        case _:
            wanted.append((filter, want))
            return parameter(f"{_LEAF}{len(wanted) - 1}")


def _meant(filter: Filter, want: Truth, places: Iterator[int]) -> Form:
    """
    What a parser must read in the skeleton, found without any tree.
    """
    match filter:
        case And(parts) | Or(parts):
            both = isinstance(filter, And) is (want is Truth.TRUE)
            return _run("and" if both else "or", [_meant(part, want, places) for part in parts])
        case Not(part):
            return _meant(part, ~want, places)
        case _:
            return ("parameter", f"{_LEAF}{next(places)}")


def _run(word: str, parts: Sequence[Form]) -> Form:
    if len(parts) == 1:
        return parts[0]
    flat: list[Form] = []
    for part in parts:
        flat += part[1:] if isinstance(part, tuple) and part[0] == word else (part,)

    return (word, *flat)


# --- columns --------------------------------------------------------------------------------


def _tombstone(collection: Collection, relation: str | None, name: str) -> exp.Column:
    return column(name, relation or collection.table)


def _flagged(
    collection: Collection, dialect: str, relation: str | None, name: str, value: Scalar
) -> Expression:
    match value:
        case bool():
            said: Expression = exp.Boolean(this=value)
        case str():
            said = literal(value)
        case _:
            said = exp.Literal.number(value)

    return phrase(dialect, ":c = :flag", c=_tombstone(collection, relation, name), flag=said)


def _chosen(store: Store, name: str | None) -> Collection:
    if name is not None:
        return store.collection(name)
    if len(store.collections) == 1:
        return store.collections[0]
    names = [each.name for each in store.collections]
    raise StoreError(
        "several collections, and none was chosen",
        place=store.name,
        advice=f"say collection=, one of: {', '.join(names)}",
        candidates=names,
    )


# --- what is refused ------------------------------------------------------------------------


def _refuse_absent(filter: Filter, store: Store, collection: Collection) -> None:
    # With several collections, what one lacks is unknown; the only one there is must have it.
    for leaf in leaves(filter):
        match leaf:
            case Hash() if not collection.hash:
                raise _absent("hash", collection, ())
            case Tags() | Untagged() if collection.tags is None:
                raise _absent("tags", collection, ())
            case Key(_, str() as name):
                store.collection(name)
            case Before(_, on) | After(_, on) | Since(_, on) | Until(_, on) | Between(_, _, on) if (
                on not in collection.times
            ):
                raise _absent(f"time {on!r}", collection, tuple(sorted(collection.times)))
            case Compare(name) if name not in collection.names:
                raise _absent(f"field {name!r}", collection, collection.names)
            case _:
                pass


def _absent(what: str, collection: Collection, there: tuple[str, ...]) -> StoreError:
    return StoreError(
        f"no {what}",
        place=collection.name,
        advice=f"there are: {', '.join(there)}" if there else "this collection has none",
        candidates=there,
    )
