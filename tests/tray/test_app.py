"""The tray application without a tray: what the runner, the notifier and the shell do to each other, and how it ends."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from desktop_session import until

from slothtray.errors import FolderBusy, Refused
from slothtray.model import Face, Notice
from slothtray.tray import menu
from slothtray.tray.app import Port, run_app
from slothtray.tray.menu import Do
from slothtray.tray.shell import NoTray

LIMIT = 5.0
DRIVER = Path(__file__).with_name("tray_driver.py")
RUNNING = menu.STARTING._replace(face=Face.RUNNING, reason="")
FAILED = Notice(12, "“make” failed", "exit 2", urgent=True)


class Runner:
    def __init__(self, on_snapshot, on_notice):
        self.on_snapshot = on_snapshot
        self.on_notice = on_notice
        self.over = threading.Event()
        self.stops = 0

    def start(self):
        self.on_snapshot(RUNNING)

    def stop(self):
        self.stops += 1
        self.over.set()

    def join(self, timeout=None):
        self.over.wait(timeout)

    def is_alive(self):
        return not self.over.is_set()


class FakeShell:
    """Keeps what was shown. ``during`` is what happens in the tray's loop, on the main thread."""

    def __init__(self, during):
        self.during = during
        self.over = threading.Event()
        self.changed = threading.Condition()
        self.shown = []
        self.failure = None

    def __call__(self, click):
        self.click = click
        return self

    def run(self):
        try:
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
    """One run of the app with stand-ins; ``calls`` are those of the port."""

    def __init__(self, during, notify=lambda _notice: None, **port):
        self.calls = []
        self.shell = FakeShell(lambda shell: during(self, shell))
        self.notify = notify
        names = {name: lambda *a, name=name: self.calls.append((name, *a)) for name in ("pause", "resume", "open_log")}
        self.port = Port(**{**names, "add_from_clipboard": lambda: "make -j4", **port})

    def make(self, on_snapshot, on_notice):
        self.runner = Runner(on_snapshot, on_notice)
        return self.runner

    def run(self):
        code = run_app(self.make, self.port, self, self.shell)
        if self.shell.failure:
            raise self.shell.failure
        return code


def test_the_runners_snapshots_are_shown_and_quit_stops_it():
    app = App(lambda _app, shell: shell.quit())
    assert app.run() == 0
    assert app.shell.shown[-1] == (RUNNING, menu.NO_NOTES)
    assert app.runner.stops == 1


def test_clicks_reach_the_port():
    def during(app, shell):
        for do in (Do("pause"), Do("resume"), Do("open_log", (7,)), Do("open_log")):
            shell.click("x", do)
        shell.click("Add from clipboard", Do("add_from_clipboard"))
        assert told.wait(LIMIT)
        shell.quit()

    told, notices = threading.Event(), []
    app = App(during, notify=lambda notice: (notices.append(notice), told.set()))
    assert app.run() == 0
    assert app.calls == [("pause",), ("resume",), ("open_log", 7), ("open_log", None)]
    assert notices == [Notice(None, "Queued", "make -j4", urgent=False)]


def test_a_click_that_fails_is_told_by_menu_and_notification_until_one_works():
    def refuse():
        raise Refused("the clipboard is empty")

    def during(app, shell):
        shell.click("Add from clipboard", Do("add_from_clipboard"))
        shell.wait_for(lambda _, notes: notes.mishap == "Add from clipboard: the clipboard is empty")
        shell.click("Pause", Do("pause"))
        shell.wait_for(lambda _, notes: not notes.mishap)
        shell.quit()

    notices = []
    app = App(during, notify=notices.append, add_from_clipboard=refuse)
    assert app.run() == 0
    assert notices == [Notice(None, "Add from clipboard", "the clipboard is empty", urgent=False)]


def test_a_notice_that_cannot_be_shown_stays_in_the_menu_until_its_log_is_opened():
    def fail(_notice):
        raise Refused("no notification service is running")

    def during(app, shell):
        app.runner.on_notice(FAILED)
        app.runner.on_notice(FAILED._replace(job=13))
        shell.wait_for(lambda _, notes: [n.job for n in notes.undelivered] == [12, 13])
        shell.click("x", Do("open_log", (12,)))
        shell.wait_for(lambda _, notes: [n.job for n in notes.undelivered] == [13])
        shell.click("Open log", Do("open_log"))
        shell.wait_for(lambda _, notes: notes.undelivered == ())
        shell.quit()

    app = App(during, notify=fail)
    assert app.run() == 0
    assert app.shell.shown[-1][0] == RUNNING


@pytest.mark.parametrize("error", [NoTray("no tray"), ZeroDivisionError("oh"), None])
def test_without_a_tray_or_when_it_goes_away_the_runner_goes_on(error, caplog):
    def during(app, shell):
        threading.Thread(target=later, args=(app, shell)).start()
        if error:
            raise error

    def later(app, shell):
        until(lambda: "the queue is worked without" in caplog.text)
        seen.append(app.runner.is_alive())
        os.kill(os.getpid(), signal.SIGTERM)

    seen = []
    app = App(during)
    assert app.run() == 0
    assert seen == [True]
    assert "the queue is worked without" in caplog.text


def test_when_the_runner_dies_the_tray_says_so_and_lives():
    def during(app, shell):
        app.runner.over.set()
        shell.wait_for(lambda snapshot, _: "the queue has stopped" in snapshot.trouble)
        assert shell.shown[-1][0].face is Face.IDLE
        assert not shell.over.is_set()
        shell.quit()

    assert App(during).run() == 1


def test_when_the_runner_dies_and_then_the_tray_goes_the_app_ends():
    def during(app, shell):
        app.runner.over.set()
        shell.wait_for(lambda snapshot, _: snapshot.trouble)
        time.sleep(0.05)  # for the thread that has just shown this to be through
        raise NoTray("the panel went away")

    assert App(during).run() == 1


def test_when_no_icon_can_tell_that_the_runner_dies_the_app_ends(caplog):
    def during(app, shell):
        threading.Thread(target=later, args=(app,)).start()
        raise NoTray("no tray")

    def later(app):
        until(lambda: "worked without" in caplog.text)
        time.sleep(0.05)  # for the main thread to be waiting
        app.runner.over.set()

    assert App(during).run() == 1


def test_a_folder_that_another_app_holds_is_the_callers_to_tell():
    def busy(on_snapshot, on_notice):
        raise FolderBusy("another app has this folder")

    with pytest.raises(FolderBusy):
        run_app(busy, None, None, FakeShell(None))


def start(*argv, **options):
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.Popen([sys.executable, *argv], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_without_a_display_the_app_runs_and_ends_on_a_signal_at_once(number):
    with start(str(DRIVER)) as process:
        assert "no tray to show the icon in" in process.stderr.readline()
        begun = time.monotonic()
        process.send_signal(number)
        assert process.wait(LIMIT) == 0
        assert time.monotonic() - begun < 2


STUCK = """
    import signal, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    import tray_driver
    from slothtray.tray import app

    class Stuck(tray_driver.Obedient):
        def start(self):
            threading.Thread(target=time.sleep, args=(60,)).start()
            print("up", flush=True)

        def stop(self):
            pass

    tray_driver.Obedient = Stuck
    tray_driver.main()
"""


def test_a_runner_that_does_not_end_is_left_within_five_seconds():
    with start("-c", textwrap.dedent(STUCK), str(DRIVER.parent)) as process:
        assert process.stdout.readline() == "up\n"
        begun = time.monotonic()
        process.terminate()
        assert process.wait(10) == 1
        assert 3 < time.monotonic() - begun < 5
        assert "leaving as it is" in process.stderr.read()


def test_nohup_is_respected():
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with start(str(DRIVER), **ignoring) as process:
        assert "no tray" in process.stderr.readline()
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.terminate()
        assert process.wait(LIMIT) == 0
