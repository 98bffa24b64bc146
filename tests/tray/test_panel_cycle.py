"""The whole program in each kind of panel, from the queueing in a terminal to the log that a notification opens."""

from contextlib import contextmanager

import pytest
from cycle import Cycle, Dunst, Mouse, program_on
from desktop_session import until
from panels import waybar, xfce4_panel, xfce_services
from system.session import dunst


@contextmanager
def xfce(desktop):
    with xfce_services(desktop), xfce4_panel(desktop):
        yield


@contextmanager
def trayer(desktop):
    with desktop.trayer():
        yield


@pytest.mark.parametrize(("panel", "backend"), [(xfce, "sni"), (waybar, "sni"), (trayer, "gtk")], ids=lambda part: getattr(part, "__name__", part))
def test_queued_by_command_seen_by_colour_paused_and_resumed_by_mouse_and_a_failure_s_notification_opens_the_log(
    desktop, home, panel, backend
):
    with panel(desktop), dunst(desktop.bus, desktop.env["DISPLAY"], desktop.folder) as daemon:
        with program_on(desktop, home, backend) as app:
            cycle = Cycle(app, home, Mouse(app), Dunst(daemon))
            for step in Cycle.STEPS:
                step(cycle)
        until(app.shows_nothing)
