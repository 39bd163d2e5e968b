"""
Hypothesis strategies: filters, memories and stores, and what a column may hold, good or bad.

They draw from small pools of hostile values, so that filters and rows meet. Tests visit, ours
and those of whoever writes a store or an engine; hypothesis must be installed, and nothing else
in the library imports this room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from hypothesis import strategies as st

from memdelete.codec import json_text
from memdelete.errors import FilterError
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
    KeyValue,
    Not,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
)
from memdelete.memories import UNKNOWN, Memory
from memdelete.schema import Collection, Store
from memdelete.tags import BLANKS, CommaText, JoinTable, JSONArray, NativeArray, TagStorage
from memdelete.times import (
    EpochMicros,
    EpochMillis,
    EpochSeconds,
    ISOText,
    Native,
    TimeEncoding,
    from_micros,
    to_micros,
)

from .oddities import (
    GLOBS,
    HASHES,
    INSTANTS,
    INTEGERS,
    NUMBERS,
    REALS,
    TAGS,
    TEXTS,
    odd_tags,
    odd_texts,
    odd_times,
)


__all__ = [
    "GLOBS",
    "HASHES",
    "INSTANTS",
    "INTEGERS",
    "NUMBERS",
    "REALS",
    "TAGS",
    "TEXTS",
    "filters",
    "memories",
    "stored_tags",
    "stored_texts",
    "stored_times",
    "stores",
]

# One of them often, so that filters and rows meet at it.
_OFTEN: Final = (*INSTANTS, *[INSTANTS[9]] * len(INSTANTS))


# --- filters --------------------------------------------------------------------------------


def filters(
    collection: Collection,
    *,
    keys: Sequence[KeyValue] = (1, 2, 3),
    kinds: Mapping[str, str] | None = None,
    lacking: bool = False,
) -> st.SearchStrategy[Filter]:
    """
    Resolved filters on *collection*, nested as deep as they get.

    *kinds* tells the kind of each field, where the collection does not (`unknown` where nobody
    does); with *lacking*, leaves
    ask for what it does not have, too.
    """
    known = {name: declared.kind for name, declared in collection.fields.items()}
    kinds = {name: kind or "any" for name, kind in known.items()} | dict(kinds or {})
    leaves = [st.just(Everything()), _keys(keys)]
    if collection.hash or lacking:
        leaves.append(_some(HASHES).map(lambda found: Hash(*found)))
    if collection.tags or lacking:
        leaves += [_tags(collection.tags), _tags(collection.tags), st.just(Untagged())]
    times = [*collection.times, *(["lacking"] if lacking else [])]
    if times:
        leaves += [_times(st.sampled_from(times))] * 3
        leaves.append(st.sampled_from(times).map(lambda name: Compare(name, "missing")))
    leaves += [_compares(name, kind) for name, kind in kinds.items()]
    if lacking:
        leaves.append(_compares("lacking", "text"))

    return st.recursive(st.one_of(leaves), _connected, max_leaves=8)


def _connected(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=1, max_size=3)

    return st.one_of(several.map(_and), several.map(lambda found: Or(*found)), parts.map(Not))


def _and(parts: list[Filter]) -> Filter:
    try:
        return And(*parts)
    except FilterError:  # an empty range is refused
        return Or(*parts)


def _some(values: Sequence[Any], most: int = 3) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=most)


def _keys(values: Sequence[KeyValue]) -> st.SearchStrategy[Filter]:
    return _some(values).map(lambda found: Key(*found))


def _tags(storage: TagStorage | None) -> st.SearchStrategy[Filter]:
    pool = [tag for tag in TAGS if _holds(storage, tag)]
    lists = st.none() | _some(pool)
    drawn = st.tuples(lists, lists, lists, st.booleans()).filter(lambda found: any(found[:3]))

    return drawn.map(
        lambda found: Tags(any=found[0], all=found[1], none=found[2], ignore_case=found[3])
    )


def _holds(storage: TagStorage | None, tag: str) -> bool:
    return not isinstance(storage, CommaText) or (
        storage.separator not in tag and tag == tag.strip(BLANKS)
    )


def _times(names: st.SearchStrategy[str]) -> st.SearchStrategy[Filter]:
    one = st.sampled_from(_OFTEN)
    pair = st.tuples(one, one).filter(lambda found: found[0] < found[1])
    single = st.sampled_from((Before, After, Since, Until))

    return st.one_of(
        st.builds(lambda kind, at, name: kind(at, on=name), single, one, names),
        st.builds(lambda at, name: Between(at[0], at[1], on=name), pair, names),
    )


def _compares(name: str, kind: str) -> st.SearchStrategy[Filter]:
    missing = st.just(Compare(name, "missing"))
    match kind:
        case "text":
            return missing | _texts(name)
        case "integer":
            return missing | _numbers(name, (*INTEGERS, 1.0, 2.0, -0.0))
        case "real":
            return missing | _numbers(name, (*REALS, 0, 1, 2, 2**53))
        case "numeric":
            return missing | _numbers(name, (*INTEGERS, 0.5, 2.5, 0.1, 1.0))
        case "boolean":
            return missing | _booleans(name)
        case "unknown":
            return missing
        case _:
            return missing | _texts(name) | _numbers(name, NUMBERS)


def _texts(name: str) -> st.SearchStrategy[Filter]:
    one = st.sampled_from(TEXTS).map(lambda value: [value])
    part = st.sampled_from([text for text in TEXTS if text.strip()]).map(lambda value: [value])
    fold = st.booleans()

    def made(
        ops: Sequence[str], values: st.SearchStrategy[Any], fold: st.SearchStrategy[bool]
    ) -> st.SearchStrategy[Filter]:
        return st.builds(
            lambda op, found, ignore: Compare(name, op, found, ignore_case=ignore),
            st.sampled_from(ops),
            values,
            fold,
        )

    return st.one_of(
        made(("eq", "ne"), one, fold),
        made(("lt", "le", "gt", "ge"), one, st.just(False)),  # noqa: FBT003
        made(("isin",), _some(TEXTS), fold),
        made(("contains", "startswith", "endswith"), part, fold),
        made(("glob",), st.sampled_from(GLOBS).map(lambda value: [value]), st.just(False)),  # noqa: FBT003
        # Folding may turn a range around, which is refused.
        made(("glob",), st.sampled_from(_folding()).map(lambda value: [value]), st.just(True)),  # noqa: FBT003
    )


def _folding() -> list[str]:
    return [pattern for pattern in GLOBS if _folds(pattern)]


def _folds(pattern: str) -> bool:
    try:
        Compare("any", "glob", (pattern,), ignore_case=True)
    except FilterError:
        return False

    return True


def _numbers(name: str, values: Sequence[float]) -> st.SearchStrategy[Filter]:
    ops = st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge"))

    return st.one_of(
        st.builds(lambda op, value: Compare(name, op, [value]), ops, st.sampled_from(values)),
        _some(values).map(lambda found: Compare(name, "isin", found)),
    )


def _booleans(name: str) -> st.SearchStrategy[Filter]:
    return st.one_of(
        st.builds(
            lambda op, value: Compare(name, op, [value]),
            st.sampled_from(("eq", "ne")),
            st.booleans(),
        ),
        _some((True, False)).map(lambda found: Compare(name, "isin", found)),
    )


# --- memories and stores --------------------------------------------------------------------


def memories(collection: Collection) -> st.SearchStrategy[Memory]:
    """
    Decoded memories of *collection*, with what is missing or unreadable among them.
    """
    moment = st.sampled_from((None, UNKNOWN, *INSTANTS))

    return st.builds(
        Memory,
        key=st.sampled_from((None, 1, 2, 3, "1", "1x")),
        hash=st.sampled_from((None, *HASHES)),
        tags=st.just(UNKNOWN) | st.lists(st.sampled_from(TAGS), max_size=3),
        times=st.fixed_dictionaries(dict.fromkeys(collection.times, moment)),
        fields=st.fixed_dictionaries(
            {name: st.sampled_from((None, True, *TEXTS, *NUMBERS)) for name in collection.fields}
        ),
        collection=st.just(collection.name),
    )


def stores(
    storages: Sequence[TagStorage] = (CommaText("tags"), JSONArray("tags")),
    encodings: Sequence[Callable[[str], TimeEncoding]] = (
        EpochSeconds,
        EpochMillis,
        EpochMicros,
        ISOText,
    ),
) -> st.SearchStrategy[Store]:
    """
    Stores of one collection, with tags and times held in one of the given ways.
    """
    return st.builds(
        lambda storage, encoding: Store(
            name="drawn",
            collections=[
                Collection(
                    table="memories",
                    key="id",
                    hash="hash",
                    tags=storage,
                    times={"created_at": encoding("created_at")},
                    fields={"project": "project"},
                )
            ],
        ),
        st.sampled_from(storages),
        st.sampled_from(encodings),
    )


# --- what a column may hold -----------------------------------------------------------------


def stored_tags(storage: TagStorage, *, loose: bool = True) -> st.SearchStrategy[object]:
    """
    What a column or row of *storage* may hold: tags, no tags, and what is no list of tags.

    *loose* adds values of other storage classes, for an engine that lets them in. Of a join
    table, the list of the tags in its rows.
    """
    match storage:
        case CommaText(_, separator):
            return _comma(separator) | st.sampled_from(odd_tags(storage, loose=loose))
        case JSONArray():
            return _json() | st.sampled_from(odd_tags(storage, loose=loose))
        case NativeArray():
            element = st.sampled_from((None, "", " a", *TAGS))
            return (
                st.none()
                | st.lists(element, max_size=4)
                | st.lists(st.sampled_from(TAGS), max_size=3)
            )
        case JoinTable():
            other = (None, b"a", 1) if loose else (None,)
            rows = st.lists(st.sampled_from((*other, "", *TAGS)), max_size=3)
            return rows | st.lists(st.sampled_from(TAGS), max_size=3)


def _comma(separator: str) -> st.SearchStrategy[object]:
    blank = st.sampled_from(("", "", "", " ", "\t ", "\r\n", "\v\f"))
    piece = st.tuples(blank, st.sampled_from(("", *TAGS)), blank).map("".join)

    return st.lists(piece, max_size=4).map(separator.join)


def _json() -> st.SearchStrategy[object]:
    tags = st.lists(st.sampled_from(("", " a ", *TAGS)), max_size=4)

    return tags.map(json_text).map(_escaped) | tags.map(json_text)


def _escaped(text: str) -> str:
    # As writers do that keep to ASCII: by UTF-16, so that some letters are two escapes.
    units = text.encode("utf-16-be").hex()
    codes = [units[at : at + 4] for at in range(0, len(units), 4)]

    return "".join(chr(int(code, 16)) if code < "0080" else f"\\u{code}" for code in codes)


def stored_texts(*, loose: bool = True) -> st.SearchStrategy[object]:
    """
    What a text column may hold.
    """
    return st.sampled_from((*odd_texts(loose=loose), *TEXTS))


def stored_times(encoding: TimeEncoding, *, loose: bool = True) -> st.SearchStrategy[object]:
    """
    What a column of *encoding* may hold: instants at all edges, and what is no instant.
    """
    written: st.SearchStrategy[object]
    near: st.SearchStrategy[Any] = st.builds(
        lambda at, step: from_micros(to_micros(at) + step),
        st.sampled_from(_OFTEN),
        st.sampled_from((0, 0, 0, -1, 1, 1_000, -1_000_000)),
    ).filter(lambda at: at is not UNKNOWN)
    match encoding:
        case ISOText():
            written = st.builds(_iso, near, *map(st.sampled_from, _ISO_PARTS))
        case Native():
            written = near
        case EpochSeconds() | EpochMillis() | EpochMicros():
            written = near.map(encoding.encode)

    return written | st.sampled_from(odd_times(encoding, loose=loose))


_ISO_PARTS: Final = (
    ("day", "minute", "second", "fraction", "nanos", "millis"),
    ("T", "T", " "),
    ("", "Z", "+00:00", "-00", "+0530", "-23:59", "+14:00", " Z", " +01:00", " "),
)


def _iso(at: datetime, grain: str, between: str, offset: str) -> str:
    digits = offset.strip().lstrip("+-").replace(":", "").replace("Z", "")
    shift = timedelta(hours=int(digits[:2] or 0), minutes=int(digits[2:] or 0))
    zone = timezone(-shift if offset.strip().startswith("-") else shift)
    try:
        local = at.astimezone(zone)
    except OverflowError:
        local, offset = at.astimezone(UTC), "Z"
    if grain == "day":
        return local.date().isoformat()
    length = {"minute": 16, "second": 19, "millis": 23, "fraction": 26, "nanos": 26}[grain]
    text = local.replace(tzinfo=None).isoformat(between, "microseconds")[:length]

    return f"{text}{'789' if grain == 'nanos' else ''}{offset}"
