"""
What a glob means here, once for every engine: `*`, `?` and classes in brackets.

A pattern is read into tokens; the oracle and each dialect write the tokens their own way, so
that no engine's private reading of a pattern can widen it. Filters and compilers visit.
"""

from __future__ import annotations

import enum
import re

from typing import Final, Literal, TypeAlias

from attrs import frozen

from .errors import FilterError, shown


__all__ = ["ANY", "ONE", "CharacterClass", "Token", "Wildcard", "matches", "read", "to_regex"]


@frozen
class CharacterClass:
    """
    One character that lies in (or, *negated*, outside of) the ranges.
    """

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False


class Wildcard(enum.Enum):
    """
    The type of `ANY` and `ONE`.
    """

    ANY = "*"
    ONE = "?"


ANY: Final[Literal[Wildcard.ANY]] = Wildcard.ANY
"""Any run of characters, also none."""
ONE: Final[Literal[Wildcard.ONE]] = Wildcard.ONE
"""Exactly one character."""

Token: TypeAlias = str | CharacterClass | Wildcard


def read(pattern: str, place: str) -> tuple[Token, ...]:
    """
    The tokens of *pattern*; a bracket that never closes or holds nothing is a `FilterError`.

    Inside brackets `^` or `!` first negates, `a-z` is a range, `]` first is a letter. There is
    no escape: `[*]` is the letter `*`.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == "*":
            tokens.append(ANY)
        elif sign == "?":
            tokens.append(ONE)
        elif sign == "[":
            found, at = _read_class(pattern, at, place)
            tokens.append(found)
        else:
            tokens.append(sign)

    return tuple(tokens)


def matches(tokens: tuple[Token, ...], text: str) -> bool:
    """
    Whether *text* as a whole is what the tokens say; in at most tokens × letters steps.

    A regular expression with many `.*` would try every way to split the text between them.
    """
    at = token = 0
    star, begun = -1, 0  # the last `*`, and where the text after its run begins
    while at < len(text):
        if token < len(tokens) and tokens[token] is ANY:
            star, begun = token, at
            token += 1
        elif token < len(tokens) and _is(tokens[token], text[at]):
            at, token = at + 1, token + 1
        elif star >= 0:
            begun += 1
            at, token = begun, star + 1
        else:
            return False

    return all(rest is ANY for rest in tokens[token:])


def to_regex(tokens: tuple[Token, ...]) -> str:
    """
    The tokens as a regular expression for Python, RE2 and POSIX AREs alike, without anchors.
    """
    return "".join(_regex(token) for token in tokens)


def _read_class(pattern: str, at: int, place: str) -> tuple[CharacterClass, int]:
    negated = pattern[at : at + 1] in {"^", "!"}
    at += negated
    end = pattern.find("]", at + 1)
    if end < 0:
        raise FilterError(
            f"the bracket in {shown(pattern)} never closes",
            value=pattern,
            place=place,
            advice="write [[] for the letter itself",
        )
    body = pattern[at:end]
    ranges: list[tuple[str, str]] = []
    index = 0
    while index < len(body):
        low = high = body[index]
        if body[index + 1 : index + 2] == "-" and index + 2 < len(body):
            high = body[index + 2]
            index += 2
        if high < low:
            raise FilterError(
                f"the range {low}-{high} in {shown(pattern)} is reversed",
                value=pattern,
                place=place,
                advice=f"say {high}-{low}",
            )
        ranges.append((low, high))
        index += 1

    return CharacterClass(tuple(ranges), negated), end + 1


def _is(token: Token, letter: str) -> bool:
    match token:
        case str():
            return token == letter
        case CharacterClass(ranges, negated):
            return any(low <= letter <= high for low, high in ranges) is not negated
        case Wildcard():
            return True


def _regex(token: Token) -> str:
    match token:
        case str():
            return _letter(token)
        case CharacterClass(ranges, negated):
            inside = "".join(
                _letter(low) if low == high else f"{_letter(low)}-{_letter(high)}"
                for low, high in ranges
            )
            return f"[{'^' if negated else ''}{inside}]"
        case Wildcard():
            return ".*" if token is ANY else "."


def _letter(sign: str) -> str:
    # Only ASCII punctuation may be escaped: `\d` or a backslash before a letter means more.
    return f"\\{sign}" if re.fullmatch(r"[!-/:-@\[-`{-~]", sign) and sign != "_" else sign
