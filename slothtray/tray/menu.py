"""What the tray says, as values: menu entries and tooltip made from a snapshot. Pure: no I/O and no toolkit.

A click is a value too (``Do``): the name of a method of ``Actions`` and its arguments. So a new entry is one more line of
data here and one more method there; whatever draws the menu needs no change. All text has been through ``text.clean``.

The entries of one job stay apart, in a submenu of its own, so that the menu shows at a glance what comes and what was.
"""

from typing import NamedTuple, Protocol

from slothtray.model import Face, Job, Notice, Snapshot, State
from slothtray.text import clean
from slothtray.tray import words
from slothtray.tray.words import LABEL_LIMIT

TOOLTIP_LIMIT = 127
"""UTF-16 units: Windows' field has 128, the last of them NUL."""
FAILURES_SHOWN = HELD_SHOWN = 3

STARTING = Snapshot(Face.IDLE, "starting", None, (), (), 0, 0, 0, False, None, None, "")
"""What is shown until the runner's first snapshot."""


class Actions(Protocol):
    """What a click can ask for. Called on a worker thread, one at a time; may raise anything and may take its time."""

    def pause(self, seconds: float | None = None) -> None:
        """Start nothing more for so many seconds, or until resumed."""

    def pause_until_tomorrow(self) -> None:
        """Start nothing more until the morning (``policy.tomorrow``)."""

    def resume(self) -> None:
        """End the pause."""

    def add_from_clipboard(self, text: str | None = None) -> None:
        """Queue ``text``, which was shown as what would be queued, or else what was copied last."""

    def open_log(self, job: int | None = None) -> None:
        """Show the app's log, or that of one job, which then counts as seen."""

    def start(self, job: int) -> None:
        """Let a pending job start next, whatever the gates say."""

    def hold(self, job: int) -> None:
        """Keep a pending job from starting."""

    def release(self, *jobs: int) -> None:
        """Queue held jobs again."""

    def cancel(self, job: int) -> None:
        """Drop a waiting job, end a running one."""

    def retry(self, *jobs: int) -> None:
        """Queue finished jobs again."""

    def copy_command(self, command: str) -> None:
        """Put it into the clipboard."""

    def set_autostart(self, wanted: bool) -> None:  # noqa: FBT001 - a click carries bare values
        """Start with the login from now on, or no more."""

    def restart(self) -> None:
        """End the app and start what is installed now in its place; a running job goes on."""

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


class Clipping(NamedTuple):
    """What was copied when the menu was about to be shown: the text that a click will queue, or why it can't be queued."""

    text: str
    refusal: str = ""


class Notes(NamedTuple):
    """What the tray itself has to tell beside the queue's snapshot.

    ``undelivered``: notices no notification service took. ``mishap``: the click that failed last, and why; "" for none.
    ``clipping``: None where nobody knows what is in the clipboard. ``autostart``: whether slothtray starts with the login;
    None where it can't.
    """

    undelivered: tuple[Notice, ...] = ()
    mishap: str = ""
    clipping: Clipping | None = None
    autostart: bool | None = None


NO_NOTES = Notes()

Section = tuple[Entry, ...]


def build(snapshot: Snapshot, notes: Notes = NO_NOTES) -> tuple[Entry, ...]:
    """The whole menu, top to bottom, with exactly one entry that is the default."""
    sections = (
        _state(snapshot),
        _needs_a_look(snapshot, notes),
        _switches(snapshot, notes),
        _running_job(snapshot),
        _next_up(snapshot),
        _recent(snapshot),
        _app(snapshot, notes),
    )
    return _joined(_with_default(sections))


def tooltip(snapshot: Snapshot, notes: Notes = NO_NOTES) -> str:
    """One line: what is going on and why, how many wait, what went wrong. The reason is cut before the counts are."""
    tail = "".join(f" · {count}" for count in _counts(snapshot, notes))
    room = TOOLTIP_LIMIT - len("slothtray: ") - len(tail)
    what = f"trouble: {snapshot.trouble}" if snapshot.trouble else words.headline(snapshot, room)
    return "slothtray: " + words.fit(clean(what, room), room) + tail


def badge(snapshot: Snapshot, notes: Notes = NO_NOTES) -> bool:
    """Whether the icon asks for a look."""
    return snapshot.badge or bool(notes.undelivered)


# --- the sections ---------------------------------------------------------------------------------------------------


def _state(snapshot: Snapshot) -> Section:
    """What is going on and why."""
    lines = [_line("trouble", f"Trouble: {snapshot.trouble}", Do("open_log"))] if snapshot.trouble else []
    lines.append(_line("state", words.capital(words.headline(snapshot, LABEL_LIMIT))))
    if snapshot.paused and snapshot.face is not Face.PAUSED:
        lines.append(_line("paused", f"{words.capital(words.pause(snapshot))}: nothing else starts"))
    if snapshot.pending:
        lines.append(_line("pending", words.count(snapshot.pending, "job") + " queued"))
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
        lines.append(_line("failed.more", f"{more} more failed" if failed else f"{words.count(more, 'job')} failed"))
    lines += _held(snapshot)
    told = {job.id for job in failed}
    missed = [_missed(notice) for notice in notes.undelivered if notice.job not in told]
    return (*lines, *{entry.key: entry for entry in missed}.values())


def _held(snapshot: Snapshot) -> Section:
    shown = snapshot.held_jobs[:HELD_SHOWN]
    lines = [_held_job(job) for job in shown]
    if snapshot.held > len(shown):
        more = snapshot.held - len(shown)
        number = f"{more} more" if shown else words.count(more, "job")
        lines.append(_line("held.more", f"{number} held: slothtray list --state held"))
    return tuple(lines)


def _switches(snapshot: Snapshot, notes: Notes) -> Section:
    pause = Do("resume") if snapshot.paused else Do("pause")  # what the person saw, not what is true by the time of the click
    lengths = (
        Entry("pause.30", "30 minutes", Do("pause", (1800.0,))),
        Entry("pause.60", "1 hour", Do("pause", (3600.0,))),
        Entry("pause.tomorrow", "Until tomorrow, 8:00", Do("pause_until_tomorrow")),
    )
    return (
        Entry("pause", "Pause", pause, checked=snapshot.paused),
        Entry("pause.for", "Pause for…", submenu=lengths),
        _clipboard(notes.clipping),
    )


def _clipboard(clipping: Clipping | None) -> Entry:
    """A click queues what was shown and nothing else: another program may have copied something since."""
    if clipping is None:
        return Entry("clipboard", "Add from clipboard", Do("add_from_clipboard"))
    if clipping.refusal:
        return _line("clipboard", words.capital(clipping.refusal), Do("add_from_clipboard"))
    return _line("clipboard", words.clipping(clipping.text), Do("add_from_clipboard", (clipping.text,)))


def _running_job(snapshot: Snapshot) -> Section:
    job = snapshot.running
    if job is None:
        return ()
    end = _line("cancel", "Being cancelled") if job.cancel_requested else Entry("cancel", "Cancel", Do("cancel", (job.id,)))
    log = Entry("log", "Open its log", Do("open_log", (job.id,)))
    return (Entry(f"running.{job.id}", words.about("", job), submenu=(log, end)),)


def _next_up(snapshot: Snapshot) -> Section:
    jobs = snapshot.next_up
    if not jobs:
        return ()
    title = "Next up" if snapshot.pending <= len(jobs) else f"Next up: {len(jobs)} of {snapshot.pending}"
    return (_line("next", title), *(_waiting_job(job, snapshot) for job in jobs))


def _recent(snapshot: Snapshot) -> Section:
    if not snapshot.recent:
        return ()
    return (_line("recent", "Recent"), *map(_finished_job, snapshot.recent))


def _app(snapshot: Snapshot, notes: Notes) -> Section:
    login = Entry("autostart", "Start at login", Do("set_autostart", (not notes.autostart,)), checked=notes.autostart)
    leave = "Quit (the running job goes on)" if snapshot.running else "Quit"
    return (
        Entry("log", "Open log", Do("open_log")),
        *((login,) if notes.autostart is not None else ()),
        *((_line("restart", f"Restart to use {snapshot.newer}", Do("restart")),) if snapshot.newer else ()),
        Entry("quit", leave, Do("quit")),
    )


# --- their lines ----------------------------------------------------------------------------------------------------


def _waiting_job(job: Job, snapshot: Snapshot) -> Entry:
    choices = (
        Entry("start", "Start now", Do("start", (job.id,))),
        Entry("hold", "Hold", Do("hold", (job.id,))),
        Entry("cancel", "Cancel", Do("cancel", (job.id,))),
    )
    return Entry(f"next.{job.id}", words.about("", job, words.wait(job, snapshot)), submenu=choices)


def _finished_job(job: Job) -> Entry:
    choices = (
        Entry("log", "Open log", Do("open_log", (job.id,))),
        Entry("retry", "Retry", Do("retry", (job.id,))),
        Entry("copy", "Copy command", Do("copy_command", (job.command,))),
    )
    return Entry(f"recent.{job.id}", words.about("", job, words.outcome(job)), submenu=choices)


def _held_job(job: Job) -> Entry:
    choices = (
        Entry("release", "Release", Do("release", (job.id,))),
        Entry("log", "Open log", Do("open_log", (job.id,))),
        Entry("cancel", "Cancel", Do("cancel", (job.id,))),
    )
    return Entry(f"held.{job.id}", words.about("Held", job, job.reason or ""), submenu=choices)


def _failed(snapshot: Snapshot) -> list[Job]:
    """The last failures that nobody has looked at."""
    unseen = [job for job in snapshot.recent if job.state is State.FAILED and not job.seen]
    return unseen[:FAILURES_SHOWN]


def _failure(job: Job) -> Entry:
    return _line(f"failed.{job.id}", words.about("Failed", job, job.message or ""), Do("open_log", (job.id,)))


def _missed(notice: Notice) -> Entry:
    log = () if notice.job is None else (notice.job,)
    return _line(f"missed.{notice.job}.{notice.title}", f"Not notified: {notice.title}", Do("open_log", log))


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


def _line(key: str, label: str, do: Do | None = None) -> Entry:
    return Entry(key, clean(label, LABEL_LIMIT), do)


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
