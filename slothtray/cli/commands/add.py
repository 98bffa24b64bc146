"""`slothtray add`: the command people use most, so it imports no more than it must."""

import os
import sys

from slothtray import actions, environment
from slothtray.cli.parser import Parsed
from slothtray.errors import Usage
from slothtray.paths import Paths
from slothtray.store.adding import NewJob


def run(parsed: Parsed, paths: Paths) -> int:
    """Queue the command, or each line of standard input; print the ids alone on stdout, one a line."""
    added = actions.add(paths, _jobs(parsed))
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


def _jobs(parsed: Parsed) -> list[NewJob]:
    now = _now() if any(parsed.get(key) for key in ("delay", "at", "expires")) else 0.0
    if parsed.flag("clipboard"):
        return [_clipboard_job(parsed, now)]
    if _from_stdin(parsed):
        lines = [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
        if not lines:
            raise Usage("there is no command on standard input", "give one a line")
        return [_job(parsed, [line], now) for line in lines]
    if not parsed.words or not parsed.words[0].strip():
        raise Usage("the command is empty", 'give one, as in `slothtray add "make -j4"`')
    return [_job(parsed, parsed.words, now)]


def _now() -> float:
    from slothtray.clock import Clock

    return Clock().wall()


def _job(parsed: Parsed, words: list[str], now: float) -> NewJob:
    command, argv = actions.from_words(words, os.environ, verbatim=parsed.verbatim)
    kept, dropped = _environment(parsed)
    return _with_options(parsed, now, NewJob(command, argv, cwd=_folder(parsed), env=kept, umask=_umask(), dropped=dropped))


def _clipboard_job(parsed: Parsed, now: float) -> NewJob:
    if parsed.words:
        raise Usage("--clipboard takes its command from the clipboard", "give no other one")
    from slothtray.system import clipboard

    text = clipboard.check_text(clipboard.system_clipboard().read())
    return _with_options(parsed, now, actions.clipboard_job(text, os.environ))


def _with_options(parsed: Parsed, now: float, job: NewJob) -> NewJob:
    job.priority = parsed.whole("priority") or 0
    job.max_runtime, job.max_attempts = parsed.number("max_runtime"), parsed.whole("attempts")
    job.once, job.hold, job.unique = parsed.flag("once"), parsed.flag("hold"), parsed.flag("unique")
    job.label, job.after = parsed.text("label"), parsed.whole("after")
    job.not_before = not_before(parsed, now)
    expires = parsed.number("expires")
    job.expires_at = None if expires is None else now + expires
    if job.expires_at is not None and job.expires_at <= job.not_before:
        raise Usage("it would expire before it may start", "make --expires longer than the delay")
    return job


def not_before(parsed: Parsed, now: float) -> float:
    """The wall time of --delay or --at; 0.0 without either."""
    delay, at = parsed.number("delay"), parsed.text("at")
    if delay is not None and at is not None:
        raise Usage("--delay and --at say the same thing", "give one of them")
    if at is not None:
        from slothtray.durations import parse_moment

        return parse_moment(at, now)
    return now + delay if delay is not None else 0.0


def _environment(parsed: Parsed) -> tuple[dict[str, str], list[str]]:
    given = parsed.texts("env")
    sets = dict(word.split("=", 1) for word in given if "=" in word)
    keeps = [word for word in given if "=" not in word]
    for name in keeps:
        if name not in os.environ:
            raise Usage(f"--env {name}: there is no such variable", f"give it a value: --env {name}=VALUE")
    if "" in sets or "" in keeps:
        raise Usage("--env needs a name", "use --env NAME or --env NAME=VALUE")
    kept, dropped = environment.capture(os.environ, keeps)
    kept.update({name: os.environ[name] for name in keeps})
    kept.update(sets)
    return kept, [name for name in dropped if name not in sets]


def _folder(parsed: Parsed) -> str:
    chosen = parsed.text("cwd")
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


def _say(added: actions.Added) -> None:
    if added.dropped and sys.stderr.isatty():
        names = ", ".join(added.dropped)
        print(f"slothtray: kept out of the job, as it looks secret: {names} (--env NAME keeps it)", file=sys.stderr)
    if not added.app_runs:
        print("slothtray: no app is running; it starts when one is (`slothtray`, or `slothtray run`)", file=sys.stderr)
