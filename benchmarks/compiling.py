"""
What it costs to make SQL of a filter, against SQLAlchemy Core making the same DELETE.

Four leaves (tags, time, field, not a hash) over one table, in processor time of this thread,
median of many, both sides in turns. Three cases: a shape that was seen and is only bound; a new
combination of leaves that were seen; the first filter that a store ever sees. Exits with 1 where
a bound is broken. Needs SQLAlchemy; run it again with `sqlglotc` to see what that gives.
"""

from __future__ import annotations

import argparse
import itertools
import json
import operator
import statistics
import sys

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from time import thread_time_ns
from typing import Any

import sqlalchemy as sa
import sqlglot.parser

from memdelete import (
    Before,
    Collection,
    Filter,
    Hash,
    Store,
    Tags,
    compile_filter,
    field,
    tags,
    times,
)


SEEN_AT_LEAST = 10
NEW_AT_MOST = 3
BLOCK = 20
DIALECTS = ("sqlite", "postgres", "duckdb")
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


def main() -> int:
    """
    Measure, print, and judge.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    said = parser.parse_args()
    rival = _rival()
    rows = [_measured(dialect, rival) for dialect in DIALECTS]
    if said.json:
        print(json.dumps({"sqlglotc": _compiled(), "dialects": rows}))
    else:
        _print(rows)
    broken = [
        row["dialect"]
        for row in rows
        if row["rival_seen"] / row["seen"] < SEEN_AT_LEAST
        or row["combined"] / row["rival_new"] > NEW_AT_MOST
    ]

    return 1 if broken else 0


def store() -> Store:
    """
    A store that no filter was compiled for.
    """
    return Store(
        name="notes",
        collections=[
            Collection(
                table="notes",
                key="id",
                hash="sha",
                tags=tags.JSONArray("labels"),
                times={"created_at": times.EpochSeconds("created")},
                fields={"project": "project"},
            )
        ],
    )


def leaves(number: int) -> list[Filter]:
    """
    Four leaves of one shape each, with values of their own.
    """
    return [
        Tags(any=[f"a{number}", "b"]),
        Before(NEW_YEAR),
        field("project").eq(f"p{number}"),
        ~Hash(f"h{number}"),
    ]


def combinations() -> Iterator[Filter]:
    """
    The four leaves in every order and nesting: each a shape of its own.
    """
    for a, b, c, d in itertools.permutations(leaves(0)):
        for one, two, three in itertools.product((operator.and_, operator.or_), repeat=3):
            yield three(one(a, b), two(c, d))
            yield three(two(one(a, b), c), d)


def _measured(dialect: str, rival: Mapping[str, Callable[[int], Any]]) -> dict[str, Any]:
    known = store()
    filters = [_all(leaves(number)) for number in range(2000)]
    compile_filter(filters[0], known, dialect=dialect)
    seen, theirs = _in_turns(
        lambda number: compile_filter(filters[number], known, dialect=dialect),
        rival["seen"],
        len(filters),
    )
    several = list(combinations())
    combined, cold = _in_turns(
        lambda number: compile_filter(several[number], known, dialect=dialect),
        rival["new"],
        len(several),
    )
    fresh = [store() for _ in range(100)]
    first, _ = _in_turns(
        lambda number: compile_filter(filters[number], fresh[number], dialect=dialect),
        rival["new"],
        len(fresh),
    )

    return {
        "dialect": dialect,
        "seen": seen,
        "rival_seen": theirs,
        "combined": combined,
        "first": first,
        "rival_new": cold,
    }


def _all(parts: list[Filter]) -> Filter:
    found = parts[0]
    for part in parts[1:]:
        found &= part

    return found


def _in_turns(
    ours: Callable[[int], object], theirs: Callable[[int], object], times: int
) -> tuple[float, float]:
    # In turns, so that a busy moment of the machine hits both; some at a time, since a clock that
    # is asked for each would be measured too.
    blocks = [range(start, start + BLOCK) for start in range(0, times - BLOCK + 1, BLOCK)]
    pairs = [(_microseconds(ours, block), _microseconds(theirs, block)) for block in blocks]
    one, other = zip(*pairs, strict=True)

    return statistics.median(one), statistics.median(other)


def _microseconds(work: Callable[[int], object], numbers: range) -> float:
    start = thread_time_ns()
    for number in numbers:
        work(number)

    return (thread_time_ns() - start) / 1000 / len(numbers)


def _rival() -> Mapping[str, Callable[[int], Any]]:
    notes = sa.Table(
        "notes",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("sha", sa.Text),
        sa.Column("labels", sa.Text),
        sa.Column("created", sa.Float),
        sa.Column("project", sa.Text),
    )
    dialect = sa.create_engine("sqlite://").dialect
    cache: dict[Any, Any] = {}

    def build(number: int) -> Any:
        label = sa.func.json_each(notes.c.labels).table_valued("value")
        tagged = sa.select(1).select_from(label).where(label.c.value.in_([f"a{number}", "b"]))
        return sa.delete(notes).where(
            sa.and_(
                sa.exists(tagged),
                notes.c.created < NEW_YEAR.timestamp(),
                notes.c.project == f"p{number}",
                sa.not_(notes.c.sha.in_([f"h{number}"])),
            )
        )

    def seen(number: int) -> Any:
        # What an engine does with each statement: build it, find its compiled form, bind.
        compiled, extracted, *_ = build(number)._compile_w_cache(  # noqa: SLF001 - its only door
            dialect, compiled_cache=cache, column_keys=[]
        )
        return compiled.construct_params(extracted_parameters=extracted)

    return {"seen": seen, "new": lambda number: build(number).compile(dialect=dialect)}


def _compiled() -> bool:
    return not str(sqlglot.parser.__file__).endswith(".py")


def _print(rows: list[dict[str, Any]]) -> None:
    with_c = "with" if _compiled() else "without"
    print(f"µs per filter of four leaves, medians, {with_c} sqlglotc")
    print(f"{'':<10}{'seen':>8}{'SQLAlchemy':>12}{'ratio':>8}  ", end="")
    print(f"{'combined':>10}{'first':>8}{'SQLAlchemy':>12}{'ratio':>8}")
    for row in rows:
        print(
            f"{row['dialect']:<10}{row['seen']:>8.1f}{row['rival_seen']:>12.1f}"
            f"{row['rival_seen'] / row['seen']:>7.0f}×  {row['combined']:>10.0f}{row['first']:>8.0f}"
            f"{row['rival_new']:>12.0f}{row['combined'] / row['rival_new']:>7.1f}×"
        )


if __name__ == "__main__":
    sys.exit(main())
