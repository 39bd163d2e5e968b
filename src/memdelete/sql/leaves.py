"""
What each leaf of a filter wants of an engine.

One arm per kind of leaf: which column it reads, in which class and encoding its values are bound,
and what is TRUE of the rows where it certainly holds, or certainly does not. The compiler visits;
the words are the dialect's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

from sqlglot import exp

from memdelete.errors import FilterError, StoreError
from memdelete.filters import (
    After,
    Before,
    Between,
    Compare,
    Everything,
    Filter,
    Hash,
    Key,
    Since,
    Tags,
    Untagged,
    Until,
    ascii_fold,
)
from memdelete.schema import Collection, Field
from memdelete.tags import JoinTable
from memdelete.times import FIRST_MICROSECOND, LAST_MICROSECOND, to_micros

from .dialects import Dialect, dialect
from .phrases import FALSE, TRUE, Site, all_of, any_of, negated, owner
from .render import Expression
from .shapes import Pattern, pattern, shape, value_class
from .values import (
    ColumnKind,
    RowsWanted,
    Span,
    TagsWanted,
    Wanted,
    to_kind,
)


__all__ = ["certain", "columns"]

_END: Final = LAST_MICROSECOND + 1


def certain(leaf: Filter, site: Site, *, holds: bool) -> Expression:
    """
    What is TRUE of exactly the rows of which *leaf* certainly holds, or certainly does not.
    """
    words, collection = dialect(site.dialect), site.collection
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


def columns(leaf: Filter, collection: Collection) -> Sequence[str]:
    """
    The columns of the collection's own table that *leaf* reads.
    """
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


# --- the arms -------------------------------------------------------------------------------


def _hash(leaf: Hash, site: Site, words: Dialect, *, holds: bool) -> Expression:
    name = str(site.collection.hash)
    kind = _kind(name, None, site, words)
    _refuse_class("text", kind, name, leaf.values[0], site)
    wanted = Wanted("text", lambda leaf: leaf.values, many=len(leaf.values) > 1, kind=kind)

    return _identity([name], [words.among(site, name, wanted)], site, holds=holds)


def _key(leaf: Key, site: Site, words: Dialect, *, holds: bool) -> Expression:
    names = site.collection.key
    patterns: dict[Pattern, None] = {}
    for value in leaf.values:
        patterns[pattern(value)] = None
    parts = []
    for found in patterns:
        _refuse_arity(leaf, found, site)
        classes = found if isinstance(found, tuple) else (found,)
        read = _keys_of(found)
        example = read(leaf)
        for name, each in zip(names, classes, strict=True):
            _refuse_class(each, _kind(name, None, site, words), name, example[0], site)
        if not isinstance(found, tuple):
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
        case "integer", "real" | "boolean" if not dialect(site.dialect).static:
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
