"""
Every check there is, by name. `nox` runs what CI runs; `nox --list` names the rest.

Pythons and version floors are read from pyproject.toml, so they are said once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from pathlib import Path

import nox


nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "virtualenv"
# A machine need not have every Python, and nox says which ones it skips. See `_require_floor`.
nox.options.error_on_missing_interpreters = False

PYPROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PYPROJECT)
FLOOR = PYTHONS[0]
DIST = Path(".nox", "dist")
# Only what cannot depend on how busy the machine is.
BOUNDED = ("benchmarks/import_time.py",)
PRODUCT = "mcp-memory-service==12.4.0"

# pyenv keeps its Pythons off the PATH until they are activated, and nox looks only there.
_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
os.environ["PATH"] = os.pathsep.join(
    [os.environ["PATH"], *map(str, sorted(_PYENV.glob("versions/3.*/bin")))]
)


def _require_floor() -> None:
    """
    In CI the lowest Python must be there: without it nearly every session would be skipped.
    """
    here = ".".join(map(str, sys.version_info[:2]))
    if not os.environ.get("CI") or here == FLOOR:
        return
    try:
        subprocess.run([f"python{FLOOR}", "--version"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"CI needs python{FLOOR} on the PATH: {error}") from error


_require_floor()


@nox.session(python=FLOOR)
def lint(session: nox.Session) -> None:
    """
    Ruff, both ways.
    """
    session.install(*nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check", *session.posargs)


@nox.session(python=FLOOR)
def changelog(session: nox.Session) -> None:
    """
    Show the fragments as they will read; an unknown kind of fragment fails.
    """
    session.install(*nox.project.dependency_groups(PYPROJECT, "changelog"))
    session.run("towncrier", "build", "--draft", "--version", "next")


@nox.session(python=FLOOR)
def typing(session: nox.Session) -> None:
    """
    The source under mypy --strict and pyright, and the public face as a caller sees it.
    """
    groups = nox.project.dependency_groups(PYPROJECT, "typing")
    # pyright is a Node program; without a Node on the PATH it needs one as a package.
    node = [] if shutil.which("node") else ["pyright[nodejs]"]
    session.install("--editable", ".[tests]", *groups, *node)
    session.run("mypy")
    session.run("pyright", "--pythonpath", f"{session.bin}/python")


@nox.session(python=FLOOR)
def wheel(session: nox.Session) -> None:
    """
    The source archive, and from it the wheel that the other sessions test.
    """
    shutil.rmtree(DIST, ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(DIST))


@nox.session(python=PYTHONS, requires=["wheel"])
def tests(session: nox.Session) -> None:
    """
    All tests against the installed wheel, with the newest of every dependency.
    """
    _install_wheel(session)
    _pytest(session)


@nox.session(python=FLOOR, requires=["wheel"])
def lowest(session: nox.Session) -> None:
    """
    All tests with the lowest supported version of each core dependency.
    """
    floors = [
        re.sub(">=", "==", requirement) for requirement in PYPROJECT["project"]["dependencies"]
    ]
    _install_wheel(session, *floors)
    _pytest(session)


@nox.session(python=FLOOR, requires=["wheel"])
def sqlglotc(session: nox.Session) -> None:
    """
    All tests with the compiled sqlglot, which refuses subclasses and attributes of its nodes.
    """
    _install_wheel(session, "sqlglotc")
    _pytest(session)


@nox.session(python=FLOOR, requires=["wheel"])
def product(session: nox.Session) -> None:
    """
    A real memory server writes a store, memdelete acts on it, the server reads it back.
    """
    _install_wheel(session, PRODUCT)
    _pytest(
        session,
        "-m=product",
        "tests/product",
        MCP_MEMORY_ALLOW_HASH_EMBEDDINGS="1",
        MCP_MEMORY_USE_ONNX="0",
        MCP_SEMANTIC_DEDUP_ENABLED="false",
    )


@nox.session(python=FLOOR)
def mutants(session: nox.Session) -> None:
    """
    Plant the known faults one by one; the tests must see each of them.
    """
    session.install("--editable", ".[tests]")
    session.run("python", "tests/mutants/run.py", *session.posargs)


@nox.session(python=FLOOR, requires=["wheel"])
def benchmarks(session: nox.Session) -> None:
    """
    The benchmarks that have a bound; name others after `--`.
    """
    _install_wheel(session, *nox.project.dependency_groups(PYPROJECT, "benchmarks"))
    for script in session.posargs or BOUNDED:
        session.run("python", script)


@nox.session(python=FLOOR, requires=["wheel"], default=False)
def oracle(session: nox.Session) -> None:
    """
    The oracle against every engine, with 20,000 examples each: hours, for a night.
    """
    _install_wheel(session)
    _pytest(session, "tests/oracle", MEMDELETE_HYPOTHESIS_PROFILE="oracle")


@nox.session(python=FLOOR, default=False)
def coverage(session: nox.Session) -> None:
    """
    Which branches the tests never take.
    """
    session.install("--editable", ".[tests]")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *_workers(), *session.posargs)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


def _install_wheel(session: nox.Session, *others: str) -> None:
    [built] = DIST.glob("*.whl")
    session.install(f"{built}[tests]", *others)


def _pytest(session: nox.Session, *arguments: str, **env: str) -> None:
    session.run("python", "-m", "pytest", *_workers(), *arguments, *session.posargs, env=env)


def _workers() -> list[str]:
    """
    One worker per core. Not `auto`, which counts half the cores where two are threads of one.
    """
    return [f"--numprocesses={os.cpu_count()}"]
