"""The clipboard of a real Wayland session, owned by a real wl-copy."""

import subprocess
import time
from contextlib import contextmanager

import pytest
from desktop_session import until
from panels import sway

from slothtray.system import clipboard, copier
from slothtray.system.ports import ClipboardError


@pytest.fixture
def session(desktop, monkeypatch):
    """Sway, and nothing of an X server on our side."""
    with sway(desktop, "headless") as (as_nobody, env):
        for name in ("WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, env[name])
        monkeypatch.delenv("DISPLAY", raising=False)
        desktop.words, desktop.env = as_nobody, env
        yield desktop


@contextmanager
def owned_by_wl_copy(session, data, *options):
    words = [*session.words, "wl-copy", "--foreground", *options]
    with session.program(*words, stdin=subprocess.PIPE) as process:
        process.stdin.write(data)
        process.stdin.close()
        until(lambda: b"No selection" not in types(session) and b"Nothing is copied" not in types(session))
        yield process


def types(session):
    done = subprocess.run(["wl-paste", "--list-types"], env=session.env, capture_output=True, check=False, timeout=5)
    return done.stdout + done.stderr


def test_what_wl_copy_owns_is_read_and_what_is_no_text_is_refused(session):
    with owned_by_wl_copy(session, "grüße 🦥\n\tmake\n".encode()):
        assert clipboard.system_clipboard().read() == "grüße 🦥\n\tmake\n"
    with owned_by_wl_copy(session, b"\x89PNG", "--type", "image/png"), pytest.raises(ClipboardError, match="no text but image/png"):
        clipboard.system_clipboard().read()


def test_an_owner_that_never_answers_is_given_up_within_two_seconds(session):
    with owned_by_wl_copy(session, b"make") as owner:
        subprocess.run(["kill", "-STOP", str(owner.pid)], check=True)
        begun = time.monotonic()
        with pytest.raises(ClipboardError, match="does not answer"):
            clipboard.system_clipboard().read()
        assert time.monotonic() - begun < 10  # two for the tool, and a machine that has other work


def test_what_we_copy_is_pasted_by_others(session):
    copier.system_copier().write("echo 'a b'")
    pasted = subprocess.run(["wl-paste", "--no-newline"], env=session.env, capture_output=True, check=True, timeout=5).stdout
    assert pasted == b"echo 'a b'"
