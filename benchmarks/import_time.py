"""
What `import memdelete` costs a server that imports it and may never delete anything.

Median of 20 fresh processes each: attrs and dateutil alone, and the same plus memdelete. Exits
with 1 if the difference is above the bound, or if sqlglot or any driver came along.
"""

from __future__ import annotations

import statistics
import subprocess
import sys


RUNS = 20
BOUND_MS = 60
LAZY = (
    "aiosqlite",
    "apsw",
    "asyncmy",
    "asyncpg",
    "duckdb",
    "hypothesis",
    "mcp",
    "psycopg",
    "pymysql",
    "pysqlite3",
    "pytest",
    "sqlalchemy",
    "sqlean",
    "sqlglot",
    "sqlite3",
    "sqlite_vec",
)

BEFORE = "import attr, attrs, dateutil.parser, dateutil.relativedelta, dateutil.tz"
AFTER = f"{BEFORE}, memdelete"
TIMED = """
from time import perf_counter
start = perf_counter()
{imports}
print((perf_counter() - start) * 1000)
"""
CAME_ALONG = f"import memdelete, sys; print(*sorted({set(LAZY)!r} & sys.modules.keys()))"


def main() -> int:
    """
    Measure, print, and judge.
    """
    _python(AFTER)  # writes the byte code
    # In turns, so that a busy moment of the machine hits both.
    pairs = [(_milliseconds(BEFORE), _milliseconds(AFTER)) for _ in range(RUNS)]
    before, after = (statistics.median(column) for column in zip(*pairs, strict=True))
    came_along = _python(CAME_ALONG).split()

    print(f"attrs and dateutil     {before:6.1f} ms")
    print(f"the same and memdelete {after:6.1f} ms")
    print(f"memdelete itself       {after - before:6.1f} ms (at most {BOUND_MS})")
    print(f"came along uninvited   {', '.join(came_along) or 'nothing'}")

    return int(after - before > BOUND_MS or bool(came_along))


def _milliseconds(imports: str) -> float:
    return float(_python(TIMED.format(imports=imports)))


def _python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
