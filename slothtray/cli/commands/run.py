"""`slothtray run`: the runner in a terminal, without a tray; says what it does as it does it."""

import sys
import time
from contextlib import suppress
from typing import TextIO

from slothtray.cli import settings
from slothtray.cli.liveline import LiveLine
from slothtray.cli.parser import Parsed
from slothtray.cli.streams import TOO_BUSY, drop
from slothtray.cli.welcome import welcome
from slothtray.model import Job
from slothtray.paths import Paths
from slothtray.policy import Change, Wait
from slothtray.runner import Loop, Tell
from slothtray.system import applog, sleep
from slothtray.text import clean
from slothtray.tray.signals import on_ending


def run(parsed: Parsed, paths: Paths) -> int:
    """Run until told to stop, or until the queue is empty: then 1 if a job failed."""
    applog.set_up(paths)
    said = Said()
    tell = Tell(started=said.started, ended=said.ended, waiting=said.waiting, trouble=said.trouble)
    loop = Loop(paths, settings.watched(paths, overrides(parsed)), tell, sleep.listen())
    until_empty = parsed.flag("until_empty")
    if not until_empty:  # a script's, or a folder's that is for once
        welcome(paths)
    # A plain handler is not enough: Python runs it between two of its own steps, and a signal that comes between the last of
    # them and the select is heard when that returns, a minute later.
    with on_ending(lambda _: loop.stop()):
        try:
            loop.run(until=(lambda runner: runner.finished()) if until_empty else None)
        finally:
            said.end()
    return 1 if until_empty and loop.runner.failures else 0


def overrides(parsed: Parsed) -> dict[str, float | None]:
    """What the options say, which wins over the config file."""
    given = {key: parsed.number(key) for key in ("ceiling", "interval", "cooldown")}
    # `--ceiling off` is infinity for the parser and no gate for the runner, which is not to measure then.
    return {key: None if value == float("inf") else value for key, value in given.items() if value is not None}


class Said:
    """Prints what happens, each wait once a look; on a terminal over the last one. On stdout: it is this command's answer."""

    def __init__(self) -> None:
        self._live = LiveLine(sys.stdout) if sys.stdout.isatty() else None
        self._hinted = False

    def started(self, job: Job) -> None:
        """A job begins, or goes on."""
        self._say(f"job {job.id} started: {clean(job.label or job.command, 100)}")

    def ended(self, job: Job, change: Change) -> None:
        """An attempt is over."""
        self._say(f"job {job.id} {change.kind}: {clean(change.detail)}")

    def waiting(self, wait: Wait) -> None:
        """A due job is kept back. By the load: say, the first time, what a person can do."""
        if wait.gate == "load" and not self._hinted:
            self._hinted = True
            self.trouble(TOO_BUSY.format("ID"))
        self._say(f"waiting: {clean(wait.reason)}", passing=True)

    def trouble(self, words: str) -> None:
        """The runner itself can't do its work."""
        self._print(f"slothtray: {clean(words)}", sys.stderr)

    def end(self) -> None:
        """Leave the terminal as a shell wants it."""
        with suppress(OSError):  # the terminal may be gone: that is why it ends
            if self._live:
                self._live.clear()

    def _say(self, text: str, *, passing: bool = False) -> None:
        self._print(f"{time.strftime('%H:%M:%S')} {text}", sys.stdout, passing=passing)

    def _print(self, line: str, stream: TextIO, *, passing: bool = False) -> None:
        try:
            if passing and self._live:
                self._live.write(line)
                return
            self.end()
            print(line, file=stream, flush=True)
        except BrokenPipeError:
            drop(stream)  # who read it has enough of it: the queue goes on all the same
        except OSError:
            return  # it may go into a file on a full disk: no reason to stop working
