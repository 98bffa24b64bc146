"""A login starts what `slothtray autostart enable` has written, and the icon is on the screen: real sessions, looked at by pixels."""

import glob
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import pytest
from desktop_session import until
from panels import LIMIT, XFCE_PANEL, App, folders, waybar

from slothtray.model import Face
from slothtray.paths import Paths
from slothtray.system.folder import holder_of

LOGIN_LIMIT = 30.0
SESSION = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-session" version="1.0">
  <property name="general" type="empty">
    <property name="FailsafeSessionName" type="string" value="Failsafe"/>
    <property name="SaveOnExit" type="bool" value="false"/>
  </property>
  <property name="sessions" type="empty">
    <property name="Failsafe" type="empty">
      <property name="IsFailsafe" type="bool" value="true"/>
      <property name="Count" type="int" value="2"/>
      <property name="Client0_Command" type="array"><value type="string" value="xfwm4"/><value type="string" value="--compositor=off"/></property>
      <property name="Client0_Priority" type="int" value="15"/>
      <property name="Client1_Command" type="array"><value type="string" value="xfce4-panel"/></property>
      <property name="Client1_Priority" type="int" value="25"/>
    </property>
  </property>
</channel>
"""


class Installed:
    """slothtray as a person has it: a program in a folder with a space and a letter that is not ASCII, and a queue in another."""

    def __init__(self, desktop):
        self.desktop = desktop
        desktop.env.update(folders(desktop.folder), GSETTINGS_BACKEND="memory", PYTHONWARNINGS="error")
        desktop.env["XDG_CONFIG_DIRS"] = str(desktop.folder / "nothing")  # not what the machine itself starts at a login
        self.program = desktop.folder / "möre software" / "slothtray"
        self.program.parent.mkdir()
        self.program.write_text(f"#!{sys.executable}\nimport sys\nfrom slothtray.__main__ import main\nsys.exit(main())\n")
        self.program.chmod(0o755)
        self.home = desktop.folder / "a lane für builds"
        self.entry = desktop.folder / "config/autostart/slothtray.desktop"

    def run(self, *words, code=0):
        done = subprocess.run([self.program, *words], env=self.desktop.env, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def pid(self):
        return holder_of(Paths(str(self.home)))

    def end(self):
        """A login's programs are nobody's children: by the pid that the app has written."""
        pid = self.pid()
        if pid:
            os.kill(pid, signal.SIGTERM)
            until(lambda: self.pid() is None, LIMIT)


@pytest.fixture
def installed(desktop):
    made = Installed(desktop)
    made.run("--home", str(made.home), "autostart", "enable")
    subprocess.run(["desktop-file-validate", str(made.entry)], check=True, timeout=20)
    yield made
    made.end()


@contextmanager
def xfce_session(desktop):
    """What a display manager starts. Only what needs D-Bus activation in real life is started beforehand."""
    channels = desktop.folder / "config/xfce4/xfconf/xfce-perchannel-xml"
    channels.mkdir(parents=True)
    (channels / "xfce4-panel.xml").write_text(XFCE_PANEL)
    (channels / "xfce4-session.xml").write_text(SESSION)
    (settings,) = glob.glob("/usr/lib/*/xfce4/xfconf/xfconfd")
    with desktop.program(settings):
        until(lambda: desktop.bus.owned("org.xfce.Xfconf"), LIMIT)
        with desktop.program("xfce4-session", "--disable-tcp", start_new_session=True) as process:
            try:
                yield process
            finally:
                os.killpg(process.pid, signal.SIGTERM)


def dex(installed, *options, env=None, **pipes):
    """What a sway config has for its programs at login. A pipe of ours would be held open by what it starts."""
    argv = ["dex", "-a", "-e", "sway", "-s", installed.entry.parent, *options]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.run(argv, env=env or installed.desktop.env, check=True, timeout=20, text=True, **(quiet | pipes))


def test_an_xfce_login_brings_the_icon_on_the_screen(installed):
    with xfce_session(installed.desktop):
        app = App(installed.desktop, None)
        until(lambda: app.shows(Face.IDLE), LOGIN_LIMIT)
        assert os.readlink(f"/proc/{installed.pid()}/exe") == os.path.realpath(sys.executable)
        doctor = installed.run("--home", str(installed.home), "doctor", code=1)
        assert re.search(r"^OK +panel +a panel with a tray is there \(.*systray, pid \d+\)$", doctor, re.MULTILINE), doctor
        assert f"starts at login: {installed.entry}\n" in doctor
        installed.end()


def test_a_sway_login_by_dex_brings_the_icon_on_the_screen(installed):
    desktop = installed.desktop
    with waybar(desktop):
        (display,) = (path.name for path in (desktop.folder / "run").glob("wayland-?"))
        wayland = {**desktop.env, "WAYLAND_DISPLAY": display, "XDG_CURRENT_DESKTOP": "sway"}
        del wayland["DISPLAY"]
        dex(installed, env=wayland)
        app = App(desktop, None)
        until(lambda: app.shows(Face.IDLE), LOGIN_LIMIT)
        installed.end()


def test_after_disable_a_login_starts_nothing(installed):
    would_start = partial(dex, installed, "--dry-run", "--verbose", stdout=subprocess.PIPE)
    assert str(installed.program) in would_start().stdout
    installed.run("autostart", "disable")
    assert not installed.entry.exists()
    assert "slothtray" not in would_start().stdout
