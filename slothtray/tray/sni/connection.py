"""A D-Bus connection that never waits: what can't be sent yet is kept, and little of it.

For one thread. Framing and authentication are jeepney's; its own connections block on a bus that doesn't read.
"""

import itertools
import logging
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

from jeepney import HeaderFields, Message, MessageFlag, MessageType, new_error, new_method_return
from jeepney.bus import get_connectable_addresses
from jeepney.io.blocking import prep_socket
from jeepney.low_level import calc_msg_size

_log = logging.getLogger(__name__)

FULL = 1 << 20
"""Bytes to be sent beyond which nothing more is read: who floods us with calls waits for the answers."""
_HEADER = 16
"""Bytes of a message that tell its length."""

OnReply = Callable[[Message], None]


class BusLost(Exception):
    """There is no session bus, it does not answer, or it has gone away."""


class Connection:
    """One connection to the session bus."""

    def __init__(self, limit: float) -> None:
        """Connect within ``limit`` seconds for each address there is. Raises BusLost."""
        self._socket = _connected(limit)
        self._socket.setblocking(False)
        self._serials = itertools.count(1)
        self._on_reply: dict[int, OnReply] = {}
        self._incoming = bytearray()
        self._outgoing = bytearray()

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up; to the bus and the panel that says all."""
        self._socket.close()

    # --- outgoing

    @property
    def waiting(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._outgoing)

    @property
    def full(self) -> bool:
        """Whether so much is still to be sent that no further calls should be answered."""
        return len(self._outgoing) > FULL

    def send(self, message: Message, on_reply: OnReply | None = None) -> None:
        """Send it with the next ``flush``. ``on_reply`` gets the answer, which may be an error."""
        serial = next(self._serials)
        if on_reply:
            self._on_reply[serial] = on_reply
        self._outgoing += message.serialise(serial=serial)

    def answer(self, call: Message, signature: str, body: tuple[Any, ...]) -> None:
        """Answer a call that wants an answer."""
        if not call.header.flags & MessageFlag.no_reply_expected:
            self.send(new_method_return(call, signature or None, body))

    def refuse(self, call: Message, error: str, text: str) -> None:
        """Answer with an error, by D-Bus's name for it."""
        if not call.header.flags & MessageFlag.no_reply_expected:
            self.send(new_error(call, error, "s", (text,)))

    def flush(self) -> None:
        """Send what the bus takes now. Raises BusLost."""
        try:
            while self._outgoing:
                del self._outgoing[: self._socket.send(self._outgoing)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise BusLost(f"the session bus went away: {error.strerror}") from error

    # --- incoming

    @property
    def ready(self) -> bool:
        """Whether a whole message has come in."""
        return len(self._incoming) >= _HEADER and len(self._incoming) >= calc_msg_size(self._incoming[:_HEADER])

    def read(self) -> None:
        """Take in what has come. Raises BusLost."""
        try:
            data = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            raise BusLost(f"the session bus went away: {error.strerror}") from error
        if not data:
            raise BusLost("the session bus went away")
        self._incoming += data

    def messages(self) -> Iterator[Message]:
        """Give the calls and signals that have come in; replies go to whoever waits for them. Ends early when ``full``."""
        while self.ready and not self.full:
            size = calc_msg_size(self._incoming[:_HEADER])
            data = bytes(self._incoming[:size])
            del self._incoming[:size]
            try:
                message = Message.from_buffer(data)
            except Exception:  # a header field of tomorrow, a descriptor; the stream itself is still in step
                _log.warning("a D-Bus message that can't be read", exc_info=True)
                continue
            if message.header.message_type in (MessageType.method_return, MessageType.error):
                self._on_reply.pop(message.header.fields.get(HeaderFields.reply_serial), _ignore)(message)
            else:
                yield message


def _ignore(_reply: Message) -> None:
    """Nobody waits for this one."""


def _connected(limit: float) -> socket.socket:
    reason = "there is no session bus"
    for address in _addresses():
        try:
            connected: socket.socket = prep_socket(address, timeout=limit)
            return connected
        except (OSError, ValueError) as error:  # refused; a ValueError is the bus's own refusal
            reason = f"the session bus can't be reached: {' '.join(str(error).split())}"
    raise BusLost(reason)


def _addresses() -> list[str]:
    """Return where the session bus may listen. A login that sets no variable still has the socket."""
    variable = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    if variable:
        try:
            return list(get_connectable_addresses(variable))
        except (RuntimeError, ValueError):  # autolaunch, tcp; not an address at all
            return []
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "bus")
    return [path] if os.path.isabs(path) and os.path.exists(path) else []
