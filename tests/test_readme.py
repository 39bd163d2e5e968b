"""
The README and the examples do what they say.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import runpy
import shlex
import shutil
import sqlite3
import sys

import pytest

import memdelete

from memdelete import cli_words, demo
from memdelete.receipts import Reason
from tests.conftest import ROOT, require


README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples"


def blocks(language):
    """
    The fenced blocks in one language.
    """
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """
    A folder with the two stores that the README speaks of.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "vec_path", lambda: None)  # so that sqlite3 itself can write it
    demo.make(tmp_path / "memory.db")
    require("aiosqlite")
    schema = runpy.run_path(str(EXAMPLES / "embed_in_server.py"))["SCHEMA"]
    with contextlib.closing(sqlite3.connect("notes.db")) as connection, connection:
        connection.executescript(schema)
        connection.execute(
            "INSERT INTO notes (sha, body, user_id, created) VALUES ('a', 'b', 'ana', 0)"
        )

    return tmp_path


@pytest.mark.parametrize("number", range(4))
def test_python(desk, number, capsys):
    """
    Each block of Python runs, by itself.
    """
    exec(compile(blocks("python")[number], f"README.md, block {number}", "exec"), {})

    out = capsys.readouterr().out
    assert (number == 2) is (out == "")
    if number < 2:
        assert re.search(
            r"^[1-9]\d* memor(y|ies) (of \d+ would go|removed) \(soft\)$", out, re.MULTILINE
        )


def test_no_block_is_left_out():
    """
    The numbers above are all there are.
    """
    assert 4 == len(blocks("python"))


@pytest.mark.parametrize("line", blocks("console")[0].splitlines())
def test_console(line):
    """
    Each line of the command line is one that it takes.
    """
    prompt, program, *words = shlex.split(line)

    assert ("$", "memdelete") == (prompt, program)
    assert words[1] == cli_words.parse(words).store


@pytest.mark.parametrize(
    ("name", "ending"),
    [("demo-command", "/memdelete demo"), ("tests-command", "/python -m pytest")],
)
def test_commands(name, ending):
    """
    The two commands stand alone on their lines, where CI takes them from.
    """
    [found] = re.findall(
        rf"^<!-- {name} -->\n```sh\n(.*?)\n```\n<!-- /{name} -->$", README, re.DOTALL | re.MULTILINE
    )

    assert "\n" not in found
    assert found.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert found.endswith(ending)


def test_names():
    """
    What it calls by name is there: filters, errors, reasons, sidecars.
    """
    called = set(re.findall(r"`([A-Z]\w+)", README)) - {"JSON"}
    known = set(memdelete.__all__) | set(vars(memdelete.tags)) | set(vars(memdelete.times))

    assert {"AioSQLite"} == called - known
    assert set() == {reason for reason in Reason.__args__ if f"`{reason}`" not in README}


def test_links():
    """
    Every file it points to is there.
    """
    linked = re.findall(r"\]\(([^)#][^)]*)\)", README)

    assert linked
    assert [] == [link for link in linked if not (ROOT / link).exists()]


def test_embedding(capsys):
    """
    The server of the example forgets what is its user's and old, and can take it back.
    """
    require("aiosqlite")
    runpy.run_path(str(EXAMPLES / "embed_in_server.py"), run_name="__main__")
    out = capsys.readouterr().out

    assert "1 memory of 3 would go (soft)" in out
    assert "1 memory restored" in out
    assert "Bo cannot take it back: notes: there is no operation" in out
    assert "durable by itself: False" in out


def test_cleanup(shared_dir, tmp_path, monkeypatch, capsys):
    """
    The cleanup of mcp-memory-service only shows, until it is told to; then nothing is left of it.
    """
    require("sqlite_vec")
    path = shutil.copy(shared_dir / "stores" / "mcp-memory-service-12.4.db", tmp_path / "memory.db")
    spec = importlib.util.spec_from_file_location(
        "cleanup", EXAMPLES / "mcp_memory_service_cleanup.py"
    )
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    told = []
    for really in (False, True, False):
        assert 0 == example.main(str(path), really=really)
        told.append(int(capsys.readouterr().out.split()[0]))

    assert told[0] == told[1] > 0 == told[2]
    monkeypatch.setattr(sys, "argv", ["cleanup"])
    with pytest.raises(SystemExit, match="PATH"):
        runpy.run_path(str(EXAMPLES / "mcp_memory_service_cleanup.py"), run_name="__main__")
