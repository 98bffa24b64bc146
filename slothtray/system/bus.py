"""A connection to a D-Bus message bus on which every wait has a limit; jeepney's own wait for the bus's first answer has none."""

import os
import struct
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

Kind = Literal["SESSION", "SYSTEM", "USER"]
"""USER is the bus of the person's own systemd, which a session may or may not have for its own."""

SIGNALS_KEPT = 200
"""Signals that wait to be asked for; of more the oldest are dropped."""


class BusUnavailable(Exception):
    """There is no such bus, or it is gone. The text is one line."""


class CallFailed(Exception):
    """The answer to a call was an error. ``name`` is D-Bus's name for it."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class Call(NamedTuple):
    """A method to call. ``signature`` and ``body`` are its arguments in D-Bus's own terms."""

    destination: str
    path: str
    interface: str
    member: str
    signature: str = ""
    body: tuple[Any, ...] = ()


class Reply(NamedTuple):
    """What a call returned, and the unique name of the program that answered."""

    sender: str
    body: tuple[Any, ...]


class Signal(NamedTuple):
    """A signal that came in."""

    path: str
    interface: str
    member: str
    body: tuple[Any, ...]
    sender: str = ""
    """The unique name of the program that sent it."""


class Bus:
    """One connection, for one thread at a time. ``timeout`` (seconds) limits each of its waits.

    Raises BusUnavailable when there is none, also out of ``call`` and ``drain`` once it is lost.
    """

    def __init__(self, kind: Kind, timeout: float) -> None:
        self._kind = kind
        self._timeout = timeout
        self._signals: deque[Any] = deque(maxlen=SIGNALS_KEPT)
        with _losses(kind):
            try:
                self._connection = _connect(_address(kind), timeout)
            except TimeoutError:
                raise BusUnavailable(f"the {kind.lower()} bus does not answer") from None
        self._keep_signals()

    def call(self, call: Call, timeout: float | None = None) -> Reply:
        """Call a method and wait for its answer. Raises TimeoutError, CallFailed, BusUnavailable."""
        from jeepney import DBusAddress, HeaderFields, MessageType, new_method_call

        address = DBusAddress(call.path, call.destination, call.interface)
        message = new_method_call(address, call.member, call.signature or None, call.body)
        limit = self._timeout if timeout is None else timeout
        with _losses(self._kind):
            reply = self._connection.send_and_get_reply(message, timeout=limit)
        fields = reply.header.fields
        if reply.header.message_type is MessageType.error:
            text = reply.body[0] if reply.body and isinstance(reply.body[0], str) else ""
            raise CallFailed(fields[HeaderFields.error_name], " ".join(text.split()))
        return Reply(fields.get(HeaderFields.sender, ""), tuple(reply.body))

    def ask_bus(self, member: str, argument: str, timeout: float | None = None) -> Reply:
        """Call a method of the bus itself that takes one string."""
        name = "org.freedesktop.DBus"
        return self.call(Call(name, "/org/freedesktop/DBus", name, member, "s", (argument,)), timeout)

    def subscribe(self, sender: str, path: str, interface: str, member: str, timeout: float | None = None) -> None:
        """Ask for a signal; it arrives in ``drain``, also when it came in during a call."""
        rule = f"type='signal',sender='{sender}',path='{path}',interface='{interface}',member='{member}'"
        self.ask_bus("AddMatch", rule, timeout)

    def drain(self) -> list[Signal]:
        """Return the signals that have come in, without waiting. What came before the bus was lost is still returned."""
        lives = self.lives()
        if not lives and not self._signals:
            raise BusUnavailable(f"the {self._kind.lower()} bus is gone")
        signals = [signal for message in self._signals for signal in _as_signal(message)]
        self._signals.clear()
        return signals  # where it is lost the next call finds it lost again

    def lives(self) -> bool:
        """Take in what has come, and tell whether the connection is still there. Returns at once."""
        try:
            while True:
                with _losses(self._kind):
                    self._connection.recv_messages(timeout=0)
        except TimeoutError:
            return True
        except BusUnavailable:
            return False

    def _keep_signals(self) -> None:
        """Keep the signals that come in, also while a call waits for its answer: jeepney would drop those."""
        from jeepney import MatchRule

        self._connection.filter(MatchRule(type="signal"), queue=self._signals)

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return int(self._connection.sock.fileno())

    def close(self) -> None:
        """Hang up. May be repeated."""
        self._connection.close()


class Listening:
    """The base of whoever listens to a bus for as long as it is there. After that ``_bus`` is None, and nothing comes any more.

    A dead socket is readable for ever: waiting on it would be a hot loop.
    """

    _bus: Bus | None = None

    def fileno(self) -> int | None:
        """What to wait on; None while there is no bus."""
        return None if self._bus is None else self._bus.fileno()

    def signals(self) -> list[Signal]:
        """What has come in since the last call. Returns at once."""
        try:
            return [] if self._bus is None else self._bus.drain()
        except BusUnavailable:
            self.close()
            return []

    def close(self) -> None:
        """Hang up. May be repeated."""
        if self._bus is not None:
            self._bus.close()
            self._bus = None


def time_left(deadline: float) -> float:
    """Return the seconds until ``deadline`` (of time.monotonic), never less than 0."""
    return max(0.0, deadline - time.monotonic())


def _address(kind: Kind) -> str:
    """Return where the bus listens. jeepney knows only the variable; a login without it still has the socket."""
    named = kind == "SYSTEM" or bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS"))
    socket = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "bus")
    if (kind == "USER" or not named) and os.path.isabs(socket) and os.path.exists(socket):
        return f"unix:path={socket}"
    if not named:
        raise BusUnavailable("no session bus (DBUS_SESSION_BUS_ADDRESS is not set)")
    return "SESSION" if kind == "USER" else kind


def _connect(address: str, timeout: float) -> Any:
    from jeepney.bus import get_bus
    from jeepney.io.blocking import DBusConnection, prep_socket

    class Connection(DBusConnection):  # type: ignore[misc]
        """Its constructor waits for the answer to Hello without a limit: a bus that stops there would hang us for good."""

        def send_and_get_reply(self, message: Any, *, timeout: float | None = None) -> Any:
            return super().send_and_get_reply(message, timeout=limit if timeout is None else timeout)

    limit = timeout
    sock = prep_socket(get_bus(address), timeout=timeout)
    try:
        return Connection(sock)
    except BaseException:
        sock.close()
        raise


@contextmanager
def _losses(kind: Kind) -> Iterator[None]:
    """Turn whatever jeepney raises for a bus that is not there, not well or gone into BusUnavailable; a time-out passes."""
    try:
        yield
    except TimeoutError:
        raise
    except (OSError, ValueError, RuntimeError, struct.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BusUnavailable(f"the {kind.lower()} bus can't be reached: {' '.join(reason.split())}") from error


def _as_signal(message: Any) -> list[Signal]:
    from jeepney import HeaderFields, MessageType

    if message.header.message_type is not MessageType.signal:
        return []
    fields = message.header.fields
    path, interface, member = (fields.get(field, "") for field in (HeaderFields.path, HeaderFields.interface, HeaderFields.member))
    return [Signal(path, interface, member, tuple(message.body), fields.get(HeaderFields.sender, ""))]
