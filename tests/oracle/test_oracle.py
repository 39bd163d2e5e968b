"""
Every engine against the oracle: random filters on random rows, good and bad.

Rows are written raw and decoded from what the engine gives back, so the only thing on trial is
what the SQL makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import require
from tests.oracle.benches import cases, check
from tests.oracle.duckdb_bench import DuckDBBench
from tests.oracle.postgres_bench import PostgresBench
from tests.oracle.sqlite_bench import SQLiteBench


@pytest.fixture(scope="module")
def sqlite() -> Iterator[SQLiteBench]:
    """
    The standard library's SQLite.
    """
    bench = SQLiteBench()
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


@given(data=st.data())
def test_sqlite(sqlite, data):
    """
    SQLite selects, deletes and leaves exactly the rows that the oracle says.
    """
    check(sqlite, data.draw(cases(sqlite)))


@given(data=st.data())
def test_postgres(postgresql, data):
    """
    PostgreSQL selects, deletes and leaves exactly the rows that the oracle says.
    """
    check(postgresql, data.draw(cases(postgresql)))


@given(data=st.data())
def test_duckdb(duck, data):
    """
    DuckDB selects, deletes and leaves exactly the rows that the oracle says.
    """
    check(duck, data.draw(cases(duck)))
