"""The bubbles of the freedesktop notification service: shown, replaced, taken away, and what the person chooses in them.

One thread owns the connection and waits for both: what is to be shown, and what comes back. A connection is kept, because GNOME
takes a program's bubbles away when it ends, and because what is chosen comes back on the connection that sent the bubble.
"""

import logging
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from slothtray.model import Notice, offer_words
from slothtray.system.bus import Bus, BusUnavailable, Call, CallFailed, Listening, Reply, time_left
from slothtray.system.ports import NotifyFailed

_log = logging.getLogger(__name__)

APP = "slothtray"
TIMEOUT = 3.0
"""Seconds for one notification, all calls together."""
SHOWN_FOR = 10
"""Seconds an ordinary notice stays on the screen; an urgent one stays until it is looked at."""
REMEMBERED = 100
"""Bubbles whose choices are still understood. A service may tell of the choice after it told of the closing."""

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"

_URGENCY_NORMAL, _URGENCY_CRITICAL = 1, 2
_SHOWS_THE_CLICK = frozenset({"lxqt-notificationd"})
"""Services that make a button of "default", which is a click on the bubble itself: "Open log" would be there twice."""
_NOBODY = frozenset(f"org.freedesktop.DBus.Error.{name}" for name in ("ServiceUnknown", "NameHasNoOwner"))
_SPAWN = "org.freedesktop.DBus.Error.Spawn."
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

Choice = tuple[Notice, str]
"""A notice and the one of its offers that was chosen."""


class Bubbles:
    """The service, for any thread. Nothing is done, and no thread begun, before the first bubble."""

    def __init__(self, timeout: float = TIMEOUT, *, passing: bool = False) -> None:
        """``passing``: the program ends at once; its bubbles then don't say whose they are, or GNOME would take them away."""
        self.timeout = timeout
        self._passing = passing
        self._on_choice: Callable[[Notice, str], None] = lambda _notice, _offer: None
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def listen(self, on_choice: Callable[[Notice, str], None]) -> None:
        """Tell this, from the next connection on, what is chosen; on the thread of this object, so it must return soon."""
        self._on_choice = on_choice

    def show(
        self, title: str, message: str, app_icon: str = "", timeout: int = SHOWN_FOR, notice: Notice | None = None, **_others: Any
    ) -> None:
        """Show a bubble for ``timeout`` seconds (0: until looked at), in place of the one about the same job.

        Raises NotifyFailed, after 3 s at most.
        """
        notice = notice or Notice(None, title, message, urgent=False)
        self._do(lambda service: service.show(title, message, app_icon, timeout, notice))

    def withdraw(self, job: int) -> None:
        """Close the bubble about a job, if it is there. Raises NotifyFailed."""
        if self._worker is not None:
            self._do(lambda service: service.withdraw(_tag_of_job(job)))

    def close(self) -> None:
        """Hang up, and end the thread; the next bubble begins anew."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _do(self, call: "Callable[[Service], None]") -> None:
        """Have it done on our thread. Raises what it raises."""
        with self._lock:
            if self._worker is None:
                self._worker = _Worker(Service(self.timeout, passing=self._passing), self._on_choice)
            request = self._worker.ask(call)
        if not request.over.wait(self.timeout + 1.0):
            raise NotifyFailed(f"the notification service did not answer within {self.timeout:g} s")
        if request.error is not None:
            raise request.error


class _Request:
    """Something to be done, and what came of it. None: to end."""

    def __init__(self, call: "Callable[[Service], None] | None") -> None:
        self.call = call
        self.over = threading.Event()
        self.error: Exception | None = None


class _Worker:
    """The thread. It sleeps until it is asked for something or the service says something."""

    def __init__(self, service: "Service", on_choice: Callable[[Notice, str], None]) -> None:
        self._service = service
        self._on_choice = on_choice
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="bubbles", daemon=True)
        self._thread.start()

    def ask(self, call: "Callable[[Service], None] | None") -> _Request:
        """Have something done; returns at once."""
        request = _Request(call)
        self._requests.put(request)
        try:
            self._mouth.send(b"!")
        except BlockingIOError:
            pass  # full of what it has not read yet: it will look
        return request

    def end(self) -> None:
        """End it, when it is done with what it does."""
        self.ask(None)
        self._thread.join()

    def _work(self) -> None:
        with self._ear, self._mouth:
            while not self._ended:
                bus = self._service.fileno()
                ear = self._ear.fileno()
                ready, _, _ = select.select([ear] if bus is None else [ear, bus], [], [])
                if ear in ready:
                    self._ear.recv(64)
                    self._carry_out()
                self._pass_on()  # in any case: a signal that came in with an answer makes no descriptor ready
        self._service.close()

    def _carry_out(self) -> None:
        while not self._requests.empty():
            request = self._requests.get()
            try:
                if request.call is None:
                    self._ended = True
                else:
                    request.call(self._service)
            except Exception as error:
                request.error = error
            request.over.set()

    def _pass_on(self) -> None:
        try:
            for notice, offer in self._service.choices():
                self._on_choice(notice, offer)
        except Exception:
            _log.exception("what was chosen in a notification")


class Service(Listening):
    """One connection to the service, for one thread: wait on it for ``choices``. Each method takes ``timeout`` seconds at most.

    After ``close`` the next bubble connects again.
    """

    def __init__(self, timeout: float = TIMEOUT, *, passing: bool = False) -> None:
        self._timeout = timeout
        self._passing = passing
        self._server = ""
        self._markup = self._actions = self._click = False
        self._numbers: dict[str, int] = {}
        """The bubble that is shown, by what it is about."""
        self._notices: dict[int, Notice] = {}

    def show(self, title: str, message: str, icon: str, seconds: int, notice: Notice) -> None:
        """Show a bubble. Raises NotifyFailed."""
        try:
            deadline = time.monotonic() + self._timeout
            self._connect(deadline)
            self._meet_server(deadline)
            body = message.translate(_MARKUP) if self._markup else message
            number = self._notify(title, body, icon, seconds, notice, deadline)
            self._remember(number, notice)
            for job in notice.covers:
                self._close_bubble(_tag_of_job(job), deadline)
        except TimeoutError:
            self.close()
            raise NotifyFailed(f"the notification service did not answer within {self._timeout:g} s") from None
        except BusUnavailable as error:
            self.close()
            raise NotifyFailed(str(error)) from error
        except CallFailed as error:
            raise _refusal(error) from error

    def withdraw(self, tag: str) -> None:
        """Close a bubble, if there is one. Raises NotifyFailed when nobody answers."""
        try:
            self._close_bubble(tag, time.monotonic() + self._timeout)
        except (TimeoutError, BusUnavailable) as error:
            self.close()
            raise NotifyFailed(f"the notification service does not answer: {error}") from None

    def choices(self) -> list[Choice]:
        """What the person has chosen since the last call. Returns at once."""
        found: list[Choice] = []
        for signal in self.signals():
            if signal.sender == self._server and signal.interface == NAME and signal.body:
                found += self._understood(signal.member, *signal.body[:2])
        return found

    # --- what comes back

    def _understood(self, member: str, number: int, what: object = "") -> list[Choice]:
        notice = self._notices.get(number)
        if member == "NotificationClosed":
            self._numbers = {tag: other for tag, other in self._numbers.items() if other != number}
        elif member == "ActionInvoked" and notice is not None:
            offer = "open_log" if what == "default" else str(what)  # a plain click on the bubble
            return [(notice, offer)] if offer in notice.offers else []
        return []

    def _remember(self, number: int, notice: Notice) -> None:
        tag = _tag(notice)
        if tag:
            self._numbers[tag] = number
        self._notices[number] = notice
        while len(self._notices) > REMEMBERED:
            del self._notices[next(iter(self._notices))]

    # --- the connection

    def _connect(self, deadline: float) -> None:
        """Have a connection that lives: the session bus may have been restarted since the last notice."""
        if self._bus is not None and not self._bus.lives():
            self.close()
        if self._bus is None:
            self._bus = Bus("SESSION", time_left(deadline))
            self._server = ""
            for member in ("ActionInvoked", "NotificationClosed"):
                self._bus.subscribe(NAME, PATH, NAME, member, time_left(deadline))

    def _meet_server(self, deadline: float) -> None:
        """Learn what the present server can do; a new one knows none of our bubbles, and their numbers may be another program's."""
        owner = self._owner(deadline)
        if owner and owner == self._server:
            return
        reply = self._call("GetCapabilities", deadline)
        self._server = reply.sender
        self._markup, self._actions = ("body-markup" in reply.body[0], "actions" in reply.body[0])
        self._click = self._actions and self._server_name(deadline) not in _SHOWS_THE_CLICK
        self._numbers.clear()
        self._notices.clear()

    def _owner(self, deadline: float) -> str:
        assert self._bus is not None
        try:
            return str(self._bus.ask_bus("GetNameOwner", NAME, time_left(deadline)).body[0])
        except CallFailed:
            return ""  # nobody yet: the call that follows makes the bus start one, where it can

    def _server_name(self, deadline: float) -> str:
        try:
            return str(self._call("GetServerInformation", deadline).body[0])
        except CallFailed:
            return ""

    def _notify(self, title: str, body: str, icon: str, seconds: int, notice: Notice, deadline: float) -> int:
        actions = (_click(notice) if self._click else []) + (_buttons(notice) if self._actions else [])
        replaces = self._numbers.get(_tag(notice), 0)
        hints = _hints(notice) if self._passing else {**_hints(notice), "desktop-entry": ("s", APP)}
        arguments = (APP, replaces, icon, title, body, actions, hints, int(seconds) * 1000)
        return int(self._call("Notify", deadline, "susssasa{sv}i", arguments).body[0])

    def _close_bubble(self, tag: str, deadline: float) -> None:
        number = self._numbers.pop(tag, 0)
        if number and self._bus is not None:
            try:
                self._call("CloseNotification", deadline, "u", (number,))
            except CallFailed:
                pass  # it is closed already

    def _call(self, member: str, deadline: float, signature: str = "", body: tuple[Any, ...] = ()) -> Reply:
        assert self._bus is not None
        return self._bus.call(Call(NAME, PATH, NAME, member, signature, body), time_left(deadline))


def _tag_of_job(job: int) -> str:
    return f"job {job}"


def _tag(notice: Notice) -> str:
    """What a bubble is about, when the next one about the same is to take its place; "" for one that stands by itself."""
    if notice.job is not None:
        return _tag_of_job(notice.job)
    return f"several, {notice.urgent}" if notice.covers else ""


def _click(notice: Notice) -> list[str]:
    """What a click on the bubble itself does: key and label, as for a button."""
    return ["default", offer_words("open_log")] if "open_log" in notice.offers else []


def _buttons(notice: Notice) -> list[str]:
    """Keys and labels in turn, as the service wants them."""
    pairs = [(offer, offer_words(offer) + (" all" if offer == "retry" and notice.covers else "")) for offer in notice.offers]
    return [word for pair in pairs for word in pair]


def _hints(notice: Notice) -> Mapping[str, tuple[str, Any]]:
    urgency = _URGENCY_CRITICAL if notice.urgent else _URGENCY_NORMAL
    return {"urgency": ("y", urgency)}


def _refusal(error: CallFailed) -> NotifyFailed:
    if error.name in _NOBODY or error.name.startswith(_SPAWN):
        return NotifyFailed("no notification service is running", "start your desktop's, or install one such as dunst")
    return NotifyFailed(f"the notification service refused: {error}")
