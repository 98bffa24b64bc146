"""The tray application with a stand-in for each of its parts: what the tests of it share."""

import threading
from pathlib import Path

from slothtray.model import Face, Notice
from slothtray.tray import menu
from slothtray.tray.app import Port, run_app
from slothtray.tray.menu import Do

LIMIT = 20.0
DRIVER = Path(__file__).with_name("tray_driver.py")
RUNNING = menu.STARTING._replace(face=Face.RUNNING, reason="")
FAILED = Notice(12, "“make” failed", "exit 2", urgent=True, offers=("open_log", "retry"))


class Runner:
    def __init__(self, on_snapshot, on_notice):
        self.on_snapshot = on_snapshot
        self.on_notice = on_notice
        self.over = threading.Event()
        self.stops = 0
        self.remarks = []

    def start(self):
        self.on_snapshot(RUNNING)

    def stop(self):
        self.stops += 1
        self.over.set()

    def join(self, timeout=None):
        self.over.wait(timeout)

    def is_alive(self):
        return not self.over.is_set()

    def remark(self, words):
        self.remarks.append(words)


class FakeShell:
    """Keeps what was shown. ``during`` is what happens in the tray's loop, on the main thread."""

    def __init__(self, during):
        self.during = during
        self.over = threading.Event()
        self.changed = threading.Condition()
        self.shown = []
        self.failure = None

    def __call__(self, click, about_to_show, on_sight):
        self.click = click
        self.on_sight = on_sight
        self.about_to_show = about_to_show
        return self

    def run(self, on_ready):
        try:
            on_ready()
            self.during(self)
        except AssertionError as error:  # the app survives whatever happens here
            self.failure = error
            self.quit()

    def show(self, snapshot, notes):
        with self.changed:
            self.shown.append((snapshot, notes))
            self.changed.notify_all()

    def stop(self):
        self.over.set()

    def wait_for(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(*self.shown[-1]), LIMIT), self.shown[-1]

    def quit(self):
        self.click("Quit", Do("quit"))
        assert self.over.wait(LIMIT)


class App:
    """One run of the app with stand-ins; ``calls`` are those of the port, ``notices`` what the notifier got."""

    def __init__(self, during, notify=lambda _notice: None, session=None, **port):
        self.calls, self.notices, self.withdrawn = [], [], []
        self.shell = FakeShell(lambda shell: during(self, shell))
        self.on_notice = notify
        self.session = session
        names = {name: self.noting(name) for name in ("pause", "resume", "open_log", "change", "copy")}
        self.port = Port(**{**names, "copied": lambda: "make -j4", "add": lambda text: f"job 1: {text}", **port})

    def noting(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))

    def make(self, on_snapshot, on_notice):
        self.runner = Runner(on_snapshot, on_notice)
        return self.runner

    def listen(self, on_choice):
        self.choose = on_choice

    def notify(self, notice):
        self.notices.append(notice)
        self.on_notice(notice)

    def withdraw(self, job):
        self.withdrawn.append(job)

    def run(self):
        code = run_app(self.make, self.port, self, self.shell, self.session)
        if self.shell.failure:
            raise self.shell.failure
        return code
