"""A control group of the test's own, in a PID namespace (tests/private.py), by a mount that ends with that. Wants to be root."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from harness import eventually


class ControlGroup:
    """Takes processes in, and may freeze them as a suspend does: no signal tells them of it. Usable in a ``with``."""

    def __init__(self, folder: Path) -> None:
        mount = folder / "cgroup2"
        mount.mkdir()
        subprocess.run(["mount", "-t", "cgroup2", "none", str(mount)], check=True)
        self._group = mount / f"slothtray-test-{os.urandom(6).hex()}"
        self._group.mkdir()

    def take(self, pids: Iterable[int]) -> None:
        """Move these processes into it."""
        for pid in pids:
            (self._group / "cgroup.procs").write_text(str(pid))

    @property
    def path(self) -> str:
        """As the kernel tells it of a member in /proc/PID/cgroup."""
        return f"/{self._group.name}"

    def freeze(self) -> None:
        """Stop all that is in it; returns when it is so."""
        (self._group / "cgroup.freeze").write_text("1")
        eventually(lambda: "frozen 1" in (self._group / "cgroup.events").read_text(), "all are frozen")

    def thaw(self) -> None:
        """Let them go on."""
        (self._group / "cgroup.freeze").write_text("0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        (self._group / "cgroup.kill").write_text("1")
        eventually(lambda: "populated 0" in (self._group / "cgroup.events").read_text(), "it is empty")
        self._group.rmdir()
