"""
The engines that lie on a bench.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import require
from tests.oracle.duckdb_bench import DuckDBBench
from tests.oracle.postgres_bench import PostgresBench
from tests.oracle.sqlite_bench import NewestBench, SQLiteBench


@pytest.fixture(scope="module")
def sqlite() -> Iterator[SQLiteBench]:
    """
    The standard library's SQLite.
    """
    bench = SQLiteBench()
    yield bench
    bench.connection.close()


@pytest.fixture(scope="module")
def newest() -> Iterator[SQLiteBench]:
    """
    The newest SQLite.
    """
    bench = NewestBench()
    yield bench
    bench.connection.close()


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckDBBench]:
    """
    DuckDB in memory.
    """
    bench = DuckDBBench(require("duckdb"))
    yield bench
    bench.connection.close()


@pytest.fixture(scope="module")
def postgresql(postgres: str) -> Iterator[PostgresBench]:
    """
    PostgreSQL, in a schema of its own.
    """
    bench = PostgresBench(require("psycopg"), postgres)
    yield bench
    bench.close()
