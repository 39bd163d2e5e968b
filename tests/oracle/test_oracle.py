"""
Every engine against the oracle: random filters on random rows, good and bad.

Rows are written raw and decoded from what the engine gives back, so the only thing on trial is
what the SQL makes of them.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.benches import cases, check


@given(data=st.data())
def test_sqlite(sqlite, data):
    """
    SQLite selects, deletes and leaves exactly the rows that the oracle says.
    """
    check(sqlite, data.draw(cases(sqlite)))


@given(data=st.data())
def test_newest_sqlite(newest, data):
    """
    So does the newest SQLite.
    """
    check(newest, data.draw(cases(newest)))


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
