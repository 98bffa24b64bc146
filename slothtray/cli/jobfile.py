"""A job as the text that a person edits: TOML, from its settings and back. Pure."""

import time
from typing import NamedTuple

from slothtray.durations import UNITS, parse_duration, parse_moment
from slothtray.errors import Refused, Usage
from slothtray.model import NEVER, Job

FIELDS = ("command", "argv", "label", "priority", "max_runtime", "attempts", "cwd", "once", "not_before", "expires")


class Values(NamedTuple):
    """What a text says. ``command`` or ``argv`` is None; the rest is as in ``Job``."""

    command: str | None
    argv: tuple[str, ...] | None
    label: str | None
    priority: int
    max_runtime: float | None
    max_attempts: int | None
    cwd: str
    once: bool
    not_before: float
    expires_at: float | None


def is_shell_job(job: Job) -> bool:
    """Whether the command is a line for a shell, rather than words to run as they are."""
    return len(job.argv) == 3 and job.argv[1] in ("-c", "-lc") and job.argv[2] == job.command


# --- to a text ----------------------------------------------------------------------------------------------------------------


def as_toml(job: Job) -> str:
    """The job as a person edits it. ``Refused`` for one whose bytes are no text."""
    shell = is_shell_job(job)
    words = ", ".join(map(_quoted, job.argv))
    lines = [
        ("command", _quoted(job.command), "") if shell else ("argv", f"[{words}]", "run as it is, without a shell"),
        ("label", _quoted(job.label or ""), ""),
        ("priority", str(job.priority), "-20 to 19, higher runs first"),
        ("max_runtime", _quoted(_duration(job.max_runtime)), 'such as "2h"; "" for what the settings say'),
        ("attempts", str(job.max_attempts or 0), "0: what the settings say"),
        ("cwd", _quoted(job.cwd), ""),
        ("once", "true" if job.once else "false", "never run again by itself"),
        ("not_before", _quoted(_local(job.not_before)), '"HH:MM" or "2027-01-31T06:30"; "" for now'),
        ("expires", _quoted(_local(job.expires_at)), "the same; cancelled unless it has started by then"),
    ]
    head = f"# Job {job.id}. Save and close to change it; close without a change to leave it as it is.\n"
    text = head + "".join(f"{name} = {value}" + (f"  # {note}\n" if note else "\n") for name, value, note in lines)
    if not text.isascii() and not _is_text(text):
        raise Refused(f"job {job.id} has bytes that are no text", "change it with options such as -p 5, or add it anew")
    return text


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _quoted(text: str) -> str:
    """A basic string: control characters (DEL too) as escapes, all else as it is."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(escapes.get(one) or (f"\\u{ord(one):04x}" if one < " " or one == "\x7f" else one) for one in text) + '"'


def _duration(seconds: float | None) -> str:
    """What ``parse_duration`` reads as exactly these seconds: "2h", "1m30s"."""
    if seconds is None:
        return ""
    words = ""
    for unit in ("d", "h", "m"):
        count, seconds = divmod(seconds, UNITS[unit])
        words += f"{count:.0f}{unit}" if count else ""
    return words + (f"{seconds:.6f}".rstrip("0").rstrip(".") + "s" if seconds or not words else "")


def _local(wall: float | None) -> str:
    return "" if wall in (None, 0, NEVER) else time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(wall))


# --- from a text --------------------------------------------------------------------------------------------------------------


def from_toml(text: str, job: Job, now: float) -> Values:
    """What a person made of ``as_toml``'s text at wall time ``now``; a line that is gone leaves that as it was.

    Raises ``Usage`` for the first thing that won't do.
    """
    found = _settings(text, job)
    return Values(
        command=_text(found, "command") if "command" in found else None,
        argv=_argv(found["argv"]) if "argv" in found else None,
        label=_text(found, "label") or None,
        priority=_whole(found, "priority"),
        max_runtime=_runtime(found, job),
        max_attempts=_whole(found, "attempts") or None,
        cwd=_text(found, "cwd") or job.cwd,
        once=_flag(found, "once"),
        not_before=_moment(found, "not_before", job.not_before, now) or 0.0,
        expires_at=_moment(found, "expires", job.expires_at, now),
    )


def _settings(text: str, job: Job) -> dict[str, object]:
    import tomllib

    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Usage(f"that is no TOML: {error}") from error
    for name in found:
        if name not in FIELDS:
            raise Usage(f"there is no {name!r}", "known are " + ", ".join(FIELDS))
    if {"argv", "command"} <= set(found):
        raise Usage("there is a command and an argv", "give one of them")
    before = tomllib.loads(as_toml(job))
    if {"argv", "command"} & set(found):
        before = {name: value for name, value in before.items() if name not in ("argv", "command")}
    return {**before, **found}


def _argv(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise Usage("argv must be a list of texts")
    return tuple(value)


def _runtime(found: dict[str, object], job: Job) -> float | None:
    text = _text(found, "max_runtime")
    return job.max_runtime if text == _duration(job.max_runtime) else parse_duration(text) if text else None


def _moment(found: dict[str, object], name: str, before: float | None, now: float) -> float | None:
    """None for none. What was not touched stays to the millisecond, also when it is past by now."""
    text = _text(found, name)
    return before if text == _local(before) else parse_moment(text, now) if text else None


def _text(found: dict[str, object], name: str) -> str:
    value = found[name]
    if not isinstance(value, str):
        raise Usage(f"{name} must be a text in quotes")
    return value


def _whole(found: dict[str, object], name: str) -> int:
    value = found[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise Usage(f"{name} must be a whole number")
    return value


def _flag(found: dict[str, object], name: str) -> bool:
    value = found[name]
    if not isinstance(value, bool):
        raise Usage(f"{name} must be true or false")
    return value
