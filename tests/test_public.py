"""
The public face: which names there are, and that importing it costs next to nothing.
"""

from __future__ import annotations

import ast
import subprocess
import sys

from pathlib import Path

import pytest

import memdelete

from memdelete import errors


TREE = ast.parse(Path(memdelete.__file__).read_text(encoding="utf-8"))


def python(code):
    """
    What a fresh process prints.
    """
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()


def test_sorted():
    """
    The names are sorted as Ruff sorts them: constants, classes, the rest; none twice.
    """

    def order(name):
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert sorted(set(memdelete.__all__), key=order) == memdelete.__all__


@pytest.mark.parametrize("name", memdelete.__all__)
def test_each_is_there(name):
    """
    Each name is there and comes from its own room, not from a neighbour's import.
    """
    found = getattr(memdelete, name)
    room = memdelete._HOMES.get(name)

    assert room is None or getattr(found, "__module__", "").endswith(room) or name == "UNKNOWN"


def test_listed():
    """
    `dir` lists what was never asked for, too.
    """
    assert set(memdelete.__all__) <= set(python("import memdelete; print(*dir(memdelete))"))


def test_checkers_are_told_the_same():
    """
    What type checkers read is what is handed out when the program runs.
    """
    [checked] = [node for node in TREE.body if isinstance(node, ast.If) and node.orelse == []][:1]
    told = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module
    }

    assert memdelete._HOMES == told
    assert {*told, "tags", "times", "__version__"} == set(memdelete.__all__)


def test_all_errors():
    """
    Every error that may be raised can be caught by its public name.
    """
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__module__ == errors.__name__
    }

    assert raised == {name for name in memdelete.__all__ if name in raised}


def test_misspelt():
    """
    A name that is not there is an AttributeError which names it.
    """
    with pytest.raises(AttributeError, match="no attribute 'Befor'"):
        memdelete.Befor  # noqa: B018 - asking is the test


def test_light():
    """
    Importing it brings nothing along; filters bring neither sqlglot nor a driver.
    """
    heavy = "{'sqlglot', 'sqlite3', 'apsw', 'aiosqlite', 'duckdb', 'psycopg'} & set(sys.modules)"
    code = "import sys, memdelete; print(len({'attr', 'dateutil'} & set(sys.modules)))"

    assert ["0"] == python(code)
    assert [] == python(f"import sys; from memdelete import Tags, open; print(*{heavy})")


def test_version():
    """
    The version is a text, and the command line says the same.
    """
    said = subprocess.run(
        [sys.executable, "-m", "memdelete", "--version"], check=True, capture_output=True, text=True
    ).stdout

    assert f"memdelete {memdelete.__version__}\n" == said
