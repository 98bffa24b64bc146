"""How a job gets into the file: checked first, then stored whole in one durable transaction. On `add`'s path: imports little."""

import os
from binascii import crc32

from slothtray.errors import Refused, UnknownJob, Usage
from slothtray.states import FINISHED, NEVER, PRIORITY_MAX, PRIORITY_MIN, State
from slothtray.store.changes import note
from slothtray.store.claim import get
from slothtray.store.connection import Database
from slothtray.store.rows import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_LABEL = 100
MAX_COMMAND = 1_000_000
"""Bytes of a job's arguments; the kernel refuses a single one over 128 kB at exec anyway, and says so in the job."""


class NewJob:
    """What is asked for. ``argv`` is what will be executed, ``command`` how people see it; durations in seconds.

    ``max_attempts``, ``max_runtime``: None leaves them to the config in force when the job runs. ``env``: None means the
    environment of the app that runs it.
    """

    def __init__(
        self,
        command: str,
        argv: "Sequence[str]",
        *,
        cwd: str | None = None,
        env: "Mapping[str, str] | None" = None,
        umask: int = 0o077,
        dropped: "Sequence[str]" = (),
        label: str | None = None,
        priority: int = 0,
        not_before: float = 0.0,
        max_attempts: int | None = None,
        max_runtime: float | None = None,
        once: bool = False,
        hold: bool = False,
        after: int | None = None,
        expires_at: float | None = None,
        unique: bool = False,
    ) -> None:
        self.command, self.argv = command, tuple(argv)
        self.cwd = os.getcwd() if cwd is None else cwd
        self.env, self.umask, self.dropped = env, umask, tuple(dropped)
        self.label, self.priority, self.not_before = label, priority, not_before
        self.max_attempts, self.max_runtime, self.once, self.hold = max_attempts, max_runtime, once, hold
        self.after, self.expires_at, self.unique = after, expires_at, unique
        self.met_namesake = False
        """Set by ``insert`` when a unique job was there already."""


def check(job: NewJob) -> None:
    """Raise ``Usage`` with one clear line when the job can't be meant so."""
    if not job.argv or not job.argv[0] or not job.command.strip():
        raise Usage("the command is empty", 'give one, as in `slothtray add "make -j4"`')
    if any("\0" in word for word in (*job.argv, job.cwd)):
        raise Usage("the command has a NUL byte in it", "no program can be started with one")
    if job.label is not None:
        _check_label(job.label)
    if job.unique and job.label is None:
        raise Usage("--unique needs a --label to be unique by")
    if sum(len(word) for word in job.argv) > MAX_COMMAND:
        raise Usage(f"the command is longer than {MAX_COMMAND:,} characters", "put it into a script and add that")
    if not PRIORITY_MIN <= job.priority <= PRIORITY_MAX:
        raise Usage(f"priority {job.priority} is out of range", f"use {PRIORITY_MIN} to {PRIORITY_MAX}, higher runs first")
    if job.max_attempts is not None and job.max_attempts < 1:
        raise Usage(f"{job.max_attempts} attempts make no sense", "use 1 or more")
    if job.max_runtime is not None and not 0 < job.max_runtime < NEVER:
        raise Usage("the max runtime must be more than nothing", "use a duration such as 90, 5m or 2h")


def _check_label(label: str) -> None:
    if not label.strip() or not label.isprintable():
        raise Usage("a label must have something to read and no control characters")
    if len(label) > MAX_LABEL:
        raise Usage(f"the label is longer than {MAX_LABEL} characters")


def insert(database: Database, job: NewJob, now: float) -> int:
    """Store one checked job in the caller's transaction; its id, or that of the living namesake of a unique one."""
    namesake = _living_namesake(database, job)
    if namesake is not None:
        job.met_namesake = True
        return namesake
    state = State.HELD if job.hold else State.PENDING
    waits = job.after is not None and _has_to_wait_for(database, job.after)
    number = database.insert(
        "INSERT INTO jobs (state, command, argv, cwd, env, umask, dropped, label, fingerprint, priority, not_before, earliest,"
        " max_attempts, max_runtime, once, after, expires_at, reason, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            str(state),
            encode(job.command),
            encode(job.argv),
            encode(job.cwd),
            None if job.env is None else encode(dict(job.env)),
            job.umask,
            encode(job.dropped),
            job.label,
            fingerprint(job.command, job.cwd),
            job.priority,
            NEVER if waits else job.not_before,
            job.not_before,
            job.max_attempts,
            job.max_runtime,
            job.once,
            job.after,
            job.expires_at,
            "held by you" if job.hold else None,
            now,
        ),
    )
    note(database, number, now, "added", "held" if job.hold else "")
    return number


def fingerprint(command: str, cwd: str) -> int:
    """By what the earlier runs of the same command in the same folder are found."""
    return crc32(encode([command, cwd]).encode())


def _living_namesake(database: Database, job: NewJob) -> int | None:
    if not job.unique:
        return None
    sql = "SELECT id FROM jobs WHERE label = ? AND state IN ('pending', 'running') ORDER BY id LIMIT 1"
    row = database.row(sql, (job.label,))
    return None if row is None else int(row["id"])


def _has_to_wait_for(database: Database, after: int) -> bool:
    """Whether ``after`` is still to be done. Raises when it never will be, or isn't there."""
    first = get(database, after)
    if first is None:
        raise UnknownJob(f"there is no job {after} to wait for", "`slothtray list` shows the ids")
    if first.state in FINISHED and first.state is not State.DONE:
        raise Refused(f"job {after} {first.state}, so what waits for it would never run", f"`slothtray retry {after}` first")
    return first.state is not State.DONE
