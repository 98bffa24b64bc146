"""How jobs look: as JSON for programs, as text for people. Times in JSON are ISO 8601 UTC; what does not apply is null."""

import datetime as dt
import os
from typing import NamedTuple, TextIO

from slothtray.cli.columns import fit, pad, width
from slothtray.config import Config
from slothtray.model import NEVER, Event, Job, State
from slothtray.paths import Paths
from slothtray.text import clean, duration_words

COMMAND_NOT_FOUND = 127


def moment(wall: float | None) -> str | None:
    """ISO 8601 in UTC, to the millisecond."""
    if wall is None or wall in (0, NEVER):
        return None
    return dt.datetime.fromtimestamp(wall, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job_json(job: Job, paths: Paths, config: Config, reason: str | None = None) -> dict[str, object]:
    """JOB of the contract (DESIGN 12). ``config`` gives the limits of a job without its own."""
    return {
        "id": job.id,
        "state": str(job.state),
        "command": job.command,
        "argv": list(job.argv),
        "label": job.label,
        "priority": job.priority,
        "attempts": job.attempts,
        "failures": job.failures,
        "interruptions": job.interruptions,
        "max_attempts": job.max_attempts if job.max_attempts is not None else config.attempts,
        "max_runtime": job.max_runtime if job.max_runtime is not None else config.max_runtime,
        "exit_code": job.exit_code,
        "signal": job.signal,
        "message": job.message,
        "reason": reason if reason is not None else job.reason,
        "created_at": moment(job.created_at),
        "not_before": moment(job.not_before),
        "started_at": moment(job.started_at),
        "finished_at": moment(job.finished_at),
        "after": job.after,
        "expires_at": moment(job.expires_at),
        "cwd": job.cwd,
        "log": paths.log(job.id),
    }


def event_json(event: Event) -> dict[str, object]:
    """One line of a job's history."""
    return {"at": moment(event.at), "kind": event.kind, "detail": event.detail}


def what_of(job: Job, now: float, reason: str | None = None, usual: float | None = None) -> str:
    """The last column of a list: how it ended and when, how long it runs, why it waits. ``usual``: seconds it takes as a rule."""
    usually = f"usually {duration_words(usual)}" if usual is not None else ""
    if job.state is State.RUNNING:
        attempt = f"attempt {job.attempts}" if job.attempts > 1 else ""
        ending = "being cancelled" if job.cancel_requested else ""
        # First what it has to say (that something can't be killed): the end may be cut.
        words = [job.reason or "", f"for {duration_words(now - (job.started_at or now))}", attempt, repeated(job), usually, ending]
    elif job.state is State.PENDING:
        words = [waiting_words(job, now, reason), usually]
    elif job.state is State.HELD:
        words = [job.reason or ""]
    else:
        words = [job.message or "", took(job), repeated(job), ago(now - job.finished_at) if job.finished_at else ""]
    return clean(", ".join(word for word in words if word))


def repeated(job: Job) -> str:
    """That it was begun anew after a crash or the like: whoever comes back in the morning is told, too."""
    if not job.interruptions:
        return ""
    return "interrupted once" if job.interruptions == 1 else f"interrupted {job.interruptions} times"


def took(job: Job) -> str:
    """How long a job that ended well took, where that is a second or more; a failure's words tell it already."""
    if job.state is not State.DONE or job.started_at is None or job.finished_at is None:
        return ""
    seconds = job.finished_at - job.started_at
    return f"took {duration_words(seconds)}" if seconds >= 1 else ""


def ago(seconds: float) -> str:
    """How long something is past."""
    return f"{duration_words(int(seconds))} ago" if seconds >= 1 else "just now"


def waiting_words(job: Job, now: float, reason: str | None) -> str:
    """Why a pending job is not running yet."""
    if job.not_before == NEVER:
        return f"after job {job.after}"
    if job.not_before > now:
        wait = duration_words(job.not_before - now + 0.999)
        if not job.failures and not job.unstarted:
            return f"in {wait}"
        return f"attempt {job.attempts + 1} in {wait}" + (f" ({job.message})" if job.message else "")
    return "; ".join(text for text in (reason, job.reason) if text)


LONGEST_NAME = 1000
"""Characters that are looked at: no list is so wide, and a command may have a million."""


def name_of(job: Job) -> str:
    """How a list names a job: its command, after its label if it has one."""
    text = f"{job.label}: {job.command}" if job.label else job.command
    return clean(text[:LONGEST_NAME])


COLOURS = {
    State.RUNNING: "32",
    State.PENDING: "33",
    State.FAILED: "31",
    State.HELD: "35",
    State.CANCELLED: "2",
    State.DONE: "",
}


PLAIN = "\x1b[0m"


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour: a terminal that can, and a person who doesn't mind (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "dumb")


def painted(text: str, state: State, *, colour: bool) -> str:
    """The text in the state's colour."""
    code = COLOURS[state] if colour else ""
    return f"\x1b[{code}m{text}{PLAIN}" if code else text


class Row(NamedTuple):
    """One line of a list: the job's cells, all clean."""

    state: State
    number: str
    flag: str
    priority: str
    name: str
    what: str


PIPE_WIDTH = 200


def list_width(stream: TextIO) -> int:
    """The cells a list may take: the terminal's, or what COLUMNS says; for a pipe enough to find most commands in."""
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        return PIPE_WIDTH
    import shutil

    return shutil.get_terminal_size().columns


def table(rows: list[Row], cells: int, *, colour: bool = False) -> str:
    """A list in columns that fit into ``cells``: the name gives way first, then the last. Priorities only where one is set."""
    fixed = [("ID", [row.number for row in rows]), ("STATE", [row.state + row.flag for row in rows])]
    if any(row.priority != "0" for row in rows):
        fixed.append(("PRI", [row.priority for row in rows]))
    widths = [max(map(len, [title, *column])) for title, column in fixed]
    room = max(20, cells - sum(widths) - 2 * (len(widths) + 1))
    longest = max((width(row.what) for row in rows), default=0)
    name = max(min(max(map(width, ["COMMAND", *(row.name for row in rows)])), room - min(longest, room // 2)), 8)
    lines = ["  ".join([*(title.ljust(size) for (title, _), size in zip(fixed, widths, strict=True)), "COMMAND"])]
    for place, row in enumerate(rows):
        shown = [column[place].ljust(size) for (_, column), size in zip(fixed, widths, strict=True)]
        shown[1] = painted(shown[1], row.state, colour=colour)
        lines.append("  ".join([*shown, pad(fit(row.name, name), name), fit(row.what, max(8, room - name))]).rstrip())
    return "\n".join(lines)


def job_text(
    job: Job, events: list[Event], paths: Paths, now: float, reason: str | None = None, usual: float | None = None
) -> str:
    """All about one job, a fact a line, then its history. ``reason``: why it waits."""
    facts: list[tuple[str, object]] = [
        ("job", job.id),
        ("state", f"{job.state}: {what}" if (what := what_of(job, now, reason, usual)) else job.state),
        ("hint", hint(job)),
        ("command", clean(job.command)),
        ("label", clean(job.label) if job.label else None),
        ("folder", clean(job.cwd)),
        ("priority", job.priority),
        ("attempts", f"{job.attempts}" + (f" of {job.max_attempts}" if job.max_attempts else "")),
        ("max runtime", duration_words(job.max_runtime) if job.max_runtime else None),
        ("once", "never run again by itself" if job.once else None),
        ("after", f"job {job.after}" if job.after else None),
        ("expires", local(job.expires_at) if job.expires_at else None),
        ("not passed on", ", ".join(clean(name) for name in job.dropped) or None),
        ("log", clean(paths.log(job.id))),
    ]
    lines = [f"{name + ':':<14} {value}" for name, value in facts if value is not None]
    lines += ["", *(f"{local(event.at)}  {clean(event.kind)}  {clean(event.detail)}".rstrip() for event in events)]
    return "\n".join(lines)


def hint(job: Job) -> str | None:
    """What may help when a command could not be found."""
    message = job.message or ""
    if job.exit_code == COMMAND_NOT_FOUND:
        return "no such command (the log names it); aliases and functions of your shell need a script"
    if message.startswith("could not start") and "No such file" in message and len(job.argv) > 1 and job.argv[1] != "-c":
        return 'for what only a shell knows (pipes, builtins, cd), quote all as one argument: slothtray add "…"'
    return None


def local(wall: float) -> str:
    """Local date and time for people."""
    return dt.datetime.fromtimestamp(wall).astimezone().strftime("%Y-%m-%d %H:%M:%S")
