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
from slothtray.model import Face, Job, Notice, State
from slothtray.system.ports import ClipboardError
from slothtray.tray import board, menu
from slothtray.tray.app import GONE, Port, no_longer_true, run_app
from slothtray.tray.menu import Clipping, Do
from slothtray.tray.shell import NoTray

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


def test_the_runners_snapshots_are_shown_and_quit_stops_it():
    app = App(lambda _app, shell: shell.quit())
    assert app.run() == 0
    assert app.shell.shown[-1] == (RUNNING, menu.NO_NOTES)
    assert app.runner.stops == 1


def test_clicks_reach_the_port():
    def during(app, shell):
        clicks = (Do("pause"), Do("pause", (1800.0,)), Do("resume"), Do("start", (3,)), Do("hold", (3,)), Do("release", (3,)))
        for do in (*clicks, Do("cancel", (3,)), Do("retry", (3, 4)), Do("copy_command", ("make",))):
            shell.click("x", do)
        until(lambda: len(app.calls) == 9)
        shell.quit()

    app = App(during)
    assert app.run() == 0
    assert app.calls == [
        *(("pause", None), ("pause", 1800.0), ("resume",)),
        *(("change", name, (3,)) for name in ("start", "hold", "release", "cancel")),
        *(("change", "retry", (3, 4)), ("copy", "make")),
    ]


def test_a_click_that_fails_is_told_by_menu_and_notification_until_one_works():
    def refuse():
        raise Refused("the clipboard is empty")

    def during(app, shell):
        shell.click("Add from clipboard", Do("add_from_clipboard"))
        shell.wait_for(lambda _, notes: notes.mishap == "Add from clipboard: the clipboard is empty")
        shell.click("Pause", Do("pause"))
        shell.wait_for(lambda _, notes: not notes.mishap)
        until(lambda: app.notices)
        shell.quit()

    app = App(during, copied=refuse)
    assert app.run() == 0
    assert app.notices == [Notice(None, "Add from clipboard", "the clipboard is empty", urgent=False)]


def test_a_log_that_the_desktop_cannot_open_after_all_is_told():
    def during(app, shell):
        shell.click("Open log", Do("open_log", (7,)))
        shell.wait_for(lambda _, notes: notes.mishap == "Open log: 7.log can't be opened: no program for it is installed")
        until(lambda: app.notices)
        shell.quit()

    def fail_later(job, on_failure):
        threading.Timer(0.05, on_failure, (f"{job}.log can't be opened: no program for it is installed",)).start()

    app = App(during, open_log=fail_later)
    assert app.run() == 0
    assert [notice.title for notice in app.notices] == ["Open log"]


@pytest.mark.race
def test_a_log_that_could_not_be_opened_before_the_click_was_done_stays_told():
    def during(app, shell):
        shell.click("Open log", Do("open_log"))
        shell.click("Copy command", Do("copy_command", ("make",)))
        until(lambda: app.calls)
        assert shell.shown[-1][1].mishap == "Open log: no program for it is installed"
        shell.quit()

    def copy(command):
        app.calls.append(command)
        app.shell.over.wait(LIMIT)  # until then, no click has worked after the one that failed

    app = App(during, open_log=lambda _job, on_failure: on_failure("no program for it is installed"), copy=copy)
    assert app.run() == 0


# --- notifications ----------------------------------------------------------------------------------------------------


def test_what_is_chosen_in_a_notification_is_a_click():
    group = Notice(None, "3 jobs failed", "", urgent=True, offers=("open_log", "retry"), covers=(4, 5, 6))

    def during(app, shell):
        for notice, offer in ((FAILED, "open_log"), (FAILED, "retry"), (group, "open_log"), (group, "retry")):
            app.choose(notice, offer)
        until(lambda: len(app.calls) == 4)
        shell.quit()

    app = App(during)
    assert app.run() == 0
    assert [call[:2] for call in app.calls] == [("open_log", 12), ("change", "retry"), ("open_log", None), ("change", "retry")]
    assert [app.calls[1][2], app.calls[3][2]] == [(12,), (4, 5, 6)]


def test_a_choice_that_fails_is_told_by_the_name_of_its_button():
    def refuse(_name, _jobs):
        raise Refused("job 12 can't be retried: it is pending")

    def during(app, shell):
        app.choose(FAILED, "retry")
        shell.wait_for(lambda _, notes: notes.mishap == "Retry: job 12 can't be retried: it is pending")
        shell.quit()

    assert App(during, change=refuse).run() == 0


def test_an_urgent_notice_that_is_no_longer_true_is_withdrawn():
    def during(app, shell):
        app.runner.on_notice(FAILED)
        app.runner.on_notice(FAILED._replace(job=13, urgent=False))
        for again in (12, 13, 14):
            app.runner.on_snapshot(RUNNING._replace(running=job(again, State.RUNNING)))
        until(lambda: app.withdrawn)
        shell.quit()

    app = App(during)
    assert app.run() == 0
    assert app.withdrawn == [12]  # an ordinary one goes by itself, and of 14 there was none


def job(number, state, **fields):
    return Job(**{**dict.fromkeys(Job._fields), "id": number, "state": state, "failures": 0, "seen": True, **fields})


def test_a_notice_is_stale_when_its_job_was_looked_at_cancelled_or_has_begun_anew():
    failed = [job(1, State.FAILED), job(2, State.FAILED, seen=False), job(3, State.CANCELLED)]
    assert no_longer_true(RUNNING._replace(recent=tuple(failed))) == [1, 3]
    assert no_longer_true(RUNNING._replace(running=job(4, State.RUNNING))) == [4]
    assert no_longer_true(RUNNING._replace(running=job(4, State.RUNNING, failures=1))) == []


# --- the clipboard, start at login ------------------------------------------------------------------------------------


def test_the_clipboard_is_read_when_the_menu_is_about_to_be_shown_and_only_then():
    def during(app, shell):
        app.runner.on_snapshot(RUNNING._replace(pending=1))
        assert reads == []
        shell.about_to_show()
        shell.wait_for(lambda _, notes: notes.clipping == Clipping("text 1"))
        shell.about_to_show()
        shell.wait_for(lambda _, notes: notes.clipping == Clipping("text 2"))
        shell.quit()

    reads = []
    assert App(during, copied=lambda: reads.append(1) or f"text {len(reads)}").run() == 0


def test_what_was_copied_does_not_stay_in_the_menu(monkeypatch):
    def during(app, shell):
        shell.about_to_show()
        shell.wait_for(lambda _, notes: notes.clipping)
        app.runner.on_snapshot(RUNNING._replace(pending=1))
        assert shell.shown[-1][1].clipping
        monkeypatch.setattr(board, "CLIPPING_KEPT", 0)
        app.runner.on_snapshot(RUNNING._replace(pending=2))
        assert not shell.shown[-1][1].clipping
        shell.quit()

    assert App(during).run() == 0


def test_a_clipboard_that_hangs_keeps_neither_the_menu_nor_other_clicks_waiting():
    def during(app, shell):
        begun = time.monotonic()
        for _ in range(100):
            shell.about_to_show()
        assert time.monotonic() - begun < 2
        assert inside.wait(LIMIT)
        shell.click("Pause", Do("pause"))
        until(lambda: app.calls == [("pause", None)])
        answer.set()
        shell.wait_for(lambda _, notes: notes.clipping == Clipping("make"))
        shell.quit()

    def hang():
        inside.set()
        assert answer.wait(LIMIT)
        reads.append(1)
        return "make"

    inside, answer, reads = threading.Event(), threading.Event(), []
    assert App(during, copied=hang).run() == 0
    assert len(reads) <= 2  # a hundred asks while it was being read are one


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ClipboardError("the clipboard holds no text but image/png"), "the clipboard holds no text but image/png"),
        (ClipboardError("the clipboard can't be read: xclip is missing", "install xclip"), "clipboard: install xclip"),
    ],
)
def test_a_clipboard_that_can_be_no_job_says_why_in_the_menu_and_nothing_else(error, shown):
    def refuse():
        raise error

    def during(app, shell):
        shell.about_to_show()
        shell.wait_for(lambda _, notes: notes.clipping == Clipping("", shown))
        shell.quit()

    app = App(during, copied=refuse)
    assert app.run() == 0
    assert app.notices == []


def test_a_click_adds_what_was_shown_and_without_a_preview_what_is_there_and_says_so():
    def during(app, shell):
        shell.click("Add “make -j4”", Do("add_from_clipboard", ("make -j4",)))
        shell.click("Add from clipboard", Do("add_from_clipboard"))
        until(lambda: len(app.notices) == 2)
        shell.quit()

    app = App(during, copied=lambda: "rm -r /")
    assert app.run() == 0
    assert [(notice.title, notice.body) for notice in app.notices] == [("Queued", "job 1: make -j4"), ("Queued", "job 1: rm -r /")]


class Login:
    """The login's list. ``broken``: it can't be changed."""

    def __init__(self, *, on=False, broken=False):
        self.on, self.broken = on, broken

    def enabled(self):
        return self.on

    def enable(self):
        self.change(True)

    def disable(self):
        self.change(False)

    def change(self, on):
        if self.broken:
            raise Refused("the folder autostart can't be written")
        self.on = on


def test_start_at_login_is_shown_as_it_is_and_changed_by_a_click():
    def during(app, shell):
        shell.wait_for(lambda _, notes: notes.autostart is False)
        shell.click("Start at login", Do("set_autostart", (True,)))
        shell.wait_for(lambda _, notes: notes.autostart is True)
        login.on = False  # by the command line
        shell.about_to_show()
        shell.wait_for(lambda _, notes: notes.autostart is False)
        shell.quit()

    login = Login()
    assert App(during, autostart=login).run() == 0


def test_a_login_that_cannot_be_changed_is_told_and_shown_as_it_is():
    def during(app, shell):
        shell.click("Start at login", Do("set_autostart", (True,)))
        shell.wait_for(lambda _, notes: notes.mishap == "Start at login: the folder autostart can't be written")
        assert shell.shown[-1][1].autostart is False
        shell.quit()

    assert App(during, autostart=Login(broken=True)).run() == 0


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
    ("error", "remark"), [(NoTray("no tray here", "x"), "no tray icon: no tray here"), (ZeroDivisionError("oh"), GONE), (None, GONE)]
)
def test_without_a_tray_or_when_it_goes_away_the_runner_goes_on_and_says_so(error, remark, caplog):
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
