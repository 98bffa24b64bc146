"""What a person is told at a start: the first, one in vain, one without a panel; the real program on a real desktop with dunst."""

import os
import pty
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from desktop_session import until
from harness import PROGRAM, Home
from standin import Panel
from system.session import dunst

from slothtray.cli.welcome import already_running, running_notice

LIMIT = 20.0
IMPATIENT = [
    sys.executable, "-c",
    "import sys; from slothtray.tray import search; search.SILENCE = 0.3; from slothtray.__main__ import main; sys.exit(main())",
]  # fmt: skip


@pytest.fixture
def home(desktop):
    made = Home(desktop.folder / "queue")
    made.environment.update({name: desktop.env[name] for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS")})
    made.environment.update(HOME=str(desktop.folder), XDG_CONFIG_HOME=str(desktop.folder / "config"), XDG_CURRENT_DESKTOP="GNOME")
    made.environment.pop("XDG_RUNTIME_DIR", None)
    yield made
    made.close()


@pytest.fixture
def bubbles(desktop):
    with dunst(desktop.bus, desktop.env["DISPLAY"], desktop.folder) as running:
        yield running


@contextmanager
def tray(home, program=PROGRAM):
    """The tray application for as long as the block lasts; gives what it says on stderr, as a file."""
    said = home.path.parent / f"said-{len(os.listdir(home.path.parent))}"
    with said.open("wb") as file:
        process = subprocess.Popen(program, env=home.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        until((home.path / "bell").exists, LIMIT)
        yield said
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0


def summaries(bubbles):
    return [bubble["summary"] for bubble in bubbles.history()]


def test_the_first_start_says_where_things_are_and_how_to_add_a_job_and_no_other_does(home, bubbles):
    with tray(home) as said:
        until(lambda: bubbles.displayed() == 1, LIMIT)
        (bubble,) = bubbles.history()
        assert bubble["summary"].startswith("slothtray is ready")
        assert str(home.path) in bubble["body"]
        assert "slothtray add" in bubble["body"]
    words = said.read_text()
    assert str(home.path) in words
    assert f"{home.path}/config.toml" in words
    assert '`slothtray add "make -j4"`' in words
    with tray(home) as said:
        home.run("list")
    assert said.read_text() == f"slothtray: running the queue in {home.path}\n"
    assert len(bubbles.history()) == 1


def test_a_second_start_opens_nothing_says_so_in_a_notification_and_ends_with_3(home, bubbles):
    home.run("pause")
    with tray(home):
        until(lambda: bubbles.displayed() == 1, LIMIT)  # the first start's
        for _ in range(3):
            home.add("true")
        second = home.run(code=3)
        assert second.stdout == ""
        assert "slothtray is already running on" in second.stderr
        assert "running the queue in" not in second.stderr, "it isn't"
        assert summaries(bubbles)[1:] == ["slothtray is already running: 3 waiting"]
        ours, theirs = pty.openpty()
        in_terminal = subprocess.run(PROGRAM, env=home.environment, stdin=theirs, stdout=theirs, stderr=theirs, check=False, timeout=30)
        assert in_terminal.returncode == 3
        assert b"slothtray is already running on" in os.read(ours, 4096)
        os.close(ours)
        os.close(theirs)
        assert len(summaries(bubbles)) == 2, "there it is read"


def test_that_nobody_can_show_it_does_not_hide_that_an_app_runs(home, monkeypatch, capsys):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    already_running(home.paths)
    assert capsys.readouterr().err == ""
    home.enqueue("true")
    assert running_notice(home.paths).title == "slothtray is already running: 1 waiting"


def test_without_a_panel_it_is_told_once_what_to_install_and_again_only_after_there_was_one(home, bubbles, desktop):
    def told():
        return [bubble for bubble in bubbles.history() if bubble["summary"] == "There is no tray for slothtray's icon"]

    def remark():
        with home.read() as connection:
            found = connection.execute("SELECT remark FROM queue").fetchone()[0] or ""
        connection.close()
        return found

    with tray(home, IMPATIENT):
        until(told, LIMIT)
        assert "gnome-shell-extension-appindicator" in told()[0]["body"]
        until(lambda: "no tray icon yet" in remark(), LIMIT)
    with tray(home, IMPATIENT):
        until(lambda: (home.path / "app.log").read_text().count("no tray yet") == 2, LIMIT)
        with Panel(desktop.bus) as panel:
            panel.wait(lambda: panel.registered and remark() == "", LIMIT)
        assert len(told()) == 1
    with tray(home, IMPATIENT):
        until(lambda: len(told()) == 2, LIMIT)


def test_without_a_display_the_tray_application_explains_run(home):
    del home.environment["DISPLAY"], home.environment["DBUS_SESSION_BUS_ADDRESS"]
    with tray(home) as said:
        until(lambda: "`slothtray run`" in said.read_text(), LIMIT)
        assert "there is no desktop here" in said.read_text()
        number = home.add("true")
        home.wait_for(number, "done")


def test_the_first_start_of_the_plain_runner_says_the_same_but_not_one_of_a_script(home):
    assert home.run("run", "--until-empty").stderr == ""
    for said in (1, 0):
        app = home.start()
        number = home.add("true")
        home.wait_for(number, "done")
        app.kill()
        assert app.said().count("welcome! ") == said
