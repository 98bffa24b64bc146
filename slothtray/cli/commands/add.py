"""`slothtray add`: the command people use most, so it imports no more than it must."""

import os
import sys

from slothtray import actions, environment
from slothtray.cli import streams
from slothtray.cli.parser import Parsed
from slothtray.cli.streams import NO_APP, tell
from slothtray.errors import Usage
from slothtray.paths import Paths
from slothtray.states import NEVER
from slothtray.store.adding import NewJob, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Captured = tuple[dict[str, str], list[str]]
    """What of the environment is kept, and the names of what is not."""


def run(parsed: Parsed, paths: Paths) -> int:
    """Queue the command, or each line of standard input; print the ids alone on stdout, one a line."""
    jobs = _jobs(parsed, paths)
    added = actions.add(paths, jobs)
    if streams.outcome is not None:
        streams.outcome.instead = _queued(added, jobs)
    if parsed.flag("json"):
        from slothtray.cli.commands.show import print_added

        print_added(paths, added.ids, many=_from_stdin(parsed))
    else:
        print("\n".join(map(str, added.ids)))
    if not parsed.flag("quiet"):
        _say(added)
    return 0


def _from_stdin(parsed: Parsed) -> bool:
    return parsed.words == ["-"] and not parsed.verbatim


def _jobs(parsed: Parsed, paths: Paths) -> list[NewJob]:
    now = _now() if any(parsed.get(key) for key in ("delay", "at", "expires")) else 0.0
    if parsed.flag("clipboard"):
        return [_clipboard_job(parsed, paths, now)]
    captured = _environment(parsed, paths)
    if _from_stdin(parsed):
        return _jobs_of_lines(parsed, captured, now)
    if not parsed.words or not parsed.words[0].strip():
        raise Usage("the command is empty", 'give one, as in `slothtray add "make -j4"`')
    return [_job(parsed, parsed.words, captured, now)]


def _jobs_of_lines(parsed: Parsed, captured: "Captured", now: float) -> list[NewJob]:
    """A job a line, as bytes: a command may name a file in any encoding. All are checked before any is stored."""
    lines = [os.fsdecode(line).strip("\r") for line in sys.stdin.buffer.read().split(b"\n")]
    jobs: list[NewJob] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            jobs.append(_job(parsed, [line], captured, now))
            try:
                check(jobs[-1])
            except Usage as error:
                raise Usage(f"line {number}: {error.title}", error.message) from error
    if not jobs:
        raise Usage("there is no command on standard input", "give one a line")
    if len(jobs) > 1 and parsed.flag("unique"):
        raise Usage("--unique would take only the first line", "leave it out, or give one line")
    return jobs


def _now() -> float:
    from slothtray.clock import Clock

    return Clock().wall()


def _job(parsed: Parsed, words: list[str], captured: "Captured", now: float) -> NewJob:
    command, argv = actions.from_words(words, os.environ, verbatim=parsed.verbatim)
    kept, dropped = captured
    return _with_options(parsed, now, NewJob(command, argv, cwd=_folder(parsed), env=kept, umask=_umask(), dropped=dropped))


def _clipboard_job(parsed: Parsed, paths: Paths, now: float) -> NewJob:
    if parsed.words:
        raise Usage("--clipboard takes its command from the clipboard", "give no other one")
    from slothtray.system import clipboard

    text = clipboard.check_text(clipboard.system_clipboard().read())
    job = actions.clipboard_job(text, os.environ)
    job.env, dropped = _environment(parsed, paths)
    job.dropped = tuple(dropped)
    if parsed.text("cwd") is not None:
        job.cwd = _folder(parsed)
    return _with_options(parsed, now, job)


def _with_options(parsed: Parsed, now: float, job: NewJob) -> NewJob:
    job.priority = parsed.whole("priority") or 0
    job.max_runtime, job.max_attempts = parsed.number("max_runtime"), parsed.whole("attempts")
    job.once, job.hold, job.unique = parsed.flag("once"), parsed.flag("hold"), parsed.flag("unique")
    job.label, job.after = parsed.text("label"), parsed.whole("after")
    job.not_before = not_before(parsed, now)
    expires = parsed.number("expires")
    job.expires_at = None if expires is None else now + expires
    check_times(job.not_before, job.expires_at)
    return job


def check_times(not_before: float, expires_at: float | None) -> None:
    """Raise ``Usage`` for a job that could never start. One that waits for another job may still be in time."""
    if expires_at is not None and expires_at <= not_before < NEVER:
        raise Usage("it would expire before it may start", "make --expires longer than the delay")


def not_before(parsed: Parsed, now: float) -> float:
    """The wall time of --delay or --at; 0.0 without either."""
    delay, at = parsed.number("delay"), parsed.text("at")
    if delay is not None and at is not None:
        raise Usage("--delay and --at say the same thing", "give one of them")
    if at is not None:
        from slothtray.durations import parse_moment

        return parse_moment(at, now)
    return now + delay if delay is not None else 0.0


def _environment(parsed: Parsed, paths: Paths) -> "Captured":
    given = parsed.texts("env")
    sets = dict(word.split("=", 1) for word in given if "=" in word)
    keeps = [word for word in given if "=" not in word]
    for name in keeps:
        if name not in os.environ:
            raise Usage(f"--env {name}: there is no such variable", f"give it a value: --env {name}=VALUE")
    if "" in sets or "" in keeps:
        raise Usage("--env needs a name", "use --env NAME or --env NAME=VALUE")
    kept, dropped = environment.capture(os.environ, keeps)
    if dropped:
        kept, dropped = environment.capture(os.environ, [*keeps, *_kept_by_config(paths)])
    kept.update({name: os.environ[name] for name in keeps})
    kept.update(sets)
    return kept, [name for name in dropped if name not in sets]


def _kept_by_config(paths: Paths) -> "Sequence[str]":
    """What ``keep_env`` names. A config that is wrong stops no job: it is said, and what is right in it counts."""
    names, problem = actions.kept_by_config(paths)
    if problem:
        tell(problem)
    return names


def _folder(parsed: Parsed) -> str:
    chosen = parsed.text("cwd")
    if chosen == "":
        raise Usage("--cwd needs a folder", "it was empty: a variable that is not set?")
    try:
        folder = os.path.abspath(chosen) if chosen else os.getcwd()
    except FileNotFoundError:
        raise Usage("the present folder is gone", "change to another, or name one with --cwd") from None
    if not os.path.isdir(folder):
        raise Usage(f"--cwd {folder} is not a folder")
    return folder


def _umask() -> int:
    """The umask can only be read by setting it; nothing else runs in this process yet."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _queued(added: actions.Added, jobs: list[NewJob]) -> str:
    """What a notification says of it, as the tray's own does; "" when it was there before."""
    from slothtray.notices import queued

    if added.namesakes:
        return ""
    title = "Queued" if len(jobs) == 1 else f"Queued {len(jobs)} jobs"
    return "\n".join([title, *(queued(number, job.command) for number, job in zip(added.ids, jobs, strict=True))])


def _say(added: actions.Added) -> None:
    if added.namesakes:
        tell(f"job {added.namesakes[0]} of that label waits or runs already; nothing was added")
    if added.dropped and sys.stderr.isatty():
        names = ", ".join(added.dropped)
        tell(f"kept out of the job, as it looks secret: {names} (--env NAME keeps it)")
    if not added.app_runs:
        tell(NO_APP)
