"""
Half of a plain table deleted, against the SQL that somebody would write for it by hand.

One table with one index and no sidecars, in WAL mode with `synchronous=NORMAL`; half of the rows
match a time. `hard`, with every hash and the digest in the receipt, against `DELETE … RETURNING
hash`, fetched; `archive` against `INSERT … SELECT` and DELETE in one transaction. Both on copies
of one file, in turns; medians of the runs, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sqlite3
import statistics
import sys
import tempfile

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter

from memdelete import Before, Collection, Deleter, Store, times
from memdelete.backends.sqlite import SQLite


BOUNDS = {"hard": 1.10, "archive": 1.15}
STORE = Store(
    name="notes",
    collections=[
        Collection(
            table="notes",
            key="id",
            hash="sha",
            times={"created_at": times.EpochSeconds("created")},
            content=["body"],
        )
    ],
)
SCHEMA = (
    "PRAGMA journal_mode=WAL",
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, sha TEXT NOT NULL UNIQUE, body TEXT, created REAL)",
    "CREATE INDEX notes_created ON notes (created)",
)


def main() -> int:
    """
    Measure, print, and judge the biggest size.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memdelete-benchmark-") as folder:
        found = [_measured(Path(folder), rows, said.runs) for rows in said.rows]
    if said.json:
        print(json.dumps({"sqlite": sqlite3.sqlite_version, "runs": said.runs, "sizes": found}))
    else:
        _print(found, said.runs)

    return int(any(found[-1][mode]["ratio"] > bound for mode, bound in BOUNDS.items()))


def _measured(folder: Path, rows: int, runs: int) -> dict[str, object]:
    made = folder / "made.db"
    _make(made, rows)
    cut = rows / 2
    found: dict[str, object] = {"rows": rows}
    for mode, by_hand in (("hard", _delete), ("archive", _move)):
        pairs = [
            (
                _timed(made, partial(by_hand, cut=cut)),
                _timed(made, partial(_ours, cut=cut, mode=mode)),
            )
            for _ in range(runs)
        ]
        hand, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
        found[mode] = {"by_hand": hand, "memdelete": ours, "ratio": ours / hand}
    made.unlink()

    return found


def _make(path: Path, rows: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany(
            "INSERT INTO notes VALUES (?, ?, ?, ?)",
            (
                (
                    number,
                    hashlib.sha256(b"%d" % number).hexdigest(),
                    f"what was said {number} " * 5,
                    float(number * 7919 % rows),
                )
                for number in range(rows)
            ),
        )
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _timed(made: Path, work: Callable[[sqlite3.Connection], Callable[[], int]]) -> float:
    path = made.with_name("copy.db")
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    shutil.copyfile(made, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=NORMAL")
        (rows,) = connection.execute("SELECT count(*) FROM notes").fetchone()
        done = work(connection)  # what may be prepared beforehand
        start = perf_counter()
        gone = done()
        took = perf_counter() - start
        left = connection.execute("SELECT count(*) FROM notes").fetchone()[0]
        if not gone == rows - left == rows // 2:
            raise RuntimeError(f"{gone} of {rows} rows went, and {left} are left")

    return took


def _ours(connection: sqlite3.Connection, cut: float, mode: str) -> Callable[[], int]:
    memories = Deleter(SQLite(connection), STORE)
    memories.prepare()
    what = Before(datetime.fromtimestamp(cut, UTC))

    def done() -> int:
        receipt = memories.delete(what, mode=mode)  # type: ignore[arg-type]
        return len(set(receipt.hashes))

    return done


def _delete(connection: sqlite3.Connection, cut: float) -> Callable[[], int]:
    def done() -> int:
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(
            "DELETE FROM notes WHERE created < ? RETURNING sha", (cut,)
        ).fetchall()
        connection.execute("COMMIT")
        return len(rows)

    return done


def _move(connection: sqlite3.Connection, cut: float) -> Callable[[], int]:
    connection.execute("CREATE TABLE bin (id INTEGER, sha TEXT, body TEXT, created REAL, at)")

    def done() -> int:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO bin SELECT *, 1 FROM notes WHERE created < ?", (cut,))
        gone = connection.execute("DELETE FROM notes WHERE created < ?", (cut,)).rowcount
        connection.execute("COMMIT")
        return gone

    return done


def _print(found: list[dict[str, object]], runs: int) -> None:
    print(f"seconds, medians of {runs} runs in turns, SQLite {sqlite3.sqlite_version}")
    print(f"{'rows':>10}  {'mode':<8}{'by hand':>9}{'memdelete':>11}{'ratio':>8}{'bound':>8}")
    for size in found:
        for mode, bound in BOUNDS.items():
            took = size[mode]
            print(
                f"{size['rows']:>10,}  {mode:<8}{took['by_hand']:>9.3f}{took['memdelete']:>11.3f}"
                f"{took['ratio']:>7.2f}×{bound:>7.2f}×"
            )


if __name__ == "__main__":
    sys.exit(main())
