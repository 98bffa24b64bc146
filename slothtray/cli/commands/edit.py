"""`slothtray edit`: change a job that has not started, by options or as TOML in the editor. All is checked before any counts."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile

from slothtray import actions, private
from slothtray.cli import jobfile
from slothtray.cli.commands.add import check_times, not_before
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.durations import parse_id
from slothtray.errors import Refused, SlothtrayError, Usage
from slothtray.model import NEVER, Job
from slothtray.paths import Paths
from slothtray.store import Queue, person
from slothtray.store.editing import Edit

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
    if any(parsed.get(key) is not None for key in OPTIONS):
        _change(paths, number, _by_options(parsed, job, Clock().wall()))
    elif not _in_editor(paths, job):
        print("nothing was changed")
    return 0


def _change(paths: Paths, number: int, edit: Edit) -> None:
    errors = actions.each(paths, [number], lambda database, number, now: person.edit(database, number, edit, now))
    if errors:
        raise errors[0]


# --- by options -------------------------------------------------------------------------------------------------------------


def _by_options(parsed: Parsed, job: Job, now: float) -> Edit:
    edit = Edit()
    for column, key in (("priority", "priority"), ("max_attempts", "attempts")):
        if parsed.whole(key) is not None:
            edit.set(column, parsed.whole(key))
    cwd, command, label, limit = parsed.text("cwd"), parsed.text("command"), parsed.text("label"), parsed.number("max_runtime")
    if cwd is not None:
        edit.set("cwd", _folder(cwd))
    if command is not None:
        edit.set_command(command, _shell_argv(job, command))
    if label is not None:
        edit.set("label", label or None)
    if limit is not None:
        edit.set("max_runtime", None if limit == NEVER else limit)
    _set_times(edit, job, not_before(parsed, now), parsed.number("expires"), now)
    return edit


def _set_times(edit: Edit, job: Job, start: float, expires: float | None, now: float) -> None:
    """``start``: wall time, 0.0 to leave it; ``expires``: seconds from now, None to leave it, infinity for never."""
    expires_at = job.expires_at if expires is None else None if expires == NEVER else now + expires
    if start:
        edit.set("not_before", start)
    if expires is not None:
        edit.set("expires_at", expires_at)
    if start or expires is not None:
        check_times(start or job.not_before, expires_at)


def _shell_argv(job: Job, command: str) -> tuple[str, ...]:
    """The new command line for the job's own shell; for a job without one, the person's."""
    shell = jobfile.is_shell_job(job)
    return (job.argv[0], job.argv[1], command) if shell else (os.environ.get("SHELL") or "/bin/sh", "-c", command)


def _folder(path: str) -> str:
    folder = os.path.abspath(path)
    if not path or not os.path.isdir(folder):
        raise Usage(f"{folder if path else repr(path)} is not a folder")
    return folder


# --- in the editor ----------------------------------------------------------------------------------------------------------


def _in_editor(paths: Paths, job: Job) -> bool:
    """Let the person change the job as a text; False when they did not. A text that can't be used is kept, and named."""
    before = jobfile.as_toml(job)
    folder = tempfile.mkdtemp(prefix="slothtray-")
    path = os.path.join(folder, f"job-{job.id}.toml")
    try:
        after = _edited(before, path)
        if after != before:
            _change(paths, job.id, _edit_of(jobfile.from_toml(after, job, Clock().wall()), job))
    except SlothtrayError as error:
        kept = _has_other_text(path, before)
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
        hints = [error.message, f"what you wrote is kept in {path}" if kept else ""]
        raise type(error)(f"job {job.id} was left as it was: {error.title}", "; ".join(filter(None, hints))) from error
    shutil.rmtree(folder, ignore_errors=True)
    return after != before


def _edited(text: str, path: str) -> str:
    """Let the person's editor loose on a text. ``Refused`` when there is none or it fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with open(private.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(text)
    # A Ctrl-C in the editor is the editor's. A handler, other than ignoring it, is not inherited.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise Refused(f"the editor {editor!r} can't be started: {error}", "set EDITOR, or use options such as -p 5") from error
    finally:
        signal.signal(signal.SIGINT, before)
    if code != 0:
        raise Refused(f"the editor {editor!r} ended with {code}")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"what the editor left can't be read: {error}") from error


def _has_other_text(path: str, before: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() != before.encode()
    except OSError:
        return False


def _edit_of(values: "jobfile.Values", job: Job) -> Edit:
    edit = Edit()
    if values.argv is not None:
        edit.set_command(shlex.join(values.argv), values.argv)
    elif values.command is not None:
        edit.set_command(values.command, _shell_argv(job, values.command))
    edit.set("cwd", _folder(values.cwd))
    for name in ("label", "priority", "max_attempts", "max_runtime", "once", "not_before", "expires_at"):
        edit.set(name, getattr(values, name))
    if (values.not_before, values.expires_at) != (job.not_before, job.expires_at):
        check_times(values.not_before, values.expires_at)
    return edit
