"""The wish to end (Ctrl+C, ``kill``, the session's end), heard even while the main thread is inside a toolkit."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def on_ending(call: Callable[[str], None]) -> Iterator[None]:
    """Within the block ``call`` gets the name of each such signal, on a thread of its own. To be entered on the main thread.

    What was ignored before stays ignored (nohup). Python runs a handler only when the main thread is back in Python, and a
    toolkit's loop may not come back. So the C level writes to a socket, and a thread reads it; the handler writes too, for
    when a toolkit has taken that descriptor for itself.
    """
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)

    def handler(number: int, _frame: FrameType | None) -> None:
        try:
            mouth.send(bytes([number]))
        except OSError:
            pass  # full: it is known that someone wants us to end

    before = {number: signal.signal(number, handler) for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN}
    wakeup = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear, call), name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, old in before.items():
            signal.signal(number, old)
        mouth.close()  # the listener reads the end, and goes


def _listen(ear: socket.socket, call: Callable[[str], None]) -> None:
    with ear:
        while heard := ear.recv(1):
            if heard[0] in _ENDING:
                call(signal.Signals(heard[0]).name)
