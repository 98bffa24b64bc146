"""What the rest of slothtray may ask of a desktop, as interfaces, and how each says that it could not."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from slothtray.errors import Refused, SlothtrayError
from slothtray.model import Notice


class NotifyFailed(SlothtrayError):
    """A notification was not shown, as far as we know. It is told elsewhere; it never touches a job."""

    code = "notify-failed"


class ClipboardError(Refused):
    """The clipboard's content can't become a job; the title is the reason."""

    code = "clipboard"


class OpenFailed(SlothtrayError):
    """A file can't be shown in the desktop's own program for it."""

    code = "open-failed"


class CopyFailed(SlothtrayError):
    """A text was not put into the clipboard."""

    code = "copy-failed"


class Notifier(Protocol):
    """Shows notices to the person."""

    def notify(self, notice: Notice) -> None:
        """Show it; a notice of the same job takes the place of the one before, one about several jobs of those about each.

        May be called from any thread and takes 5 s at most. Raises NotifyFailed with a one-line reason.
        """

    def withdraw(self, job: int) -> None:
        """Take the notice about a job away if it is still shown. As ``notify``."""

    def listen(self, on_choice: Callable[[Notice, str], None]) -> None:
        """Tell this what the person chooses, out of a notice's ``offers``. On a thread of the notifier's own."""


class Clipboard(Protocol):
    """Reads what was copied last."""

    def read(self) -> str:
        """Return the text as it is (see ``clipboard.check_text``). Not for the thread that draws: it may take 2 s.

        Raises ClipboardError with the reason.
        """


class Copier(Protocol):
    """Puts a text into the clipboard."""

    def write(self, text: str) -> None:
        """Put it there, for as long as nothing else is copied, also after our end. Takes 2 s at most. Raises CopyFailed."""


class LoginState(NamedTuple):
    """How the login's entry for slothtray is. ``place``: its file or key; ``command``: what it starts, () without an entry."""

    enabled: bool
    place: str
    command: tuple[str, ...] = ()
    problem: str = ""
    """Why an entry that is there starts nothing, or not this queue; "" when nothing is wrong."""


class Autostart(Protocol):
    """The login's own list of what it starts. Each call may raise a SlothtrayError."""

    def state(self) -> LoginState:
        """How it is, in full."""

    def enable(self) -> None:
        """Start with the login from now on."""

    def disable(self) -> None:
        """Start with it no more."""

    def enabled(self) -> bool:
        """Whether the login would start it."""


class Opener(Protocol):
    """Shows a file in the program that the desktop has for it."""

    def open(self, path: str) -> None:
        """Start that program and return at once. Raises OpenFailed when it is known by then that nothing will show."""


class SleepSignal(Protocol):
    """Hears of suspend, wake and steps of the wall clock. A hint to look at the clocks again: nothing may depend on hearing it."""

    def fileno(self) -> int | None:
        """Return the descriptor to wait on for reading, or None for nothing (any more). Ask again after each ``drain``."""

    def drain(self) -> bool:
        """Read what is there, without waiting. True when a sleep, a wake or a step of the clock was among it."""

    def close(self) -> None:
        """Let go of the descriptor. May be repeated."""
