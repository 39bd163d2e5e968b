"""
From a filter to the SQL that is true of exactly its rows.

A filter is asked with a *wanted* truth: where it is certainly TRUE, or certainly FALSE. Not turns
the want around and goes away, And and Or change places under it; so no SQL NOT ever stands over a
condition that may be unknown. Leaves are told in `leaves`. Statements and the front door visit; engines are asked by way of
`dialects`, and no text is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from attrs import evolve, frozen
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
from .phrases import Site, Slot, all_of, any_of, literal, phrase
from .render import (
    Expression,
    Form,
    Paramstyle,
    Template,
    Unfaithful,
    column,
    prepare,
    read_back,
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
    A WHERE condition for a driver: *sql* and *params* in its style, and the *expression* itself.
    """

    sql: str
    params: Mapping[str, object] | Sequence[object]
    expression: Expression


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
    key = (
        shape(filter, asked),
        dialect,
        live,
        want,
        relation,
        tuple(sorted(tables.items())) if tables else None,
        prefix,
    )
    compiled = _remembered(
        collection,
        key,
        lambda: _compile(
            filter,
            want,
            Site(
                collection,
                dialect,
                relation or collection.table,
                live,
                tables or _NO_TABLES,
                prefix,
            ),
        ),
    )

    return Condition(compiled.expression.copy(), compiled.values(asked))


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
        compiled.template.sql,
        compiled.template.arrange(compiled.values(asked)),
        compiled.expression,
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
class _Compiled:
    expression: Expression
    slots: tuple[Slot, ...]

    def values(self, asked: Sequence[Filter]) -> dict[str, object]:
        return {slot.name: slot.read(asked[slot.leaf]) for slot in self.slots}


@frozen
class _Published(_Compiled):
    template: Template


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


def _compile(filter: Filter, want: Truth, site: Site) -> _Compiled:
    if want is Truth.UNKNOWN:
        raise FilterError(
            "rows of which a filter is unknown have no condition of their own",
            value=want,
            advice="they are what neither TRUE nor FALSE takes",
        )
    told = _told(filter, want, site, [])
    if read_back(told.expression, site.dialect) != told.form:
        raise Unfaithful(
            "the condition does not say the filter", sql=told.expression.sql(site.dialect)
        )

    return _Compiled(told.expression, tuple(site.slots))


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
    compiled = _compile(filter, Truth.TRUE, Site(collection, dialect, collection.table))
    expression = all_of(compiled.expression, live_condition(collection, dialect) if live else None)
    template = prepare(expression, dialect=dialect, paramstyle=paramstyle)

    return _Published(expression, compiled.slots, template)


# --- polarity -------------------------------------------------------------------------------


@frozen
class _Told:
    # A part of the filter in SQL, and, found another way, what a parser must read in it.
    expression: Expression
    form: Form


def _told(filter: Filter, want: Truth, site: Site, counted: list[Filter]) -> _Told:
    match filter:
        case And(parts) | Or(parts):
            told = [_told(part, want, site, counted) for part in parts]
            both = isinstance(filter, And) is (want is Truth.TRUE)
            joined = (all_of if both else any_of)(*[part.expression for part in told])
            return _Told(
                joined, _joined_form("and" if both else "or", [part.form for part in told])
            )
        case Not(part):
            return _told(part, ~want, site, counted)
        case _:
            at = evolve(site, leaf=len(counted))
            counted.append(filter)
            said = certain(filter, at, holds=want is Truth.TRUE)
            return _Told(said, read_back(said, site.dialect))


def _joined_form(word: str, parts: Sequence[Form]) -> Form:
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
