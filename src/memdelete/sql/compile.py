"""
From a filter to the SQL that is true of exactly its rows.

A filter is asked with a *wanted* truth: where it is certainly TRUE, or certainly FALSE. Not turns
the want around and goes away, And and Or change places under it; so no SQL NOT ever stands over a
condition that may be unknown. Statements and the front door visit; engines are asked by way of
`dialects`, and no text is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, assert_never
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
    Everything,
    Filter,
    Hash,
    Key,
    Not,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
    ascii_fold,
    leaves,
)
from memdelete.memories import Scalar, Truth
from memdelete.schema import Collection, Field, Flag, LiveSchema, Store
from memdelete.tags import JoinTable
from memdelete.times import FIRST_MICROSECOND, LAST_MICROSECOND, to_micros

from .dialects import Dialect
from .dialects import dialect as words_of
from .phrases import FALSE, TRUE, Site, Slot, all_of, any_of, literal, negated, owner, phrase
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
from .shapes import pattern, shape, value_class
from .values import ColumnKind, RowsWanted, Span, TagsWanted, Wanted, to_kind


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
_END: Final = LAST_MICROSECOND + 1
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
    found = [name for leaf in leaves(filter) for name in _columns(leaf, collection)]

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
            said = _leaf(filter, at, holds=want is Truth.TRUE)
            return _Told(said, read_back(said, site.dialect))


def _joined_form(word: str, parts: Sequence[Form]) -> Form:
    if len(parts) == 1:
        return parts[0]
    flat: list[Form] = []
    for part in parts:
        flat += part[1:] if isinstance(part, tuple) and part[0] == word else (part,)

    return (word, *flat)


def _leaf(leaf: Filter, site: Site, *, holds: bool) -> Expression:
    words, collection = words_of(site.dialect), site.collection
    match leaf:
        case Everything():
            return TRUE if holds else FALSE
        case Hash():
            return _hash(leaf, site, words, holds=holds) if collection.hash else FALSE
        case Key(_, None | collection.name):
            return _key(leaf, site, words, holds=holds)
        case Key():
            return FALSE
        case Tags(some, every, none, fold):
            wanted = TagsWanted(bool(some), bool(every), bool(none), fold)
            return _tags(wanted, site, words, holds=holds)
        case Untagged():
            return _tags(TagsWanted(), site, words, holds=holds)
        case Before() | After() | Since() | Until() | Between():
            return _time(leaf, site, words, holds=holds)
        case Compare(name, "missing"):
            found = _stored(name, collection)
            return _missing(site.column(found), holds=holds) if found else FALSE
        case Compare():
            return _compare(leaf, site, words, holds=holds)
        case _:
            raise FilterError(f"{leaf!r} is no filter of this library", value=leaf)


# --- leaves ---------------------------------------------------------------------------------


def _hash(leaf: Hash, site: Site, words: Dialect, *, holds: bool) -> Expression:
    name = str(site.collection.hash)
    kind = _kind(name, None, site, words)
    _refuse_class("text", kind, name, leaf.values[0], site)
    wanted = Wanted("text", lambda leaf: leaf.values, many=len(leaf.values) > 1, kind=kind)

    return _identity([name], [words.among(site, name, wanted)], site, holds=holds)


def _key(leaf: Key, site: Site, words: Dialect, *, holds: bool) -> Expression:
    names = site.collection.key
    patterns = list(dict.fromkeys(map(pattern, leaf.values)))
    parts = []
    for found in patterns:
        _refuse_arity(leaf, found, site)
        classes = (found,) if isinstance(found, str) else found
        read = _keys_of(found)
        example = read(leaf)
        for name, each in zip(names, classes, strict=True):
            _refuse_class(each, _kind(name, None, site, words), name, example[0], site)
        if isinstance(found, str):
            (name,) = names
            wanted = Wanted(found, read, many=len(example) > 1, kind=_kind(name, None, site, words))
            parts.append(words.among(site, name, wanted))
        else:
            parts.append(words.rows_among(site, names, RowsWanted(found, read)))

    return _identity(names, parts, site, holds=holds)


def _keys_of(wanted: object) -> Callable[[Any], list[Any]]:
    return lambda leaf: [value for value in leaf.values if pattern(value) == wanted]


def _identity(
    names: Sequence[str], parts: Sequence[Expression], site: Site, *, holds: bool
) -> Expression:
    # A hash or key of another class is another one: only NULL is unknown.
    found = any_of(*parts)
    if holds:
        return found

    return all_of(*[_missing(site.column(name), holds=False) for name in names], negated(found))


def _tags(wanted: TagsWanted, site: Site, words: Dialect, *, holds: bool) -> Expression:
    storage = site.collection.tags
    if storage is None:
        return FALSE

    return words.tagged(site, storage, wanted, holds=holds)


def _time(
    leaf: Before | After | Since | Until | Between, site: Site, words: Dialect, *, holds: bool
) -> Expression:
    encoding = site.collection.times.get(leaf.on)
    if encoding is None:
        return FALSE
    inside, outside = _intervals(leaf)

    return any_of(*[words.within(site, encoding, span) for span in (inside if holds else outside)])


def _intervals(leaf: Before | After | Since | Until | Between) -> tuple[list[Span], list[Span]]:
    # Instants have the grain of a microsecond, so every comparison is one of half-open
    # intervals between the year 1 and the year 10000.
    first, end = FIRST_MICROSECOND, _END
    match leaf:
        case Before():
            return [(first, _at)], [(_at, end)]
        case Since():
            return [(_at, end)], [(first, _at)]
        case Until():
            return [(first, _past)], [(_past, end)]
        case After():
            return [(_past, end)], [(first, _past)]
        case Between():
            return [(_start, _stop)], [(first, _start), (_stop, end)]
        case never:
            assert_never(never)


def _at(leaf: Before | After | Since | Until) -> int:
    return to_micros(leaf.at)  # type: ignore[arg-type]  # resolved, or it had no shape


def _past(leaf: Before | After | Since | Until) -> int:
    return to_micros(leaf.at) + 1  # type: ignore[arg-type]


def _start(leaf: Between) -> int:
    return to_micros(leaf.start)  # type: ignore[arg-type]


def _stop(leaf: Between) -> int:
    return to_micros(leaf.end)  # type: ignore[arg-type]


def _compare(leaf: Compare, site: Site, words: Dialect, *, holds: bool) -> Expression:
    declared = site.collection.fields.get(leaf.name)
    if declared is None:
        _refuse_time(leaf, site.collection)
        return FALSE
    wanted = _wanted(leaf, declared, site, words)
    name = declared.column
    match leaf.op:
        case "eq" | "isin":
            return (words.among if holds else words.outside)(site, name, wanted)
        case "ne":
            return (words.outside if holds else words.among)(site, name, wanted)
        case "lt" | "le" | "gt" | "ge":
            sign = _SIGNS[leaf.op][0 if holds else 1]
            return words.ordered(site, name, sign, wanted)
        case _:
            return words.searched(site, name, leaf.op, wanted, holds=holds)


_SIGNS: Final = {"lt": ("<", ">="), "le": ("<=", ">"), "gt": (">", "<="), "ge": (">=", "<")}


def _wanted(leaf: Compare, declared: Field, site: Site, words: Dialect) -> Wanted:
    kind = _kind(declared.column, declared, site, words)
    found, place = value_class(leaf.values[0]), f"field {leaf.name}"
    _refuse_class(found, kind, declared.column, leaf.values[0], site)
    if found == "number" and kind == "any" and words.static:
        raise StoreError(
            f"the kind of the column {declared.column!r} is not known",
            place=place,
            advice='declare it, such as Field("score", kind="real"): numbers compare by it',
        )
    if found == "boolean" and kind == "any" and not words.static:
        raise StoreError(
            f"the column {declared.column!r} is not known to hold booleans",
            place=place,
            advice=f'declare Field("{declared.column}", kind="boolean"): {site.dialect} has none',
        )
    fold = leaf.ignore_case

    def read(leaf: Compare) -> list[Any]:
        if found == "number":
            return [to_kind(kind, value, place) for value in leaf.values]
        return [ascii_fold(str(value)) for value in leaf.values] if fold else list(leaf.values)

    fractions = shape(leaf, [])[5]

    return Wanted(found, read, len(leaf.values) > 1, kind, int(str(fractions)), fold)


def _missing(stored: Expression, *, holds: bool) -> Expression:
    null = exp.Null() if holds else exp.Not(this=exp.Null())

    return exp.Is(this=stored, expression=null)


# --- columns --------------------------------------------------------------------------------


def _stored(name: str, collection: Collection) -> str | None:
    declared = collection.fields.get(name) or collection.times.get(name)

    return declared.column if declared else None


def _columns(leaf: Filter, collection: Collection) -> Sequence[str]:
    match leaf:
        case Hash() if collection.hash:
            return (collection.hash,)
        case Key(_, None | collection.name):
            return collection.key
        case Tags() | Untagged():
            return _tag_columns(collection)
        case Before(_, on) | After(_, on) | Since(_, on) | Until(_, on) | Between(_, _, on):
            found = collection.times.get(on)
            return (found.column,) if found else ()
        case Compare(name):
            stored = _stored(name, collection)
            return (stored,) if stored else ()
        case _:
            return ()


def _tag_columns(collection: Collection) -> Sequence[str]:
    match collection.tags:
        case None:
            return ()
        case JoinTable():
            return (owner(collection, collection.tags),)
        case storage:
            return (storage.column,)


def _kind(name: str, declared: Field | None, site: Site, words: Dialect) -> ColumnKind:
    live = site.live_column(name)
    if declared and declared.kind and not (live and words.static):
        return declared.kind
    if live is None:
        return "any"

    return words.kind(live.type)


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


def _refuse_class(wanted: str, kind: ColumnKind, name: str, example: object, site: Site) -> None:
    match wanted, kind:
        case _, "any":
            return
        case "text", "text":
            return
        case "integer", "integer":
            return
        case "number", "integer" | "real" | "numeric":
            return
        case "boolean", "boolean":
            return
        # Where storage classes belong to rows, a column of any affinity may hold other keys.
        case "integer", "real" | "boolean" if not words_of(site.dialect).static:
            return
        case _:
            raise StoreError(
                f"the column {name!r} holds {kind}, and {example!r} is none",
                place=site.collection.name,
                advice="no engine is asked to cast: give a value of the column's class",
            )


def _refuse_arity(leaf: Key, found: object, site: Site) -> None:
    names = site.collection.key
    given = len(found) if isinstance(found, tuple) else None
    if given == (None if len(names) == 1 else len(names)):
        return
    example = next(value for value in leaf.values if pattern(value) == found)
    raise StoreError(
        f"the key of {site.collection.name!r} is ({', '.join(names)}), and {example!r} is none",
        place=site.collection.name,
        advice="give a value" if len(names) == 1 else f"give tuples of {len(names)}",
    )


def _refuse_time(leaf: Compare, collection: Collection) -> None:
    if leaf.name in collection.times:
        raise StoreError(
            f"{leaf.name!r} is a time, and {leaf.op} compares values",
            place=f"field {leaf.name}",
            advice=f'say Before(…, on="{leaf.name}"), After, Since, Until or Between',
        )


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
