"""What a person does all day, step by step, with the real program in a real panel: queue, look, pause, resume, fail, be told.

The person types ``slothtray add`` in a terminal, sees the icon by the pixels of the screen, and uses the menu and the notification.
"""

import sys
from contextlib import contextmanager

from desktop_session import GI_PYTHON, ROOT, until
from panels import App, SniApp

from slothtray.model import Face

PATIENCE = 30.0
"""Seconds that anything on a loaded machine may take to be seen."""
JOB = 'echo began; until [ -e "{flag}" ]; do sleep 0.02; done; echo over'
FAILURE = "echo the disk is not there; exit 3"
OPENER = '#!/bin/sh\necho "$1" >> "{opened}"\n'


class Mouse:
    """Opens the menu by a right click and chooses by a left one, whatever draws it."""

    words = "the mouse"

    def __init__(self, app):
        self.app = app

    def chooses_pause(self, *above):
        """Choose the line "Pause", above which are these."""
        if isinstance(self.app, SniApp):
            until(lambda: self.app.lines()[: len(above) + 1] == [*above, "Pause"], PATIENCE)
            self.app.choose("Pause")
        else:  # nobody but a person reads this menu: with other lines above, what is clicked changes no colour
            self.app.choose(len(above))


class BusHand:
    """Chooses without a mouse, by the calls that the panel would make: AboutToShow, GetLayout, Event."""

    words = "D-Bus"

    def __init__(self, app):
        self.app = app

    def chooses_pause(self, *above):
        """The same."""
        until(lambda: self.app.lines()[: len(above) + 1] == [*above, "Pause"], PATIENCE)
        self.app.choose_over_bus("Pause")


class Dunst:
    """The notification as dunst shows it and remembers it."""

    def __init__(self, dunst):
        self.dunst = dunst

    def expect(self, icon):
        """One will come, somewhere else than at the ``icon``."""

    def is_shown(self):
        """Whether one is on the screen."""
        return self.dunst.displayed() == 1

    def choose_log(self):
        """Choose its action "Open log"."""
        self.dunst.choose("Open log")

    def said(self):
        """Titles and texts of all that were shown; None where nobody remembers them."""
        return [(bubble["summary"], bubble["body"]) for bubble in self.dunst.history()]


class Cycle:
    """One person's way through all of it; ``keep`` is called with a name where there is something worth a picture."""

    def __init__(self, app, home, hand, bubble, keep=lambda _name: None):
        self.app, self.home, self.hand, self.bubble, self.keep = app, home, hand, bubble, keep

    def the_icon_is_there_and_idle(self):
        """The panel shows it."""
        self.sees(Face.IDLE)

    def a_job_queued_by_the_command_line_gives_it_the_running_colour(self):
        """``slothtray add``, and what it does to the icon; also at its end."""
        job = self.home.add(JOB.format(flag="first"))
        self.sees(Face.RUNNING)
        (self.home.work / "first").touch()
        assert self.home.wait_for(job, "done")
        self.sees(Face.IDLE)
        self.home.run("prune", "--older", "0s")  # the menu is short again

    def pause_chosen_in_the_menu_changes_the_colour(self):
        """And `slothtray why` names it."""
        self.hand.chooses_pause("Idle")
        self.sees(Face.PAUSED)
        self.paused = self.home.add(JOB.format(flag="second"))
        assert self.home.run("why", str(self.paused)).stdout.startswith("pause: ")

    def nothing_starts_until_resume_is_chosen_and_then_it_runs(self):
        """The menu says that the job is queued: the app knew of it and let it lie."""
        self.hand.chooses_pause("Paused", "1 job queued")
        self.sees(Face.RUNNING)
        assert self.events()[-4:] == ["paused", "added", "resumed", "claimed"]
        (self.home.work / "second").touch()
        assert self.home.wait_for(self.paused, "done")
        assert self.home.run("log", str(self.paused)).stdout == "began\nover\n"
        self.sees(Face.IDLE)

    def a_failing_job_is_told_by_a_notification_and_a_mark_on_the_icon(self):
        """Both at once; nobody has looked yet."""
        self.bubble.expect(self.app.place())
        self.failed = self.home.add("--label", "backup", FAILURE)
        assert self.home.wait_for(self.failed, "failed")
        until(self.bubble.is_shown, PATIENCE)
        until(self.app.warns, PATIENCE)
        self.keep("notification")

    def the_notification_s_action_opens_the_log(self):
        """In the desktop's program for it; and then the mark is gone."""
        self.bubble.choose_log()
        until(lambda: self.home.wrote("opened") == f"{self.home.paths.log(self.failed)}\n", PATIENCE)
        until(lambda: not self.app.warns(), PATIENCE)
        assert self.bubble.said() in (None, [("Failed: backup", "exit 3\nthe disk is not there")])

    STEPS = (
        the_icon_is_there_and_idle,
        a_job_queued_by_the_command_line_gives_it_the_running_colour,
        pause_chosen_in_the_menu_changes_the_colour,
        nothing_starts_until_resume_is_chosen_and_then_it_runs,
        a_failing_job_is_told_by_a_notification_and_a_mark_on_the_icon,
        the_notification_s_action_opens_the_log,
    )

    def sees(self, face):
        """Wait until the screen shows this face and no other."""
        until(lambda: self.app.shows(face), PATIENCE)
        self.keep(face)

    def events(self):
        """The kinds of all events, the queue's own among them."""
        with self.home.read() as connection:
            found = connection.execute("SELECT kind FROM events ORDER BY id").fetchall()
        connection.close()
        return [kind for (kind,) in found]


@contextmanager
def program_on(desktop, home, backend="sni", variables=None):
    """The real ``slothtray`` with its real runner on this desktop, and a stand-in for xdg-open that writes down what it opens.

    ``variables`` are the desktop's own; "" takes one away.
    """
    bin_folder = home.work / "bin"
    bin_folder.mkdir()
    opener = bin_folder / "xdg-open"
    opener.write_text(OPENER.format(opened=home.work / "opened"))
    opener.chmod(0o755)
    home.path.mkdir(exist_ok=True)
    (home.path / "config.toml").write_text('ceiling = "off"\ncooldown = 0\n')
    (home.path / "told").write_text("welcome\n")  # the first start's bubble would lie over the menu
    python, warnings = (str(GI_PYTHON), "default") if backend == "gtk" else (sys.executable, "error")  # PyGObject's own are not ours
    env = {
        **home.environment,
        **desktop.env,
        "PATH": f"{bin_folder}:{desktop.env['PATH']}",
        "PYTHONPATH": str(ROOT),  # for the Python that has PyGObject
        "PYTHONWARNINGS": warnings,
        "SLOTHTRAY_TRAY": "" if backend == "sni" else backend,  # which it finds by itself, at once
        "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={home.work}/no-system-bus",
        **(variables or {}),
    }
    env = {name: value for name, value in env.items() if value}
    with desktop.program(python, "-m", "slothtray", env=env, cwd=home.work) as process:
        yield (SniApp if backend == "sni" else App)(desktop, process)
        process.terminate()
        assert process.wait(PATIENCE) == 0
