"""
Values that trip readers: hostile tags and texts, edges of time, and what columns should not hold.

Plain data, for strategies to draw from and for tests that want every one of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from memdelete.tags import CommaText, JSONArray, TagStorage
from memdelete.times import EpochMicros, EpochMillis, EpochSeconds, ISOText, TimeEncoding


__all__ = [
    "GLOBS",
    "HASHES",
    "INSTANTS",
    "INTEGERS",
    "NUMBERS",
    "REALS",
    "TAGS",
    "TEXTS",
    "odd_tags",
    "odd_texts",
    "odd_times",
]

TAGS: Final = (
    "a",
    "b",
    "A",
    "aa",
    "test",
    "testing",
    "Test",
    "te_t",
    "te%t",
    "te*t",
    "[x]",
    "it's",
    'say "hi"',
    "back\\slash",
    "\\u0061",
    "machine learning",
    "日本語",
    "é",
    "e\u0301",
    "É",
    "\u202eabc",
    "😀",
    "x') OR 1=1 --",
    ";",
    "a|b",
    "null",
    "1",
    "line\nbreak",
    "tab\tbed",
    "{a}",
    "%s",
    ":p0",
    "\ufffd",
)
"""Whole tags, some of them parts, foldings or look-alikes of others."""

TEXTS: Final = (
    "a",
    "A",
    "ab",
    "aB",
    "abc",
    "b",
    "é",
    "É",
    "e\u0301",
    "z",
    "50% off",
    "505 off",
    "50_ off",
    "a*c",
    "a?c",
    "[a-c]",
    "]",
    "^",
    "-",
    "a-b",
    "a]b",
    "it's",
    'say "hi"',
    "back\\slash",
    "two\nlines",
    "tail ",
    " head",
    "1x",
    "1",
    "01",
    "1.0",
    "1e5",
    "😀",
    "\u202eabc",
    "日本",
    "!",
    "~",
    "\U0010ffff",
    "\ufffd",
)
"""Values of a text field."""

GLOBS: Final = (
    "*",
    "?",
    "a*",
    "*c",
    "*b*",
    "a?c",
    "[ab]*",
    "[!a]*",
    "[^a]",
    "[]]",
    "[]^-]*",
    "[^]]",
    "[-a]*",
    "[a-]",
    "[]-a]",
    "[X-^]*",
    "[^^]",
    "[+-9]*",
    "[*]",
    "a[*]c",
    "[[]a-c]",
    "50[%_]*",
    "*\n*",
    "*\\*",
    "[a-é]",
    "[!-~]",
    "[😀]",
    "*.*",
    "a{1}",
    "(a|b)",
    "[A-C]*",
)

HASHES: Final = ("abc", "ABC", "abc ", "1", "1x", "0", "h%", "h_", "日本", "it's")
"""Content hashes, some equal under one collation or another."""

INSTANTS: Final = tuple(
    datetime.fromisoformat(text)
    for text in (
        "0001-01-01T00:00:00+00:00",
        "0001-01-01T00:00:00.000001+00:00",
        "1000-06-15T12:00:00+00:00",
        "1900-02-28T23:59:59.999999+00:00",
        "1969-12-31T23:59:59.999999+00:00",
        "1970-01-01T00:00:00+00:00",
        "1999-12-31T23:59:59+00:00",
        "2000-02-29T12:34:56.789012+00:00",
        "2023-12-31T23:59:59.999999+00:00",
        "2024-01-01T00:00:00+00:00",
        "2024-01-01T00:00:00.000001+00:00",
        "2024-01-01T00:00:01+00:00",
        "2024-02-29T00:00:00.5+00:00",
        "2024-06-01T10:00:00+00:00",
        "9999-12-31T23:59:59.999999+00:00",
    )
)
"""Moments beside the edges that readings of times trip over."""

INTEGERS: Final = (0, 1, -1, 2, 5, 7, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
REALS: Final = (0.0, -0.0, 0.1, 0.1 + 0.2, 0.5, 1.0, 2.0, 2.5, -1.0, 1e300, 5e-324, 2.0**53)
NUMBERS: Final = (*INTEGERS, *REALS)
"""Numbers that rounding, overflow or a comparison of classes gets wrong."""


def odd_tags(storage: TagStorage, *, loose: bool = True) -> tuple[object, ...]:
    """
    What a column of *storage* may hold that is no plain list of tags.

    *loose* adds values of other storage classes, for an engine that lets them in.
    """
    match storage:
        case CommaText(_, separator):
            wrong = (b"a,b", 7, 1.5, "a\0b")
            return (None, "", "  ", separator, f" {separator}\t", *(wrong if loose else ()))
        case JSONArray():
            return (*_NO_JSON, *((b'["a"]', 7, 1.5, '["a"]\0') if loose else ()))
        case _:
            return ()


def odd_texts(*, loose: bool = True) -> tuple[object, ...]:
    """
    What a text column may hold beside `TEXTS`.
    """
    return (None, "", *((b"a", 1, 1.5, "a\0b", "\0") if loose else ()))


def odd_times(encoding: TimeEncoding, *, loose: bool = True) -> tuple[object, ...]:
    """
    What a column of *encoding* may hold that is no instant, or hardly one.
    """
    match encoding:
        case ISOText():
            return (*_NO_ISO, *((b"2024-01-01", 7, 1.5, "2024-01-01\0") if loose else ()))
        case EpochSeconds() | EpochMillis() | EpochMicros():
            odd, wrong = _NO_EPOCH[encoding.storage]
            return (None, *odd, *(wrong if loose else ()))
        case _:
            return (None,)


_NO_JSON: Final = (
    None,
    "",
    " ",
    "[",
    "null",
    "{}",
    '{"a": "b"}',
    '"a"',
    "7",
    '["a", 1]',
    '["a", null]',
    '[["a"]]',
    '["a",]',
    "['a']",
    '["a\\u0000b"]',
    '["\\\\u0000"]',
    '["\\ud83d"]',
    '["\\ude00\\ud83d", "a"]',
    '["\\ud83d\\n\\ude00"]',
    '["\\\\ud83d"]',
    '["\\ud83d\\ude00"]',
    '["\\u0061", "\\/"]',
    ' [ "a" , "b" ] ',
    '["a"] x',
    "[NaN]",
    '["a\nb"]',
)
_NO_ISO: Final = (
    None,
    "",
    "yesterday",
    "2024-1-1",
    "2024-02-30",
    "2023-02-29",
    "1900-02-29",
    "2024-04-31T00:00:00Z",
    "2024-13-01",
    "2024-00-10",
    "2024-01-00",
    "0000-12-31T23:00:00-05:00",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:00:00-01:00",
    "2024-01-01T",
    "2024-01-01Z",
    "2024-01-01 ",
    "2024-01-01T24:00",
    "2024-01-01T10:60",
    "2024-01-01T10:00:60",
    "2024-01-01T10:00:",
    "2024-01-01T10:00:00.",
    "2024-01-01T10:00:00.1234567890",
    "2024-01-01T10:00.5",
    "2024-01-01T10:00  Z",
    "2024-01-01T10:00z",
    "2024-01-01t10:00",
    "2024-01-01T10:00+24:00",
    "2024-01-01T10:00+01:",
    "2024-01-01T10:00+1",
    "2024-01-01T10:00:00Z\n",
    "12024-01-01",
    "2024-01-01T10:00:00 UTC",
    "２０２４-01-01",
)
_NO_EPOCH: Final[dict[str, tuple[tuple[object, ...], tuple[object, ...]]]] = {
    "text": (
        (
            *("", "-", ".", "1.", ".5", "+1", "1e3", " 1", "1 ", "--1", "1.1234567", "1.5.5"),
            *("0", "-0", "-0.000001", "0.0000005", "00012", "-1.5", "1.999999", "９"),
            *("9" * 18, "9" * 19, f"{'9' * 18}.999999", "-" + "9" * 18, "1.5x", "1\n"),
        ),
        (1, 1.5, b"1", "1\0"),
    ),
    "integer": ((0, 1, -1, 2**62, -(2**62)), (0.5, 1.5e9, "1", b"1")),
    "real": (
        (
            *(0.0, -0.0, 0.5, -0.5, 1e-9, 1e300),
            *(float("inf"), float("-inf"), 1704067199.9999995),
        ),
        (1704067200, 1704067200000, 2**62, "x", b"1"),
    ),
}
