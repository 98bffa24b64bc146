"""The icon in a real panel on a real (virtual) screen: seen by its pixels, used by the mouse."""

import time
from pathlib import Path

import pytest
from desktop_session import until
from panels import FUR, LIMIT, app_on

from slothtray.model import Face

POLL = {"7", "73"}  # poll on x86-64, ppoll on arm64


@pytest.mark.parametrize("backend", ["appindicator", "gtk", "xembed"])
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
        until(app.shows_nothing, LIMIT)


def test_pause_is_chosen_by_mouse_and_seen_in_the_colour_and_then_taken_back(desktop):
    with desktop.trayer(), app_on(desktop, "gtk") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        assert app.choose(1) == 6  # Idle | Pause, Pause for…, Add from clipboard | Open log, Quit
        assert app.said() == ["pause"]
        until(lambda: app.shows(Face.PAUSED), LIMIT)
        app.choose(1)
        assert app.said() == ["resume"]
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.choose(5)
        assert app.process.wait(5) == 0


@pytest.mark.parametrize("backend", ["gtk", "xembed"])
def test_a_left_click_opens_the_log(desktop, backend):
    with desktop.trayer(), app_on(desktop, backend) as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.desktop.click(*app.place(), 1)
        assert app.said() == ["log", "None"]


def test_the_panel_s_own_ground_is_seen_around_the_icon(desktop):
    with desktop.trayer(), app_on(desktop, "xembed") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        x, y = app.place()
        assert min(desktop.photo().getpixel((x, y - 11))) > 200  # trayer's tint
        assert app.blended(Face.IDLE, beside=(0, -11))


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


@pytest.mark.parametrize("backend", ["gtk", "xembed"])
def test_a_flood_of_changes_ends_in_the_last_one_and_a_panel_that_lives(desktop, backend):
    with desktop.trayer() as panel, app_on(desktop, backend) as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.tell("flood 3000")
        assert app.said() == ["flooded"]
        app.tell("face paused")
        begun = time.monotonic()
        until(lambda: app.shows(Face.PAUSED), LIMIT)
        assert time.monotonic() - begun < 3  # the changes were skipped, not queued
        assert panel.poll() is None


@pytest.mark.parametrize("backend", ["gtk", "xembed"])
def test_a_panel_that_comes_late_and_is_restarted_gets_the_icon(desktop, backend):
    with app_on(desktop, backend) as app:
        for face in (Face.IDLE, Face.IDLE, Face.PAUSED, Face.PAUSED):  # changed in between, and not
            app.tell(f"face {face}")
            with desktop.trayer() as panel:
                until(lambda face=face: app.shows(face), LIMIT)
                panel.kill()
                panel.wait(LIMIT)


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
