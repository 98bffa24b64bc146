"""A small disk of its own: a tmpfs in this process's mount namespace, filled to the page. Only for a part that runs in a namespace."""

import os
import subprocess
import threading
from collections import Counter
from pathlib import Path

from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.errors import SlothtrayError
from slothtray.paths import Paths
from slothtray.runner import Runner, Tell
from slothtray.store import Queue
from slothtray.store.adding import NewJob
from slothtray.system import folder

PAGE = 4096
SIZE, FILES = 2 << 20, 200


class Disk:
    """A tmpfs of 2 MiB at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},nr_inodes={FILES},mode=700", "none", str(path)], check=True)
        self._filler = path / "filler"

    def fill(self, left: int = 0) -> None:
        """Leave so many pages free."""
        free = os.statvfs(self.path).f_bavail - left
        with self._filler.open("ab") as file:
            os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, free * PAGE)
        assert os.statvfs(self.path).f_bavail == left

    def make_room(self) -> None:
        """As when a person has removed something."""
        self._filler.unlink(missing_ok=True)


class Queued:
    """A queue on a small disk, its runner in this process: its jobs say outside of it that they have started."""

    def __init__(self, place: Path, disk: Disk, name: str) -> None:
        self.work = place / f"{name}-work"
        self.work.mkdir()
        self.paths = Paths(str(disk.path / name))
        folder.prepare(self.paths)
        self.clock = ManualClock()
        self.queue = Queue(self.paths.database, self.clock)
        self.told: list[str] = []
        self._rung = threading.Event()
        settings = Watched(self.paths.config, defaults(1.0), {"ceiling": None, "cooldown": 0.0, "settle": 0.0})
        tell = Tell(waiting=lambda wait: self.told.append(wait.reason), ended=lambda job, change: self.told.append(change.detail))
        self.runner = Runner(self.paths, settings, "this machine", self._rung.set, tell, self.clock)

    def add(self, command: str, **limits) -> int:
        """Queue a job."""
        script = f'echo "$SLOTHTRAY_JOB" >> {self.work}/starts; {command}'
        env = {"PATH": os.environ["PATH"]}
        (number,) = self.queue.enqueue([NewJob(script, ("/bin/sh", "-c", script), cwd=str(self.work), env=env, **limits)])
        return number

    def starts(self) -> dict[str, int]:
        """How often each job has started."""
        path = self.work / "starts"
        return dict(Counter(path.read_text().split())) if path.exists() else {}

    def look(self, until, tries: int = 2000) -> bool:
        """Look again and again, as the loop does; whether it came to that."""
        for _ in range(tries):
            try:
                self.runner.step()
            except SlothtrayError as error:
                self.told.append(str(error))
            if until():
                return True
            self._rung.wait(0.01)
            self._rung.clear()
        return False

    def kinds(self, number: int) -> list[str]:
        """A job's history."""
        return [event.kind for event in self.queue.events(number)]

    def state(self, number: int) -> str:
        """Its state."""
        return str(self.queue.get(number).state)

    def close(self) -> None:
        """Let go."""
        self.runner.close()
        self.queue.close()
