"""Starts supervisors, and waits for them: the one thread code that a fresh start and an adoption share (DESIGN 4, 2 to 6)."""

import importlib.util
import logging
import marshal
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from slothtray import private
from slothtray.crashpoint import crash_point
from slothtray.errors import Refused
from slothtray.paths import Paths
from slothtray.system import processes, records
from slothtray.system.scope import Scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.model import RunRecord

log = logging.getLogger(__name__)
LOCK_RETRY = 5.0
STDERR_LIMIT = 1000
"""Bytes of a supervisor's own complaint that are worth showing."""


class Attempt:
    """A run that this app watches. ``record`` is None until it is over; ``ring`` is called from the waiter's thread then.

    ``before``: what that thread does with the supervisor's pid before it tells it what to do.
    """

    def __init__(
        self,
        run: str,
        look: int,
        process: "subprocess.Popen[bytes] | None",
        spec: bytes,
        ring: Callable[[], None],
        before: Callable[[int], object] = lambda _: None,
    ) -> None:
        self.run = run
        self.look = look
        self.record: RunRecord | None = None
        self.cancel_sent = False
        self.disk_full = False
        """Whether there was no space left for its output as it ended."""
        self._process, self._spec, self._ring, self._before = process, spec, ring, before
        threading.Thread(target=self._wait, name=f"waiter {run}", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether the supervisor is gone."""
        return self.record is not None

    def started_fileno(self) -> int | None:
        """The pipe whose end says that the job's pid is in the record; None once that was seen, or for an adopted run."""
        out = self._process.stdout if self._process is not None else None
        return None if out is None or out.closed else out.fileno()

    def note_started(self) -> None:
        """The pipe has ended: it need not be looked at any more."""
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    def cancel(self) -> bool:
        """Tell the supervisor to cancel, once it has a job to cancel; False while that can't be said yet."""
        record = records.read(self.look)
        if record.process is None:
            return False
        self.cancel_sent = processes.cancel(self.look, record)
        return self.cancel_sent

    def unkillable(self) -> list[int]:
        """What the supervisor could not kill, as far as it still lives."""
        return [pid for pid in records.read(self.look).unkillable if processes.lives(pid)]

    def close(self) -> None:
        """Give the descriptors back, after it is over."""
        self.note_started()
        os.close(self.look)

    def _wait(self) -> None:
        if self._process is not None:
            self._before(self._process.pid)
            self._send_spec(self._process)
            crash_point("spec sent")
        self._wait_for_release()
        crash_point("lock free")
        record = records.read(self.look)
        if self._process is not None:
            self._process.wait()
        elif record.started is not None:
            _reap(record.started.pid)
        self.disk_full = records.short_of_space(self.look)
        self.record = record
        self._ring()

    def _wait_for_release(self) -> None:
        """A kernel that can't lock just now (ENOLCK) has not said that the lock is free: nothing is taken for dead by that."""
        while True:
            try:
                records.wait_for_release(self.look)
                return
            except OSError:
                log.exception("waiting for the lock of run %s", self.run)
                time.sleep(LOCK_RETRY)

    def _send_spec(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(self._spec)
            process.stdin.close()
        except OSError:
            log.warning("the supervisor of run %s ended before it was told what to do", self.run)


def _reap(pid: int) -> None:
    """Leave no zombie of an adopted supervisor: after a restart in place it is a child of this very process."""
    try:
        os.waitpid(pid, 0)
    except OSError:
        return  # somebody else's child, as a rule


class Launcher:
    """Starts supervisors of the version that this app is: the program is read once, so an upgrade can't mix two of them.

    A program that is missing or broken shows in the attempts, which end at once with its error; the app lives.
    """

    def __init__(self, script: str | None = None, scopes: Scopes | None = None) -> None:
        """Raises ``Refused`` where a supervisor can't hold a job: it needs fork, and a lock that a child inherits."""
        if sys.platform == "win32":
            raise Refused("jobs can't be run on Windows yet", "in WSL slothtray is the Linux program, and runs them")
        self._scopes = scopes or Scopes()
        path = script or os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "supervisor.py")
        # A venv's python may become another one under a running app; what it stands for now runs what was compiled for it.
        self._python = os.path.realpath(sys.executable)
        self._source = self._problem = ""
        self._program = -1
        if getattr(sys, "frozen", False):
            return
        try:
            with open(path, encoding="utf-8") as file:
                self._source = file.read()
            self._program = compiled(self._source, path)
        except (OSError, SyntaxError, ValueError) as error:
            self._problem = f"{path}: {error}"
            log.exception("the supervisor's program can't be used")

    def launch(self, paths: Paths, run: str, spec: bytes, ring: Callable[[], None], grace: float = 0.0) -> Attempt:
        """Make the locked record, start a supervisor that inherits it, and watch it. ``grace``: see ``scope.properties``.

        Raises OSError when the record can't be made (nothing was started, nothing is left). A supervisor that can't be started
        is an attempt that is over at once, without an S in its record.
        """
        path = paths.run_record(run)
        record = records.create(path)
        crash_point("record synced")
        look = None
        try:
            look = records.open_for_look(path)
            assert look is not None
            process = self._spawn(paths, run, record)
            crash_point("supervisor born")
        except OSError:
            if look is not None:
                os.close(look)
            os.unlink(path)
            raise
        finally:
            os.close(record)  # close, never unlock: the lock is the supervisor's now
        crash_point("record given away")
        return Attempt(run, look, process, spec, ring, lambda pid: self._scopes.move(run, pid, grace))

    def adopt(self, paths: Paths, run: str, ring: Callable[[], None]) -> Attempt | None:
        """Watch a run that an earlier app started; None when its record is gone."""
        look = records.open_for_look(paths.run_record(run))
        return None if look is None else Attempt(run, look, None, b"", ring)

    def _spawn(self, paths: Paths, run: str, record: int) -> "subprocess.Popen[bytes] | None":
        stderr = records.open_stderr(paths.run_stderr(run))
        inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SLOTHTRAY_CRASH") if name in os.environ}
        try:
            if self._problem:
                raise OSError(self._problem)
            return subprocess.Popen(
                self._command(record),
                pass_fds=(record, *((self._program,) if self._program >= 0 else ())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                cwd="/",
                env={**inherited, processes.COOKIE: run},
            )
        except OSError as error:
            os.write(stderr, f"the supervisor can't be started: {error}\n".encode(errors="backslashreplace"))
            return None
        finally:
            os.close(stderr)

    def _command(self, record: int) -> list[str]:
        if getattr(sys, "frozen", False):
            return [sys.executable, "--supervise", str(record)]
        python = [self._python, "-I", "-S", "-B"]
        if self._program >= 0:
            return [*python, f"/proc/self/fd/{self._program}", str(record)]
        return [*python, "-c", self._source, str(record)]


def compiled(source: str, path: str) -> int:
    """A descriptor of the compiled program, held by nothing but us; -1 where that can't be run by its descriptor.

    Compiling it anew for each job would cost 7 ms. Raises SyntaxError.
    """
    code = compile(source, path, "exec")
    if sys.platform != "linux":
        return -1
    descriptor = os.memfd_create("slothtray-supervisor")
    # The header of a .pyc (PEP 552) without a source to check against.
    os.write(descriptor, importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    return descriptor


def stderr_of(paths: Paths, run: str) -> str:
    """The last line of what a supervisor itself had to say; "" when nothing."""
    try:
        with open(private.open_file(paths.run_stderr(run), os.O_RDONLY), "rb") as file:
            file.seek(max(0, os.path.getsize(paths.run_stderr(run)) - STDERR_LIMIT))
            lines = file.read(STDERR_LIMIT).decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
