"""Which tray is chosen, with real ones and stand-ins, and how it is waited for."""

import gc
import signal
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from desktop_session import until
from standin import Panel

from slothtray.tray import search
from slothtray.tray.search import PATIENCE, SNI, XEMBED, NothingToWaitFor, Search, Seen, choose

LIMIT = 20.0
NOBODYS = ":987"
"""A display far above those that Xvfb chooses."""


@pytest.mark.parametrize(
    ("seen", "since", "chosen"),
    [
        (Seen(watcher=True, host=True), 0, SNI),
        (Seen(watcher=True, host=True, xembed=True), 0, SNI),
        (Seen(xembed=True), 0, ()),  # the watcher may be a moment behind
        (Seen(xembed=True), PATIENCE, XEMBED),
        (Seen(watcher=True, xembed=True), PATIENCE - 0.1, ()),
        (Seen(watcher=True, xembed=True), PATIENCE, XEMBED),  # nobody would draw it the other way
        (Seen(watcher=True), 0, ()),
        (Seen(watcher=True), PATIENCE, SNI),
        (Seen(), 0, ()),
        (Seen(), 1000, ()),
    ],
)
def test_the_choice(seen, since, chosen):
    assert choose(seen, since) == chosen


@pytest.fixture
def bus(bus, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return bus


@pytest.fixture
def no_bus(tmp_path, monkeypatch):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")


@pytest.fixture
def on_screen(desktop, monkeypatch):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", desktop.env["DISPLAY"])
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", desktop.bus.address)
    return desktop


class Searching:
    """A search in a thread, and what it found."""

    def __init__(self):
        self.search = Search()
        self.found = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            self.found = self.search.find()
        except NothingToWaitFor as error:
            self.found = str(error)

    def result(self):
        self.thread.join(LIMIT)
        assert not self.thread.is_alive()
        return self.found


@contextmanager
def searching():
    one = Searching()
    try:
        yield one
    finally:
        one.search.stop()
        one.thread.join(LIMIT)


@pytest.fixture(autouse=True)
def looks(monkeypatch):
    """What each search has seen so far, the first sight and all later ones."""
    seen = []
    monkeypatch.setattr(search, "choose", lambda *what: seen.append(what) or choose(*what))
    return seen


def waits(looks, times=2):
    """Until a search has looked around so many times and found nothing to choose."""
    until(lambda: len(looks) >= times, LIMIT)


def test_a_watcher_that_is_there_is_taken_at_once(bus):
    with Panel(bus) as panel, searching() as one:
        panel.wait(lambda: one.found)
        assert one.found == SNI


def test_a_watcher_that_comes_late_is_waited_for(looks, bus):
    with searching() as one:
        waits(looks)
        with Panel(bus) as panel:
            panel.wait(lambda: one.found)
            assert one.found == SNI


def test_a_watcher_without_a_panel_is_given_time_and_then_taken_where_there_is_nothing_else(bus, monkeypatch):
    monkeypatch.setattr(search, "PATIENCE", 0.5)
    begun = time.monotonic()
    with Panel(bus, host=False) as panel, searching() as one:
        panel.wait(lambda: one.found)
        assert one.found == SNI
        assert time.monotonic() - begun >= 0.5


def test_a_panel_that_joins_its_watcher_ends_the_wait(looks, bus, monkeypatch):
    monkeypatch.setattr(search, "PATIENCE", 60)
    with Panel(bus, host=False) as panel, searching() as one:
        panel.wait(lambda: len(looks) >= 2)
        panel.settled()  # it asks no more
        panel.host = True
        panel.tell_of_host()
        panel.wait(lambda: one.found)
        assert one.found == SNI


def test_a_watcher_that_does_not_say_whether_it_has_a_panel_is_believed_to(bus, monkeypatch):
    monkeypatch.setattr(search, "BUS_LIMIT", 0.2)
    with Panel(bus), searching() as one:  # it never answers: nothing is waited for with it
        assert one.result() == SNI


def test_a_tray_of_old_is_taken_when_no_watcher_comes_in_time(on_screen, monkeypatch):
    monkeypatch.setattr(search, "PATIENCE", 0.3)
    with on_screen.trayer(), searching() as one:
        assert one.result() == XEMBED


def test_a_tray_of_old_that_comes_late_is_waited_for(looks, on_screen, monkeypatch):
    monkeypatch.setattr(search, "PATIENCE", 0.3)
    with searching() as one:
        waits(looks)
        with on_screen.trayer():
            assert one.result() == XEMBED


def test_a_watcher_just_behind_a_tray_of_old_is_preferred(looks, on_screen, monkeypatch):
    monkeypatch.setattr(search, "PATIENCE", 60)
    with on_screen.trayer(), searching() as one:
        until(lambda: looks and looks[-1][0].xembed, LIMIT)
        with Panel(on_screen.bus) as panel:
            panel.wait(lambda: one.found)
            assert one.found == SNI


def test_a_tray_of_old_is_found_without_a_bus(looks, on_screen, no_bus, monkeypatch):
    monkeypatch.setattr(search, "PATIENCE", 0.3)
    with searching() as one:
        waits(looks, times=1)
        with on_screen.trayer():
            assert one.result() == XEMBED


def test_under_wayland_the_x_server_is_left_alone(on_screen, no_bus, monkeypatch):
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-1")
    with on_screen.trayer(), searching() as one:
        assert "session bus" in one.result()  # can't be reached, or is gone


def test_where_nothing_can_come_it_says_why(no_bus, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    with searching() as one:
        assert "session bus" in one.result()  # can't be reached, or is gone


def test_a_display_that_nobody_serves_is_said_and_leaves_no_socket_behind(no_bus, monkeypatch):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", NOBODYS)
    with searching() as one:
        assert one.result().endswith(f"no X server answers at {NOBODYS}")
    with pytest.raises(NothingToWaitFor, match="no X server answers"):
        Search().glance()
    gc.collect()  # a socket that was left open would be complained of here, which fails the test


def test_a_bus_that_goes_while_we_wait_ends_the_search(looks, bus):
    with searching() as one:
        waits(looks)
        bus.process.kill()
        assert "session bus" in one.result()  # can't be reached, or is gone


def test_a_bus_that_hangs_costs_its_time_and_no_more(bus, monkeypatch):
    monkeypatch.setattr(search, "BUS_LIMIT", 0.2)
    bus.process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    with searching() as one:
        assert "does not answer" in one.result()
    assert time.monotonic() - begun < 4


def test_a_search_can_be_stopped_before_and_while_it_waits(looks, bus):
    early = Search()
    early.stop()
    assert early.find() == ()
    with searching() as one:
        waits(looks)
        one.search.stop()
        one.search.stop()
        assert one.result() == ()


@pytest.mark.parametrize(
    ("desktop_name", "wayland", "advice"),
    [("ubuntu:GNOME", "wayland-0", "gnome-shell-extension-appindicator"), ("sway", "wayland-1", "waybar"), ("", "", "xfce4-panel")],
)
def test_silence_is_told_once_with_what_would_bring_a_tray(bus, monkeypatch, caplog, desktop_name, wayland, advice):
    monkeypatch.setattr(search, "SILENCE", 0.1)
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", desktop_name)
    monkeypatch.setenv("WAYLAND_DISPLAY", wayland)
    with searching() as one:
        until(lambda: "no tray yet" in caplog.text, LIMIT)
        with Panel(bus) as panel:
            panel.wait(lambda: one.found)
    assert caplog.text.count("no tray yet") == 1
    assert advice in caplog.text


def test_nothing_is_polled_while_there_is_no_tray(looks, on_screen, monkeypatch):
    monkeypatch.setattr(search, "SILENCE", 0.05)
    with searching() as one:
        until(lambda: len(looks) >= 3, LIMIT)  # the last one after the warning
        counts = []
        until(lambda: counts.append(woken(one.thread)) or (len(counts) > 100 and len(set(counts[-100:])) == 1), LIMIT)


def test_what_came_in_during_a_look_is_not_slept_over(monkeypatch):
    class Place:
        """It has already read from its descriptor that a tray has come."""

        def __init__(self):
            self.ear, self.mouth = socket.socketpair()
            self.came = False

        def look(self):
            return Seen(watcher=self.came, host=self.came)

        def heard(self):
            self.came = True
            return True

        def fileno(self):
            return self.ear.fileno()

        def close(self):
            self.ear.close()
            self.mouth.close()

    monkeypatch.setattr(search, "_Watcher", Place)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-1")
    with searching() as one:
        assert one.result() == SNI


def woken(thread):
    with open(f"/proc/self/task/{thread.native_id}/status") as file:
        return int(file.read().partition("voluntary_ctxt_switches:")[2].split()[0])
