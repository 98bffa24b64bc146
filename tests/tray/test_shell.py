"""The shell's own part, with a backend that draws nothing: what is drawn when, by which thread, and how it ends."""

import os
import threading
import time
from typing import ClassVar

import pytest
from system.session import message_bus_in

from slothtray.model import Face
from slothtray.tray import menu, shell
from slothtray.tray.menu import Do, Entry
from slothtray.tray.shell import NoTray, Shell

LIMIT = 20.0
IDLE = menu.STARTING._replace(reason="")


def counted(number):
    return IDLE._replace(pending=number)


class Recorder(shell._pystray().Icon):
    """A pystray icon whose loop is an event, and which notes what it is told to draw."""

    made: ClassVar = []

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.over = threading.Event()
        self.log = []
        self.changed = threading.Condition()
        self.fail = False
        self.made.append(self)

    def note(self, *what):
        with self.changed:
            self.log.append(what)
            self.changed.notify_all()

    def wait_for(self, *what):
        with self.changed:
            assert self.changed.wait_for(lambda: what in self.log, LIMIT), self.log

    def show_look(self, look):
        self.note("look", look.name)
        if self.fail:
            raise ZeroDivisionError("drawing")

    def _run(self):
        self._mark_ready()
        assert self.over.wait(LIMIT)

    def _stop(self):
        self.over.set()

    def _show(self):
        self.note("shown")

    _hide = _update_icon = _show

    def _update_title(self):
        self.note("title", self.title)

    def _update_menu(self):
        self.note("menu", *(item.text for item in self.menu))


@pytest.fixture
def backend(monkeypatch):
    Recorder.made.clear()
    monkeypatch.setitem(shell._BACKENDS, "fake", lambda: Recorder)
    monkeypatch.setenv("SLOTHTRAY_TRAY", "fake")
    return Recorder


def run(tray, during):
    """The shell's run, with ``during`` called once the icon is there; the icon."""
    thread = threading.Thread(target=tray.run, args=(during,))
    thread.start()
    thread.join(2 * LIMIT)
    assert not thread.is_alive()


def test_the_last_of_many_changes_is_drawn_and_most_are_not(backend):
    def during():
        for number in range(2, 502):  # 1,000 a second
            time.sleep(0.001)
            tray.show(counted(number))
        backend.made[0].wait_for("menu", "Idle", "501 jobs queued", "- - - -", *menu_tail())
        tray.stop()

    tray = Shell(lambda *_: None)
    begun = time.monotonic()
    run(tray, during)
    drawn = [what for what in backend.made[0].log if what[0] == "title"]
    assert len(drawn) <= 2 + (time.monotonic() - begun) / shell.REST


def test_what_is_shown_before_the_start_is_there_from_the_start(backend):
    tray = Shell(lambda *_: None)
    tray.show(counted(5)._replace(face=Face.PAUSED))
    run(tray, tray.stop)
    assert backend.made[0].log[:2] == [("look", "slothtray-paused"), ("menu", "Paused", "5 jobs queued", "- - - -", *menu_tail())]


def menu_tail():
    return "Pause", "Pause for…", "Add from clipboard", "- - - -", "Open log", "Quit"


def test_only_what_differs_is_drawn(backend):
    def during():
        tray.show(IDLE._replace(reason=""))
        tray.show(IDLE._replace(next_up=()))
        tray.show(counted(1))
        backend.made[0].wait_for("title", "slothtray: idle · 1 queued")
        tray.stop()

    tray = Shell(lambda *_: None)
    tray.show(IDLE)
    run(tray, during)
    assert [what[0] for what in backend.made[0].log].count("look") == 1


def test_a_backend_can_tell_that_the_menu_is_about_to_be_shown(backend):
    def during():
        backend.made[0].about_to_show()
        assert told == [1]
        tray.stop()

    told = []
    tray = Shell(lambda *_: None, lambda: told.append(1))
    run(tray, during)


def test_stop_before_run_ends_it_at_once(backend):
    tray = Shell(lambda *_: None)
    tray.stop()
    run(tray, lambda: pytest.fail("ready"))


def test_a_drawing_that_fails_is_logged_and_the_next_one_is_drawn(backend, caplog):
    def during():
        icon = backend.made[0]
        icon.fail = True
        tray.show(IDLE._replace(face=Face.RUNNING))
        icon.wait_for("look", "slothtray-running")
        icon.fail = False
        tray.show(IDLE._replace(face=Face.WAITING))
        icon.wait_for("title", "slothtray: waiting")
        tray.stop()

    tray = Shell(lambda *_: None)
    run(tray, during)
    assert "drawing the icon" in caplog.text


def test_every_entry_becomes_what_pystray_shows_and_a_click_gives_its_value():
    clicked = []
    entries = (
        Entry("state", "Idle"),
        Entry("line", separator=True),
        Entry("more", "More", submenu=(Entry("one", "One", Do("open_log", (1,)), default=True), Entry("on", "On", Do("x"), checked=True))),
    )
    state, line, more = shell._Items(lambda *click: clicked.append(click), entries).menu.items
    assert (state.text, state.enabled, state.checked) == ("Idle", False, None)
    assert line is shell._pystray().Menu.SEPARATOR
    one, on = more.submenu.items
    assert (one.default, one.checked, on.checked, one.enabled) == (True, None, True, True)
    one(None)
    assert clicked == [("One", Do("open_log", (1,)))]


def test_no_tray_says_why_not(monkeypatch):
    monkeypatch.setenv("SLOTHTRAY_TRAY", "fax")
    with pytest.raises(NoTray, match=r"SLOTHTRAY_TRAY=fax is none of sni, .*gtk"):
        Shell(lambda *_: None).run()


def test_where_no_tray_can_come_it_says_why_and_leaves_the_environment_alone(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SLOTHTRAY_TRAY", "PYSTRAY_BACKEND", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoTray, match=r"no session bus .*; \S"):
        Shell(lambda *_: None).run()
    assert "PYSTRAY_BACKEND" not in os.environ


def test_stop_ends_the_search_for_a_tray(tmp_path, monkeypatch):
    monkeypatch.delenv("SLOTHTRAY_TRAY", raising=False)
    with message_bus_in(tmp_path) as bus:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        monkeypatch.delenv("DISPLAY", raising=False)
        tray = Shell(lambda *_: None)
        thread = threading.Thread(target=tray.run)
        thread.start()
        tray.stop()
        thread.join(LIMIT)
        assert not thread.is_alive()
