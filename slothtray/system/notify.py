"""Shows notices through plyer, with providers of our own where plyer's lose text, hang, or need what isn't there."""

import sys
import threading
from collections.abc import Callable
from typing import Any

from slothtray import text
from slothtray.model import Notice
from slothtray.system.bubbles import APP, SHOWN_FOR, TIMEOUT, Bubbles
from slothtray.system.ports import NotifyFailed

TITLE_LIMIT, BODY_LIMIT = 63, 255
"""In UTF-16 units: Windows' fields hold 64 and 256 with the NUL, and plyer raises in a thread of its own when more comes."""


def system_notifier(icon: str = "", *, passing: bool = False) -> "PlyerNotifier":
    """Return this system's notifier. ``icon``: a file that the bubble shows (.ico on Windows), "" for none.

    ``passing``: the program ends at once, and the bubble is to stay.
    """
    return PlyerNotifier(icon, passing=passing)


class PlyerNotifier:
    """Notices as plyer's notifications. plyer is imported by the first one (12 ms)."""

    def __init__(self, icon: str = "", *, passing: bool = False) -> None:
        self._icon = icon
        self._bubbles = Bubbles(passing=passing) if sys.platform == "linux" else None
        self._front: Any = None
        self._lock = threading.Lock()

    def notify(self, notice: Notice) -> None:
        """Show it. Raises NotifyFailed."""
        with self._lock:
            try:
                self._front = self._front or _front(self._bubbles)
                self._front.notify(**self._arguments(notice))
            except NotifyFailed:
                raise
            except Exception as error:  # what a provider of plyer's own raises is up to its system
                raise NotifyFailed(_one_line(error)) from error

    def withdraw(self, job: int) -> None:
        """Take a job's notice away, where that is possible. Raises NotifyFailed."""
        if self._bubbles is not None:
            self._bubbles.withdraw(job)

    def listen(self, on_choice: Callable[[Notice, str], None]) -> None:
        """Tell this what is chosen in a notice, where there is something to choose."""
        if self._bubbles is not None:
            self._bubbles.listen(on_choice)

    def close(self) -> None:
        """Let go of the connection. The next notice makes a new one."""
        if self._bubbles is not None:
            self._bubbles.close()

    def _arguments(self, notice: Notice) -> dict[str, Any]:
        arguments = {
            "title": cap(text.clean(notice.title), TITLE_LIMIT) or APP,
            "message": cap("\n".join(map(text.clean, notice.body.strip().split("\n"))), BODY_LIMIT),
            "app_name": APP,
            "app_icon": self._icon,
            "timeout": 0 if notice.urgent else SHOWN_FOR,
        }
        if sys.platform == "linux":
            arguments["notice"] = notice
        if sys.platform == "win32":
            arguments["timeout"] = SHOWN_FOR  # plyer takes the balloon away at once for 0
        return arguments


def cap(shown: str, limit: int) -> str:
    """Return at most ``limit`` UTF-16 units of the text, the last one an ellipsis where something was cut."""
    if _units(shown) <= limit:
        return shown
    shown = shown[: limit - 1]
    while _units(shown) > limit - 1:
        shown = shown[:-1]
    return shown.rstrip() + text.ELLIPSIS


def _units(shown: str) -> int:
    return len(shown.encode("utf-16-le")) // 2


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _front(bubbles: Bubbles | None) -> Any:
    """Return plyer's notification object, with our provider behind it on Linux and macOS.

    plyer would choose its own at the first call: on Linux dbus-python or notify-send (a title ``--help`` is lost, a hung daemon
    blocks for 75 s), on macOS an interface that current systems no longer have.
    """
    import plyer

    provider: Any = None
    if bubbles is not None:
        provider = _provider(bubbles.show)
    elif sys.platform == "darwin":
        provider = _provider(_osascript)
    if provider is not None:
        object.__setattr__(plyer.notification, "_obj", provider)
    return plyer.notification


def _provider(show: Any) -> Any:
    from plyer.facades import Notification

    class Provider(Notification):  # type: ignore[misc]
        """plyer's own ``notify`` lets nothing through but what every system can do."""

        def notify(self, title: str = "", message: str = "", **more: Any) -> None:
            self._notify(title=title, message=message, **more)

        def _notify(self, **kwargs: Any) -> None:
            show(**kwargs)

    return Provider()


_OSASCRIPT = """\
on run argv
    display notification (item 2 of argv) with title (item 1 of argv)
end run
"""


def _osascript(title: str, message: str, **_others: Any) -> None:
    """Show it on macOS. Not run by us yet.

    The script comes by stdin and the text as arguments after it, so that none of it is read as code or as an option.
    """
    import subprocess

    argv = ["/usr/bin/osascript", "-", title, message]
    done = subprocess.run(argv, input=_OSASCRIPT, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise NotifyFailed(f"osascript: {' '.join(done.stderr.split()) or f'exit {done.returncode}'}")
