"""
How PostgreSQL says what a row's tags are: each storage as one array, NULL if it cannot be read.

Operators on the bare column stand beside that where an index has them. Only the table of
dialects visits.
"""

# ruff: noqa: S608 - names enter as trees and values are bound; a sentence holds constants only

from __future__ import annotations

from typing import Final, assert_never

from memdelete.errors import StoreError, Unsupported
from memdelete.tags import BLANKS, CommaText, JoinTable, JSONArray, NativeArray, TagStorage

from .classed import array_logic, joined, lone_surrogates
from .phrases import Site, all_of, literal, owner
from .postgres import EXACT, KINDS, folded, kind, say
from .render import Expression
from .values import TagsWanted, bare_type


__all__ = ["tag_image", "tagged"]

_VARCHARS: Final = (":c && CAST(:p AS VARCHAR[])", ":c @> CAST(:p AS VARCHAR[])")
_ARRAYS: Final = {
    "text[]": (":c && CAST(:p AS TEXT[])", ":c @> CAST(:p AS TEXT[])"),
    "character varying[]": _VARCHARS,
    "varchar[]": _VARCHARS,
}
_OPERATORS: Final = {
    **_ARRAYS,
    "jsonb": (":c ?| CAST(:p AS TEXT[])", ":c ?& CAST(:p AS TEXT[])"),
}
_JSON_SINCE: Final = (16,)


def tagged(site: Site, storage: TagStorage, wanted: TagsWanted, *, holds: bool) -> Expression:
    """
    The row's tags can be read, and the set logic holds of them, or certainly does not.
    """
    array = _array(site, storage)
    if wanted.fold:
        array = say(
            "CASE WHEN :a IS NOT NULL THEN "
            "ARRAY(SELECT :folded FROM unnest(:a) AS memdelete_tag(tag)) END",
            a=array,
            folded=folded(say("memdelete_tag.tag")),
        )
    logic = array_logic(
        site,
        storage,
        wanted,
        holds=holds,
        overlaps=lambda tags: say(":a && CAST(:p AS TEXT[])", a=array, p=tags),
        contains=lambda tags: say(":a @> CAST(:p AS TEXT[])", a=array, p=tags),
        empty=say("cardinality(:a) = 0", a=array),
    )
    if not holds or wanted.fold:
        return logic

    return all_of(*_shortcuts(site, storage, wanted), logic)


def _array(site: Site, storage: TagStorage) -> Expression:
    match storage:
        case CommaText(name, separator):
            return say(
                "ARRAY(SELECT btrim(memdelete_tag.piece, :blanks) FROM "
                "unnest(string_to_array(:c, :separator)) AS memdelete_tag(piece) "
                "WHERE btrim(memdelete_tag.piece, :blanks) <> '')",
                c=say(':c COLLATE "C"', c=site.column(name)),
                separator=literal(separator),
                blanks=literal(BLANKS),
            )
        case JSONArray():
            return _json_array(site, storage)
        case NativeArray(name):
            _refuse_array(site, name)
            return say(
                "CASE WHEN :c IS NULL THEN CAST('{}' AS TEXT[]) "
                "WHEN coalesce(array_ndims(:c), 1) > 1 THEN NULL "
                "WHEN array_position(:c, NULL) IS NULL THEN CAST(:c AS TEXT[]) END",
                c=site.column(name),
            )
        case JoinTable():
            source, where, parts = _joined(site, storage)
            return say(
                "(SELECT CASE WHEN count(*) = count(:tag) "
                "THEN coalesce(array_agg(CAST(:tag AS TEXT)), CAST('{}' AS TEXT[])) END "
                f"FROM {source} WHERE {where})",
                **parts,
            )
        case never:
            assert_never(never)


def _json_array(site: Site, storage: JSONArray) -> Expression:
    stored = site.column(storage.column)
    live = site.live_column(storage.column)
    if live and bare_type(live.type) == "jsonb":
        return say(
            "CASE WHEN :c IS NULL THEN CAST('{}' AS TEXT[]) "
            "WHEN jsonb_typeof(:c) = 'array' THEN CASE WHEN NOT EXISTS(SELECT 1 FROM "
            "jsonb_array_elements(:c) AS memdelete_tag(item) "
            "WHERE jsonb_typeof(memdelete_tag.item) <> 'string') "
            "THEN ARRAY(SELECT memdelete_tag.item FROM jsonb_array_elements_text(:c) "
            "AS memdelete_tag(item)) END END",
            c=stored,
        )
    if site.live and site.live.version and site.live.version < _JSON_SINCE:
        raise Unsupported(
            "tags in JSON text",
            "postgres",
            advice="PostgreSQL can tell valid JSON from 16 on: use jsonb or text[]",
        )
    halved = lone_surrogates(":c", "regexp_replace({}, {}, ' ', 'g')")

    return say(
        "CASE WHEN :c IS NULL OR :c = '' THEN CAST('{}' AS TEXT[]) "
        "WHEN :c IS JSON ARRAY AND strpos(:c, '\\u0000') = 0 "
        f"AND NOT {halved} "
        "THEN CASE WHEN NOT EXISTS(SELECT 1 FROM json_array_elements(CAST(:c AS JSON)) "
        "AS memdelete_tag(item) WHERE json_typeof(memdelete_tag.item) <> 'string') "
        "THEN ARRAY(SELECT memdelete_tag.item FROM json_array_elements_text(CAST(:c AS JSON)) "
        "AS memdelete_tag(item)) END END",
        c=say('CAST(:c AS TEXT) COLLATE "C"', c=stored),
    )


def _shortcuts(site: Site, storage: TagStorage, wanted: TagsWanted) -> list[Expression]:
    # Not needed for the meaning: operators on the bare column let a GIN index serve. They exist
    # for each type by itself, so nothing is said while that is not known.
    if not isinstance(storage, NativeArray | JSONArray):
        return []
    live = site.live_column(storage.column)
    operators = _OPERATORS.get(bare_type(live.type)) if live else None
    if operators is None:
        return []
    some, every = operators
    stored = site.column(storage.column)
    given = [(wanted.any, "any", some), (wanted.all, "all", every)]

    return [
        say(text, c=stored, p=site.bind(wanted.reader(word, storage)))
        for there, word, text in given
        if there
    ]


def _refuse_array(site: Site, name: str) -> None:
    live = site.live_column(name)
    if live and bare_type(live.type) not in _ARRAYS:
        raise StoreError(
            f"the column {name!r} is {live.type}, no array of text",
            place=site.collection.name,
            advice=f"arrays of tags are {' or '.join(sorted(_ARRAYS))}",
        )


def _joined(site: Site, storage: JoinTable) -> tuple[str, str, dict[str, Expression]]:
    source, parts = joined(site, storage, kind)
    where = ":memory = :own"
    if _textual(site, storage):
        where += ' AND :memory COLLATE "C" = :own'

    return source, where, parts


def _textual(site: Site, storage: JoinTable) -> bool:
    live = site.live_column(owner(site.collection, storage))

    return (
        live is not None
        and KINDS.get(bare_type(live.type)) == "text"
        and live.collation not in EXACT
    )


def tag_image(site: Site, storage: JoinTable) -> Expression:
    """
    The row's tags in their own table as one text, in an order of their own.
    """
    source, where, parts = _joined(site, storage)

    return say(
        "(SELECT string_agg(quote_nullable(:tag), ',' ORDER BY quote_nullable(:tag) "
        f'COLLATE "C") FROM {source} WHERE {where})',
        **parts,
    )
