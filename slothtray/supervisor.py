"""Holds one attempt of one job: its lock, its tree of processes, its limit, its result.

Run as ``python -I -S supervisor.py RECORD``; imports nothing of slothtray, so that an upgrade can't mix versions.
RECORD is a descriptor of the run record, with the lock on it already held: it is free again when this process is gone,
however it goes. The spec comes in on standard input as one JSON line; without a whole one nothing is written or started.
Lines in the record: S (about to start), J (the job's pid), K (can't kill), X (the result, synced before the lock is freed).
"""

import ctypes
import json
import os
import select
import signal
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn  # at run time its import would cost each job 4 ms

SPEC_VERSION = 1
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PARENT, START = 1, 19
TERM_WATCH = 0.5
"""Seconds to watch for our own TERM before a failure is believed: a session that ends TERMs the job first, as often as not."""
KILL_EVERY = 0.05
UNKILLABLE_AFTER, UNKILLABLE_EVERY = 10.0, 5.0
UNKILLABLE_LINES, UNKILLABLE_TOLD = 8, 8  # K lines at most, and pids in one: the page must keep room for X
LATE = 1.0
"""A wake-up later than this many seconds means that we were frozen; the limit is extended by it."""
TICK, TICKS = 30.0, 20
"""Longest wait while a limit runs, in seconds and as a part of the limit: what a freeze may cost the job at most."""
TEXT_BYTES = 1000
"""What a text may take in the record, as JSON: its page has room for two."""
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Record:
    """The run record's end that is written to. A page of it is allocated already, so X fits on a full disk."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def line(self, kind: str, **fields: object) -> None:
        """Append one line."""
        crash_point(f"before {kind}")
        os.write(self._descriptor, json.dumps({"k": kind, **fields}, separators=(",", ":")).encode() + b"\n")
        crash_point(f"after {kind}")

    def sync(self) -> None:
        """Make what was written durable."""
        os.fsync(self._descriptor)
        crash_point("X synced")


def crash_point(name: str) -> None:
    """Die here if a test wants that."""
    if name in os.environ.get("SLOTHTRAY_CRASH", "").split(","):
        os.kill(os.getpid(), signal.SIGKILL)


def fitting(text: str) -> str:
    """As much of a text as the record has room for: a control character takes six bytes there."""
    while len(json.dumps(text)) > TEXT_BYTES:
        text = text[: len(text) * 3 // 4]
    return text


class Signals:
    """What was signalled so far, and a descriptor that becomes readable with each signal."""

    def __init__(self) -> None:
        self.stop = False
        self.cancel = False
        self.readable, writable = os.pipe()
        for end in (self.readable, writable):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        for number in (*STOPPING, signal.SIGUSR1):
            signal.signal(number, self._note)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _note(self, number: int, _: object) -> None:
        self.cancel = self.cancel or number == signal.SIGUSR1
        self.stop = self.stop or number != signal.SIGUSR1

    def drain(self) -> None:
        """Forget the wake-ups; the flags stay."""
        try:
            while os.read(self.readable, 4096):
                pass
        except BlockingIOError:
            return


class Attempt:
    """The job's tree from its birth to the proof that it is empty. Times are seconds of the monotonic clock."""

    def __init__(self, spec: "dict[str, Any]", record: Record, signals: Signals, pid: int, errors: int) -> None:
        self._record, self._signals, self._pid, self._errors = record, signals, pid, errors
        self._grace = float(spec["grace"])
        self._began = time.monotonic()
        limit = spec.get("max_runtime")
        self._deadline = None if limit is None else self._began + float(limit)
        self._tick = TICK if limit is None else min(TICK, float(limit) / TICKS)
        self._error = b""
        self._status: int | None = None
        self._ended = 0.0
        self._why = ""
        self._kill_at: float | None = None
        self._first_kill: float | None = None
        self._unkillable: list[list[int]] = []
        self._empty = False
        self._left = 0

    def run(self) -> None:
        """Stay until the tree is empty, or the job has ended well and what it left behind is meant to stay."""
        while not self._over():
            self._step(time.monotonic())
        self._write_result()

    def _over(self) -> bool:
        self._reap()
        if self._status is None:
            return False
        while self._errors >= 0:  # the job's end of that pipe went with it: nothing is waited for
            self._read_error()
        if self._error:
            self._why = "exec"
        if self._empty and self._why:
            return True
        if not self._why and self._ended_well():
            # A daemon left behind by a job that ended well is the person's wish: it lives, and is reported.
            self._why, self._left = "exit", len(descendants())
            return True
        return False

    def _ended_well(self) -> bool:
        return self._status is not None and os.waitstatus_to_exitcode(self._status) == 0

    def _reap(self) -> None:
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self._status, self._ended = status, time.monotonic()
        except ChildProcessError:
            self._empty = True  # ECHILD: the kernel's word that nothing of the tree is left

    def _step(self, now: float) -> None:
        if not self._why:
            self._judge(now)
        if self._why and self._kill_at is not None and now >= self._kill_at:
            self._kill(now)
        if not (self._empty and self._why):
            self._sleep(now)

    def _judge(self, now: float) -> None:
        if self._signals.stop:
            self._end("interrupted", now)
        elif self._status is not None:
            if now >= self._ended + TERM_WATCH:
                self._end("exit", now)
        elif self._signals.cancel:
            self._end("cancel", now)
        elif self._deadline is not None and now >= self._deadline:
            self._end("timeout", now)

    def _end(self, why: str, now: float) -> None:
        self._why, self._kill_at = why, now + self._grace
        signal_tree(signal.SIGTERM)
        signal_tree(signal.SIGCONT)  # a stopped process hears TERM only once it goes on

    def _kill(self, now: float) -> None:
        if self._first_kill is None:
            self._first_kill = now
        signal_tree(signal.SIGKILL)
        stuck = now - self._first_kill >= UNKILLABLE_AFTER
        self._kill_at = now + (UNKILLABLE_EVERY if stuck else KILL_EVERY)
        alive = sorted(descendants())[:UNKILLABLE_TOLD] if stuck else []
        if alive and alive not in self._unkillable[-1:] and len(self._unkillable) < UNKILLABLE_LINES:
            self._record.line("K", pids=alive)
            self._unkillable.append(alive)

    def _sleep(self, now: float) -> None:
        due = self._next_wakeup(now)
        timeout = None if due is None else max(0.0, due - now)
        readable = [self._signals.readable] + ([self._errors] if self._errors >= 0 else [])
        ready, _, _ = select.select(readable, [], [], timeout)
        if self._errors in ready:
            self._read_error()
        self._signals.drain()
        if due is not None and self._deadline is not None and (late := time.monotonic() - due) > LATE:
            self._deadline += late

    def _next_wakeup(self, now: float) -> float | None:
        if self._why:
            return self._kill_at
        if self._status is not None:
            return self._ended + TERM_WATCH
        return None if self._deadline is None else min(self._deadline, now + self._tick)

    def _read_error(self) -> None:
        """What the child says before exec; the end of the pipe means that exec has taken place, or never will."""
        data = os.read(self._errors, TEXT_BYTES)
        self._error += data
        if not data:
            os.close(self._errors)
            self._errors = -1

    def _write_result(self) -> None:
        code = os.waitstatus_to_exitcode(self._status or 0)
        self._record.line(
            "X",
            why=self._why,
            code=None if code < 0 or self._error else code,
            signal=-code if code < 0 else None,
            error=fitting(self._error.decode(errors="replace")),
            left=self._left,
            ran=round(self._ended - self._began, 3),
            at=time.time(),
        )
        self._record.sync()


# --- the tree -----------------------------------------------------------------------------------------------------------------


def descendants() -> list[int]:
    """The pids of everything below us. Exact on Linux: as the subreaper we are every orphan's parent."""
    found: list[int] = []
    todo = [os.getpid()]
    children = children_by_kernel if os.path.exists(f"/proc/self/task/{os.getpid()}/children") else children_by_table()
    while todo:
        new = children(todo.pop())
        found += new
        todo += new
    return found


def children_by_kernel(pid: int) -> list[int]:
    """The children of one process as the kernel lists them, thread by thread."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        return found  # gone meanwhile
    return found


def children_by_table() -> "Callable[[int], list[int]]":
    """For kernels without that list, and for macOS: one look at the table of all processes."""
    table: dict[int, list[int]] = {}
    for pid, parent in parents():
        table.setdefault(parent, []).append(pid)
    return lambda pid: table.get(pid, [])


def parents() -> "Iterator[tuple[int, int]]":
    """Every process with its parent. Not by ps where there is /proc: a small system has none."""
    if os.path.exists("/proc/self/stat"):
        yield from ((int(name), stat_number(int(name), PARENT)) for name in os.listdir("/proc") if name.isdigit())
        return
    import subprocess
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True) as listing:
        rows = [[int(word) for word in line.split()] for line in listing.stdout or ()]
    yield from ((pid, parent) for pid, parent in rows if pid != listing.pid)


def signal_tree(number: int) -> None:
    """Signal everything below us that we may signal."""
    for pid in descendants():
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # gone, or somebody else's (sudo): the K line says so if it stays


def stat_number(pid: int, place: int) -> int:
    """A number after the name in a process's stat, 0 without one. START, in ticks since boot, and pid are one of a kind."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[place])
    except (OSError, IndexError, ValueError):
        return 0


def own_cgroup() -> str:
    """Our control group's path in the unified hierarchy, or ""."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as file:
            paths = [line.rstrip("\n")[3:] for line in file if line.startswith("0::")]
    except OSError:
        return ""
    return paths[0] if paths and fitting(paths[0]) == paths[0] else ""


# --- start ----------------------------------------------------------------------------------------------------------------------


def read_spec() -> "dict[str, Any] | None":
    """The spec from standard input; None when it is cut short (the app died in the middle) or of another version."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return None
    spec: dict[str, Any] = json.loads(line)
    return spec if spec.get("version") == SPEC_VERSION else None


def become_job(spec: "dict[str, Any]", parent: int, errors: int) -> "NoReturn":
    """In the child: everything between fork and exec; what fails is told through the pipe and ends the child."""
    step = "session"
    try:
        os.setsid()  # a `kill 0` in the job can't reach us
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)
        for number in (*STOPPING, signal.SIGUSR1, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python itself ignores the last two
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        step = f"log {spec['log']}"
        connect_output(spec)
        os.umask(spec["umask"])
        step = "nice"
        os.nice(spec["nice"])
        step = f"folder {spec['cwd']}"
        os.chdir(spec["cwd"])
        step = spec["argv"][0]
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        os.write(errors, f"{step}: {reason}".encode(errors="backslashreplace")[:TEXT_BYTES])
    os._exit(127)


def connect_output(spec: "dict[str, Any]") -> None:
    """Standard input from nowhere; output straight to the log file: through a pipe it would die with the app."""
    log = os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    status = os.fstat(log)  # no link is followed, no pipe waited for, as in slothtray.private
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise OSError(f"{spec['log']} is not a plain file of ours")
    os.fchmod(log, 0o600)  # whatever our umask is
    os.set_blocking(log, True)
    if spec["header"]:
        os.write(log, spec["header"].encode())
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)


def main(record_descriptor: int) -> int:
    """Hold the attempt that standard input describes; 1 when none was begun."""
    record = Record(record_descriptor)
    signals = Signals()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    crash_point("before the spec")
    spec = read_spec()
    # From here to the fork no signal comes through: one that came before leaves no S (unstarted), a later one finds the job.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*STOPPING, signal.SIGUSR1))
    if spec is None or signals.stop:
        return 1
    me = os.getpid()
    record.line("S", pid=me, start=stat_number(me, START), boot=spec["boot"], cgroup=own_cgroup(), at=time.time())
    errors, child_errors = os.pipe()
    pid = os.fork()
    if pid == 0:
        become_job(spec, me, child_errors)
    os.close(child_errors)
    record.line("J", pid=pid, start=stat_number(pid, START))
    let_go()
    attempt = Attempt(spec, record, signals, pid, errors)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    attempt.run()
    return 0


def let_go() -> None:
    """Give back the pipes to the app: the end of our output tells it that the job's pid is in the record."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for target in (0, 1):
        os.dup2(nothing, target)
    os.close(nothing)


def hide_script() -> None:
    """We may be running from an inherited descriptor of this file: the job must not inherit it too."""
    folder, _, number = sys.argv[0].rpartition("/")
    if folder.endswith("/fd") and number.isdigit():
        os.set_inheritable(int(number), False)


if __name__ == "__main__":
    hide_script()
    os._exit(main(int(sys.argv[1])))
