"""A private desktop for a test, made of real parts: message bus, X screen, notification daemon. Nothing of the person's is touched."""

import itertools
import os
import signal
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager

from jeepney import HeaderFields, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import Proxy, open_dbus_connection
from jeepney.wrappers import DBusAddress, new_method_call

BUS_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><keep_umask/><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
{services}<policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/>{answers}<allow own="*"/></policy></busconfig>
"""

DUNST_RULES = "[urgent]\nmsg_urgency = critical\nset_category = critical\n"
"""Its history tells no urgency, but the category that a rule sets."""

NOTIFICATIONS = "org.freedesktop.Notifications"

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
DISPLAYS = itertools.count(2000 + WORKER % 9 * 6000 + os.getppid() % 50 * 100)
"""Each number once: Xvfb's own choice is the lowest one, which may be that of a screen that another test has just taken away."""


def until(condition, limit=20.0):
    """Wait for a condition to hold and return what it gave."""
    end = time.monotonic() + limit
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {limit} s"
        time.sleep(0.005)
    return value


@contextmanager
def started(argv, **options):
    """Run a program for as long as the block lasts."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, **(quiet | options)) as process:
        try:
            yield process
        finally:
            for number in (signal.SIGCONT, signal.SIGTERM):
                process.send_signal(number)
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                process.kill()


class MessageBus:
    """A dbus-daemon of our own."""

    def __init__(self, process, socket):
        self.process = process
        self.socket = socket
        self.address = f"unix:path={socket}"

    def connection(self):
        return open_dbus_connection(self.address)

    def owned(self, name):
        with self.connection() as connection:
            return bool(Proxy(message_bus, connection).NameHasOwner(name)[0])


@contextmanager
def message_bus_in(folder, *, answers=True, services=False, env=None):
    """A bus; without ``answers`` it takes every call, its own Hello too, and lets no answer through.

    With ``services`` it starts on demand what is installed for that, as a login's own bus does, with its own ``env``; else nothing.
    """
    socket, config = folder / "bus.sock", folder / "bus.conf"
    parts = {"answers": '<allow eavesdrop="true"/>' if answers else "", "services": "<standard_session_servicedirs/>" if services else ""}
    config.write_text(BUS_CONFIG.format(socket=socket, **parts))
    argv = ["dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile", "--print-address=1"]
    with started(argv, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout.readline().startswith(b"unix:")  # it listens by now
        yield MessageBus(process, str(socket))


@contextmanager
def screen(size="640x480"):
    """An Xvfb; gives its DISPLAY."""
    with ExitStack() as stack:
        yield f":{next(filter(None, (_xvfb(stack, number, size) for number in DISPLAYS)))}"


def _xvfb(stack, number, size):
    """Start one by that number; None where that is taken, by whomever."""
    ours, theirs = os.pipe()
    argv = ["Xvfb", f":{number}", "-displayfd", str(theirs), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"]
    stack.callback(os.close, ours)
    stack.enter_context(started(argv, pass_fds=(theirs,)))
    os.close(theirs)
    told = b""
    while not told.endswith(b"\n"):
        chunk = os.read(ours, 16)
        if not chunk:
            return None
        told += chunk
    return int(told)


@contextmanager
def dunst(bus, display, folder, markup="full"):
    config, chooser = folder / "dunstrc", folder / "chooser"
    chooser.write_text(f'#!/bin/sh\ngrep -m 1 -- "$(cat "{folder}/wanted")"\n')
    chooser.chmod(0o755)
    options = f"markup = {markup}\nhistory_length = 100\nnotification_limit = 20\ndmenu = {chooser}\n"
    config.write_text(f"[global]\n{options}{DUNST_RULES}")
    env = {**os.environ, "DISPLAY": display, "DBUS_SESSION_BUS_ADDRESS": bus.address}
    env.pop("WAYLAND_DISPLAY", None)
    with started(["dunst", "-conf", str(config)], env=env) as process:
        until(lambda: bus.owned(NOTIFICATIONS))
        yield Dunst(bus, process, folder)


class Dunst:
    """A running dunst, asked as ``dunstctl`` asks it (which itself would need systemd's busctl)."""

    def __init__(self, bus, process, folder):
        self.bus = bus
        self.process = process
        self._folder = folder

    def _ask(self, member, signature=None, *arguments, interface="org.dunstproject.cmd0"):
        address = DBusAddress("/org/freedesktop/Notifications", NOTIFICATIONS, interface)
        with self.bus.connection() as connection:
            return connection.send_and_get_reply(new_method_call(address, member, signature, arguments), timeout=5).body

    def displayed(self):
        """How many bubbles are on the screen, or wait for room there."""
        get = ("Get", "ss", "org.dunstproject.cmd0")
        names = ("displayedLength", "waitingLength")
        return sum(self._ask(*get, name, interface="org.freedesktop.DBus.Properties")[0][1] for name in names)

    def click(self):
        """A click on the uppermost bubble itself."""
        self._ask("NotificationAction", "u", 0)

    def choose(self, words):
        """Choose the first entry with these words in the menu that dunst makes of the buttons of all bubbles."""
        (self._folder / "wanted").write_text(words)
        self._ask("ContextMenuCall")

    def history(self):
        """Close what is shown and return all that was, by number."""
        self._ask("NotificationCloseAll")
        bubbles = self._ask("NotificationListHistory")[0]
        plain = [{key: value for key, (_kind, value) in bubble.items()} for bubble in bubbles]
        return sorted(plain, key=lambda bubble: bubble["id"])


class StandIn:
    """A service on a bus, in a thread: ``answers`` maps a method to a function of its arguments.

    None as an answer is silence, ("error",) or ("error", NAME) a refusal.
    """

    def __init__(self, bus, name, answers):
        self.connection = bus.connection()
        self.unique_name = self.connection.unique_name
        self._name = name
        self._answers = answers
        self.calls = []
        Proxy(message_bus, self.connection).RequestName(name)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while not self._stop.is_set():
            try:
                self._answer(self.connection.receive(timeout=0.02))
            except TimeoutError:
                pass
            except ConnectionError:
                return  # the bus was killed

    def _answer(self, message):
        if message.header.message_type is not MessageType.method_call:
            return
        member = message.header.fields[HeaderFields.member]
        self.calls.append((member, message.body))
        answer = self._answers.get(member, lambda *_: ("error",))(*message.body)
        if answer is not None and answer[0] == "error":
            self.connection.send(new_error(message, *(answer[1:] or ("org.example.Error.No",)), "s", ("not\ntoday",)))
        elif answer is not None:
            self.connection.send(new_method_return(message, *answer))

    def emit(self, path, interface, member, signature, body):
        self.connection.send(new_signal(DBusAddress(path, interface=interface), member, signature, body))

    def close(self):
        self._stop.set()
        self._thread.join()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()


