"""The whole program in each kind of panel, from the queueing in a terminal to the log that a notification opens."""

from contextlib import contextmanager

import pytest
from cycle import Cycle, Dunst, Mouse, program_on
from desktop_session import until
from panels import BADGE, FUR, waybar, xfce4_panel, xfce_services
from standin import Panel
from system.session import dunst


@contextmanager
def xfce(desktop):
    with xfce_services(desktop), xfce4_panel(desktop):
        yield


@contextmanager
def trayer(desktop):
    with desktop.trayer():
        yield


class StandIn:
    """The icon as a panel of our own sees it: by its picture of 64 pixels; and the hand that chooses in its menu."""

    def __init__(self, panel):
        self.panel = panel

    def pixel(self, x, y):
        _, _, data = next(one for one in self.panel.get("IconPixmap") if one[0] == 64)
        return tuple(data[4 * (64 * y + x) :][1:4])

    def shows(self, face):
        return self.pixel(32, 9) == FUR[face]

    def warns(self):
        return self.pixel(40, 52) == BADGE and self.panel.get("Status") == "NeedsAttention"

    def place(self):
        return 0, 0

    def chooses_pause(self, *above):
        lines = until(lambda: self.lines_below(above), 30)
        self.panel.click(lines[0])

    def lines_below(self, above):
        """The numbers of the lines from "Pause" on, once these are above it."""
        lines = [(number, seen["label"]) for number, seen, _ in self.panel.open_menu()[1] if "label" in seen]
        as_wanted = [label for _, label in lines[: len(above) + 1]] == [*above, "Pause"]
        return [number for number, _ in lines[len(above) :]] if as_wanted else []


def go_through(cycle):
    for step in Cycle.STEPS:
        step(cycle)


@pytest.mark.parametrize(("panel", "backend"), [(xfce, "sni"), (waybar, "sni"), (trayer, "gtk")], ids=lambda part: getattr(part, "__name__", part))
def test_queued_by_command_seen_by_colour_paused_and_resumed_by_mouse_and_a_failure_s_notification_opens_the_log(
    desktop, home, panel, backend
):
    with panel(desktop), dunst(desktop.bus, desktop.env["DISPLAY"], desktop.folder) as daemon:
        with program_on(desktop, home, backend) as app:
            go_through(Cycle(app, home, Mouse(app), Dunst(daemon)))
        until(app.shows_nothing)


def test_the_same_with_a_watcher_that_stands_in_for_all_panels(desktop, home):
    with Panel(desktop.bus) as panel, dunst(desktop.bus, desktop.env["DISPLAY"], desktop.folder) as daemon, program_on(desktop, home):
        icon = StandIn(panel)
        go_through(Cycle(icon, home, icon, Dunst(daemon)))
