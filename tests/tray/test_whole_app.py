"""The tray application with its real runner, jobs, notifications and clipboard; only who draws the icon is a stand-in.

One test's desktop is made of real parts: a bus, dunst, an X screen, xclip. ``during`` plays the person.
"""

import contextlib
import json
import logging
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from harness import eventually
from person import App, Person
from system.session import NOTIFICATIONS, StandIn, dunst, message_bus_in, screen, started, until

from slothtray.model import Face
from slothtray.runner import Loop
from slothtray.system import bubbles, notify
from slothtray.tray import menu
from slothtray.tray.menu import Do

LIMIT = 20.0


@pytest.fixture(scope="module")
def display():
    with screen() as name:
        yield name


@pytest.fixture
def bus(tmp_path):
    with message_bus_in(tmp_path) as bus:
        yield bus


@pytest.fixture
def bubble(bus, display, tmp_path):
    with dunst(bus, display, tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def log_as_before():
    """The app sends all logging to its file; afterwards pytest hears it again."""
    root = logging.getLogger("slothtray")
    before = root.handlers[:], root.propagate, root.level
    yield
    for handler in set(root.handlers) - set(before[0]):
        handler.close()
    root.handlers[:], root.propagate = before[:2]
    root.setLevel(before[2])


@pytest.fixture
def app(home, monkeypatch, tmp_path):
    return App(home, monkeypatch, tmp_path)


@pytest.fixture
def on_desktop(app, bus, display, monkeypatch):
    """The app on this test's desktop."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    monkeypatch.setenv("DISPLAY", display)
    return app


# --- the menu ---------------------------------------------------------------------------------------------------------


def test_what_a_click_does_is_seen_in_the_menu_and_can_be_undone_there(app, home):
    def during(person):
        person.chooses("Pause for…", "1 hour")
        person.sees("Paused until ")
        first, second, _third = (home.enqueue(f"true {number}") for number in (1, 2, 3))
        person.sees("true 3")
        person.chooses("true 1", "Hold")
        person.chooses("Held: true 1 (held by you)", "Release")
        person.chooses("true 2", "Cancel")
        person.chooses("true 2 (cancelled before it ran)", "Retry")
        person.wait_for(lambda snapshot, _: [job.id for job in snapshot.next_up] == [first, second, 3])
        person.chooses("true 3", "Start now")
        person.sees("true 3 (done)")
        person.chooses("Pause")
        person.sees("true 1 (done)")
        person.sees("true 2 (done)")

    assert app.run(during) == 0


def test_a_running_job_is_cancelled_from_the_menu_and_had_again(app, home):
    def during(person):
        number = home.enqueue("echo x >> starts; exec sleep 60")
        person.sees("Running: echo x")
        until(lambda: home.wrote("starts") == "x\n")
        person.chooses("echo x", "Cancel")
        person.chooses("echo x >> starts; exec sleep 60 (cancelled", "Retry")
        until(lambda: home.wrote("starts") == "x\nx\n", LIMIT)
        person.chooses("echo x", "Open its log")
        until(lambda: app.has_opened() == [home.paths.log(number)])

    assert app.run(during) == 0


def test_a_delayed_job_says_in_the_first_line_when_it_will_start(app, home):
    def during(person):
        home.enqueue("true", not_before=time.time() + 3600)
        clock = time.strftime("%H:%M", time.localtime(time.time() + 3600))
        person.sees(f"Waiting: job 1 at {clock}")

    assert app.run(during) == 0


def test_start_at_login_writes_the_login_s_entry_and_takes_it_back(app, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    entry = tmp_path / "config" / "autostart" / "slothtray.desktop"

    def during(person):
        person.chooses("Start at login")
        person.wait_for(lambda _, notes: notes.autostart is True)
        assert f"--home {app.home.path}\n" in entry.read_text()
        person.chooses("Start at login")
        person.wait_for(lambda _, notes: notes.autostart is False)
        assert not entry.exists()

    assert app.run(during) == 0


def test_opening_the_menu_never_waits_for_the_database(app, home):
    def during(person):
        home.enqueue("true")
        person.sees("true (done)")
        with contextlib.closing(home.read()) as other:
            other.execute("BEGIN EXCLUSIVE")
            begun = time.monotonic()
            person.about_to_show()
            assert person.entry("true (done)")
            assert time.monotonic() - begun < 2  # a look at the database would wait for as long as the lock is held
            person.click("Retry", Do("retry", (1,)))  # this one has to, on its own thread
            time.sleep(0.2)
            other.rollback()
        until(lambda: home.kinds(1).count("done") == 2, LIMIT)

    assert app.run(during) == 0


# --- notifications ----------------------------------------------------------------------------------------------------

ODD = ["--help", "-5 is the exit code", '<b>&" %s\\n']


@pytest.mark.parametrize("text", ODD)
def test_case_23_a_failing_job_is_told_as_it_is_whatever_it_is_called_and_writes(on_desktop, bubble, home, text):
    def during(person):
        home.enqueue(f"printf '%s\\n' '{text}'; exit 3", label=text)
        person.sees("Failed: ")
        until(bubble.displayed)

    on_desktop.run(during)
    [shown] = bubble.history()
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert (shown["summary"], shown["body"]) == (f"Failed: {text}", f"exit 3\n{escaped}")


def test_from_the_notification_the_log_is_opened_and_the_job_is_tried_again(on_desktop, bubble, home):
    def during(person):
        number = home.enqueue("echo x >> starts; exit 3")
        person.sees("Failed: ")
        until(bubble.displayed)
        bubble.choose("Open log")
        until(lambda: on_desktop.has_opened() == [home.paths.log(number)])
        person.wait_for(lambda snapshot, _: not snapshot.failed_unseen)
        until(lambda: not bubble.displayed())
        home.enqueue("echo y >> starts; exit 3")
        until(bubble.displayed)
        bubble.choose("Retry")
        until(lambda: home.wrote("starts") == "x\ny\ny\n", LIMIT)

    assert on_desktop.run(during) == 0


@pytest.mark.parametrize("word", ["show", "retry"])
def test_a_bubble_goes_when_its_failure_was_looked_at_or_is_tried_again_elsewhere(on_desktop, bubble, home, word):
    def during(person):
        number = home.enqueue("test -e again && exec sleep 60; exit 3")
        person.sees("Failed: ")
        until(bubble.displayed)
        (home.work / "again").touch()
        home.run(word, str(number))
        until(lambda: not bubble.displayed())

    assert on_desktop.run(during) == 0


def test_three_failures_within_a_minute_are_one_bubble_whose_retry_is_for_all(on_desktop, bubble, home):
    def during(person):
        for name in ("one", "two", "three"):
            home.enqueue(f"echo {name} >> starts; exit 3", label=name)
        person.sees("Failed: three (exit 3)")
        until(lambda: on_desktop.told[2:] == ["3 jobs failed within a minute"])
        assert bubble.displayed() == 1
        bubble.choose("Retry all")
        until(lambda: sorted(home.wrote("starts").split()) == sorted(["one", "two", "three"] * 2), LIMIT)

    assert on_desktop.run(during) == 0


def test_in_quiet_hours_the_menu_shows_the_failures_and_after_them_one_bubble(on_desktop, bubble, home):
    hour = time.localtime().tm_hour
    quiet = f"{(hour - 2) % 24}:00-{(hour + 2) % 24}:00"
    on_desktop.configure(f'ceiling = "off"\ncooldown = 0\nquiet_hours = "{quiet}"\n')

    def during(person):
        for number in (3, 4):
            home.enqueue(f"exit {number}")
            person.sees(f"Failed: exit {number} (exit {number})")
        on_desktop.configure('ceiling = "off"\ncooldown = 0\n')
        home.run("pause")  # rings
        until(bubble.displayed)
        assert on_desktop.told == ["2 jobs failed while it was quiet"]

    assert on_desktop.run(during) == 0


def test_what_the_config_says_is_told_and_nothing_else(on_desktop, bubble, home):
    on_desktop.configure('ceiling = "off"\ncooldown = 0\nnotify_on = ["done", "empty"]\n')

    def during(person):
        home.enqueue("true", label="fine")
        person.sees("fine (done)")
        home.enqueue("false")
        person.sees("Failed: false")
        until(lambda: len(on_desktop.told) == 3)

    on_desktop.run(during)
    assert on_desktop.told == ["Done: fine", "The queue is empty", "The queue is empty"]


MUTE = {"GetCapabilities": lambda: None}


@pytest.mark.parametrize("service", ["no session bus", "no daemon", "a hung daemon"])
def test_case_22_without_notifications_the_job_is_unaffected_and_its_failure_stays_in_menu_and_list(app, bus, home, monkeypatch, service):
    monkeypatch.setattr(notify, "Bubbles", partial(bubbles.Bubbles, timeout=0.3))

    def during(person):
        number = home.enqueue("exit 3")
        after = home.enqueue("true")
        person.sees("Failed: exit 3 (exit 3)")
        person.wait_for(lambda _, notes: [notice.job for notice in notes.undelivered] == [number])
        assert home.wait_for(after, "done")
        assert menu.badge(*person.shown[-1])
        listed = json.loads(home.run("list", "--json").stdout)
        assert (listed["queue"]["failed_unseen"], listed["jobs"][-1]["exit_code"]) == (1, 3)
        person.chooses("Failed: exit 3")
        person.wait_for(lambda snapshot, notes: not notes.undelivered and not snapshot.failed_unseen)

    with contextlib.ExitStack() as stack:
        if service != "no session bus":
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        if service == "a hung daemon":
            stack.enter_context(StandIn(bus, NOTIFICATIONS, MUTE))
        assert app.run(during) == 0


# --- the clipboard ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def copied(data, kind="UTF8_STRING"):
    argv = ["xclip", "-selection", "clipboard", "-quiet", "-t", kind, "-i"]
    with started(argv, stdin=subprocess.PIPE) as process:
        process.stdin.write(data)
        process.stdin.close()
        until(lambda: subprocess.run(["xclip", "-selection", "clipboard", "-o", "-t", "TARGETS"], capture_output=True, check=False).stdout)
        yield


def test_case_24_what_the_menu_shows_of_the_clipboard_is_queued_and_no_other_text(on_desktop, home):
    text = "echo one\ncd /\n\techo three"

    def during(person):
        with copied(text.encode() + b"\n"):
            person.about_to_show()
            entry = person.sees("Add 3 lines “echo one ↵ cd / ↵ echo three”")
        with copied(b"rm -r /"):
            person.click(entry.label, entry.do)
            person.sees("echo one ↵ cd / ↵ echo three (done)")

    on_desktop.run(during)
    assert home.row(1, "command") == json.dumps(text)
    assert home.log(1) == "one\nthree\n"


@pytest.mark.parametrize(
    ("data", "kind", "label"),
    [
        (b"\x89PNG", "image/png", "The clipboard holds no text but image/png"),
        (b"make\x07", "UTF8_STRING", "The clipboard's text has a control character (U+0007)"),
        (b"x" * 5_000_000, "UTF8_STRING", "The clipboard holds more than 1 MB"),
    ],
)
def test_case_24_what_can_be_no_job_is_refused_with_the_reason_in_menu_and_notification(on_desktop, bubble, home, data, kind, label):
    def during(person):
        with copied(data, kind):
            person.about_to_show()
            person.chooses(label)
            until(bubble.displayed)
        assert home.row(1) is None

    on_desktop.run(during)
    assert label[1:] in bubble.history()[0]["body"]


def test_a_command_is_copied(on_desktop, home):
    def during(person):
        home.enqueue("echo 'a b'\nexit 0")
        person.chooses("echo 'a b' ↵ exit 0 (done)", "Copy command")
        until(lambda: pasted() == b"echo 'a b'\nexit 0")

    def pasted():
        return subprocess.run(["xclip", "-selection", "clipboard", "-o"], capture_output=True, check=False).stdout

    try:
        assert on_desktop.run(during) == 0
    finally:
        with copied(b"other"):
            pass  # the process that hands out the command ends


def test_a_desktop_that_can_open_no_log_is_told(on_desktop, bubble, home):
    (on_desktop.opened.parent / "bin" / "xdg-open").write_text("#!/bin/sh\nexit 3\n")

    def during(person):
        person.chooses("Open log")
        person.sees("Open log: ")
        until(bubble.displayed)

    on_desktop.run(during)
    assert bubble.history()[0]["body"] == f"{home.path}/app.log can't be opened: no program for it is installed"


def test_when_the_runner_fails_for_good_and_no_tray_has_come_the_app_ends_and_says_where_to_look(app, home, monkeypatch, capsys):
    monkeypatch.setattr(Loop, "_wait", lambda *_: 1 / 0)
    monkeypatch.setattr(Person, "run", lambda person, _on_ready: person.over.wait(LIMIT))  # the search for a tray
    assert app.run(None) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"slothtray: the runner has ended by itself: see {home.paths.app_log}"
    assert "ZeroDivisionError" in Path(home.paths.app_log).read_text()


def test_the_face_is_what_the_queue_does(app, home):
    def during(person):
        home.enqueue("exec sleep 60")
        person.wait_for(lambda snapshot, _: snapshot.face is Face.RUNNING)
        person.chooses("exec sleep 60", "Cancel")
        person.wait_for(lambda snapshot, _: snapshot.face is Face.IDLE)

    assert app.run(during) == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "runner"]
    eventually(lambda: home.row(1) == "cancelled")
