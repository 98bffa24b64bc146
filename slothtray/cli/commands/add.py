"""`slothtray add`: the command people use most, so it imports no more than it must."""

import os
import sys

from slothtray import actions, environment
from slothtray.cli.parser import Parsed
from slothtray.errors import Usage
from slothtray.paths import Paths
from slothtray.store.adding import NewJob


def run(parsed: Parsed, paths: Paths) -> int:
    """Queue the command; print its id alone on stdout."""
    added = actions.add(paths, [_job(parsed)])
    if parsed.flag("json"):
        from slothtray.cli.commands.show import print_job_json

        print_job_json(paths, added.ids[0])
    else:
        for number in added.ids:
            print(number)
    if not parsed.flag("quiet"):
        _say(added)
    return 0


def _job(parsed: Parsed) -> NewJob:
    if not parsed.words or not parsed.words[0].strip():
        raise Usage("the command is empty", 'give one, as in `slothtray add "make -j4"`')
    command, argv = actions.from_words(parsed.words, os.environ, verbatim=parsed.verbatim)
    kept, dropped = environment.capture(os.environ)
    return NewJob(
        command,
        argv,
        cwd=_folder(parsed.text("cwd")),
        env=kept,
        umask=_umask(),
        dropped=dropped,
        priority=parsed.whole("priority") or 0,
        max_runtime=parsed.number("max_runtime"),
        max_attempts=parsed.whole("attempts"),
    )


def _folder(chosen: str | None) -> str:
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
        print(f"slothtray: kept out of the job's environment, as they look secret: {names}", file=sys.stderr)
    if not added.app_runs:
        print("slothtray: no app is running; it starts when one is (`slothtray`, or `slothtray run`)", file=sys.stderr)
