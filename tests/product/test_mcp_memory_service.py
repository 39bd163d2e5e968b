"""
The real mcp-memory-service 12.4 reads what memdelete did, after each step.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

from pathlib import Path

import pytest

import memdelete.opening

from memdelete.filters import Hash, Tags, field
from memdelete.receipts import Mode


pytestmark = pytest.mark.product

ASK = Path(__file__).with_name("ask.py")


def ask(path: Path, **wish: object) -> dict:
    """
    What the service says, from a process of its own.
    """
    done = subprocess.run(
        [sys.executable, str(ASK), str(path), json.dumps(wish)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert 0 == done.returncode, done.stderr

    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(params=["written now", "the sample"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """
    A store that the service writes itself, and the sample it wrote once.
    """
    path = tmp_path / "memory.db"
    if request.param == "the sample":
        shared = request.getfixturevalue("shared_dir")
        shutil.copy(shared / "stores" / "mcp-memory-service-12.4.db", path)
    else:
        ask(path, write=30)

    return path


def contents(path: Path, hashes: tuple[str, ...]) -> list[str]:
    """
    The texts of some memories, to search for.
    """
    with memdelete.opening.open(path) as memories:
        shown = memories.backend.session
        with shown(write=False) as session:
            from memdelete.sql.render import Statement

            rows = session.execute(
                Statement("SELECT content, content_hash FROM main.memories ORDER BY id")
            ).rows

    return [str(text) for text, hash_ in rows if hash_ in hashes]


@pytest.mark.parametrize("mode", ["soft", "archive", "hard"])
def test_search_list_and_health_agree(path: Path, mode: Mode) -> None:
    """
    After a delete the service lists and finds exactly what is left and is healthy; after the undo
    it answers as before; and what went can be stored again as after its own delete.
    """
    what = Tags(any=["draft"])
    with memdelete.opening.open(path) as memories:
        shown = memories.preview(what, mode=mode)
    texts = contents(path, shown.hashes[:3])
    before = ask(path, find=texts)
    assert set(shown.hashes) == set(before["tagged"])
    assert [[True, True, True]] * len(texts) == list(before["found"].values())

    with memdelete.opening.open(path) as memories:
        receipt = memories.delete(what, mode=mode)
    after = ask(path, find=texts)
    assert before["count"] - receipt.removed == after["count"]
    assert sorted(set(before["listed"]) - set(receipt.hashes)) == after["listed"]
    assert [] == after["tagged"]
    assert [[False, False, False]] * len(texts) == list(after["found"].values())
    assert "healthy" == after["health"][1]["status"]

    if mode != "hard":
        with memdelete.opening.open(path) as memories:
            back = memories.restore(receipt)
        assert receipt.removed == back.restored
        assert () == back.refused
        assert before == ask(path, find=texts)
        with memdelete.opening.open(path) as memories:
            memories.delete(Hash(*receipt.hashes), mode=mode)

    again = ask(path, again=texts[0], find=texts[:1])
    assert again["again"][0], again["again"][1]
    assert [[True, True, True]] == list(again["found"].values())
    assert after["count"] + 1 == again["count"]
    assert "healthy" == again["health"][1]["status"]


def test_the_service_s_own_delete_first(path: Path) -> None:
    """
    A content stored again over our tombstone keeps an undo from making a double.
    """
    with memdelete.opening.open(path) as memories:
        receipt = memories.delete(field("memory_type").eq("note"), mode="soft")
    text = contents(path, receipt.hashes)[0]
    ask(path, again=text)
    with memdelete.opening.open(path) as memories:
        back = memories.restore(receipt)

    assert ["unique_taken"] == [told.reason for told in back.refused]
    assert receipt.removed - 1 == back.restored
    assert "healthy" == ask(path)["health"][1]["status"]
