"""What the runner tells: news for a person, and the snapshot that the tray draws. Reads the database, writes nothing."""

import re
from collections.abc import Callable

from slothtray import notices, policy
from slothtray.config import Config
from slothtray.model import NEVER, Job, Load, Notice, Snapshot
from slothtray.notices import LINE, LINES, Memory, Moment, News
from slothtray.paths import Paths
from slothtray.policy import Change
from slothtray.store import reading
from slothtray.store.connection import Database
from slothtray.store.status import pause_of
from slothtray.system.tail import last_bytes
from slothtray.text import clean

NEXT_UP, RECENT, HELD = 5, 5, 5
TAIL = 8192
"""Bytes at the end of a log in which its last lines are looked for."""

_HEADER = re.compile(rb"^--- attempt \d+, [-0-9 :]+ ---\n", re.MULTILINE)
_ESCAPES = re.compile(rb"\x1b\[[0-9;:?]*[ -/]*[@-~]")
"""Colours and the like, which a bubble can't show."""


class Bulletin:
    """Collects what happens in a step, and tells it at the step's end: by then it is known what belongs together."""

    def __init__(self, paths: Paths, tell: Callable[[Notice], None] | None) -> None:
        self._paths, self._tell = paths, tell
        self._news: list[News] = []
        self._emptied = False
        self._memory = Memory()

    def note(self, job: Job, change: Change, config: Config) -> None:
        """An attempt has ended in this way. What the person does not want to be told (``notify_on``) is forgotten."""
        if self._tell is not None and (change.kind == "reclaimed" or change.kind in config.notify_on):
            self._news.append(news(job, change, self._paths))

    def note_empty(self) -> None:
        """The queue has become empty, and the person wants to know."""
        self._emptied = True

    def flush(self, config: Config, wall: float, awake: float, absence: str) -> None:
        """Tell it, or keep it while the hours are quiet. ``absence``: see ``notices.Moment``."""
        quiet = notices.is_quiet(config.quiet_hours, wall)
        told, self._memory = notices.sort_out(self._news, self._memory, Moment(awake, quiet, absence))
        if self._emptied and not quiet:
            told.append(notices.EMPTY)
        self._news, self._emptied = [], False
        for notice in told:
            assert self._tell is not None
            self._tell(notice)


def news(job: Job, change: Change, paths: Paths) -> News:
    """What a change is for a person: how it ended in words and, where it did not end well, the last it has written."""
    outcome = notices.ending_words(change.detail, _number(change, "exit_code"), _number(change, "signal"))
    output = last_output(paths.log(job.id)) if change.kind in ("failed", "retry") else ()
    return News(change.kind, job.id, clean(job.label or job.command, notices.NAME), outcome, output)


def _number(change: Change, name: str) -> int | None:
    value = change.columns.get(name)
    return value if isinstance(value, int) else None


def last_output(path: str) -> tuple[str, ...]:
    """The last lines that the last attempt has written and that say something, clean. A progress bar's last state is its line."""
    data = _ESCAPES.sub(b"", last_bytes(path, TAIL))
    *_, data = _HEADER.split(data)
    lines = (clean(line.decode(errors="replace"), LINE) for line in data.replace(b"\r", b"\n").split(b"\n"))
    return tuple([line for line in lines if line][-LINES:])


def snapshot(database: Database, wait: policy.Wait | None, load: Load | None, now: float, trouble: str = "") -> Snapshot:
    """The queue as the tray shows it. ``wait``: the gate that keeps a due job back."""
    counts = reading.counts(database)
    running = reading.running(database)
    pause = pause_of(database, now)
    waiting = wait is not None or counts.pending > 0
    return Snapshot(
        face=policy.face(running=bool(running), paused=pause is not None, waiting=waiting),
        reason=wait.reason if wait is not None else _own_wait(database, now),
        running=running[0] if running else None,
        next_up=tuple(reading.next_up(database, NEXT_UP)),
        recent=tuple(reading.recent(database, RECENT)),
        pending=counts.pending,
        held=counts.held,
        failed_unseen=counts.unseen,
        paused=pause is not None,
        paused_until=pause.until if pause else None,
        load=load,
        trouble=trouble,
        held_jobs=tuple(reading.held(database, HELD)) if counts.held else (),
        at=now,
    )


def _own_wait(database: Database, now: float) -> str:
    """When what waits for a time of its own will start; "" where nothing does."""
    job = reading.first_delayed(database)
    if job is None or job.not_before <= now:
        return ""
    if job.not_before == NEVER:
        return f"job {job.after} must be done first"
    again = f", attempt {job.attempts + 1}" if job.failures or job.unstarted else ""
    return f"job {job.id}{again} at {policy.clock_words(job.not_before, now)}"
