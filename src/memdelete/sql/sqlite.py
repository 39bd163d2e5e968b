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

from attrs import frozen
from sqlglot import exp

from memdelete.codec import json_text
from memdelete.errors import StoreError, Unsupported
from memdelete.globs import ANY, ONE, CharacterClass, read
from memdelete.tags import BLANKS, CommaText, JoinTable, JSONArray, NativeArray, TagStorage
from memdelete.times import (
    FIRST_MICROSECOND,
    LAST_MICROSECOND,
    EpochMicros,
    EpochMillis,
    EpochSeconds,
    ISOText,
    Native,
    TimeEncoding,
    cut,
)

from .phrases import Reader, Site, all_of, any_of, literal, negated, owner, phrase
from .render import Expression, column
from .values import (
    LETTERS,
    ColumnKind,
    RowsWanted,
    Span,
    TagsWanted,
    ValueClass,
    Wanted,
    day_after,
    day_before,
    plain,
)


__all__ = [
    "among",
    "kind",
    "ordered",
    "outside",
    "rows_among",
    "searched",
    "tag_image",
    "tagged",
    "within",
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
        *map(listed, _forms(site, name, wanted.value_class, fold=wanted.fold)),
    )


def outside(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value has the class of the list and is not in it.
    """
    *_, exact = _forms(site, name, wanted.value_class, fold=wanted.fold)

    # The class is known by then, so NOT stands over two values, not three.
    return all_of(_classed(site, name, wanted), negated(_listed(site, wanted)(exact)))


def rows_among(site: Site, names: Sequence[str], wanted: RowsWanted) -> Expression:
    """
    The key of several columns has the classes of the list and is in it.
    """
    places = range(len(names))
    parts: dict[str, Expression] = {f"c{n}": site.column(names[n]) for n in places}
    parts |= {f"e{n}": _forms(site, names[n], wanted.classes[n])[-1] for n in places}
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
    *_, exact = _forms(site, name, wanted.value_class, fold=wanted.fold)
    value = site.bind(lambda leaf: _scalar(wanted.one(leaf)))

    return all_of(_classed(site, name, wanted), say(f":c {sign} :p", c=exact, p=value))


def searched(site: Site, name: str, op: str, wanted: Wanted, *, holds: bool) -> Expression:
    """
    The stored value is text and has the given one in it, or certainly has not.
    """
    stored = site.column(name)
    text = _folded(site, stored) if wanted.fold else stored
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


def _forms(
    site: Site, name: str, value_class: ValueClass, *, fold: bool = False
) -> list[Expression]:
    # Both are said where an index may have another collation: the bare column for the index,
    # the last form for exactness. The cast keeps a numeric affinity from reading "1x" or "5".
    stored = site.column(name)
    if value_class != "text":
        return [stored]
    if fold:
        return [_folded(site, stored)]
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


def _folded(site: Site, text: Expression) -> Expression:
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


# --- tags -----------------------------------------------------------------------------------


@frozen
class _Pool:
    # Where a row's tags come from: a FROM clause, what must hold of its rows, the tag in it.
    source: str
    where: str
    tag: Expression
    readable: Expression
    parts: dict[str, Expression]
    exact: bool = True

    def say(self, text: str, **more: Expression) -> Expression:
        return say(text, **self.parts, tag=self.tag, **more)

    def has(self, values: Expression) -> Expression:
        bare = "" if self.exact else ":bare IN (SELECT value FROM json_each(:wanted)) AND "
        return self.say(
            f"EXISTS(SELECT 1 FROM {self.source} WHERE {self.where} AND {bare}"
            ":tag IN (SELECT value FROM json_each(:wanted)))",
            wanted=values,
        )

    def lacks(self, values: Expression) -> Expression:
        return self.say(
            "EXISTS(SELECT 1 FROM json_each(:wanted) AS memdelete_wanted WHERE "
            "NOT memdelete_wanted.value IN "
            f"(SELECT :tag FROM {self.source} WHERE {self.where}))",
            wanted=values,
        )

    def filled(self) -> Expression:
        return self.say(f"EXISTS(SELECT 1 FROM {self.source} WHERE {self.where})")


def tagged(site: Site, storage: TagStorage, wanted: TagsWanted, *, holds: bool) -> Expression:
    """
    The row's tags can be read, and the set logic holds of them, or certainly does not.
    """
    pool = _pool(site, storage, fold=wanted.fold)

    def given(word: str) -> Expression:
        tags = wanted.reader(word, storage)
        return site.bind(lambda leaf: json_text(tags(leaf)))

    # Each fact is said with its EXISTS, which has two values: NOT may stand over it.
    facts = []
    if wanted.any:
        facts.append(pool.has(given("any")))
    if wanted.all:
        facts.append(negated(pool.lacks(given("all"))))
    if wanted.none:
        facts.append(negated(pool.has(given("none"))))
    facts = facts or [negated(pool.filled())]
    if holds:
        return all_of(pool.readable, *facts)

    return all_of(pool.readable, any_of(*map(negated, facts)))


def _pool(site: Site, storage: TagStorage, *, fold: bool) -> _Pool:
    match storage:
        case CommaText():
            pool = _comma_pool(site, storage)
        case JSONArray():
            pool = _json_pool(site, storage)
        case JoinTable():
            pool = _join_pool(site, storage)
        case NativeArray():
            raise Unsupported("NativeArray tags", "sqlite", advice="it has no arrays: JSONArray")
        case never:
            assert_never(never)
    if not fold:
        return pool

    tag = pool.parts.get("bare", pool.tag)
    return _Pool(pool.source, pool.where, _folded(site, tag), pool.readable, pool.parts)


def _comma_pool(site: Site, storage: CommaText) -> _Pool:
    # json_quote escapes the text, then each separator becomes the gap between two strings.
    # Escaped backslashes go first, lest half of one be taken for the escape of a separator.
    blanks = ", ".join(str(ord(blank)) for blank in BLANKS)
    escaped = "\\u005c" if storage.separator == "\\" else json_text(storage.separator)[1:-1]
    tag = f"trim(memdelete_tag.value, char({blanks}))"

    return _Pool(
        source="json_each(CASE WHEN typeof(:c) = 'text' THEN '[' || replace(replace("
        "json_quote(:c), '\\\\', '\\u005c'), :separator, '\",\"') || ']' ELSE '[]' END) "
        "AS memdelete_tag",
        where=f"{tag} <> ''",
        tag=say(tag),
        readable=say(
            ":c IS NULL OR (typeof(:c) = 'text' AND instr(:c, char(0)) = 0)",
            c=site.column(storage.column),
        ),
        parts={"c": site.column(storage.column), "separator": literal(escaped)},
    )


def _json_pool(site: Site, storage: JSONArray) -> _Pool:
    # json_each fails on what is no JSON, so it is never shown any.
    each = (
        "json_each(CASE WHEN typeof(:c) = 'text' AND json_valid(:c) THEN :c ELSE '[]' END) "
        "AS memdelete_tag"
    )
    # GLOB reads half a surrogate pair as U+FFFD; the true ones are taken out before.
    halved = (
        "replace(replace(replace(memdelete_tag.value, char(65533), ''), char(65534), ''), "
        "char(65535), '') GLOB '*' || char(65533) || '*'"
    )
    stored = site.column(storage.column)
    readable = say(
        "CASE WHEN :c IS NULL THEN 1 WHEN typeof(:c) <> 'text' THEN 0 "
        "WHEN length(CAST(:c AS BLOB)) = 0 THEN 1 "
        "WHEN instr(:c, char(0)) > 0 OR instr(:c, '\\u0000') > 0 OR NOT json_valid(:c) THEN 0 "
        "WHEN json_type(:c) <> 'array' THEN 0 "
        f"ELSE NOT EXISTS(SELECT 1 FROM {each} WHERE memdelete_tag.type <> 'text') "
        f"AND (instr(lower(:c), '\\ud') = 0 OR NOT EXISTS(SELECT 1 FROM {each} WHERE {halved})) "
        "END",
        c=stored,
    )

    return _Pool(
        each, "memdelete_tag.type = 'text'", say("memdelete_tag.value"), readable, {"c": stored}
    )


def _join_pool(site: Site, storage: JoinTable) -> _Pool:
    source, where, parts = _joined(site, storage)
    readable = say(
        f"NOT EXISTS(SELECT 1 FROM {source} WHERE {where} AND typeof(:bare) <> 'text')", **parts
    )
    exact = say("CAST(:bare AS TEXT) COLLATE BINARY", **parts)

    return _Pool(source, where, exact, readable, parts, exact=False)


def _joined(site: Site, storage: JoinTable) -> tuple[str, str, dict[str, Expression]]:
    parts: dict[str, Expression] = {
        "memory": column(storage.memory, "memdelete_tag"),
        "own": site.column(owner(site.collection, storage)),
        "joined": site.table(storage.table, "memdelete_tag"),
        "bare": column(storage.tag, "memdelete_tag"),
    }
    source = "joined"
    if storage.names:
        source += " LEFT JOIN named ON :named_key = :tag_key"
        parts["named"] = site.table(storage.names.table, "memdelete_name")
        parts["named_key"] = column(storage.names.key, "memdelete_name")
        parts["tag_key"] = parts["bare"]
        parts["bare"] = column(storage.names.name, "memdelete_name")

    return source, ":memory = :own AND :memory COLLATE BINARY = :own", parts


def tag_image(site: Site, storage: JoinTable) -> Expression:
    """
    The row's tags in their own table as one text, in an order of their own.
    """
    source, where, parts = _joined(site, storage)

    return say(
        "(SELECT group_concat(memdelete_image.said, ',') FROM (SELECT quote(:bare) AS said "
        f"FROM {source} WHERE {where} ORDER BY quote(:bare)) AS memdelete_image)",
        **parts,
    )


# --- times ----------------------------------------------------------------------------------


def within(site: Site, encoding: TimeEncoding, span: Span) -> Expression:
    """
    The stored time can be read, and lies in ``[span)``.
    """
    stored = site.column(encoding.column)
    match encoding:
        case (
            EpochSeconds(storage="text") | EpochMillis(storage="text") | EpochMicros(storage="text")
        ):
            return _between(site, stored, _epoch_text(encoding.per_second), span)
        case EpochSeconds() | EpochMillis():
            number = partial(cut, per_second=encoding.per_second)
            guard = "typeof(:c) IN ('integer', 'real')"
            return _numbers(site, stored, guard, number, span)
        case EpochMicros(storage="real"):
            number = partial(cut, per_second=encoding.per_second)
            return _numbers(site, stored, "typeof(:c) = 'real'", number, span)
        case EpochMicros():
            return _numbers(site, stored, "typeof(:c) = 'integer'", int, span)
        case ISOText():
            coarse = _days(site, encoding.column, span)
            return all_of(coarse, _between(site, stored, _iso_text(encoding), span))
        case Native():
            raise Unsupported("Native times", "sqlite", advice="it has no timestamps of its own")
        case never:
            assert_never(never)


def _numbers(
    site: Site,
    stored: Expression,
    guard: str,
    encode: Callable[[int], object],
    span: Span,
) -> Expression:
    return say(
        f"{guard} AND :c >= :start AND :c < :end",
        c=stored,
        start=site.edge(span[0], encode),
        end=site.edge(span[1], encode),
    )


def _between(site: Site, stored: Expression, micros: str, span: Span) -> Expression:
    # BETWEEN works the reading out once.
    return say(
        f"typeof(:c) = 'text' AND instr(:c, char(0)) = 0 AND {micros} BETWEEN :start AND :last",
        c=stored,
        start=site.edge(span[0], int),
        last=site.edge(span[1], lambda micros: micros - 1),
    )


def _days(site: Site, name: str, span: Span) -> Expression | None:
    # Not needed for the meaning: it lets an index on the text narrow the rows.
    *_, exact = _forms(site, name, "text")
    bare = exact if isinstance(exact, exp.Column) else say(":c COLLATE BINARY", c=site.column(name))
    low = span[0] != FIRST_MICROSECOND
    high = span[1] != LAST_MICROSECOND + 1
    if not (low or high):
        return None

    return all_of(
        say(":c >= :day", c=bare, day=site.edge(span[0], day_before)) if low else None,
        say(":c < :day", c=bare, day=site.edge(span[1], day_after)) if high else None,
    )


def _epoch_text(per_second: int) -> str:
    # An exact number of microseconds, or NULL where the text is no `times.EPOCH_TEXT`.
    scale = 1_000_000 // per_second
    digits = "NOT {0} GLOB '*[^0-9]*' AND length({0}) BETWEEN 1 AND {1}"
    small = f"CAST(substr(t.part || '000000', 1, 6) AS INTEGER) * {scale}"
    size = f"CAST(t.whole AS INTEGER) * {scale} + {small} / 1000000"

    return (
        f"(SELECT CASE WHEN {digits.format('t.whole', 18)} "
        f"AND (t.point = 0 OR ({digits.format('t.part', 6)})) "
        # Cut towards the past: below zero, what is left of a microsecond counts as one.
        f"THEN CASE WHEN t.below THEN -({size}) - ({small} % 1000000 > 0) ELSE {size} END END "
        "FROM (SELECT s.below AS below, instr(s.body, '.') AS point, "
        "CASE WHEN instr(s.body, '.') > 0 THEN substr(s.body, 1, instr(s.body, '.') - 1) "
        "ELSE s.body END AS whole, "
        "CASE WHEN instr(s.body, '.') > 0 THEN substr(s.body, instr(s.body, '.') + 1) "
        "ELSE '' END AS part "
        "FROM (SELECT :c GLOB '-*' AS below, "
        "CASE WHEN :c GLOB '-*' THEN substr(:c, 2) ELSE :c END AS body) AS s) AS t)"
    )


def _iso_text(encoding: ISOText) -> str:
    # An exact number of microseconds, or NULL where the text is no `times.ISO_TEXT`. SQLite's
    # own reading would round to milliseconds and take the 30th of February.
    date = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
    hours = ("[01][0-9]", "2[0-3]")
    minutes = ("", "[0-5][0-9]", ":[0-5][0-9]")
    clock = " OR ".join(f"u.clock GLOB '{hour}:[0-5][0-9]'" for hour in hours)
    shifted = " OR ".join(f"u.zone GLOB '[+-]{hour}{rest}'" for hour in hours for rest in minutes)
    naive = "u.zone <> ''" if encoding.naive == "unknown" else "TRUE"
    seconds = "t.tail GLOB ':[0-5][0-9]*'"
    fraction = "s.second <> '' AND s.tail GLOB '.[0-9]*'"
    zone_minutes = (
        "(CAST(substr(u.zone, 2, 2) AS INTEGER) * 60 "
        "+ CAST(substr(replace(u.zone, ':', ''), 4, 2) AS INTEGER))"
    )

    return (
        f"(SELECT CASE WHEN u.day GLOB '{date}' AND u.day >= '0001' "
        "AND date(u.day, '+0 days') = u.day "
        f"AND (u.rest = '' OR (substr(u.rest, 1, 1) IN ('T', ' ') AND ({clock}))) "
        f"AND length(u.fraction) <= 9 AND (u.zone IN ('', 'Z') OR {shifted}) AND {naive} "
        "THEN CAST(strftime('%s', u.day) AS INTEGER) * 1000000 "
        "+ CAST(substr(u.clock, 1, 2) AS INTEGER) * 3600000000 "
        "+ CAST(substr(u.clock, 4, 2) AS INTEGER) * 60000000 "
        "+ CAST(u.second AS INTEGER) * 1000000 "
        "+ CAST(substr(u.fraction || '000000', 1, 6) AS INTEGER) "
        f"- CASE WHEN u.zone GLOB '-*' THEN -1 ELSE 1 END * {zone_minutes} * 60000000 END "
        "FROM (SELECT f.day AS day, f.rest AS rest, f.clock AS clock, f.second AS second, "
        "f.fraction AS fraction, "
        # One blank may stand before the offset.
        "CASE WHEN f.tail GLOB ' *' THEN substr(f.tail, 2) ELSE f.tail END AS zone "
        "FROM (SELECT s.day AS day, s.rest AS rest, s.clock AS clock, s.second AS second, "
        f"CASE WHEN {fraction} THEN substr(s.tail, 2, length(s.tail) - 1 "
        "- length(ltrim(substr(s.tail, 2), '0123456789'))) ELSE '' END AS fraction, "
        f"CASE WHEN {fraction} THEN ltrim(substr(s.tail, 2), '0123456789') ELSE s.tail END AS tail "
        "FROM (SELECT t.day AS day, t.rest AS rest, t.clock AS clock, "
        f"CASE WHEN {seconds} THEN substr(t.tail, 2, 2) ELSE '' END AS second, "
        f"CASE WHEN {seconds} THEN substr(t.tail, 4) ELSE t.tail END AS tail "
        "FROM (SELECT substr(:c, 1, 10) AS day, substr(:c, 11) AS rest, "
        "substr(:c, 12, 5) AS clock, substr(:c, 17) AS tail) AS t) AS s) AS f) AS u)"
    )
