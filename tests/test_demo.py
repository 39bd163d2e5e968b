"""
The demo: it tells the truth, and says so when it does not hold.
"""

from __future__ import annotations

import itertools
import sqlite3

from contextlib import closing

import pytest

from memdelete import cli, demo
from memdelete.errors import Refused
from memdelete.testing.wholeness import dump
from tests.conftest import require


@pytest.fixture
def told():
    """
    The lines of the story.
    """
    return []


def plain(path):
    """
    What the store holds; its vectors need vec0 and are left out.
    """
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: rows
            for name, rows in dump(
                lambda sql: connection.execute(sql).fetchall(), aside=["demo_vectors"]
            ).items()
            if not name.startswith("demo_vectors")
        }


def test_all_proofs_hold(told):
    """
    The demo proves what it claims, with vectors where they can be had.
    """
    require("sqlite_vec")

    assert demo.play(None, told.append)
    assert any("rows in demo_vectors" in line for line in told)
    assert any("no vector of theirs is found" in line for line in told)
    assert not any("FAILED" in line for line in told)


def test_without_vectors(told, monkeypatch):
    """
    With the core alone it plays without vectors, and says what brings them.
    """
    monkeypatch.setattr(demo, "vec_path", lambda: None)

    assert demo.play(None, told.append)
    assert any("pip install 'memdelete[vec]'" in line for line in told)
    assert not any("vector of theirs" in line for line in told)


@pytest.mark.parametrize("helper", ["_differing", "_same", "_search"])
def test_a_failing_proof_is_told(told, monkeypatch, capsys, helper):
    """
    A claim that does not hold is printed as such, and the command fails.
    """
    wrong = {
        "_differing": lambda *_: ["demo_notes"],
        "_same": lambda *_: False,
        "_search": lambda _: range(demo.NOTES + 1),
    }
    monkeypatch.setattr(demo, helper, wrong[helper])

    assert 1 == cli.main(["demo"])
    assert "proofs FAILED." in capsys.readouterr().out


def test_an_undo_that_did_nothing_is_told(told, monkeypatch):
    """
    Digests that are equal because nothing was ever gone prove nothing.
    """
    monkeypatch.setattr(demo, "_differing", lambda *_: [])

    assert not demo.play(None, told.append)


def test_numbers_are_measured(told, monkeypatch):
    """
    With other memories it tells other numbers, and still holds.
    """
    monkeypatch.setattr(demo, "_SEED", 7)
    other = []
    demo.play(None, other.append)
    monkeypatch.undo()
    demo.play(None, told.append)

    assert "All 18 proofs hold." == other[-1] == told[-1]
    assert next(line for line in other if "would go" in line) != next(
        line for line in told if "would go" in line
    )


def test_the_same_each_time(tmp_path):
    """
    The store is made anew and equal each time: whoever reports a number can be answered.
    """
    counts = [demo.make(tmp_path / name) for name in ("one.db", "two.db")]

    assert counts[0] == counts[1]
    assert demo.NOTES == counts[0]["demo_notes"]
    assert plain(tmp_path / "one.db") == plain(tmp_path / "two.db")


def test_keep(tmp_path, capsys):
    """
    With --keep the store stays, for trying the command line on it.
    """
    path = tmp_path / "memory.db"

    assert 0 == cli.main(["demo", "--keep", str(path)])
    assert 0 == cli.main(["history", str(path), "--quiet"])
    assert 4 == len(
        list(
            itertools.dropwhile(lambda line: len(line) != 32, capsys.readouterr().out.splitlines())
        )
    )


@pytest.mark.parametrize("place", ["taken.db", "nowhere/memory.db"])
def test_keep_takes_nothing_away(tmp_path, place, capsys):
    """
    A path where something is already, or where nothing can be, is refused and left as it was.
    """
    (tmp_path / "taken.db").write_text("mine", encoding="utf-8")

    with pytest.raises(Refused):
        demo.make(tmp_path / place)
    assert 1 == cli.main(["demo", "--keep", str(tmp_path / place)])
    assert "memdelete: " == capsys.readouterr().err[:11]
    assert "mine" == (tmp_path / "taken.db").read_text(encoding="utf-8")
