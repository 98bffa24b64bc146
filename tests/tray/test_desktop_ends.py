"""The real application when parts of its desktop end: the bus alone, or the whole login."""

import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness import PROGRAM, App, identity
from standin import Panel
from system.session import StandIn, message_bus_in, screen, until

from slothtray.tray.app import GONE

LIMIT = 20.0
LOGIN1 = "org.freedesktop.login1"
OURS = "/org/freedesktop/login1/session/_32"
PATIENT = 'until [ -e "$PWD/end" ]; do sleep 0.02; done; echo over'


class Login:
    """A screen, a session bus with a panel, and logind; each of them can end."""

    def __init__(self, home, folder):
        self.home = home
        self.parts = {name: ExitStack() for name in ("display", "bus", "panel", "system", "logind")}
        buses = {name: self.parts[name].enter_context(message_bus_in(self.folder(folder, name))) for name in ("bus", "system")}
        self.bus = buses["bus"]
        self.panel = self.parts["panel"].enter_context(Panel(self.bus))
        self.state = "active"
        answers = {"GetSession": lambda _name: ("o", (OURS,)), "Get": lambda *_: ("v", (("s", self.state),))}
        self.logind = self.parts["logind"].enter_context(StandIn(buses["system"], LOGIN1, answers))
        self.environment = {
            **home.environment,
            "DISPLAY": self.parts["display"].enter_context(screen()),
            "DBUS_SESSION_BUS_ADDRESS": self.bus.address,
            "DBUS_SYSTEM_BUS_ADDRESS": buses["system"].address,
            "XDG_SESSION_ID": "2",
        }

    def folder(self, folder, name):
        made = folder / name
        made.mkdir()
        return made

    def starts_app(self):
        """The tray app of this login, with its icon in the panel."""
        app = App(self.home, PROGRAM, self.environment, ready=True)
        self.home.apps.append(app)
        self.panel.wait(lambda: self.panel.registered, LIMIT)
        until(lambda: "GetSession" in [member for member, _ in self.logind.calls])
        return app

    def loses_bus(self):
        self.bus.process.kill()
        self.bus.process.wait()

    def loses_display_and_bus(self, _app):
        self.loses_bus()
        self.parts["display"].close()

    def is_left(self, _app):
        self.state = "closing"
        self.logind.emit("/org/freedesktop/login1", f"{LOGIN1}.Manager", "SessionRemoved", "so", ("2", OURS))

    def terms(self, app):
        app.process.send_signal(signal.SIGTERM)

    def close(self):
        for part in ("panel", "logind", "bus", "system", "display"):
            self.parts[part].close()


@pytest.fixture
def login(home, tmp_path):
    home.path.mkdir()
    (home.path / "config.toml").write_text('ceiling = "off"\ncooldown = 0\n')
    made = Login(home, tmp_path)
    yield made
    made.close()


def test_only_the_bus_killed_the_app_goes_on_and_says_in_log_and_list_how_the_icon_returns(login, home):
    app = login.starts_app()
    assert "icon" not in home.run("list").stdout
    login.loses_bus()
    until(lambda: f"Note: {GONE}" in home.run("list").stdout.splitlines(), LIMIT)
    assert GONE in Path(home.paths.app_log).read_text()
    assert home.wait_for(home.enqueue("true"), "done")
    assert app.process.poll() is None
    assert app.stop() == 0
    assert "icon" not in home.run("list").stdout
    home.start()  # what a former app had to say is not said of this one
    assert "icon" not in home.run("list").stdout


@pytest.mark.parametrize("end", [Login.terms, Login.loses_display_and_bus, Login.is_left])
def test_the_end_of_the_login_ends_the_app_within_five_seconds_and_its_job_goes_on_and_is_adopted(login, home, end):
    app = login.starts_app()
    job = home.enqueue(PATIENT)
    home.wait_for(job, "running")
    until(home.processes, LIMIT)
    living = {identity(pid) for pid in home.processes()}
    begun = time.monotonic()
    end(login, app)
    assert app.wait(5) == 0
    assert time.monotonic() - begun < 5
    assert {identity(pid) for pid in home.processes()} & living
    (home.work / "end").touch()
    home.start()
    assert home.wait_for(job, "done")
    assert home.row(job, "attempts") == 1
    assert home.log(job) == "over\n"
