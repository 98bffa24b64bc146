"""The icon in waybar under sway: a desktop without an X server of its own, by the mouse."""

import pytest
from desktop_session import until
from panels import LIMIT, app_on, waybar

from slothtray.model import Face


@pytest.fixture
def app(desktop):
    with waybar(desktop), app_on(desktop, "sni") as app:
        until(lambda: app.shows(Face.IDLE), LIMIT)
        yield app


def test_each_state_has_its_colour_and_a_failure_its_badge(app):
    for face in (Face.WAITING, Face.RUNNING, Face.PAUSED, Face.IDLE):
        app.tell(f"face {face}")
        until(lambda face=face: app.shows(face), LIMIT)
    app.tell("failed")
    until(app.warns, LIMIT)


def test_a_left_click_does_what_the_menu_s_default_does(app):
    app.desktop.click(*app.place(), 1)
    assert app.said() == ["log", "None"]
