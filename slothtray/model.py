"""The words of the queue: Job, Event, Snapshot and what else is passed around; State is in `states`. Pure values, no I/O."""

from enum import StrEnum
from typing import NamedTuple

from slothtray.states import FINISHED, NEVER, PRIORITY_MAX, PRIORITY_MIN, TRANSITIONS, State, check_transition

__all__ = [
    "FINISHED",
    "NEVER",
    "PRIORITY_MAX",
    "PRIORITY_MIN",
    "TRANSITIONS",
    "Event",
    "Face",
    "Job",
    "JobProcess",
    "Load",
    "Notice",
    "Result",
    "RunRecord",
    "Snapshot",
    "Started",
    "State",
    "check_transition",
    "offer_words",
]

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
    held_jobs: tuple[Job, ...] = ()
    """The first few of the held ones."""
    at: float = 0.0
    """Wall time of the look; 0.0: never mind."""
    newer: str = ""
    """The version of slothtray that is installed, where that is another one than the app's; else ""."""

    @property
    def badge(self) -> bool:
        """Whether the icon carries the badge: something failed or is held, or the runner is in trouble."""
        return bool(self.failed_unseen or self.held or self.trouble)


class Notice(NamedTuple):
    """Something a person should be told: a final failure, a held job, a group of reclaimed jobs.

    ``offers`` are the names of what can be done about it on the spot: "open_log", "retry", "release". ``covers`` are the jobs
    that a notice about several is about: it takes the place of those about each of them.
    """

    job: int | None
    title: str
    body: str
    urgent: bool
    offers: tuple[str, ...] = ()
    covers: tuple[int, ...] = ()
    keep: bool = True
    """Whether it stays in the menu when it could not be shown."""

    @property
    def jobs(self) -> tuple[int, ...]:
        """Which jobs it is about."""
        return self.covers if self.job is None else (self.job,)


def offer_words(offer: str) -> str:
    """What the button for one of a notice's offers says: "Open log"."""
    return offer.replace("_", " ").capitalize()


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
