"""
The dict form of filters: for tools, command lines, receipts and policies.

Strict both ways: what is written is read back to an equal filter, and an unknown or repeated key
is an error, since dropping a condition widens. JSON lives here and in the doors, nowhere else.
"""

from __future__ import annotations

import json

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from . import instants
from .errors import FilterError, shown
from .filters import (
    MAX_DEPTH,
    After,
    And,
    Before,
    Between,
    Compare,
    Everything,
    Filter,
    Hash,
    Key,
    NewerThan,
    Not,
    OlderThan,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
)


__all__ = [
    "Redactor",
    "from_dict",
    "from_json",
    "json_text",
    "parse_json",
    "read_array",
    "to_dict",
    "write_json",
]

Redactor: TypeAlias = Callable[[Compare], object | None]
"""Asked for each field comparison: what to write instead of its value, or None to write it."""

_MOMENTS = {"before": Before, "after": After, "since": Since, "until": Until}
_AGES = {"older_than": OlderThan, "newer_than": NewerThan}
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)
_COMPARISON = frozenset({"field", "op", "value", "ignore_case"})


def to_dict(filter: Filter, redact: Redactor | None = None) -> dict[str, object]:
    """
    Write *filter* as plain JSON values.

    With *redact*, values that may be content are replaced: such a form is for remembering, and
    does not read back.
    """
    match filter:
        case And(parts):
            return {"and": [to_dict(part, redact) for part in parts]}
        case Or(parts):
            return {"or": [to_dict(part, redact) for part in parts]}
        case Not(part):
            return {"not": to_dict(part, redact)}
        case Compare():
            return _comparison(filter, redact)
        case _:
            return _leaf(filter)


def from_dict(data: object) -> Filter:
    """
    Read the dict form. Several keys in one object AND together.
    """
    return _read(data, 0)


def from_json(text: str) -> Filter:
    """
    Read the dict form from JSON text; a key given twice is an error, not the last one wins.
    """
    return from_dict(parse_json(text))


def parse_json(text: str) -> object:
    """
    Strict JSON: no repeated keys, no NaN or Infinity.
    """
    if not isinstance(text, str):
        raise FilterError(
            f"{shown(text)} is no JSON text", value=text, place="JSON", advice="give a str"
        )
    try:
        return json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    except FilterError:
        raise
    except (ValueError, RecursionError) as error:
        raise FilterError(
            f"{shown(text)} is not JSON: {error}",
            value=text,
            place="JSON",
            advice='say {"tags": {...}} …, nested as deep as a filter may be',
        ) from error


def write_json(data: object) -> str:
    """
    *data* as JSON text, with its keys in order so that equal data is equal text.
    """
    return json.dumps(data, ensure_ascii=False, sort_keys=True)


def read_array(text: object) -> list[object]:
    """
    The items of a JSON array in a column; whatever else the column holds has none.
    """
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return []

    return found if isinstance(found, list) else []


def json_text(value: object) -> str:
    """
    Plain values as JSON text: for engines that take a list as one parameter.
    """
    return _ENCODER.encode(value)


# --- writing --------------------------------------------------------------------------------


def _leaf(leaf: Filter) -> dict[str, object]:
    match leaf:
        case Hash(values):
            return {"hash": list(values)}
        case Key(values, None):
            return {"key": _plain_keys(values)}
        case Key(values, collection):
            return {"key": {"collection": collection, "values": _plain_keys(values)}}
        case Tags(some, every, none, ignore_case):
            given: dict[str, object] = {
                word: list(tags)
                for word, tags in (("any", some), ("all", every), ("none", none))
                if tags
            }
            return {"tags": given | ({"ignore_case": True} if ignore_case else {})}
        case Untagged():
            return {"untagged": True}
        case Before(at, on) | After(at, on) | Since(at, on) | Until(at, on):
            return {_word(leaf): _on("at", instants.moment_text(at), on)}
        case Between(start, end, on):
            pair = [instants.moment_text(start), instants.moment_text(end)]
            return {"between": _on("at", pair, on)}
        case OlderThan(age, on) | NewerThan(age, on):
            return {_word(leaf): _on("age", str(age), on)}
        case Everything():
            return {"everything": True}
        case _:
            raise FilterError(
                f"{shown(leaf)} is no filter",
                value=leaf,
                place="filter",
                advice="only what this library builds is written",
            )


def _comparison(leaf: Compare, redact: Redactor | None) -> dict[str, object]:
    written: dict[str, object] = {"field": leaf.name, "op": leaf.op}
    secret = redact(leaf) if redact is not None and leaf.values else None
    if secret is not None:
        written["value"] = secret
    elif leaf.op == "isin":
        written["value"] = list(leaf.values)
    elif leaf.op != "missing":
        written["value"] = leaf.value

    return written | ({"ignore_case": True} if leaf.ignore_case else {})


def _word(leaf: Filter) -> str:
    kinds: dict[str, type[Filter]] = {**_MOMENTS, **_AGES}

    return next(word for word, kind in kinds.items() if type(leaf) is kind)


def _on(word: str, value: object, on: str) -> object:
    return value if on == "created_at" else {word: value, "on": on}


def _plain_keys(values: tuple[object, ...]) -> list[object]:
    return [list(value) if isinstance(value, tuple) else value for value in values]


# --- reading --------------------------------------------------------------------------------


def _read(data: object, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise FilterError(
            f"objects nest deeper than {MAX_DEPTH}",
            value=depth,
            advice="flatten it: and, or take any number of parts",
        )
    if not isinstance(data, Mapping):
        raise FilterError(f"{shown(data)} is no object", value=data, advice='say {"tags": {...}} …')
    if not data:
        raise FilterError(
            "an empty object is not everything", value=data, advice='say {"everything": true}'
        )
    parts: list[Filter] = []
    if _COMPARISON & data.keys():
        parts.append(_read_comparison({k: data[k] for k in data if k in _COMPARISON}))
    for word, value in data.items():
        if word in _COMPARISON:
            continue
        if isinstance(word, str) and word in _CONNECTIVES:
            parts.append(_read_connective(word, value, depth))
        elif isinstance(word, str) and word in _READERS:
            parts.append(_READERS[word](value))
        else:
            raise FilterError(
                f"unknown key {shown(word)}",
                value=word,
                advice=f"known: {', '.join(sorted([*_CONNECTIVES, *_READERS, 'field']))}",
            )

    return parts[0] if len(parts) == 1 else And(*parts)


def _read_connective(word: str, value: object, depth: int) -> Filter:
    if word == "not":
        return Not(_within("not", value, depth))
    parts = _read_list(value, word)
    build = And if word == "and" else Or

    return build(*[_within(f"{word}[{n}]", part, depth) for n, part in enumerate(parts)])


def _within(place: str, data: object, depth: int) -> Filter:
    try:
        return _read(data, depth + 1)
    except FilterError as error:
        raise error.within(place) from None


def _read_list(value: object, place: str) -> list[Any]:
    # Any, because each filter checks what it is given.
    if not isinstance(value, list | tuple):
        raise FilterError(
            f"{shown(value)} stands where a list belongs",
            value=value,
            place=place,
            advice="say [...]",
        )

    return list(value)


def _object(value: object, place: str, keys: Iterable[str]) -> Mapping[str, Any]:
    known = sorted(keys)
    if not isinstance(value, Mapping):
        raise FilterError(
            f"{shown(value)} is no object",
            value=value,
            place=place,
            advice=f"say an object of {', '.join(known)}",
        )
    for key in value:
        if key not in known:
            raise FilterError(
                f"unknown key {shown(key)}",
                value=key,
                place=place,
                advice=f"known: {', '.join(known)}",
            )

    return value


def _read_hash(value: object) -> Filter:
    return Hash(*_read_list(value, "hash"))


def _read_key(value: object) -> Filter:
    collection: Any = None
    if isinstance(value, Mapping):
        given = _object(value, "key", ("collection", "values"))
        if given.keys() != {"collection", "values"}:
            raise FilterError(
                f"{shown(value)} lacks collection or values",
                value=value,
                place="key",
                advice='say {"collection": name, "values": [...]}',
            )
        collection, value = given["collection"], given["values"]
        if collection is None:
            raise FilterError(
                "null is no collection",
                place="key.collection",
                advice='leave it out: {"key": [...]}',
            )
    values = [tuple(v) if isinstance(v, list) else v for v in _read_list(value, "key")]

    return Key(*values, collection=collection)


def _read_tags(value: object) -> Filter:
    given = _object(value, "tags", ("any", "all", "none", "ignore_case"))
    lists = {
        word: _read_list(given[word], f"tags.{word}")
        for word in ("any", "all", "none")
        if word in given
    }

    return Tags(**lists, ignore_case=given.get("ignore_case", False))


def _read_time(word: str, within: str, build: Callable[..., Filter]) -> Callable[[object], Filter]:
    def read(value: object) -> Filter:
        if not isinstance(value, Mapping):
            return build(value)
        given = _object(value, word, (within, "on"))
        if within not in given:
            raise FilterError(
                f"{shown(value)} lacks {within!r}",
                value=value,
                place=word,
                advice=f'say {{"{within}": …, "on": name}}',
            )
        rest = {"on": given["on"]} if "on" in given else {}
        return build(given[within], **rest)

    return read


def _between(value: object, **on: Any) -> Filter:
    pair = _read_list(value, "between")
    if len(pair) != 2:
        raise FilterError(
            f"{shown(value)} is no pair", value=value, place="between", advice="say [start, end]"
        )

    return Between(*pair, **on)


def _only_true(word: str, build: Callable[[], Filter]) -> Callable[[object], Filter]:
    def read(value: object) -> Filter:
        if value is not True:
            raise FilterError(
                f"{shown(value)} does not say it", value=value, place=word, advice="only true does"
            )
        return build()

    return read


def _read_comparison(given: dict[str, Any]) -> Filter:
    if "field" not in given or "op" not in given:
        raise FilterError(
            f"{', '.join(sorted(given))} alone is no comparison",
            value=given,
            place="field",
            advice='say {"field": name, "op": "eq", "value": value}',
        )
    name, op = given["field"], given["op"]
    values: list[Any] = []
    if "value" in given:
        value = given["value"]
        values = _read_list(value, f"field {shown(name)}") if op == "isin" else [value]

    return Compare(name, op, values, ignore_case=given.get("ignore_case", False))


_CONNECTIVES = frozenset({"and", "or", "not"})
_READERS: dict[str, Callable[[object], Filter]] = {
    "hash": _read_hash,
    "key": _read_key,
    "tags": _read_tags,
    "untagged": _only_true("untagged", Untagged),
    "everything": _only_true("everything", Everything),
    "between": _read_time("between", "at", _between),
    **{word: _read_time(word, "at", build) for word, build in _MOMENTS.items()},
    **{word: _read_time(word, "age", build) for word, build in _AGES.items()},
}


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise FilterError(
                f"the key {shown(key)} is given twice",
                value=key,
                place="JSON",
                advice="give it once",
            )
        found[key] = value

    return found


def _no_constant(name: str) -> object:
    raise FilterError(
        f"{name} is no JSON number", value=name, place="JSON", advice="give a finite number"
    )
