"""How things are timed here: whole processes, interleaved with their yardstick in one run, medians and ratios."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PYTHON = sys.executable


def program() -> list[str]:
    """The installed `slothtray` beside this Python, as people call it."""
    script = Path(PYTHON).with_name("slothtray")
    return [str(script)] if script.exists() else [PYTHON, "-m", "slothtray"]


def environment(home: str) -> dict[str, str]:
    """A clean environment with this queue folder, and the bytecode that an installed program has."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "DISPLAY")}
    return {**kept, "SLOTHTRAY_HOME": home, "SHELL": "/bin/sh"}


def interleaved(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each case; each round runs every case once, so that what disturbs the machine disturbs them all."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for name, case in cases.items():
        case()  # warm: bytecode, caches, the database's schema
        del name
    for _ in range(rounds):
        for name, case in cases.items():
            begin = time.perf_counter()
            case()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(found) for name, found in times.items()}


def quietly(argv: list[str], env: dict[str, str]) -> Callable[[], object]:
    """A case: one process, its output thrown away, its failure not."""
    return lambda: subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one figure, on the disk where the checkout is: a tmpfs knows no fsync."""
    return tempfile.TemporaryDirectory(prefix=".bench-", dir=Path(__file__).resolve().parents[2])
