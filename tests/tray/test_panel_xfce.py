"""The icon in xfce4-panel, by our own backend: the whole of it with the mouse on a real screen."""

import time

import pytest
from desktop_session import spots, until
from panels import FUR, LIMIT, app_on, xfce4_panel, xfce_services

from slothtray.model import Face


@pytest.fixture
def xfce(desktop):
    with xfce_services(desktop):
        yield desktop


@pytest.fixture
def app(xfce):
    with xfce4_panel(xfce), app_on(xfce, "sni") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        yield app


def test_each_state_has_its_colour_and_a_failure_its_badge(app):
    for face in (Face.WAITING, Face.RUNNING, Face.PAUSED, Face.IDLE):
        app.tell(f"face {face}")
        until(lambda face=face: app.shows(face), LIMIT)
    assert not app.warns()
    app.tell("failed")
    until(app.warns, LIMIT)
    app.process.terminate()
    assert app.process.wait(LIMIT) == 0
    until(app.shows_nothing, LIMIT)


def test_a_left_click_does_what_the_menu_s_default_does(app):
    app.desktop.click(*app.place(), 1)
    assert app.said() == ["log", "None"]


def test_words_change_in_a_menu_that_stays_open(app):
    box = app.open_menu()
    app.desktop.run("xdotool", "mousemove", "5", "5")  # no tooltip over it
    before = app.desktop.photo().crop(box)
    app.tell("face waiting")
    until(lambda: spots(app.desktop.photo(), FUR[Face.WAITING])[0] > 8, LIMIT)
    until(lambda: app.desktop.photo().crop(box).tobytes() != before.tobytes(), LIMIT)
    app.tell("face idle")
    until(lambda: app.desktop.photo().crop(box).tobytes() == before.tobytes(), LIMIT)  # it was open all the time


def test_the_tooltip_says_what_and_why(app):
    app.tell("face waiting")
    until(lambda: app.shows(Face.WAITING), LIMIT)
    x, y = app.place()
    before = app.desktop.photo()
    for step in range(4):  # gtk wants to see the pointer move inside
        app.desktop.run("xdotool", "mousemove", "--sync", str(x - 2 + step), str(y))


    def width():
        left, _, right, _ = app.desktop.changed_box(before) or (0, 0, 0, 0)
        return right - left

    until(lambda: width() > 250, LIMIT)  # "slothtray: waiting: load 2.91 > 1.50 since 14:02" is a long line


def test_of_3000_changes_at_500_a_second_the_last_one_is_seen_and_panel_and_app_live(xfce):
    with xfce4_panel(xfce) as panel, app_on(xfce, "sni") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.tell("flood 3000 500")
        assert app.said() == ["flooded"]
        app.tell("face paused")
        begun = time.monotonic()
        until(lambda: app.shows(Face.PAUSED), LIMIT)
        assert time.monotonic() - begun < 3  # the changes were skipped, not queued
        assert (panel.poll(), app.process.poll()) == (None, None)


def test_a_panel_that_is_killed_twenty_times_and_comes_back_has_the_icon_each_time(xfce):
    with app_on(xfce, "sni") as app:
        for _ in range(21):
            with xfce4_panel(xfce) as panel:
                until(lambda: app.shows(Face.IDLE), LIMIT)
                panel.kill()
                panel.wait(LIMIT)


def test_the_icon_of_old_is_shown_as_well_in_a_tray_with_an_alpha_channel(xfce):
    with xfce4_panel(xfce), app_on(xfce, "xembed") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        app.tell("face running")
        until(lambda: app.shows(Face.RUNNING), LIMIT)
        assert app.blended(Face.RUNNING, beside=(-30, 0))
        app.desktop.click(*app.place(), 1)
        assert app.said() == ["log", "None"]
