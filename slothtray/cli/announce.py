"""`--notify`: what came of a command, in a notification too, for launchers and key bindings: nobody reads there what is printed.

Imported only then. The command runs as ever, and its answer goes where it always goes; what is kept of it here is shown at its end.
"""

import sys
from typing import Any, TextIO

from slothtray.errors import PROGRAM_CHANGED, SlothtrayError
from slothtray.model import Notice
from slothtray.text import clean

ENOUGH = 1000
"""Characters that are kept of an answer, and lines of what is told beside it: more than a notification shows of them."""


class Outcome:
    """What came of one command. ``words`` is the command as it was typed; none: the tray application."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.answer = ""
        self.instead: str | None = None
        """What a command says for people whose answer is for programs."""
        self.told: list[str] = []
        self.error: SlothtrayError | None = None

    def begin(self, words: list[str], *, for_programs: bool) -> None:
        """The command begins. What it prints is kept, too, unless that is ``for_programs``."""
        self.words = words
        if not for_programs:
            sys.stdout = Overheard(sys.stdout, self)

    def tell(self, words: str) -> None:
        """Keep what is told beside the answer."""
        if len(self.told) < ENOUGH:
            self.told.append(words)


class Overheard:
    """A stream whose text is kept; all else about it is as it was."""

    def __init__(self, stream: TextIO, outcome: Outcome) -> None:
        self._stream, self._outcome = stream, outcome

    def write(self, text: str) -> int:
        """Write it."""
        if len(self._outcome.answer) < ENOUGH:
            self._outcome.answer += text[:ENOUGH]
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def notice_of(outcome: Outcome, code: int) -> Notice | None:
    """What is shown of it: a refusal and what to do about it; else the answer, and what was told beside it. None: nothing. Pure."""
    if outcome.error is not None:
        return Notice(None, _begun(outcome.error.title), outcome.error.message, urgent=False, keep=False)
    if not outcome.words or (outcome.words[0] == "log" and not code):
        return None  # the tray application and a log have something better to show
    answer = outcome.answer if outcome.instead is None else outcome.instead
    lines = [line for line in (*answer.splitlines(), *outcome.told) if line.strip()]
    title, *rest = lines or [f"{'done' if not code else f'ended with {code}'}: slothtray {' '.join(outcome.words)}"]
    return Notice(None, _begun(title), "\n".join(rest), urgent=False, keep=False)


def _begun(line: str) -> str:
    """As a title begins, and clean; a first word that may be a name or a path stays as it is."""
    line = clean(line)
    return line[:1].upper() + line[1:] if line.partition(" ")[0].rstrip(":").isalpha() else line


def announce(outcome: Outcome, code: int) -> str:
    """Show it, within 5 s; why that could not be done, "" when all is well. Nothing of it touches the command, which is over."""
    notice = notice_of(outcome, code)
    if notice is None:
        return ""
    try:
        show(notice)
    except SlothtrayError as error:
        return str(error)
    except ImportError:
        return PROGRAM_CHANGED
    except KeyboardInterrupt:
        return "interrupted"
    return ""


def show(notice: Notice) -> None:
    """A notification of a program that ends at once. Of a title that is too long the body has all. Raises ``NotifyFailed``."""
    from slothtray.system import notify

    if notify.cap(notice.title, notify.TITLE_LIMIT) != notice.title:
        notice = notice._replace(body=f"{notice.title}\n{notice.body}")
    notify.system_notifier(passing=True).notify(notice)
