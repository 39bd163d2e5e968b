"""
How SQLite says what a row's tags are: each storage as a pool of rows with one tag each.

What it says of JSON it says only of valid JSON, since its functions fail on anything else. Only
the table of dialects visits.
"""

# ruff: noqa: S608 - names enter as trees and values are bound; a sentence holds constants only

from __future__ import annotations

from typing import assert_never

from attrs import frozen

from memdelete.codec import json_text
from memdelete.errors import Unsupported
from memdelete.tags import BLANKS, CommaText, JoinTable, JSONArray, NativeArray, TagStorage

from .phrases import Site, all_of, any_of, literal, negated, owner
from .render import Expression, column
from .sqlite import folded, say
from .values import TagsWanted


__all__ = ["tag_image", "tagged"]


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
    return _Pool(pool.source, pool.where, folded(site, tag), pool.readable, pool.parts)


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
