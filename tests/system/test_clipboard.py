"""The clipboard as real programs own it on a real X screen, and as they should not."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest
import session
from Xlib import X
from Xlib.display import Display

from slothtray.system import clipboard, copier
from slothtray.system.ports import ClipboardError, CopyFailed

BIN = "/usr/bin"


@pytest.fixture
def x11(display, monkeypatch, tmp_path):
    """An X session with xclip and nothing else."""
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return only(monkeypatch, tmp_path, "xclip")


def only(monkeypatch, folder, *tools):
    """Have just these tools on PATH."""
    path = folder / "bin"
    path.mkdir(exist_ok=True)
    for tool in tools:
        (path / tool).symlink_to(f"{BIN}/{tool}")
    monkeypatch.setenv("PATH", str(path))
    return path


def script(folder, name, text):
    """A stand-in for a tool whose own desktop is not here."""
    file = folder / name
    file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n")
    file.chmod(0o755)


@contextmanager
def x_display():
    display = Display(os.environ["DISPLAY"])
    try:
        yield display
    finally:
        display.close()


@contextmanager
def owned_by_xclip(data, kind="UTF8_STRING"):
    argv = [f"{BIN}/xclip", "-selection", "clipboard", "-quiet", "-t", kind, "-i"]
    with x_display() as display, session.started(argv, stdin=subprocess.PIPE) as process:
        name = display.intern_atom("CLIPBOARD")
        before = display.get_selection_owner(name)
        process.stdin.write(data)
        process.stdin.close()
        session.until(lambda: display.get_selection_owner(name) not in (X.NONE, before))
        yield


@contextmanager
def owned_by_nobody_who_answers():
    with x_display() as display:
        window = display.screen().root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
        window.set_selection_owner(display.intern_atom("CLIPBOARD"), X.CurrentTime)
        display.sync()
        yield


def read():
    """Read it, and see that it took no longer than its two seconds and left nothing running."""
    before = time.monotonic()
    children = set(psutil.Process().children(recursive=True))
    try:
        return clipboard.system_clipboard().read()
    finally:
        assert time.monotonic() - before < 3  # two, and what a busy machine takes
        assert set(psutil.Process().children(recursive=True)) <= children


@contextmanager
def refused(reason):
    with pytest.raises(ClipboardError) as caught:
        yield
    assert str(caught.value) == reason


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(clipboard, "TIMEOUT", 0.5)


@pytest.mark.parametrize("text", ["make -j4", "cd /tmp\nmake\n\tmake install\n", "grüße 🦥 'a b'", "--help", "x" * 900_000])
def test_text_is_read_as_it_is(x11, text):
    with owned_by_xclip(text.encode()):
        assert read() == text


def test_the_types_latin_1_and_plain_text_are_understood(x11):
    with owned_by_xclip("café".encode("latin-1"), "STRING"):
        assert read() == "café"
    with owned_by_xclip("café".encode(), "text/plain;charset=UTF-8"):
        assert read() == "café"


def test_case_24_an_empty_clipboard_is_refused(x11):
    with refused("the clipboard is empty"):
        read()


def test_empty_text_is_refused(x11):
    with owned_by_xclip(b""), refused("the clipboard is empty"):
        read()


def test_case_24_an_image_is_refused_by_its_type(x11):
    with owned_by_xclip(b"\x89PNG\r\n", "image/png"), refused("the clipboard holds no text but image/png"):
        read()


def test_what_a_password_manager_has_copied_is_refused_unread(wayland):
    script(wayland, "wl-paste", 'case "$1" in --list-types) printf "text/plain\\nx-kde-passwordManagerHint\\n" ;; *) touch "$0.read" ;; esac')
    with refused("the clipboard holds a password"):
        read()
    assert not (wayland / "wl-paste.read").exists()


def test_case_24_five_megabytes_are_refused_and_one_is_the_limit(x11):
    for size in (5_000_000, 1_000_001):
        with owned_by_xclip(b"x" * size), refused("the clipboard holds more than 1 MB"):
            read()
    with owned_by_xclip(b"x" * 1_000_000):
        assert len(read()) == 1_000_000


def test_bytes_that_are_no_utf_8_are_refused(x11):
    with owned_by_xclip(b"caf\xe9"), refused("the clipboard's text is not UTF-8"):
        read()


def test_case_24_an_owner_that_never_answers_is_given_up(x11):
    with owned_by_nobody_who_answers(), refused("the program that owns the clipboard does not answer"):
        read()


def test_a_display_that_is_gone_is_told(x11, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":987")
    with pytest.raises(ClipboardError, match=r"^xclip can't read the clipboard: .*open display"):
        read()


def test_xsel_does_where_xclip_is_missing(x11, hurried, monkeypatch, tmp_path):
    (x11 / "xclip").unlink()
    only(monkeypatch, tmp_path, "xsel")
    with owned_by_xclip("grüße\n".encode()):
        assert read() == "grüße\n"
    with owned_by_xclip(b"\x89PNG\r\n", "image/png"), refused("the clipboard is empty or holds no text"):
        read()
    with owned_by_nobody_who_answers(), refused("the program that owns the clipboard does not answer"):
        read()


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "wl-paste is missing: install wl-clipboard"),
        ({"DISPLAY": ":0"}, "xclip is missing: install xclip"),
        ({}, "neither WAYLAND_DISPLAY nor DISPLAY is set"),
    ],
)
def test_a_missing_tool_is_named_with_its_package(monkeypatch, tmp_path, variables, reason):
    only(monkeypatch, tmp_path)
    for name in ("WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ClipboardError, match=reason):
        read()


@pytest.fixture
def wayland(x11, monkeypatch):
    """A Wayland session with a stand-in for wl-paste, and xclip for the X programs in it."""
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    return x11


def test_on_wayland_wl_paste_is_asked_first(wayland):
    script(wayland, "wl-paste", '[ "$1" = --list-types ] && printf "text/html\\nUTF8_STRING\\n" || echo "$*"')
    with owned_by_xclip(b"from X"):
        assert read() == "--no-newline --type UTF8_STRING\n"


@pytest.mark.parametrize("words", ["No selection", "Nothing is copied"])
def test_on_wayland_a_clear_answer_is_not_asked_again_of_x(wayland, words):
    script(wayland, "wl-paste", f"echo '{words}' >&2; exit 1")
    with owned_by_xclip(b"stale"), refused("the clipboard is empty"):
        read()


def test_a_wl_paste_that_hangs_is_killed_with_its_cat_and_x_is_asked(wayland, hurried):
    mark = f"{60 + os.getpid() / 1e7:.7f}"
    script(wayland, "wl-paste", f"sleep {mark} | cat & sleep {mark}")
    with owned_by_xclip(b"from X"):
        assert read() == "from X"
    session.until(lambda: not [one for one in psutil.process_iter(["cmdline"]) if mark in (one.info["cmdline"] or ())])
    with owned_by_nobody_who_answers(), pytest.raises(ClipboardError, match="does not answer"):
        read()


def test_a_tool_that_talks_for_ever_is_stopped(wayland):
    script(wayland, "wl-paste", "exec yes")
    with pytest.raises(ClipboardError, match="more than 1 MB"):
        read()


def test_a_tool_that_goes_on_with_its_output_closed_is_stopped(wayland, hurried):
    (wayland / "xclip").unlink()
    script(wayland, "wl-paste", "exec sleep 60 >&-")
    with pytest.raises(ClipboardError, match="does not answer"):
        read()


@pytest.mark.parametrize(
    ("copied", "checked"),
    [
        ("make", "make"),
        ("make\n", "make"),
        ("make\r\n", "make"),
        ("make\n\n", "make\n"),
        ("a\n\tb", "a\n\tb"),
        ("grüße 🧑\u200d💻 שלום", "grüße 🧑\u200d💻 שלום"),
    ],
)
def test_a_command_passes_less_one_newline(copied, checked):
    assert clipboard.check_text(copied) == checked


@pytest.mark.parametrize(
    ("copied", "reason"),
    [
        ("", "the clipboard is empty"),
        ("\n", "the clipboard is empty"),
        (" \n\t \n", "the clipboard holds only blanks"),
        ("a\0b", r"the clipboard's text has a control character \(U\+0000\)"),
        ("ls\n\x1b[2Kls", r"the clipboard's text has a control character \(U\+001B\) in line 2"),
        ("a\rb", r"a control character \(U\+000D\)"),
        ("a\x7fb", r"a control character \(U\+007F\)"),
        ("a\x9bb", r"a control character \(U\+009B\)"),
        ("rm \u202egpj.x", r"a mark that reorders what is shown \(U\+202E\)"),
        ("rm \u2066x", r"a mark that reorders what is shown \(U\+2066\)"),
        ("a\u2028b", r"a line break that is none to a shell \(U\+2028\)"),
        ("rm -rf /\u200btmp", r"an invisible character \(U\+200B\)"),
        ("\ufeffls", r"an invisible character \(U\+FEFF\)"),
        ("ls \U000e0041", r"an invisible character \(U\+E0041\)"),
        ("a\udcffb", r"half a character \(U\+DCFF\)"),
    ],
)
def test_what_does_not_look_like_what_it_is_is_refused_with_the_reason(copied, reason):
    with pytest.raises(ClipboardError, match=f"{reason}$"):
        clipboard.check_text(copied)


def test_a_megabyte_is_judged_quickly():
    text = "make 🦥\n" * 140_000
    before = time.process_time()
    clipboard.check_text(text)
    assert time.process_time() - before < 1


# --- copying ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def copied():
    """Copies, within two seconds, and leaves no child of ours; what hands the text out is ended after the test."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    os.environ["COPIED_BY"] = mark
    yield copy
    del os.environ["COPIED_BY"]
    for process in psutil.process_iter():
        try:
            if process.environ().get("COPIED_BY") == mark and process.pid != os.getpid():
                process.kill()
        except psutil.Error:
            continue


def copy(text):
    before = time.monotonic()
    children = psutil.Process().children()
    try:
        copier.system_copier().write(text)
    finally:
        assert time.monotonic() - before < 3  # two, and what a busy machine takes
        assert psutil.Process().children() == children


@pytest.mark.parametrize("tool", ["xclip", "xsel"])
@pytest.mark.parametrize("text", ["make -j4", "grüße 🦥\n\tmake\n", "--help", "x" * 900_000, "caf\udce9"])
def test_what_is_copied_can_be_pasted_and_no_child_of_ours_is_left(x11, monkeypatch, tmp_path, copied, tool, text):
    (x11 / "xclip").unlink()
    only(monkeypatch, tmp_path, tool)
    copied(text)
    paste = [f"{BIN}/xclip", "-selection", "clipboard", "-o"]  # xsel ends a moment before it owns the clipboard
    pasted = session.until(lambda: subprocess.run(paste, capture_output=True, check=False, timeout=5).stdout)
    assert pasted == text.encode("utf-8", "surrogateescape")


def test_what_was_copied_stays_when_we_end(x11):
    code = "from slothtray.system import copier; copier.system_copier().write('still here')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=5, start_new_session=True)
    assert read() == "still here"


def test_on_wayland_wl_copy_is_given_the_text_and_its_type(wayland, tmp_path, copied):
    script(wayland, "wl-copy", f'echo "$*" > {tmp_path}/words; cat > {tmp_path}/text; sleep 5 & exit 0')
    copied("make -j4")
    assert ((tmp_path / "words").read_text(), (tmp_path / "text").read_text()) == ("--type text/plain;charset=utf-8\n", "make -j4")


@pytest.mark.parametrize("lazy", ["", "cat > /dev/null; "])
def test_a_tool_that_does_not_take_it_or_does_not_end_is_stopped_with_all_of_it(wayland, monkeypatch, copied, lazy):
    monkeypatch.setattr(copier, "TIMEOUT", 0.3)
    mark = f"{60 + os.getpid() / 1e7:.7f}"
    script(wayland, "wl-copy", f"{lazy}sleep {mark}; exit 0")
    with pytest.raises(CopyFailed, match=r"^nothing was copied: wl-copy does not take it$"):
        copied("x" * 900_000)
    session.until(lambda: not [one for one in psutil.process_iter(["cmdline"]) if mark in (one.info["cmdline"] or ())])


def test_a_tool_that_fails_is_quoted(wayland, copied):
    script(wayland, "wl-copy", "echo 'no seat' >&2; echo here >&2; exit 3")
    with pytest.raises(CopyFailed, match=r"^nothing was copied: wl-copy: no seat here$"):
        copied("x" * 900_000)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"WAYLAND_DISPLAY": "wayland-0"}, "wl-copy is missing: install wl-clipboard"),
        ({"DISPLAY": ":0"}, "xclip is missing: install xclip"),
        ({}, "neither WAYLAND_DISPLAY nor DISPLAY is set"),
    ],
)
def test_a_missing_tool_to_copy_with_is_named_with_its_package(monkeypatch, tmp_path, variables, reason):
    only(monkeypatch, tmp_path)
    for name in ("WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CopyFailed, match=reason):
        copier.system_copier().write("make")
