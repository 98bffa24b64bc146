"""The real program in a folder of its own: commands, an app that may be killed, and conditions to wait for."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from slothtray import actions
from slothtray.paths import Paths
from slothtray.store.adding import NewJob

PROGRAM = [sys.executable, "-m", "slothtray"]
LIMIT = 45.0
OBEDIENT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
"""In front of a command: root, too, is stopped by a file's mode then."""


def eventually(condition: Callable[[], object], what: str = "", limit: float = LIMIT) -> object:
    """Wait until the condition gives something true, and return that; fail when it doesn't within the limit (seconds)."""
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {limit} s: {what or condition}"
        time.sleep(0.01)


class Home:
    """A queue folder and the commands on it. ``environment`` is what the commands and the app run with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path.parent / f"{path.name}-work"
        self.work.mkdir(exist_ok=True)
        self.loadavg = path.parent / f"{path.name}-loadavg"
        self.set_load(0.0)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "LINES", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SLOTHTRAY_HOME")
        }
        self.environment.update(
            SLOTHTRAY_HOME=str(path), SLOTHTRAY_LOADAVG=str(self.loadavg), SHELL="/bin/sh", PYTHONWARNINGS="error"
        )
        self.apps: list[App] = []

    def set_load(self, one: float) -> None:
        """What the load average is from now on, for this folder's app."""
        fresh = self.loadavg.with_suffix(".new")
        fresh.write_text(f"{one:.2f} 0.00 0.00 1/100 12345\n")
        fresh.rename(self.loadavg)

    def run(self, *args: str, code: int | None = 0, **options) -> subprocess.CompletedProcess:
        """Run one command to its end; fail unless it ends with ``code``."""
        options = {"cwd": self.work, "env": self.environment, "timeout": 60, "stdin": subprocess.DEVNULL, **options}
        done = subprocess.run([*PROGRAM, *args], capture_output=True, text=True, errors="surrogateescape", check=False, **options)
        assert code is None or done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def add(self, *args: str, **options) -> int:
        """Queue a job; its id."""
        return int(self.run("add", *args, **options).stdout)

    def enqueue(self, command: str, **limits) -> int:
        """Queue a shell command in this process, for tests that need many; its id. ``limits`` are those of ``NewJob``."""
        job = NewJob(command, ("/bin/sh", "-c", command), cwd=str(self.work), env=self.environment, **limits)
        return actions.add(self.paths, [job]).ids[0]

    @property
    def paths(self) -> Paths:
        """Where everything is."""
        return Paths(str(self.path))

    def log(self, number: int) -> str:
        """What the job wrote."""
        return Path(self.paths.log(number)).read_text(errors="surrogateescape")

    def wrote(self, name: str) -> str:
        """What the jobs wrote into a file of their working folder; "" when nothing yet."""
        path = self.work / name
        return path.read_text() if path.exists() else ""

    def job(self, number: int) -> dict:
        """The job as `show --json` tells it."""
        return json.loads(self.run("show", str(number), "--json").stdout)["job"]

    def events(self, number: int) -> list[str]:
        """The kinds of a job's events, in order."""
        return [event["kind"] for event in json.loads(self.run("show", str(number), "--json").stdout)["events"]]

    def kinds(self, number: int) -> list[str]:
        """The same, straight from the file: quick enough to wait on, and no look that would mark a failure as seen."""
        with self.read() as connection:
            found = connection.execute("SELECT kind FROM events WHERE job = ? ORDER BY id", (number,)).fetchall()
        connection.close()
        return [kind for (kind,) in found]

    def queue(self) -> dict:
        """What `list --json` says of the queue."""
        return json.loads(self.run("list", "--json").stdout)["queue"]

    def row(self, number: int, column: str = "state"):
        """One column of a job's row, straight from the file: quick enough to wait on."""
        with self.read() as connection:
            found = connection.execute(f"SELECT {column} FROM jobs WHERE id = ?", (number,)).fetchone()
        connection.close()
        return found[0] if found else None

    def read(self) -> sqlite3.Connection:
        """A connection of the test's own."""
        return sqlite3.connect(self.path / "queue.db", timeout=10)

    def wait_for(self, number: int, *states: str, limit: float = LIMIT) -> str:
        """Wait until the job is in one of these states."""
        try:
            return eventually(lambda: (state := self.row(number)) in states and state, f"job {number} {states}", limit)
        except AssertionError as error:
            error.add_note(self.story(number))
            raise

    def story(self, number: int) -> str:
        """What became of a job, for a test that has failed: its row, its history, its processes, the app's log."""
        with self.read() as connection:
            connection.row_factory = sqlite3.Row
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (number,)).fetchone()
            events = connection.execute("SELECT kind, detail, at FROM events WHERE job = ? ORDER BY id", (number,)).fetchall()
        connection.close()
        lines = [f"now: {time.time()}", *(f"{name}: {row[name]}" for name in row.keys() if row[name] is not None)] if row else []  # noqa: SIM118
        lines += [str(tuple(event)) for event in events]
        lines += [f"{pid}: {command_line(pid)}" for pid in self.processes()]
        log = Path(self.paths.app_log)
        return "\n".join([*lines, *(log.read_text().splitlines()[-20:] if log.exists() else [])])

    def start(
        self,
        *options: str,
        environment: dict[str, str] | None = None,
        ceiling: str = "off",
        cooldown: str = "0.01",
        python: str = sys.executable,
        prefix: Sequence[str] = (),
        ready: bool = True,
    ) -> "App":
        """Start an app on this folder and wait until it holds it, unless it needn't be ``ready``."""
        words = [*prefix, python, *PROGRAM[1:], "run", "--ceiling", ceiling, "--cooldown", cooldown, *options]
        app = App(self, words, {**self.environment, **(environment or {})}, ready=ready)
        self.apps.append(app)
        return app

    def close(self) -> None:
        """End what is left of apps, and of supervisors and jobs of this folder."""
        for app in self.apps:
            app.kill()
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def processes(self) -> list[int]:
        """The living processes that belong to this folder's jobs or supervisors: by working folder or by the cookie's run-ids."""
        runs = {name.encode() for name in os.listdir(self.path / "runs")} if (self.path / "runs").is_dir() else set()
        names = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
        return [int(name) for name in names if _works_in(name, self.work) or _carries(name, runs)]


def let_go(fifo: Path) -> None:
    """Let what waits to read from it go on; fail when nothing comes to do so."""

    def written() -> bool:
        try:
            descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        os.write(descriptor, b"\n")
        os.close(descriptor)
        return True

    eventually(written, f"somebody reads {fifo}")


def identity(pid: int) -> tuple[int, str] | None:
    """A process by its pid and start time, which together are one of a kind; None when it is gone (a zombie is)."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else (pid, words[19])


def command_line(pid: int) -> str:
    """A living process's words, or "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _works_in(pid: str, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd").startswith(str(folder))
    except OSError:
        return False


def _carries(pid: str, runs: set[bytes]) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(variable.removeprefix(b"SLOTHTRAY_RUN=") in runs for variable in variables if variable.startswith(b"SLOTHTRAY_RUN="))


class App:
    """`slothtray run` as a process of its own."""

    def __init__(self, home: Home, words: list[str], environment: dict[str, str], *, ready: bool) -> None:
        self.home = home
        self.output = home.path.parent / f"{home.path.name}-app-{time.monotonic_ns()}.out"
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(words, cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        if ready:
            eventually(lambda: self.holds_folder() or self.process.poll() is not None, "the app holds the folder")
            assert self.process.poll() in (None, 0, 1), self.said()

    def holds_folder(self) -> bool:
        """Whether its bell hangs."""
        lock = self.home.path / "runner.lock"
        return (self.home.path / "bell").exists() and lock.exists() and lock.read_text().strip() == str(self.process.pid)

    def said(self) -> str:
        """All it has printed."""
        return self.output.read_text()

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """TERM, as a logout would; its exit code."""
        self.process.terminate()
        return self.process.wait(LIMIT)

    def wait(self, limit: float = 60.0) -> int:
        """Wait for its own end; its exit code."""
        return self.process.wait(limit)
