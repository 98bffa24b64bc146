"""Our backend for old trays, its loop: how it begins, waits and ends. What it looks like is in test_shell_xvfb and test_panel_xfce."""

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from desktop_session import spots, until, x_desktop
from PIL import Image

from slothtray.tray import shell, xembed

pystray = shell._pystray()
Icon = xembed.icon_class(pystray)
LIMIT = 20.0
RED, GREEN = (255, 0, 0), (0, 255, 0)


def picture(colour):
    return Image.new("RGB", (64, 64), colour)


@pytest.fixture
def screen(desktop, monkeypatch):
    monkeypatch.setenv("DISPLAY", desktop.env["DISPLAY"])
    return desktop


@contextmanager
def running(icon):
    thread = threading.Thread(target=icon.run, name="loop")
    thread.start()
    try:
        yield thread
    finally:
        icon.stop()
        thread.join(LIMIT)
        assert not thread.is_alive()


def seen(screen, colour):
    """How many pixels of exactly this colour there are."""
    return spots(screen.photo(), colour, tolerance=0)[0]


def test_it_can_be_hidden_and_run_again(screen):
    icon = Icon("name", picture(RED), "title")
    with screen.trayer():
        for colour in (RED, GREEN):
            icon.icon = picture(colour)
            with running(icon):
                until(lambda colour=colour: seen(screen, colour) >= 200, LIMIT)
                icon.visible = False
                until(lambda colour=colour: not seen(screen, colour), LIMIT)
                icon.visible = True
                until(lambda colour=colour: seen(screen, colour) >= 200, LIMIT)
            until(lambda colour=colour: not seen(screen, colour), LIMIT)


def test_a_click_that_fails_is_logged_and_the_next_one_is_carried_out(screen, caplog):
    clicks = []

    def click():
        clicks.append(1)
        raise ZeroDivisionError

    menu = pystray.Menu(pystray.MenuItem("Click", click, default=True))
    with screen.trayer(), running(Icon("name", picture(RED), "title", menu)):
        until(lambda: seen(screen, RED) >= 200, LIMIT)
        for count in (1, 2):
            screen.click(640 - 8, 480 - 12, 1)
            until(lambda count=count: len(clicks) == count, LIMIT)
        screen.click(640 - 8, 480 - 12, 3)  # there is no menu to open
        screen.click(640 - 8, 480 - 12, 1)
        until(lambda: len(clicks) == 3, LIMIT)
    assert "ZeroDivisionError" in caplog.text


def test_without_changes_the_loop_sleeps(screen):
    with screen.trayer(), running(Icon("name", picture(RED), "title")) as loop:
        until(lambda: seen(screen, RED) >= 200, LIMIT)
        counts = []
        until(lambda: counts.append(switches(loop)) or (len(counts) > 100 and len(set(counts[-100:])) == 1), LIMIT)


def switches(thread):
    """How often a thread has gone to sleep so far: once for each time it was woken."""
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_with_an_alpha_channel_colours_are_sent_weighed_by_it():
    one = Image.new("RGBA", (1, 1), (200, 100, 50, 128))
    blue, green, red, alpha = xembed._premultiplied(one)
    assert (red, green, blue, alpha) == (100, 50, 25, 128)


def test_without_a_display_run_says_so_and_leaves_nothing_behind(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    before = set(threading.enumerate())
    with pytest.raises(Exception, match="Bad display name"):
        Icon("name", picture(RED)).run()
    assert set(threading.enumerate()) <= before


def test_the_loop_returns_when_the_display_dies(monkeypatch, tmp_path, caplog):
    icon = Icon("name", picture(RED), "title")
    thread = threading.Thread(target=icon.run)
    with x_desktop(tmp_path) as desktop:
        monkeypatch.setenv("DISPLAY", desktop.env["DISPLAY"])
        thread.start()
        until(lambda: icon._running and icon.visible, LIMIT)
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert "the X server went away" in caplog.text
    icon.icon = picture(GREEN)  # nobody sees it, and nobody minds
    icon.stop()
