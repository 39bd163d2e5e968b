"""
The floors and rooms of the house, and who may enter which.

Each rule is a table or a short function from a module's syntax tree to its offences. Whoever
needs an exception writes it into `EXCEPTIONS` with its reason. `test_sees` plants one offence
for each rule, so that no rule is blind.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "memdelete"

# From the ground up. A module imports from its own floor and from those above it in this list.
FLOORS = (
    {"errors"},
    {"memories", "filters", "globs", "instants", "codec"},
    {"schema", "tags", "times", "stores"},
    {"receipts", "questions"},
    {"sql", "operations", "backends"},
    {"deleter", "driving", "opening"},
    {"compat", "mcp", "cli", "cli_words", "demo", "notebook", "__main__"},
    {"testing", "__init__"},
)
# The one floor whose rooms never look at each other.
SIBLINGS = {"sql", "operations", "backends"}

DOORS = {"compat", "mcp", "cli", "cli_words", "demo", "notebook", "__main__"}
EVERYWHERE = {""}

# Which rooms a package may enter. A package that is neither here nor in the standard library
# may enter none.
PACKAGES = {
    "attr": EVERYWHERE,
    "attrs": EVERYWHERE,
    "dateutil": {"instants"},
    "sqlglot": {"sql"},
    "json": {"codec"} | DOORS,
    "sqlite3": {"backends.sqlite"},
    "pysqlite3": {"backends.sqlite"},
    "sqlean": {"backends.sqlite"},
    "sqlite_vec": {"backends"},
    "aiosqlite": {"backends.aiosqlite"},
    "apsw": {"backends.apsw"},
    "asyncmy": {"backends.asyncmy"},
    "asyncpg": {"backends.asyncpg"},
    "duckdb": {"backends.duckdb"},
    "psycopg": {"backends.psycopg"},
    "psycopg_pool": {"backends.psycopg"},
    "pymysql": {"backends.pymysql"},
    "sqlalchemy": {"backends.sqlalchemy"},
    "mcp": {"mcp"},
    "hypothesis": {"testing"},
    "pytest": {"testing"},
}

# Which rooms may say a word.
WORDS = {
    "await": {"backends", "driving", "deleter", "opening", "testing"} | DOORS,
    "exp.": {"sql"},
    "cursor": {"backends"},
    "the clock": {"backends"},
}

# (who, what): why. `what` is a module of ours, a package, a word or a private name.
EXCEPTIONS = {
    ("backends.abc", "sql.statements"): "the one place where questions become SQL",
    ("demo", "testing"): "proves by the measure that the tests go by",
    ("tags", "json"): "reads the array of tags that a store holds as JSON text",
}

NO_NAMES = {"base", "common", "helper", "helpers", "manager", "managers", "util", "utils"}

CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")} | {
    ("time", name) for name in ("time", "time_ns", "localtime", "gmtime")
}

# Folders that exist on one machine only. An address on the web may hold the same words.
MACHINE_PATH = re.compile(r"(?<![\w.\-~}])/(?:root|home|Users|work|workspace)/\w")


def modules() -> Iterator[tuple[str, ast.Module]]:
    """
    The name of each module below `memdelete`, and its syntax tree.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
        yield name, ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def within(module: str, rooms: set[str]) -> bool:
    """
    Is the module one of these rooms, or in one?
    """
    return any(room in ("", module) or module.startswith(f"{room}.") for room in rooms)


def excused(module: str, what: str) -> bool:
    """
    Does the table of exceptions allow it?
    """
    return any(within(module, {who}) and within(what, {excuse}) for who, excuse in EXCEPTIONS)


def imports(module: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """
    Line and dotted name of everything imported anywhere in the module, lazily or for types too.

    Names of ours begin with a dot: `.filters.Tags`.
    """
    package = ["memdelete", *module.split(".")]
    if not (SOURCE / Path(*module.split(".")) / "__init__.py").exists():
        package.pop()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = [*above, *(node.module or "").split(".")]
            names = [".".join(filter(None, [*origin, alias.name])) for alias in node.names]
        else:
            continue
        for name in names:
            yield node.lineno, re.sub(r"^memdelete(?=\.|$)", "", name) or "."


def room_of(dotted: str) -> str:
    """
    The first part of a dotted name, which is the room.
    """
    return dotted.partition(".")[0]


def floor(room: str) -> int | None:
    """
    How high the room lies; None for what is no room.
    """
    return next((height for height, rooms in enumerate(FLOORS) if room in rooms), None)


def homeless(module: str, _: ast.Module) -> Iterator[str]:
    """
    A module without a room: give it one in `FLOORS`.
    """
    if floor(room_of(module)) is None:
        yield f"{module} has no room in FLOORS"


def climbers(module: str, tree: ast.Module) -> Iterator[str]:
    """
    Imports from a room that is below, or from a sibling.
    """
    room = room_of(module)
    own = floor(room)
    for line, name in imports(module, tree):
        if not name.startswith("."):
            continue
        target = name.strip(".")
        # What the package's own __init__ hands out is on its top floor.
        there = room_of(target) if floor(room_of(target)) is not None else "__init__"
        sibling = room != there and {room, there} <= SIBLINGS
        if own is not None and (floor(there) > own or sibling) and not excused(module, target):
            yield f"{module}:{line} imports {target or 'memdelete'}"


def strangers(module: str, tree: ast.Module) -> Iterator[str]:
    """
    Packages in a room that is not theirs.
    """
    for line, name in imports(module, tree):
        package = room_of(name)
        known = sys.stdlib_module_names - PACKAGES.keys()
        allowed = EVERYWHERE if not package or package in known else PACKAGES.get(package, set())
        if not within(module, allowed) and not excused(module, package):
            yield f"{module}:{line} imports {package}"


def foreign_words(module: str, tree: ast.Module) -> Iterator[str]:
    """
    Words in a room that does not know them.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith() | ast.comprehension(is_async=1):
                word = "await"
            case ast.Attribute(value=ast.Name(id="exp")):
                word = "exp."
            case ast.Attribute(value=ast.Name(id=what), attr=how) if (what, how) in CLOCKS:
                word = "the clock"
            case ast.Attribute(attr="cursor") | ast.Name(id="cursor"):
                word = "cursor"
            case _:
                continue
        if not within(module, WORDS[word]) and not excused(module, word):
            yield f"{module}:{getattr(node, 'lineno', '?')} says {word}"


def silent(module: str, tree: ast.Module) -> Iterator[str]:
    """
    Modules that open without their room card.
    """
    if not ast.get_docstring(tree):
        yield f"{module} has no room card"


def nameless(module: str, _: ast.Module) -> Iterator[str]:
    """
    Modules whose name says nothing.
    """
    if vague := NO_NAMES.intersection(module.strip("_").split(".")):
        yield f"{module}: {', '.join(vague)} is no name"


def burglars(module: str, tree: ast.Module) -> Iterator[str]:
    """
    Private names of other files: `thing._name` where this file defines no `_name`.
    """
    own = set(defined(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name):
                names = [name]
            case ast.ImportFrom():
                names = [alias.name for alias in node.names]
            case _:
                continue
        for name in names:
            private = name.startswith("_") and not name.startswith("__")
            if private and name not in own and not excused(module, name):
                yield f"{module}:{node.lineno} takes {name}"


def defined(tree: ast.Module) -> Iterator[str]:
    """
    Every name that the file gives to something.
    """
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


Rule = Callable[[str, ast.Module], Iterator[str]]
RULES: tuple[Rule, ...] = (homeless, climbers, strangers, foreign_words, silent, nameless, burglars)


def offences(*rules: Rule) -> list[str]:
    """
    All that the rules find in the house.
    """
    return [offence for name, tree in modules() for rule in rules for offence in rule(name, tree)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_is_in_order(rule):
    """
    No module of memdelete breaks the rule.
    """
    assert [] == offences(rule)


@pytest.mark.parametrize(
    ("rule", "module", "code"),
    [
        (homeless, "attic", ""),
        (climbers, "filters", "from .schema import Store"),
        (climbers, "filters", "from . import schema"),
        (climbers, "filters", "from memdelete.schema import Store"),
        (climbers, "filters", "def later():\n    import memdelete.schema"),
        (climbers, "cli", "from . import Deleter"),
        (climbers, "cli", "import memdelete"),
        (climbers, "operations.talk", "from ..sql import compile"),
        (climbers, "backends.sqlite", "from ..sql.statements import render"),
        (climbers, "backends.abc", "from ..sql.compile import compile"),
        (strangers, "filters", "import sqlglot.expressions"),
        (strangers, "filters", "from dateutil import tz"),
        (strangers, "filters", "import requests"),
        (strangers, "receipts", "import json"),
        (strangers, "backends.sqlite", "import apsw"),
        (strangers, "sqlother", "import sqlglot"),
        (foreign_words, "operations.talk", "async def talk():\n    await it"),
        (foreign_words, "operations.talk", "async def talk():\n    return [x async for x in it]"),
        (foreign_words, "filters", "exp.and_(a, b)"),
        (foreign_words, "operations.talk", "connection.cursor()"),
        (foreign_words, "operations.talk", "datetime.now(UTC)"),
        (foreign_words, "operations.talk", "import time\ntime.time()"),
        (silent, "filters", "x = 1"),
        (nameless, "sql.utils", ""),
        (burglars, "sql.compile", "tree._hash"),
        (burglars, "sql.compile", "from ..filters import _flat"),
    ],
)
def test_sees(rule, module, code):
    """
    Each rule sees an offence that is planted.
    """
    assert 1 == len(list(rule(module, ast.parse(code))))


@pytest.mark.parametrize(
    ("rule", "module", "code"),
    [
        (homeless, "stores.engram", ""),
        (climbers, "schema", "from .filters import Tags"),
        (climbers, "filters", "from . import instants, errors"),
        (climbers, "backends.abc", "from ..sql.statements import render"),
        (climbers, "backends.sqlite", "from .abc import Backend"),
        (climbers, "__init__", "from .deleter import Deleter"),
        (strangers, "sql.compile", "from sqlglot import exp\nimport attrs, enum"),
        (strangers, "mcp.server", "import json, mcp"),
        (strangers, "mcp.server", "from ..codec import loads"),
        (foreign_words, "backends.aiosqlite", "async def go():\n    await connection.cursor()"),
        (silent, "filters", '"""Card."""'),
        (nameless, "backends.abc", ""),
        (burglars, "filters", "class A:\n    _x: int\n    def f(self, b):\n        return b._x"),
        (burglars, "filters", "self._inherited, a.__class__"),
    ],
)
def test_lets_pass(rule, module, code):
    """
    What is allowed is no offence.
    """
    assert [] == list(rule(module, ast.parse(code)))


def test_exceptions_are_needed(monkeypatch):
    """
    An exception that excuses nothing any more goes.
    """
    built = {name for name, _ in modules()}
    idle = []
    for exception in [case for case in EXCEPTIONS if case[0] in built]:
        with monkeypatch.context() as without:
            without.delitem(EXCEPTIONS, exception)
            if not offences(*RULES):
                idle.append(exception)

    assert [] == idle


def test_core_is_light():
    """
    The core depends on three packages.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert ["attrs", "python-dateutil", "sqlglot"] == [
        re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]
    ]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (True, "/{}/memory.db"),
        (True, "sqlite:////{}/memory.db"),
        (False, "https://example.org/{}/memory"),
        (False, "~/{}/memory.db"),
        (False, "docs/{}/memory.md"),
    ],
)
@pytest.mark.parametrize("folder", ["root", "home", "work"])
def test_sees_machines(expected, text, folder):
    """
    A path from the root of a machine is seen; an address or a relative path is none.
    """
    assert expected is bool(MACHINE_PATH.search(text.format(folder)))


def test_no_machine_is_named():
    """
    No file of the repository names a path of the machine it was written on.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git repository, so nobody knows which files are ours")
    named = [
        f"{name}:{number}: {line.strip()}"
        for name in listed.stdout.split("\0")
        if name and (ROOT / name).is_file()
        for number, line in enumerate(
            (ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if MACHINE_PATH.search(line)
    ]

    assert [] == named
