"""`slothtray run`: the runner in a terminal, without a tray; says what it does as it does it."""

import sys
import time
from contextlib import closing, suppress
from typing import TextIO

from slothtray.cli import settings
from slothtray.cli.liveline import LiveLine
from slothtray.cli.parser import Parsed
from slothtray.cli.printer import Printer
from slothtray.cli.streams import TOO_BUSY
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
    with closing(Printer()) as printer:
        return _run(parsed, paths, Said(printer))


def _run(parsed: Parsed, paths: Paths, said: "Said") -> int:
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
    """Says what happens, each wait once a look; on a terminal over the last one. On stdout: it is this command's answer."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._live = LiveLine(sys.stdout, lambda text: printer.text(text, sys.stdout)) if sys.stdout.isatty() else None
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
        self._line(f"slothtray: {clean(words)}", sys.stderr)

    def end(self) -> None:
        """Leave the terminal as a shell wants it."""
        if self._live:
            self._live.clear()

    def _say(self, text: str, *, passing: bool = False) -> None:
        line = f"{time.strftime('%H:%M:%S')} {text}"
        if not (passing and self._live):
            self._line(line, sys.stdout)
            return
        with suppress(OSError):  # the terminal has just gone
            self._live.write(line)

    def _line(self, line: str, stream: TextIO) -> None:
        self.end()
        self._printer.text(f"{line}\n", stream)
