"""The words of the queue: Job, Event, State and the one table of allowed transitions. Pure values, no I/O."""

from enum import StrEnum
from typing import NamedTuple

from slothtray.errors import IllegalTransition

PRIORITY_MIN, PRIORITY_MAX = -20, 19
NEVER = float("inf")
"""``not_before`` of a job that waits for another one (``--after``)."""


class State(StrEnum):
    """Where a job is. ``running`` is the only state in which processes of the job may live."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    HELD = "held"


FINISHED = frozenset({State.DONE, State.FAILED, State.CANCELLED})

_P, _R, _D, _F, _C, _H = State.PENDING, State.RUNNING, State.DONE, State.FAILED, State.CANCELLED, State.HELD

TRANSITIONS: frozenset[tuple[State | None, State, str]] = frozenset(
    {
        # from, to, the kind of event that tells of it (DESIGN 3)
        (None, _P, "added"),
        (None, _H, "added"),
        (_P, _R, "claimed"),
        (_R, _D, "done"),
        (_R, _F, "failed"),
        (_R, _C, "cancelled"),
        (_R, _P, "retry"),
        (_R, _P, "unstarted"),
        (_R, _P, "reclaimed"),
        (_R, _H, "held"),
        (_P, _H, "held"),
        (_P, _C, "cancelled"),
        (_P, _C, "expired"),
        (_P, _C, "dependency failed"),
        (_H, _P, "released"),
        (_H, _C, "cancelled"),
        (_H, _C, "expired"),
        (_H, _C, "dependency failed"),
        (_D, _P, "retried"),
        (_F, _P, "retried"),
        (_C, _P, "retried"),
    }
)


def check_transition(before: State | None, after: State, kind: str) -> None:
    """Raise ``IllegalTransition`` unless the table allows this change by this kind of event."""
    if (before, after, kind) not in TRANSITIONS:
        raise IllegalTransition(f"{before} -> {after} by {kind!r} is not in the table")


class Job(NamedTuple):
    """One row of the queue as it was when read; never changes. Times are seconds since the epoch, durations seconds.

    ``max_attempts``, ``max_runtime``: None means "what the config says when it runs".
    """

    id: int
    state: State
    command: str
    argv: tuple[str, ...]
    label: str | None
    priority: int
    attempts: int
    failures: int
    interruptions: int
    unstarted: int
    max_attempts: int | None
    max_runtime: float | None
    once: bool
    exit_code: int | None
    signal: int | None
    message: str | None
    reason: str | None
    created_at: float
    not_before: float
    started_at: float | None
    finished_at: float | None
    after: int | None
    expires_at: float | None
    cwd: str
    umask: int
    run: str | None
    holder: str | None
    machine: str | None
    boot: str | None
    lease_until: float | None
    cancel_requested: bool
    start_now: bool
    seen: bool
    dropped: tuple[str, ...]


class Event(NamedTuple):
    """One line of a job's history. ``at`` is wall time."""

    id: int
    job: int | None
    at: float
    kind: str
    detail: str


class Load(NamedTuple):
    """The load gate's figures: the kernel's 1-minute average, our own job's part in it, the rest, the ceiling (None: off)."""

    one: float
    own: float
    foreign: float
    ceiling: float | None


class Face(StrEnum):
    """What the icon's colour tells. In the order of precedence: running > paused > waiting > idle."""

    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting"
    IDLE = "idle"


class Snapshot(NamedTuple):
    """All that the tray draws, made by the runner thread so that the drawing thread never reads the database."""

    face: Face
    reason: str
    """Why nothing starts, with the figure ("load 2.91 > 1.50 since 14:02"), or what runs; "" when idle."""
    running: Job | None
    next_up: tuple[Job, ...]
    recent: tuple[Job, ...]
    pending: int
    held: int
    failed_unseen: int
    """Failures nobody has looked at; together with ``held`` it makes the badge."""
    paused: bool
    paused_until: float | None
    load: Load | None
    trouble: str
    """One line when the runner itself is in trouble (the database can't be used …), else ""."""

    @property
    def badge(self) -> bool:
        """Whether the icon carries the badge: something failed or is held, or the runner is in trouble."""
        return bool(self.failed_unseen or self.held or self.trouble)


class Notice(NamedTuple):
    """Something a person should be told: a final failure, a held job, a group of reclaimed jobs."""

    job: int | None
    title: str
    body: str
    urgent: bool


class Started(NamedTuple):
    """The ``S`` line of a run record: the supervisor's identity and control group ("" when unknown); ``at`` is wall time."""

    pid: int
    start: int
    boot: str
    cgroup: str
    at: float


class JobProcess(NamedTuple):
    """The ``J`` line: the job's first process, which leads its session and group."""

    pid: int
    start: int


class Result(NamedTuple):
    """The ``X`` line: how one attempt ended.

    ``why`` is one of exit, exec (could not start), timeout, cancel, interrupted. ``code`` is the exit code, or None when a
    ``signal`` ended it or it never began. ``left`` counts the processes a successful job left running; ``ran`` is in seconds awake.
    """

    why: str
    code: int | None
    signal: int | None
    error: str
    left: int
    ran: float
    at: float


class RunRecord(NamedTuple):
    """What a run record says; each part is None (or empty) until its line is there."""

    started: Started | None
    process: JobProcess | None
    unkillable: tuple[int, ...]
    result: Result | None
