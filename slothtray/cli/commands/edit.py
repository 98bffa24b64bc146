"""`slothtray edit`: change a job that has not started, by options or as TOML in the editor. All is checked before any counts."""

import json
import os
import shlex
import subprocess
import tempfile
import time

from slothtray import actions
from slothtray.cli.commands.add import not_before
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.durations import parse_duration, parse_id, parse_moment
from slothtray.errors import Refused, SlothtrayError, Usage
from slothtray.model import NEVER, Job
from slothtray.paths import Paths
from slothtray.store import Queue, person
from slothtray.store.editing import Edit

FIELDS = ("command", "argv", "label", "priority", "max_runtime", "attempts", "cwd", "once", "not_before", "expires")
OPTIONS = ("priority", "max_runtime", "attempts", "delay", "at", "expires", "cwd", "label", "command")


def run(parsed: Parsed, paths: Paths) -> int:
    """Change the job, or leave it as it was and say why."""
    number = parse_id(parsed.words[0])
    queue = Queue(paths.database)
    try:
        job = person.find(queue.database, number)
        person.check_editable(job)
    finally:
        queue.close()
    now = Clock().wall()
    edit = _by_options(parsed, job, now) if any(parsed.get(key) is not None for key in OPTIONS) else _in_editor(job, now)
    if edit is None:
        print("nothing was changed")
        return 0
    errors = actions.each(paths, [number], lambda database, number, now: person.edit(database, number, edit, now))
    if errors:
        raise errors[0]
    return 0


# --- by options -------------------------------------------------------------------------------------------------------------


def _by_options(parsed: Parsed, job: Job, now: float) -> Edit:
    edit = Edit()
    for key in ("priority", "max_runtime", "label"):
        if parsed.get(key) is not None:
            edit.set(key, parsed.get(key))
    if parsed.get("attempts") is not None:
        edit.set("max_attempts", parsed.get("attempts"))
    cwd, command, expires = parsed.text("cwd"), parsed.text("command"), parsed.number("expires")
    if cwd is not None:
        edit.set("cwd", _folder(cwd))
    if command is not None:
        edit.set_command(command, _shell_argv(job, command))
    if parsed.get("delay") is not None or parsed.get("at") is not None:
        edit.set("not_before", not_before(parsed, now))
    if expires is not None:
        edit.set("expires_at", now + expires)
    return edit


def _shell_argv(job: Job, command: str) -> tuple[str, ...]:
    """The new command line for the job's own shell; for a job without one, the person's."""
    shell = job.argv[0] if is_shell_job(job) else os.environ.get("SHELL") or "/bin/sh"
    return (shell, job.argv[1] if is_shell_job(job) else "-c", command)


def is_shell_job(job: Job) -> bool:
    """Whether the command is a line for a shell, rather than words to run as they are."""
    return len(job.argv) == 3 and job.argv[1] in ("-c", "-lc") and job.argv[2] == job.command


def _folder(path: str) -> str:
    folder = os.path.abspath(path)
    if not os.path.isdir(folder):
        raise Usage(f"{folder} is not a folder")
    return folder


# --- in the editor ----------------------------------------------------------------------------------------------------------


def _in_editor(job: Job, now: float) -> Edit | None:
    before = as_toml(job)
    after = _edited(before, job.id)
    if after == before:
        return None
    try:
        return from_toml(after, job, now)
    except SlothtrayError as error:
        raise Usage(f"job {job.id} was left as it was: {error.title}", error.message) from error


def _edited(text: str, number: int) -> str:
    """Let the person's editor loose on a text. ``Refused`` when there is none or it fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="slothtray-") as folder:
        path = os.path.join(folder, f"job-{number}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            code = subprocess.run([*shlex.split(editor), path], check=False).returncode
        except (OSError, ValueError) as error:
            raise Refused(f"the editor {editor!r} can't be started: {error}", "set EDITOR, or use options such as -p 5") from error
        if code != 0:
            raise Refused(f"the editor ended with {code}", f"job {number} was left as it was")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


def as_toml(job: Job) -> str:
    """The job as a person edits it. A JSON text is a TOML one: both escape alike."""
    command = ("command", json.dumps(job.command, ensure_ascii=False)) if is_shell_job(job) else ("argv", json.dumps(job.argv))
    waits = job.not_before not in (0, NEVER)
    lines = [
        (*command, ""),
        ("label", json.dumps(job.label or "", ensure_ascii=False), ""),
        ("priority", str(job.priority), "-20 to 19, higher runs first"),
        ("max_runtime", json.dumps(f"{job.max_runtime:g}s" if job.max_runtime else ""), '"2h"; "" for none'),
        ("attempts", str(job.max_attempts or 0), "0: as in the config"),
        ("cwd", json.dumps(job.cwd, ensure_ascii=False), ""),
        ("once", "true" if job.once else "false", "never run again by itself"),
        ("not_before", json.dumps(_local(job.not_before) if waits else ""), '"HH:MM" or "2027-01-31T06:30"; "" for now'),
        ("expires", json.dumps(_local(job.expires_at) if job.expires_at else ""), "the same"),
    ]
    head = f"# Job {job.id}. Save and close to change it; close without a change to leave it as it is.\n"
    return head + "".join(f"{name} = {value}" + (f"  # {note}\n" if note else "\n") for name, value, note in lines)


def _local(wall: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(wall))


def from_toml(text: str, job: Job, now: float) -> Edit:
    """What a person made of ``as_toml``'s text. Raises ``Usage`` for the first thing that can't be meant so."""
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Usage(f"that is no TOML: {error}") from error
    for name in found:
        if name not in FIELDS:
            raise Usage(f"there is no {name!r}", "known are " + ", ".join(FIELDS))
    return _edit_of(found, job, now)


def _edit_of(found: dict[str, object], job: Job, now: float) -> Edit:
    edit = Edit()
    if "argv" in found:
        argv = found["argv"]
        if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
            raise Usage("argv must be a list of texts")
        edit.set_command(shlex.join(argv), tuple(argv))
    elif "command" in found:
        command = _text(found, "command")
        edit.set_command(command, _shell_argv(job, command))
    edit.set("label", _text(found, "label") or None)
    edit.set("priority", _whole(found, "priority"))
    edit.set("max_attempts", _whole(found, "attempts") or None)
    edit.set("once", int(bool(found.get("once", False))))
    edit.set("cwd", _folder(_text(found, "cwd") or job.cwd))
    limit = _text(found, "max_runtime")
    edit.set("max_runtime", parse_duration(limit) if limit else None)
    if job.not_before != NEVER:
        edit.set("not_before", _moment(found, "not_before", job.not_before, now))
    edit.set("expires_at", _moment(found, "expires", job.expires_at or 0.0, now) or None)
    return edit


def _moment(found: dict[str, object], name: str, before: float, now: float) -> float:
    text = _text(found, name)
    if not text:
        return 0.0
    return before if before and text == _local(before) else parse_moment(text, now)


def _text(found: dict[str, object], name: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise Usage(f"{name} must be a text in quotes")
    return value


def _whole(found: dict[str, object], name: str) -> int:
    value = found.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Usage(f"{name} must be a whole number")
    return value


