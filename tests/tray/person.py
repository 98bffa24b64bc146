"""A person before the tray application with its real runner, and that application in this process."""

import os
from functools import partial

from fake_app import FakeShell

from slothtray.cli.commands import app as command
from slothtray.system import notify
from slothtray.tray import menu
from slothtray.tray.app import run_app

LIMIT = 20.0


class Person(FakeShell):
    """Sees what the icon would show, and clicks."""

    def run(self, on_ready):
        try:
            on_ready()
            self.during(self)
        except BaseException as error:
            self.failure = error
        self.quit()

    def wait_for(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: self.shown and condition(*self.shown[-1]), LIMIT), self.shown[-1:]

    def sees(self, label):
        """Wait for a line of the menu that is, or else begins, so; its entry."""
        self.wait_for(lambda *_: self.entry(label))
        return self.entry(label)

    def entry(self, label):
        entries = menu.build(*self.shown[-1])
        same = [entry for entry in entries if entry.label == label]
        return next(iter(same), None) or next((entry for entry in entries if entry.label.startswith(label)), None)

    def chooses(self, label, choice=None):
        """Click a line of the menu, or one of its submenu."""
        entry = self.sees(label)
        if choice is not None:
            entry = next(one for one in entry.submenu if one.label == choice)
        self.click(entry.label, entry.do)


class App:
    """Runs the command that is the tray app, in this process."""

    def __init__(self, home, monkeypatch, tmp_path):
        self.home, self.monkeypatch = home, monkeypatch
        self.opened = tmp_path / "opened"
        folder = tmp_path / "bin"
        folder.mkdir()
        opener = folder / "xdg-open"
        opener.write_text(f'#!/bin/sh\necho "$1" >> {self.opened}\n')
        opener.chmod(0o755)
        self.configure('ceiling = "off"\ncooldown = 0\n')
        (home.path / "told").write_text("welcome\n")  # the first start has a notification of its own
        for name, value in home.environment.items():
            monkeypatch.setenv(name, value)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/no-system-bus")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        self.told = []
        """The titles of the notices that a service has taken."""
        take = notify.PlyerNotifier.notify
        monkeypatch.setattr(notify.PlyerNotifier, "notify", lambda one, notice: (take(one, notice), self.told.append(notice.title)))

    def configure(self, text):
        self.home.path.mkdir(exist_ok=True)
        (self.home.path / "config.toml").write_text(text)

    def run(self, during):
        """Run it while the person does ``during``; the exit code."""
        self.person = Person(during)
        self.monkeypatch.setattr(command, "run_app", partial(run_app, make_shell=self.person))
        code = command.run(None, self.home.paths)
        if self.person.failure:
            raise self.person.failure
        return code

    def has_opened(self):
        """The files that the desktop was to open."""
        return self.opened.read_text().split("\n")[:-1] if self.opened.exists() else []
