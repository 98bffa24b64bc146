"""Opening a file in the desktop's own program."""

import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import session

from slothtray.system import opener
from slothtray.system.ports import OpenFailed


@pytest.fixture
def handler(monkeypatch, tmp_path):
    """Write an xdg-open of our own; gives the function that does, and the folder it may leave notes in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(text):
        file = folder / "xdg-open"
        file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\ncd {tmp_path}\n{text}\n")
        file.chmod(0o755)

    return write


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "-1 'odd' & name.log"
    file.write_text("hello\n")
    return file


class Heard:
    """What on_failure was told."""

    def __init__(self):
        self.reason = None
        self._told = threading.Event()

    def __call__(self, reason):
        self.reason = reason
        self._told.set()

    def wait(self):
        assert self._told.wait(5)
        return self.reason


@contextmanager
def our_stdin_is_a_pipe():
    saved = os.dup(0)
    for end in (pipe := os.pipe()):
        os.dup2(end, 0)
    try:
        yield
    finally:
        os.dup2(saved, 0)
        for fd in (*pipe, saved):
            os.close(fd)


@pytest.fixture
def reaped():
    """Whether no child and no thread of the opener is left."""
    others = set(psutil.Process().children())
    return lambda: set(psutil.Process().children()) <= others and "opener" not in [t.name for t in threading.enumerate()]


def test_the_file_arrives_whole_and_nothing_is_left_behind(handler, log, tmp_path, monkeypatch, reaped):
    handler('printf "%s|" "$#" "$1" > got.part; mv got.part got')
    monkeypatch.chdir(tmp_path)
    opener.system_opener().open(log.name)
    got = tmp_path / "got"
    session.until(got.exists)
    assert got.read_text() == f"1|{log}|"
    session.until(reaped)


def test_a_program_that_stays_is_not_waited_for_and_has_a_session_and_no_terminal_of_ours(handler, log, tmp_path, reaped):
    handler('mkfifo end; fds=$(ls -l /proc/$$/fd); echo "$fds" > fds; echo $$ > pid.part; mv pid.part pid; read -r _ < end')
    before = time.monotonic()
    with our_stdin_is_a_pipe():
        opener.system_opener().open(str(log))
    assert time.monotonic() - before < 5
    note = tmp_path / "pid"
    session.until(note.exists)
    pid = int(note.read_text())
    assert os.getsid(pid) == pid != os.getsid(0)
    seen = (tmp_path / "fds").read_text()
    assert all(f" {fd} -> /dev/null\n" in seen for fd in (0, 1, 2))
    (tmp_path / "end").write_text("now\n")
    session.until(reaped)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(3, "no program for it is installed"), (4, "the program for it failed"), (77, "xdg-open ended with 77")],
)
def test_a_program_that_fails_at_once_is_told(handler, log, code, reason):
    handler(f"exit {code}")
    heard = Heard()
    opener.system_opener(heard).open(str(log))
    assert heard.wait() == f"{log} can't be opened: {reason}"


def test_a_program_that_fails_later_or_ends_well_is_not(handler, log, monkeypatch, reaped):
    heard = Heard()
    handler("exit 0")
    opener.system_opener(heard).open(str(log))
    session.until(reaped)
    monkeypatch.setattr(opener, "SOON", 0)
    handler("exit 3")
    opener.system_opener(heard).open(str(log))
    session.until(reaped)
    assert heard.reason is None


def test_a_missing_xdg_open_is_named_with_its_package(log, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OpenFailed, match=r"can't be opened: xdg-open is missing: install xdg-utils$"):
        opener.system_opener().open(str(log))


def test_a_missing_file_is_told(handler, tmp_path):
    handler("exit 0")
    with pytest.raises(OpenFailed, match=r"gone\.log does not exist$"):
        opener.system_opener().open(str(tmp_path / "gone.log"))


def test_a_handler_that_can_not_be_run_is_told(handler, log, tmp_path):
    handler("")
    (tmp_path / "bin" / "xdg-open").write_bytes(b"\x7fELF and no more")
    with pytest.raises(OpenFailed, match=r"xdg-open can't be started: Exec format error$"):
        opener.system_opener().open(str(log))


@pytest.fixture
def plain_desktop(monkeypatch, tmp_path):
    """The real xdg-open on a system without a desktop, a mail reader's tools or a browser: only $BROWSER decides."""
    folder = tmp_path / "real"
    folder.mkdir()
    unwanted = {"run-mailcap", "mimeopen", "x-www-browser", "www-browser", "sensible-browser", "w3m", "lynx", "links", "firefox"}
    for place in ("/usr/bin", "/bin"):
        for name in set(os.listdir(place)) - unwanted - set(os.listdir(folder)):
            (folder / name).symlink_to(f"{place}/{name}")
    for variable in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_CURRENT_DESKTOP", "DESKTOP_SESSION", "BROWSER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(folder))


def test_the_real_xdg_open_opens_it(plain_desktop, log, tmp_path, monkeypatch, reaped):
    viewer = tmp_path / "viewer"
    viewer.write_text(f'#!/bin/sh\ncat "$1" > {tmp_path}/seen.part && mv {tmp_path}/seen.part {tmp_path}/seen\n')
    viewer.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(viewer))
    opener.system_opener().open(str(log))
    session.until(Path(tmp_path / "seen").exists)
    assert (tmp_path / "seen").read_text() == "hello\n"
    session.until(reaped)


def test_the_real_xdg_open_without_a_handler_is_told(plain_desktop, log):
    heard = Heard()
    opener.system_opener(heard).open(str(log))
    assert heard.wait() == f"{log} can't be opened: no program for it is installed"
