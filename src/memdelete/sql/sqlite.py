"""
How SQLite says each condition.

Here the storage class belongs to each row, not to the column: every sentence begins with a guard
on `typeof`, which also makes what an affinity does to a bound value harmless. Only the table of
dialects visits.
"""

# ruff: noqa: S608 - names enter as trees and values are bound; a sentence holds constants only

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Final, assert_never

from memdelete.codec import json_text
from memdelete.errors import StoreError, Unsupported
from memdelete.globs import ANY, ONE, CharacterClass, read

from .phrases import Reader, Site, all_of, any_of, literal, negated, phrase
from .render import Expression
from .values import (
    LETTERS,
    ColumnKind,
    RowsWanted,
    ValueClass,
    Wanted,
    plain,
)


__all__ = [
    "among",
    "folded",
    "forms",
    "kind",
    "ordered",
    "outside",
    "rows_among",
    "say",
    "searched",
]

say: Final = partial(phrase, "sqlite")

_MOST_FRACTIONS: Final = 500


def kind(declared: str) -> ColumnKind:
    """
    The class that a declared type prefers: its affinity, and `boolean` by its name.
    """
    name = declared.upper()
    if "INT" in name:
        return "integer"
    if any(word in name for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if any(word in name for word in ("REAL", "FLOA", "DOUB")):
        return "real"

    return "boolean" if "BOOL" in name else "any"


# --- values ---------------------------------------------------------------------------------


def among(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value has the class of the list and is in it.
    """
    listed = _listed(site, wanted)

    return all_of(
        _classed(site, name, wanted),
        *map(listed, forms(site, name, wanted.value_class, fold=wanted.fold)),
    )


def outside(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value has the class of the list and is not in it.
    """
    *_, exact = forms(site, name, wanted.value_class, fold=wanted.fold)

    # The class is known by then, so NOT stands over two values, not three.
    return all_of(_classed(site, name, wanted), negated(_listed(site, wanted)(exact)))


def rows_among(site: Site, names: Sequence[str], wanted: RowsWanted) -> Expression:
    """
    The key of several columns has the classes of the list and is in it.
    """
    places = range(len(names))
    parts: dict[str, Expression] = {f"c{n}": site.column(names[n]) for n in places}
    parts |= {f"e{n}": forms(site, names[n], wanted.classes[n])[-1] for n in places}
    guards = [
        f"typeof(:c{n}) = '{'text' if wanted.classes[n] == 'text' else 'integer'}'" for n in places
    ]
    exact = ", ".join(f":e{n}" for n in places)
    bare = ", ".join(f":c{n}" for n in places)
    pieces = ", ".join(f"json_extract(memdelete_row.value, '$[{n}]')" for n in places)
    rows = f"(SELECT {pieces} FROM json_each(:rows) AS memdelete_row)"
    text = f"{' AND '.join(guards)} AND ({bare}) IN {rows} AND ({exact}) IN {rows}"

    return say(text, rows=site.bind(lambda leaf: json_text(wanted.read(leaf))), **parts)


def ordered(site: Site, name: str, sign: str, wanted: Wanted) -> Expression:
    """
    The stored value has the class of the given one and lies on that side of it.
    """
    *_, exact = forms(site, name, wanted.value_class, fold=wanted.fold)
    value = site.bind(lambda leaf: _scalar(wanted.one(leaf)))

    return all_of(_classed(site, name, wanted), say(f":c {sign} :p", c=exact, p=value))


def searched(site: Site, name: str, op: str, wanted: Wanted, *, holds: bool) -> Expression:
    """
    The stored value is text and has the given one in it, or certainly has not.
    """
    stored = site.column(name)
    text = folded(site, stored) if wanted.fold else stored
    value = site.bind(wanted.one if op != "glob" else lambda leaf: _glob(str(wanted.one(leaf))))
    # As bytes, so that a NUL in the stored text does not end it; of no bytes at all, functions
    # make NULL.
    match op:
        case "contains":
            found = "coalesce(instr(CAST(:c AS BLOB), CAST(:p AS BLOB)), 0) > 0"
        case "startswith":
            found = "substr(CAST(:c AS BLOB), 1, length(CAST(:p AS BLOB))) IS CAST(:p AS BLOB)"
        case "endswith":
            found = "substr(CAST(:c AS BLOB), -length(CAST(:p AS BLOB))) IS CAST(:p AS BLOB)"
        case _:
            found = ":c GLOB :p"
    fact = say(found, c=text, p=value)
    # GLOB does stop at a NUL: such a text is unknown to it.
    whole = say("instr(:c, char(0)) = 0", c=stored) if op == "glob" else None

    return all_of(_classed(site, name, wanted), whole, fact if holds else negated(fact))


def _classed(site: Site, name: str, wanted: Wanted) -> Expression:
    stored = site.column(name)
    match wanted.value_class:
        case "text":
            return say("typeof(:c) = 'text'", c=stored)
        case "integer":
            return say("typeof(:c) = 'integer'", c=stored)
        case "number":
            return say("typeof(:c) IN ('integer', 'real')", c=stored)
        case "boolean":
            return say("typeof(:c) = 'integer' AND :c IN (0, 1)", c=stored)
        case never:
            assert_never(never)


def forms(
    site: Site, name: str, value_class: ValueClass, *, fold: bool = False
) -> list[Expression]:
    """
    The column in the forms that together say it exactly; the last one alone is exact.
    """
    # Both are said where an index may have another collation: the bare column for the index,
    # the last form for exactness. The cast keeps a numeric affinity from reading "1x" or "5".
    stored = site.column(name)
    if value_class != "text":
        return [stored]
    if fold:
        return [folded(site, stored)]
    live = site.live_column(name)
    if live and kind(live.type) == "text" and live.collation in {None, "BINARY"}:
        return [stored]

    return [stored, say("CAST(:c AS TEXT) COLLATE BINARY", c=stored)]


def _listed(site: Site, wanted: Wanted) -> Callable[[Expression], Expression]:
    if not wanted.many:
        value = site.bind(lambda leaf: _scalar(wanted.one(leaf)))
        return lambda form: say(":c = :p", c=form, p=value)
    if wanted.fractions > _MOST_FRACTIONS:
        raise StoreError(
            f"{wanted.fractions} numbers with fractions are too many for one list",
            advice=f"give at most {_MOST_FRACTIONS}",
        )
    values = site.bind(lambda leaf: json_text(plain(wanted.read(leaf))[0]))
    # SQLite reads decimal fractions from text with an error in the last place: bind them.
    others = [site.bind(_other(wanted, place)) for place in range(wanted.fractions)]

    return lambda form: any_of(
        say(":c IN (SELECT value FROM json_each(:p))", c=form, p=values),
        *[say(":c = :p", c=form, p=other) for other in others],
    )


def _other(wanted: Wanted, place: int) -> Reader:
    return lambda leaf: plain(wanted.read(leaf))[1][place]


def _scalar(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


def folded(site: Site, text: Expression) -> Expression:
    """
    A text with its ASCII letters made small, and no others.
    """
    if site.live is None or site.live.ascii_case:
        return say("lower(:c)", c=text)

    # With ICU, `lower` folds more than ASCII.
    return reduce(_fold_letter, zip(*LETTERS, strict=True), text)


def _fold_letter(text: Expression, letter: tuple[str, str]) -> Expression:
    return say(
        "replace(:c, :big, :small)", c=text, big=literal(letter[0]), small=literal(letter[1])
    )


# --- globs ----------------------------------------------------------------------------------


def _glob(pattern: str) -> str:
    return "".join(_glob_token(token) for token in read(pattern, "glob"))


def _glob_token(sign: object) -> str:
    match sign:
        case str():
            _refuse_nonsigns(sign)
            return f"[{sign}]" if sign in "*?[" else sign
        case CharacterClass(ranges, negated):
            return _glob_class(ranges, negated=negated)
        case _:
            return "*" if sign is ANY else "?" if sign is ONE else ""


def _glob_class(ranges: tuple[tuple[str, str], ...], *, negated: bool) -> str:
    # `]` stands for itself only first, `^` only later, `-` only last: each is taken out of the
    # ranges and put where it belongs.
    special = {sign for sign in "]^-" if any(low <= sign <= high for low, high in ranges)}
    inside = "".join(_glob_range(low, high) for low, high in _carved(ranges))
    _refuse_nonsigns("".join(sign for pair in ranges for sign in pair))
    body = "]" * ("]" in special) + inside
    if special >= {"^"} and not body and not negated:
        return "[-^]" if "-" in special else "^"

    return f"[{'^' * negated}{body}{'^' * ('^' in special)}{'-' * ('-' in special)}]"


def _carved(ranges: tuple[tuple[str, str], ...]) -> list[tuple[int, int]]:
    found = [(ord(low), ord(high)) for low, high in ranges]
    for sign in map(ord, "]^-"):
        found = [
            part
            for low, high in found
            for part in (
                ((low, sign - 1), (sign + 1, high)) if low <= sign <= high else ((low, high),)
            )
            if part[0] <= part[1]
        ]

    return found


def _glob_range(low: int, high: int) -> str:
    return chr(low) if low == high else f"{chr(low)}-{chr(high)}"


def _refuse_nonsigns(signs: str) -> None:
    # SQLite's GLOB takes U+FFFE and U+FFFF for U+FFFD.
    if any("\ufffd" <= sign <= "\uffff" for sign in signs):
        raise Unsupported("glob with U+FFFD to U+FFFF", "sqlite", advice="say `?` for them")
