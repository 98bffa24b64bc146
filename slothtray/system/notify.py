"""Shows notices through plyer, with providers of our own where plyer's lose text, hang, or need what isn't there."""

import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from slothtray import text
from slothtray.model import Notice
from slothtray.system.bus import Bus, BusUnavailable, Call, CallFailed, time_left
from slothtray.system.ports import NotifyFailed

APP = "slothtray"
TITLE_LIMIT, BODY_LIMIT = 63, 255
"""In UTF-16 units: Windows' fields hold 64 and 256 with the NUL, and plyer raises in a thread of its own when more comes."""
TIMEOUT = 3.0
"""Seconds for one notification, all calls together."""
SHOWN_FOR = 10
"""Seconds an ordinary notice stays on the screen; an urgent one stays until it is looked at."""

_NAME = "org.freedesktop.Notifications"
_PATH = "/org/freedesktop/Notifications"
_URGENCY_NORMAL, _URGENCY_CRITICAL = 1, 2
_NOBODY = frozenset(f"org.freedesktop.DBus.Error.{name}" for name in ("ServiceUnknown", "NameHasNoOwner"))
_SPAWN = "org.freedesktop.DBus.Error.Spawn."
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def system_notifier(icon: str = "") -> "PlyerNotifier":
    """Return this system's notifier. ``icon``: a file that the bubble shows (.ico on Windows), "" for none."""
    return PlyerNotifier(icon)


class PlyerNotifier:
    """Notices as plyer's notifications. plyer is imported by the first one (12 ms)."""

    def __init__(self, icon: str = "") -> None:
        self._icon = icon
        self._desktop = Desktop() if sys.platform == "linux" else None
        self._front: Any = None
        self._lock = threading.Lock()

    def notify(self, notice: Notice) -> None:
        """Show it. Raises NotifyFailed."""
        with self._lock:
            try:
                self._front = self._front or _front(self._desktop)
                self._front.notify(**self._arguments(notice))
            except NotifyFailed:
                raise
            except Exception as error:  # what a provider of plyer's own raises is up to its system
                raise NotifyFailed(_one_line(error)) from error

    def close(self) -> None:
        """Let go of the connection. The next notice makes a new one."""
        if self._desktop is not None:
            self._desktop.close()

    def _arguments(self, notice: Notice) -> dict[str, Any]:
        arguments = {
            "title": cap(text.clean(notice.title), TITLE_LIMIT) or APP,
            "message": cap("\n".join(map(text.clean, notice.body.strip().split("\n"))), BODY_LIMIT),
            "app_name": APP,
            "app_icon": self._icon,
            "timeout": 0 if notice.urgent else SHOWN_FOR,
        }
        if sys.platform == "linux":
            arguments["urgent"] = notice.urgent
            arguments["tag"] = None if notice.job is None else f"job {notice.job}"
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


def _front(desktop: "Desktop | None") -> Any:
    """Return plyer's notification object, with our provider behind it on Linux and macOS.

    plyer would choose its own at the first call: on Linux dbus-python or notify-send (a title ``--help`` is lost, a hung daemon
    blocks for 75 s), on macOS an interface that current systems no longer have.
    """
    import plyer

    provider: Any = None
    if desktop is not None:
        provider = _provider(desktop.show)
    elif sys.platform == "darwin":
        provider = _provider(_osascript)
    if provider is not None:
        object.__setattr__(plyer.notification, "_obj", provider)
    return plyer.notification


def _provider(show: Any) -> Any:
    from plyer.facades import Notification

    class Provider(Notification):  # type: ignore[misc]
        """plyer's own ``notify`` lets no urgency and no replacing through."""

        def notify(self, title: str = "", message: str = "", **more: Any) -> None:
            self._notify(title=title, message=message, **more)

        def _notify(self, **kwargs: Any) -> None:
            show(**kwargs)

    return Provider()


class Desktop:
    """The freedesktop notification server on the session bus, over one connection that is kept.

    Kept, because GNOME takes a program's bubbles away when its connection ends, and because what the person does to a bubble
    (ActionInvoked, NotificationClosed) comes back on the connection that sent it. Nobody reads between two notifications: the
    few signals that wait are skipped over by the next call.
    """

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._bus: Bus | None = None
        self._server = ""
        self._markup = False
        self._shown: dict[str, int] = {}

    def show(
        self, title: str, message: str, app_icon: str = "", timeout: int = SHOWN_FOR, tag: str | None = None,
        urgent: bool = False, **_others: Any,  # noqa: FBT001, FBT002
    ) -> None:  # fmt: skip
        """Show a bubble for ``timeout`` seconds (0: until looked at), in place of the one with the same ``tag``.

        Raises NotifyFailed, after 3 s at most.
        """
        try:
            deadline = time.monotonic() + self._timeout
            self._connect(deadline)
            self._meet_server(deadline)
            body = message.translate(_MARKUP) if self._markup else message
            replaces = self._shown.get(tag or "", 0)
            arguments: tuple[Any, ...] = (APP, replaces, app_icon, title, body, [], _hints(urgent), int(timeout) * 1000)
            number = self._call("Notify", deadline, "susssasa{sv}i", arguments).body[0]
        except TimeoutError:
            self.close()
            raise NotifyFailed(f"the notification service did not answer within {self._timeout:.0f} s") from None
        except BusUnavailable as error:
            self.close()
            raise NotifyFailed(str(error)) from error
        except CallFailed as error:
            raise _refusal(error) from error
        if tag is not None:
            self._shown[tag] = number

    def close(self) -> None:
        """Hang up; the next notice connects again."""
        if self._bus is not None:
            self._bus.close()
            self._bus = None

    def _connect(self, deadline: float) -> None:
        """Have a connection that lives: the session bus may have been restarted since the last notice."""
        if self._bus is not None:
            try:
                self._bus.drain()
            except BusUnavailable:
                self.close()
        if self._bus is None:
            self._bus = Bus("SESSION", time_left(deadline))

    def _meet_server(self, deadline: float) -> None:
        """Learn what the present server can do; a new one knows none of our bubbles, and their numbers may be another program's."""
        owner = self._owner(deadline)
        if owner and owner == self._server:
            return
        reply = self._call("GetCapabilities", deadline)
        self._server = reply.sender
        self._markup = "body-markup" in reply.body[0]
        self._shown.clear()

    def _owner(self, deadline: float) -> str:
        assert self._bus is not None
        try:
            return str(self._bus.ask_bus("GetNameOwner", _NAME, time_left(deadline)).body[0])
        except CallFailed:
            return ""  # nobody yet: the call that follows makes the bus start one, where it can

    def _call(self, member: str, deadline: float, signature: str = "", body: tuple[Any, ...] = ()) -> Any:
        assert self._bus is not None
        return self._bus.call(Call(_NAME, _PATH, _NAME, member, signature, body), time_left(deadline))


def _hints(urgent: bool) -> Mapping[str, tuple[str, Any]]:  # noqa: FBT001
    return {"urgency": ("y", _URGENCY_CRITICAL if urgent else _URGENCY_NORMAL), "desktop-entry": ("s", APP)}


def _refusal(error: CallFailed) -> NotifyFailed:
    if error.name in _NOBODY or error.name.startswith(_SPAWN):
        return NotifyFailed("no notification service is running", "start your desktop's, or install one such as dunst")
    return NotifyFailed(f"the notification service refused: {error}")


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
