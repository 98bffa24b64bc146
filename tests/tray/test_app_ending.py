"""The tray application without an icon, and how it ends: by a person, a signal, the session, or its runner's death."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from desktop_session import until
from fake_app import DRIVER, FAILED, LIMIT, RUNNING, App, FakeShell

from slothtray.errors import FolderBusy, Refused
from slothtray.model import Face
from slothtray.tray.app import GONE, NO_ICON, run_app
from slothtray.tray.menu import Do
from slothtray.tray.shell import NoTray

# --- without an icon --------------------------------------------------------------------------------------------------


def test_a_notice_that_cannot_be_shown_stays_in_the_menu_until_its_log_is_opened():
    def fail(_notice):
        raise Refused("no notification service is running")

    def during(app, shell):
        app.runner.on_notice(FAILED)
        app.runner.on_notice(FAILED._replace(job=13))
        shell.wait_for(lambda _, notes: [n.job for n in notes.undelivered] == [12, 13])
        shell.click("x", Do("retry", (12,)))
        shell.wait_for(lambda _, notes: [n.job for n in notes.undelivered] == [13])
        app.runner.on_notice(FAILED._replace(job=13, title="and again"))
        shell.wait_for(lambda _, notes: [n.title for n in notes.undelivered] == ["and again"])
        shell.click("Open log", Do("open_log"))
        shell.wait_for(lambda _, notes: notes.undelivered == ())
        shell.quit()

    app = App(during, notify=fail)
    assert app.run() == 0
    assert app.shell.shown[-1][0] == RUNNING


@pytest.mark.parametrize(
    ("display", "error", "remark"),
    [
        (":7", NoTray("no tray here", "x"), NO_ICON),
        (":7", ZeroDivisionError("oh"), GONE),
        (":7", None, GONE),
        ("", NoTray("no tray here", "x"), ""),  # nobody misses an icon where there is no desktop
    ],
)
def test_without_a_tray_or_when_it_goes_away_the_runner_goes_on_and_says_so(display, error, remark, caplog, monkeypatch):
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    def during(app, shell):
        threading.Thread(target=later, args=(app, shell)).start()
        if error:
            raise error

    def later(app, shell):
        until(lambda: app.runner.remarks and app.session.looks)
        seen.append(app.runner.is_alive())
        os.kill(os.getpid(), signal.SIGTERM)

    seen = []
    app = App(during, session=Session())
    assert app.run() == 0
    assert seen == [True]
    assert "the queue is worked without" in caplog.text
    assert app.runner.remarks == [remark]
    assert app.session.looks == 1


class Session:
    """A login. ``looks`` counts how often it was to be looked at."""

    looks = 0

    def watch(self, on_end):
        self.end = on_end

    def look(self):
        self.looks += 1


def test_the_end_of_the_session_ends_the_app(caplog):
    def during(app, shell):
        app.session.end("the end of the login")
        assert shell.over.wait(LIMIT)

    caplog.set_level("INFO")
    app = App(during, session=Session())
    assert app.run() == 0
    assert app.runner.stops == 1
    assert "ending on the end of the login" in caplog.text
    assert app.runner.remarks == []


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


def test_when_the_runner_dies_before_a_tray_has_come_the_app_ends():
    app = App(None)
    app.shell.run = lambda _on_ready: (app.runner.over.set(), app.shell.over.wait(LIMIT))  # the search for a tray, until it is stopped
    assert app.run() == 1
    assert app.shell.over.is_set()


def test_a_folder_that_another_app_holds_is_the_callers_to_tell():
    def busy(on_snapshot, on_notice):
        raise FolderBusy("another app has this folder")

    with pytest.raises(FolderBusy):
        run_app(busy, None, App(None), FakeShell(None))


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
