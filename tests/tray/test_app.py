"""The tray application without a tray: what the runner, the notifier and the shell do to each other, and how it ends."""

import threading
import time

import pytest
from desktop_session import until
from fake_app import FAILED, LIMIT, RUNNING, App

from slothtray.errors import Refused
from slothtray.model import Job, Notice, State
from slothtray.system.ports import ClipboardError
from slothtray.tray import board, menu
from slothtray.tray.app import no_longer_true
from slothtray.tray.menu import Clipping, Do


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
