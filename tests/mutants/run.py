"""
Plants one fault at a time and expects the tests to notice: a kept list, each with its killers.

    python tests/mutants/run.py [name …]

Works on a copy; every fault must still apply (its text stands exactly once) and must be killed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

from dataclasses import dataclass
from pathlib import Path


ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "mutants" / "mutants.toml"


@dataclass(frozen=True)
class Mutant:
    """
    One planted fault: in *file*, *old* becomes *new*, and *tests* must fail.
    """

    name: str
    why: str
    file: str
    old: str
    new: str
    tests: list[str]


def main(wanted: list[str]) -> int:
    """
    Plant each fault; the number of those that nobody noticed is the exit code.
    """
    listed = [Mutant(**entry) for entry in tomllib.loads(KEPT.read_text())["mutant"]]
    chosen = [mutant for mutant in listed if not wanted or mutant.name in wanted]
    alive = 0
    with tempfile.TemporaryDirectory(prefix="memdelete-mutants-") as folder:
        work = Path(folder) / "memdelete"
        for part in ("src", "tests", "pyproject.toml", "README.md", "examples"):
            _copy(ROOT / part, work / part)
        smooth, _ = _run(work, sorted({test for mutant in chosen for test in mutant.tests}))
        if smooth != 0:
            print("the tests fail without any fault planted")
            return 1
        for mutant in chosen:
            file = work / "src" / "memdelete" / mutant.file
            text = file.read_text()
            if text.count(mutant.old) != 1:
                print(f"STALE     {mutant.name}: its text stands {text.count(mutant.old)} times")
                alive += 1
                continue
            file.write_text(text.replace(mutant.old, mutant.new))
            code, seconds = _run(work, mutant.tests)
            file.write_text(text)
            # 1 is a failed test; anything else (no tests, a broken import) has noticed nothing.
            verdict = "killed" if code == 1 else "SURVIVED" if code == 0 else f"BROKEN {code}"
            alive += verdict != "killed"
            print(f"{verdict:<9} {mutant.name} ({seconds:.0f} s): {mutant.why}", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} killed")

    return min(alive, 100)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "mutants"))
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _run(work: Path, tests: list[str]) -> tuple[int, float]:
    shared = os.environ.get("MEMDELETE_SHARED") or ROOT.parent / "shared"
    started = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            *tests,
        ],
        cwd=work,
        env={
            **os.environ,
            "PYTHONPATH": str(work / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MEMDELETE_SHARED": str(shared),
            "MEMDELETE_HYPOTHESIS_PROFILE": "dev",
        },
        capture_output=True,
        check=False,
        timeout=900,
    )
    if done.returncode not in (0, 1):
        sys.stdout.write(done.stdout.decode()[-2000:])

    return done.returncode, time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
