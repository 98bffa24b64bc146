"""What the tray says, as values: menu entries and tooltip made from a snapshot. Pure: no I/O and no toolkit.

A click is a value too (``Do``): the name of a method of ``Actions`` and its arguments. So a new entry is one more line of
data here and one more method there; whatever draws the menu needs no change. All text has been through ``text.clean``.
"""

from typing import NamedTuple, Protocol

from slothtray.model import Face, Job, Notice, Snapshot, State
from slothtray.policy import clock_words
from slothtray.text import clean

LABEL_LIMIT = 60
"""Characters of a label: about what a menu shows without covering the screen."""
TOOLTIP_LIMIT = 127
"""UTF-16 units: Windows' field has 128, the last of them NUL."""
DETAIL_LIMIT = 30
FAILURES_SHOWN = 3

STARTING = Snapshot(Face.IDLE, "starting", None, (), (), 0, 0, 0, False, None, None, "")
"""What is shown until the runner's first snapshot."""


class Actions(Protocol):
    """What a click can ask for. Called on a worker thread, one at a time; may raise anything and may take its time."""

    def pause(self) -> None:
        """Start nothing more until resumed."""

    def resume(self) -> None:
        """End the pause."""

    def add_from_clipboard(self) -> None:
        """Queue what was copied last."""

    def open_log(self, job: int | None = None) -> None:
        """Show the app's log, or that of one job, which then counts as seen."""

    def quit(self) -> None:
        """End the app; a running job goes on."""


class Do(NamedTuple):
    """One click: call ``name`` of ``Actions`` with ``arguments``."""

    name: str
    arguments: tuple[object, ...] = ()


class Entry(NamedTuple):
    """One line of the menu. ``key`` stays the same while a line is the same thing, whatever it says.

    ``checked`` None: it can't be checked. ``default``: what a plain click on the icon does. Without ``do`` and ``submenu``
    it only tells.
    """

    key: str
    label: str = ""
    do: Do | None = None
    checked: bool | None = None
    default: bool = False
    submenu: tuple["Entry", ...] = ()
    separator: bool = False

    @property
    def enabled(self) -> bool:
        """Whether it can be chosen."""
        return self.do is not None or bool(self.submenu)


class Notes(NamedTuple):
    """What the tray itself has to tell beside the queue's snapshot.

    ``undelivered``: notices no notification service took. ``mishap``: the click that failed last, and why; "" for none.
    """

    undelivered: tuple[Notice, ...] = ()
    mishap: str = ""


NO_NOTES = Notes()

Section = tuple[Entry, ...]


def build(snapshot: Snapshot, notes: Notes = NO_NOTES) -> tuple[Entry, ...]:
    """The whole menu, top to bottom, with exactly one entry that is the default."""
    sections = (_state(snapshot), _needs_a_look(snapshot, notes), _switches(snapshot), _app(snapshot))
    return _joined(_with_default(sections))


def tooltip(snapshot: Snapshot, notes: Notes = NO_NOTES) -> str:
    """One line: what is going on and why, how many wait, what went wrong. The reason is cut before the counts are."""
    tail = "".join(f" · {count}" for count in _counts(snapshot, notes))
    room = TOOLTIP_LIMIT - len("slothtray: ") - len(tail)
    what = f"trouble: {snapshot.trouble}" if snapshot.trouble else _headline(snapshot, room)
    return "slothtray: " + _fit(clean(what, room), room) + tail


def badge(snapshot: Snapshot, notes: Notes = NO_NOTES) -> bool:
    """Whether the icon asks for a look."""
    return snapshot.badge or bool(notes.undelivered)


def job_words(job: Job) -> str:
    """What a person calls the job: its label, else its command, else its number."""
    return job.label or job.command or f"job {job.id}"


# --- the sections ---------------------------------------------------------------------------------------------------


def _state(snapshot: Snapshot) -> Section:
    """What is going on and why."""
    lines = [_line("trouble", f"Trouble: {snapshot.trouble}", Do("open_log"))] if snapshot.trouble else []
    lines.append(_line("state", _capital(_headline(snapshot, LABEL_LIMIT))))
    if snapshot.paused and snapshot.face is not Face.PAUSED:
        lines.append(_line("paused", f"{_capital(_pause_words(snapshot))}: nothing else starts"))
    if snapshot.pending:
        lines.append(_line("pending", _count(snapshot.pending, "job") + " queued"))
    return tuple(lines)


def _needs_a_look(snapshot: Snapshot, notes: Notes) -> Section:
    """Failures, held jobs, notifications nobody saw, clicks that failed: what the badge stands for."""
    lines = []
    if notes.mishap:
        lines.append(_line("mishap", notes.mishap, Do("open_log")))
    failed = _failed(snapshot)
    lines += [_failure(job) for job in failed]
    if snapshot.failed_unseen > len(failed):
        more = snapshot.failed_unseen - len(failed)
        lines.append(_line("failed.more", f"{more} more failed" if failed else f"{_count(more, 'job')} failed"))
    if snapshot.held:
        lines.append(_line("held", f"{_count(snapshot.held, 'job')} held until you say: slothtray list --state held"))
    told = {job.id for job in failed}
    lines += [_missed(place, notice) for place, notice in enumerate(notes.undelivered) if notice.job not in told]
    return tuple(lines)


def _switches(snapshot: Snapshot) -> Section:
    pause = Do("resume") if snapshot.paused else Do("pause")  # what the person saw, not what is true by the time of the click
    return (
        Entry("pause", "Pause", pause, checked=snapshot.paused),
        Entry("clipboard", "Add from clipboard", Do("add_from_clipboard")),
    )


def _app(snapshot: Snapshot) -> Section:
    leave = "Quit (the running job goes on)" if snapshot.running else "Quit"
    return (Entry("log", "Open log", Do("open_log")), Entry("quit", leave, Do("quit")))


# --- their words ----------------------------------------------------------------------------------------------------


def _headline(snapshot: Snapshot, limit: int) -> str:
    """Beginning in lower case, not yet clean, and only roughly within the limit."""
    if snapshot.face is Face.RUNNING:
        return _running_words(snapshot, limit)
    if snapshot.face is Face.PAUSED:
        return snapshot.reason or _pause_words(snapshot)
    return f"{snapshot.face}: {snapshot.reason}" if snapshot.reason else str(snapshot.face)


def _running_words(snapshot: Snapshot, limit: int) -> str:
    job = snapshot.running
    if job is None:
        return snapshot.reason or "running"
    since = [f"since {clock_words(job.started_at)}"] if job.started_at is not None else []
    attempt = [f"attempt {job.attempts}"] if job.attempts > 1 else []
    return _about("running", job, ", ".join(since + attempt), limit)


def _about(what: str, job: Job, detail: str, limit: int) -> str:
    """Like "failed: make -j4 (exit 2)": it is the job's name that gets cut, not what there is to say of it."""
    detail = clean(f"({detail})", DETAIL_LIMIT) if detail else ""
    return f"{what}: {clean(job_words(job), limit - len(what) - len(detail) - 3)} {detail}"


def _pause_words(snapshot: Snapshot) -> str:
    return "paused" if snapshot.paused_until is None else f"paused until {clock_words(snapshot.paused_until)}"


def _failed(snapshot: Snapshot) -> list[Job]:
    """The last failures that nobody has looked at."""
    unseen = [job for job in snapshot.recent if job.state is State.FAILED and not job.seen]
    return unseen[:FAILURES_SHOWN]


def _failure(job: Job) -> Entry:
    return _line(f"failed.{job.id}", _about("Failed", job, job.message or "", LABEL_LIMIT), Do("open_log", (job.id,)))


def _missed(place: int, notice: Notice) -> Entry:
    log = () if notice.job is None else (notice.job,)
    return _line(f"missed.{place}", f"Not notified: {notice.title}", Do("open_log", log))


def _counts(snapshot: Snapshot, notes: Notes) -> list[str]:
    """The tooltip's figures; short, so that they are never cut."""
    paused = snapshot.paused and snapshot.face is not Face.PAUSED
    return [
        *(["paused"] if paused else []),
        *([f"{snapshot.pending} queued"] if snapshot.pending else []),
        *([f"{snapshot.failed_unseen} failed"] if snapshot.failed_unseen else []),
        *([f"{snapshot.held} held"] if snapshot.held else []),
        *([f"{len(notes.undelivered)} not notified"] if notes.undelivered else []),
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _line(key: str, words: str, do: Do | None = None) -> Entry:
    return Entry(key, clean(words, LABEL_LIMIT), do)


def _fit(line: str, units: int) -> str:
    """``line`` in at most so many UTF-16 units: an emoji takes two."""
    limit = units
    while len(line.encode("utf-16-le")) > 2 * units:
        line = clean(line, limit)
        limit -= 1
    return line


# --- putting together -----------------------------------------------------------------------------------------------


def _with_default(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """A click on the icon does the first thing that needs a look, else it opens the log."""
    choices = [entry for section in sections[:2] for entry in section if entry.do]
    key = choices[0].key if choices else "log"
    return tuple(tuple(entry._replace(default=entry.key == key) for entry in section) for section in sections)


def _joined(sections: tuple[Section, ...]) -> tuple[Entry, ...]:
    """The sections that have something to say, with a separator between them."""
    entries: list[Entry] = []
    for number, section in enumerate(sections):
        if section and entries:
            entries.append(Entry(f"separator.{number}", separator=True))
        entries += section
    return tuple(entries)
