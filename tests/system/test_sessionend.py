"""The end of a login as it is seen by a program that nobody tells: a real X server and bus, a stand-in for logind."""

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import session

from slothtray.system import sessionend

LOGIN1 = "org.freedesktop.login1"
MANAGER = "/org/freedesktop/login1"
OURS, OTHER = "/org/freedesktop/login1/session/_32", "/org/freedesktop/login1/session/_37"
PROPERTIES = "org.freedesktop.DBus.Properties"

WAYLAND = """
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    print(flush=True)
    while True:
        server.accept()[0].close()
"""


@pytest.fixture
def no_logind(monkeypatch, tmp_path):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")


class Desktop:
    """An X screen and a session bus that can be taken away; and what a watch on them has told."""

    def __init__(self, bus):
        self.bus = bus
        self.screen = ExitStack()
        os.environ["DISPLAY"] = self.screen.enter_context(session.screen())
        self.told = []
        self._told = threading.Event()

    def watch(self):
        self.watching = sessionend.of_this_login()
        self.watching.watch(self.on_end)
        return self.watching

    def on_end(self, reason):
        self.told.append(reason)
        self._told.set()

    def wait(self):
        """The reason, once it is told."""
        assert self._told.wait(15)
        return self.told

    def has_looked(self):
        """Wait until nothing is looked for any more."""
        session.until(lambda: (before := switches("session")) and not time.sleep(0.15) and before == switches("session"))
        return not self.told

    def lose_bus(self):
        self.bus.process.kill()
        self.bus.process.wait()

    def lose_display(self):
        self.screen.close()


def switches(name):
    [thread] = [one for one in threading.enumerate() if one.name == name]
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[1]


@pytest.fixture
def desktop(session_bus, monkeypatch):
    monkeypatch.setattr(sessionend, "PATIENCE", 0.4)
    monkeypatch.setattr(sessionend, "PACE", 0.04)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", "")
    made = Desktop(session_bus)
    yield made
    made.lose_bus()  # which ends the watch
    made.lose_display()
    if hasattr(made, "watching"):
        made.wait()


def test_display_and_bus_gone_together_are_the_end(desktop, no_logind):
    desktop.watch()
    desktop.lose_bus()
    desktop.lose_display()
    assert desktop.wait() == ["the end of the desktop"]


def test_the_bus_may_go_a_while_after_the_display(desktop, no_logind, monkeypatch):
    monkeypatch.setattr(sessionend, "PATIENCE", 10.0)
    desktop.watch()
    desktop.lose_display()
    time.sleep(0.2)
    desktop.lose_bus()
    assert desktop.wait() == ["the end of the desktop"]


def test_the_bus_alone_is_not_the_end_but_the_display_is_then_however_late(desktop, no_logind):
    watching = desktop.watch()
    desktop.lose_bus()
    watching.look()
    assert desktop.has_looked()
    desktop.lose_display()
    assert desktop.wait() == ["the end of the desktop"]


def test_the_display_alone_is_not_the_end(desktop, no_logind):
    watching = desktop.watch()
    desktop.lose_display()
    assert desktop.has_looked()
    desktop.lose_bus()
    watching.look()
    assert desktop.wait() == ["the end of the desktop"]


def test_while_all_is_well_nobody_wakes_up(desktop, no_logind):
    desktop.watch().look()
    assert desktop.has_looked()
    before = switches("session")
    time.sleep(1)  # the time is what is asked about
    assert switches("session") == before


@pytest.fixture
def wayland(monkeypatch, tmp_path, no_logind):
    """A process that listens as a compositor does."""
    path = tmp_path / "wayland-7"
    with session.started([sys.executable, "-c", WAYLAND, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"\n"
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        monkeypatch.setenv("WAYLAND_DISPLAY", path.name)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
        yield process


def test_a_wayland_display_is_watched_by_its_socket(wayland):
    told, over = [], threading.Event()
    sessionend.of_this_login().watch(lambda reason: (told.append(reason), over.set()))
    assert not over.wait(0.2)
    wayland.kill()
    assert over.wait(5)
    assert told == ["the end of the desktop"]


@pytest.mark.parametrize("variables", [{}, {"DISPLAY": ":97"}, {"DISPLAY": "nonsense"}, {"WAYLAND_DISPLAY": "gone"}])
def test_without_a_display_there_is_no_desktop_that_could_end(monkeypatch, tmp_path, variables):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert sessionend.of_this_login() is None


# --- logind -----------------------------------------------------------------------------------------------------------


class Logind:
    """Knows two sessions, by number and by path."""

    def __init__(self, bus):
        self.state = "active"
        self.bus = bus
        answers = {
            "GetSession": lambda name: ("o", ({"2": OURS, "auto": OTHER}[name],)) if name in ("2", "auto") else ("error",),
            "Get": lambda _interface, _property: ("v", (("s", self.state),)),
        }
        self.service = session.StandIn(bus, LOGIN1, answers)

    def removes(self, path):
        self.service.emit(MANAGER, f"{LOGIN1}.Manager", "SessionRemoved", "so", ("2", path))

    def changes(self, path, name, value):
        self.service.emit(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", (f"{LOGIN1}.Session", {name: ("b", value)}, []))

    def asked(self):
        return [member for member, _ in self.service.calls].count("Get")


@pytest.fixture
def logind(tmp_path, monkeypatch):
    folder = tmp_path / "system"
    folder.mkdir()
    with session.message_bus_in(folder) as bus:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.address)
        monkeypatch.setenv("XDG_SESSION_ID", "2")
        logind = Logind(bus)
        with logind.service:
            yield logind


def subscribed(logind, desktop):
    """Wait until the watch has taken a look at its session: by then it has subscribed."""
    desktop.watching.look()
    session.until(logind.asked)


def test_a_session_that_is_left_is_over_though_we_keep_it_from_being_removed(desktop, logind):
    desktop.watch()
    subscribed(logind, desktop)
    logind.state = "closing"
    logind.changes(OURS, "Active", value=False)
    assert desktop.wait() == ["the end of the login"]


def test_a_session_that_is_removed_is_over(desktop, logind):
    desktop.watch()
    subscribed(logind, desktop)
    logind.state = "closing"
    logind.removes(OURS)
    assert desktop.wait() == ["the end of the login"]


def test_where_the_user_bus_outlives_the_session_the_lost_display_and_logind_tell(desktop, logind):
    desktop.watch()
    subscribed(logind, desktop)
    logind.state = "closing"
    desktop.lose_display()
    assert desktop.wait() == ["the end of the login"]


def test_another_session_or_an_idle_one_or_another_terminal_is_nothing(desktop, logind):
    desktop.watch()
    subscribed(logind, desktop)
    assert desktop.has_looked()
    before = logind.asked()
    logind.removes(OTHER)
    logind.changes(OURS, "IdleHint", value=True)
    assert desktop.has_looked()
    assert logind.asked() == before  # not even looked at
    logind.changes(OURS, "Active", value=False)  # to a text console and back
    session.until(lambda: logind.asked() > before)
    assert desktop.has_looked()


def test_an_old_number_of_a_session_is_not_believed(desktop, logind, monkeypatch):
    monkeypatch.setenv("XDG_SESSION_ID", "1")
    desktop.watch()
    subscribed(logind, desktop)
    logind.state = "closing"
    logind.removes(OTHER)
    assert desktop.wait() == ["the end of the login"]


def test_a_system_bus_that_goes_away_is_no_sign_of_anything(desktop, logind):
    desktop.watch()
    subscribed(logind, desktop)
    assert desktop.has_looked()
    logind.bus.process.kill()
    assert desktop.has_looked()
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.03  # a dead socket is readable for ever
    desktop.lose_bus()
    desktop.lose_display()
    assert desktop.wait() == ["the end of the desktop"]


@pytest.mark.parametrize(
    ("display", "places"),
    [
        (":3.0", ["\0/tmp/.X11-unix/X3", "/tmp/.X11-unix/X3", ("127.0.0.1", 6003)]),
        ("unix:3", ["\0/tmp/.X11-unix/X3", "/tmp/.X11-unix/X3"]),
        ("unix/host:3", ["\0/tmp/.X11-unix/X3", "/tmp/.X11-unix/X3"]),
        ("localhost:10.0", [("localhost", 6010)]),
        ("tcp/far:1", [("far", 6001)]),
        (":65000", ["\0/tmp/.X11-unix/X65000", "/tmp/.X11-unix/X65000"]),
        ("far:65000", []),
        (":²", []),
        ("nonsense", []),
        ("", []),
    ],
)
def test_a_display_is_looked_for_where_xs_own_libraries_would(monkeypatch, display, places):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    assert [address for _, address in sessionend._addresses()] == places
