"""The icon in a real panel on a real (virtual) screen: seen by its pixels, used by the mouse."""

import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from desktop_session import GI_PYTHON, spots, text_rows, until

from slothtray.model import Face
from slothtray.tray.icon import Look, image

DRIVER = Path(__file__).with_name("tray_driver.py")
LIMIT = 10.0
FUR = {face: image(Look(face, badge=False), 64).getpixel((32, 9))[:3] for face in Face}
BADGE = image(Look(Face.IDLE, badge=True), 64).getpixel((40, 52))[:3]
POLL = {"7", "73"}  # poll on x86-64, ppoll on arm64
COMMON = 8
"""Pixels of a colour that count as seen; at 24 px a face has 55 to 130 of its fur's."""


class App:
    """The tray application in a process of its own."""

    def __init__(self, desktop, process):
        self.desktop = desktop
        self.process = process

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def said(self):
        return self.process.stdout.readline().split()

    def shows(self, face):
        """Whether the screen shows this face and no other."""
        photo = self.desktop.photo()
        return {one for one in Face if spots(photo, FUR[one])[0] >= COMMON} == {face}

    def warns(self):
        """Whether the badge is to be seen."""
        return spots(self.desktop.photo(), BADGE)[0] >= COMMON

    def place(self):
        """The middle of the icon."""
        photo = self.desktop.photo()
        left, top, right, bottom = max((spots(photo, colour) for colour in FUR.values()), key=lambda seen: seen[0])[1]
        return (left + right) // 2, (top + bottom) // 2


@contextmanager
def app_on(desktop, backend):
    assert GI_PYTHON.exists(), "packaging/dev.py test makes .venv-gi"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with desktop.program(str(GI_PYTHON), str(DRIVER), env={**desktop.env, "SLOTHTRAY_TRAY": backend}, **pipes) as process:
        yield App(desktop, process)


def open_menu(app):
    """Right click on the icon; the menu's box on the screen."""
    before = app.desktop.photo()
    app.desktop.click(*app.place(), 3)
    steady = []

    def there():
        steady.append(app.desktop.changed_box(before))
        return len(steady) > 1 and steady[-1] and steady[-1] == steady[-2] and steady[-1]

    return until(there, LIMIT)


def choose(app, line):
    """Open the menu and click its ``line``-th line of text, from 0."""
    left, top, right, bottom = open_menu(app)
    rows = text_rows(app.desktop.photo().crop((left, top, right, bottom)))
    first, last = rows[line]
    app.desktop.click(left + (right - left) // 2, top + (first + last) // 2, 1)
    return len(rows)


@pytest.mark.parametrize("backend", ["appindicator", "gtk", "xorg"])
def test_the_icon_shows_each_state_in_its_colour_and_the_badge(desktop, backend):
    with desktop.trayer(), app_on(desktop, backend) as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        for face in (Face.WAITING, Face.RUNNING, Face.PAUSED, Face.IDLE):
            app.tell(f"face {face}")
            until(lambda face=face: app.shows(face), LIMIT)
        assert not app.warns()
        app.tell("failed")
        until(app.warns, LIMIT)
        app.process.terminate()
        assert app.process.wait(5) == 0
        until(lambda: not app.shows(Face.IDLE), LIMIT)


def test_pause_is_chosen_by_mouse_and_seen_in_the_colour_and_then_taken_back(desktop):
    with desktop.trayer(), app_on(desktop, "gtk") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        assert choose(app, 1) == 5  # Idle | Pause, Add from clipboard | Open log, Quit
        assert app.said() == ["pause"]
        until(lambda: app.shows(Face.PAUSED), LIMIT)
        choose(app, 1)
        assert app.said() == ["resume"]
        until(lambda: app.shows(Face.IDLE), LIMIT)
        choose(app, 4)
        assert app.process.wait(5) == 0


def test_a_left_click_opens_the_log(desktop):
    with desktop.trayer(), app_on(desktop, "gtk") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.desktop.click(*app.place(), 1)
        assert app.said() == ["log", "None"]


def test_the_tooltip_says_what_and_why(desktop):
    with desktop.trayer(), app_on(desktop, "gtk") as app:
        app.tell("face waiting")
        until(lambda: app.shows(Face.WAITING), LIMIT)
        x, y = app.place()
        before = desktop.photo()
        for step in range(4):  # gtk wants to see the pointer move inside
            desktop.run("xdotool", "mousemove", "--sync", str(x - 2 + step), str(y))
        left, _, right, _ = until(lambda: desktop.changed_box(before), LIMIT)
        assert right - left > 250  # "slothtray: waiting: load 2.91 > 1.50 since 14:02" is a long line


def test_a_flood_of_changes_ends_in_the_last_one_and_a_panel_that_lives(desktop):
    with desktop.trayer() as panel, app_on(desktop, "gtk") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.tell("flood 3000")
        assert app.said() == ["flooded"]
        app.tell("face paused")
        begun = time.monotonic()
        until(lambda: app.shows(Face.PAUSED), LIMIT)
        assert time.monotonic() - begun < 3  # the changes were skipped, not queued
        assert panel.poll() is None


def test_a_panel_that_is_restarted_gets_the_icon_back(desktop):
    with app_on(desktop, "gtk") as app:
        for _ in range(2):
            with desktop.trayer():
                until(lambda: app.shows(Face.IDLE), LIMIT)


def test_a_runner_that_dies_is_seen(desktop):
    with desktop.trayer(), app_on(desktop, "gtk") as app:
        app.tell("face running")
        until(lambda: app.shows(Face.RUNNING), LIMIT)
        app.tell("die")
        until(lambda: app.shows(Face.IDLE) and app.warns(), LIMIT)
        app.process.terminate()
        assert app.process.wait(5) == 1


def test_a_signal_ends_the_app_within_five_seconds_even_while_the_toolkit_hangs(desktop):
    with desktop.trayer(), app_on(desktop, "gtk") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        with desktop.frozen_screen():
            app.tell("flood 50")
            assert app.said() == ["flooded"]
            until(lambda: waits_for_x(app.process.pid), LIMIT)
            begun = time.monotonic()
            app.process.terminate()
            assert app.process.wait(10) == 1
            assert time.monotonic() - begun < 5


def waits_for_x(pid):
    """Whether the main thread is in a poll of one descriptor without a limit, as Xlib is for an answer; gtk's own loop has more."""
    words = Path(f"/proc/{pid}/syscall").read_text().split()
    return words[0] in POLL and words[2] == "0x1"


@pytest.mark.parametrize("colour", FUR.values(), ids=str)
def test_the_furs_can_be_told_apart_by_this_test(colour):
    others = [other for other in FUR.values() if other != colour]
    assert all(max(abs(a - b) for a, b in zip(colour, other, strict=True)) > 20 for other in others)
