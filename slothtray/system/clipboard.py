"""Reads the clipboard's text within two seconds or says why not, and judges whether it can be a command."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import IO, NamedTuple

from slothtray import text
from slothtray.system.ports import Clipboard, ClipboardError

TIMEOUT = 1.8
"""Seconds for all the asking; what is left of 2 is for starting and ending the tools."""
LIMIT = 1_000_000
"""Bytes."""

_TEXT_TYPES = ("text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING")
"""The best first. STRING is latin-1 by X's own rules."""

_HIDDEN = "x-kde-passwordManagerHint"
"""The type by which password managers ask that what they have copied be shown and kept nowhere."""

_REORDERING = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_NOTHING_THERE = ("no selection", "nothing is copied", "not available")
"""How wl-paste and xclip say that there is no owner."""


def system_clipboard() -> Clipboard:
    """Return this system's clipboard."""
    return LinuxClipboard() if sys.platform == "linux" else PyperclipClipboard()


def check_text(copied: str) -> str:
    """Return the text less one newline at its end, if a person who sees it sees what a shell would run.

    Raises ClipboardError for blank text and for any control character (but tab and newline), mark that reorders what is shown,
    invisible character or half character in it.
    """
    copied = copied.removesuffix("\n").removesuffix("\r")
    if not copied.strip():
        raise ClipboardError("the clipboard holds only blanks" if copied else "the clipboard is empty")
    found = [(copied.index(char), trouble) for char in set(copied) if (trouble := _trouble(char))]
    if found:
        place, trouble = min(found)
        where = f" in line {copied.count(chr(10), 0, place) + 1}" if "\n" in copied else ""
        raise ClipboardError(f"the clipboard's text has {trouble} (U+{ord(copied[place]):04X}){where}")
    return copied


def _trouble(char: str) -> str:
    """Return what is wrong with a character in a command that a person has to judge by its looks; "" for nothing."""
    if char in "\t\n" or " " <= char <= "~":
        return ""
    if char < "\xa0":
        return "a control character"
    if "\ud800" <= char <= "\udfff":
        return "half a character"
    if char in _REORDERING:
        return "a mark that reorders what is shown"
    if char in "\u2028\u2029":
        return "a line break that is none to a shell"
    return "" if text.clean(f"a{char}a") != "aa" else "an invisible character"


class PyperclipClipboard:
    """macOS and Windows, through pyperclip. Not run by us yet."""

    def read(self) -> str:
        """Return the text. Raises ClipboardError."""
        import pyperclip

        try:
            copied = str(pyperclip.paste())
        except Exception as error:  # pyperclip's, and whatever its system's calls raise
            raise ClipboardError(f"the clipboard can't be read: {' '.join(str(error).split())}") from error
        if not copied:
            raise ClipboardError("the clipboard is empty or holds no text")
        if len(copied) > LIMIT:
            raise _too_large()
        return copied


class LinuxClipboard:
    """wl-paste, xclip or xsel, as the session has them. Not pyperclip: it hangs for 20 s on an owner that does not answer."""

    def read(self) -> str:
        """Return the text, within 2 s. Raises ClipboardError."""
        deadline = time.monotonic() + TIMEOUT
        tools = _tools()
        failure: _NoAnswer | None = None
        while tools:
            now = time.monotonic()
            tool = tools.pop(0)
            try:
                return _read(tool, now + max(0.0, deadline - now) / (len(tools) + 1))
            except _NoAnswer as error:  # the next one may: GNOME keeps wl-paste waiting, not xclip
                failure = failure or error
        raise failure or _nothing_to_ask()


class _NoAnswer(ClipboardError):
    """This tool could not tell; another one might. Any other ClipboardError is about the clipboard itself."""


class _Tool(NamedTuple):
    name: str
    types: list[str] | None
    """The command that lists the types, None when the tool has none."""
    text: Callable[[str], list[str]]
    """The command that prints the text in one type."""


def _tools() -> list[_Tool]:
    """Return the tools that this session can use, the one to ask first in front."""
    tools = []
    if os.environ.get("WAYLAND_DISPLAY") and shutil.which("wl-paste"):
        tools.append(_Tool("wl-paste", ["wl-paste", "--list-types"], lambda kind: ["wl-paste", "--no-newline", "--type", kind]))
    if os.environ.get("DISPLAY") and shutil.which("xclip"):
        get = ["xclip", "-selection", "clipboard", "-o", "-t"]
        tools.append(_Tool("xclip", [*get, "TARGETS"], lambda kind: [*get, kind]))
    elif os.environ.get("DISPLAY") and shutil.which("xsel"):
        tools.append(_Tool("xsel", None, lambda _kind: ["xsel", "--clipboard", "--output"]))
    return tools


def tools() -> tuple[str, ...]:
    """Return the names of the programs by which this session's clipboard can be read, best first."""
    return tuple(tool.name for tool in _tools())


def _nothing_to_ask() -> ClipboardError:
    if os.environ.get("WAYLAND_DISPLAY"):
        return ClipboardError("the clipboard can't be read: wl-paste is missing", "install wl-clipboard")
    if os.environ.get("DISPLAY"):
        return ClipboardError("the clipboard can't be read: xclip is missing", "install xclip")
    return ClipboardError("there is no clipboard: neither WAYLAND_DISPLAY nor DISPLAY is set")


def _too_large() -> ClipboardError:
    return ClipboardError(f"the clipboard holds more than {LIMIT // 1_000_000} MB")


def _read(tool: _Tool, deadline: float) -> str:
    kind = _text_type(_run(tool.types, deadline)) if tool.types else "UTF8_STRING"
    data = _run(tool.text(kind), deadline)
    if not data:
        raise ClipboardError("the clipboard is empty" if tool.types else "the clipboard is empty or holds no text")
    try:
        return data.decode("latin-1" if kind == "STRING" else "utf-8")
    except UnicodeDecodeError:
        raise ClipboardError("the clipboard's text is not UTF-8") from None


def _text_type(listing: bytes) -> str:
    offered = listing.decode("ascii", "replace").split("\n")
    if _HIDDEN in map(str.strip, offered):
        raise ClipboardError("the clipboard holds a password")
    by_name = {name.strip().lower(): name.strip() for name in reversed(offered)}
    for wanted in _TEXT_TYPES:
        if wanted.lower() in by_name:
            return by_name[wanted.lower()]
    raise ClipboardError(f"the clipboard holds no text{_instead(offered)}")


def _instead(offered: list[str]) -> str:
    """Name what is there, by its first MIME type; X's own targets (TIMESTAMP …) say nothing to a person."""
    kinds = [name for name in offered if "/" in name]
    return f" but {kinds[0]}" if kinds else ""


def _run(argv: list[str], deadline: float) -> bytes:
    """Run a tool and return its output. Raises ClipboardError, for an empty clipboard too.

    In a session of its own, so that all of it can be killed: wl-paste leaves a ``cat`` behind that keeps our pipe open.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True)
    except OSError as error:
        raise _NoAnswer(f"{argv[0]} can't be started: {error.strerror}") from error
    with process:
        try:
            assert process.stdout is not None
            data = _read_to_end(process.stdout, deadline)
            code = process.wait(max(0.01, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise _NoAnswer("the program that owns the clipboard does not answer") from None
        finally:
            _kill(process)
        if code:
            raise _complaint(argv[0], code, process.stderr)
    return data


def _read_to_end(pipe: IO[bytes], deadline: float) -> bytes:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    data = bytearray()
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(pipe.fileno(), 65536)
        data += piece
        if len(data) > LIMIT:
            raise _too_large()
        if not piece:
            return bytes(data)
    raise TimeoutError


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole group, unless its leader has been reaped already: then its number may be another's."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


def _complaint(tool: str, code: int, stderr: IO[bytes] | None) -> ClipboardError:
    assert stderr is not None
    os.set_blocking(stderr.fileno(), False)
    said = " ".join((stderr.read(2000) or b"").decode("utf-8", "replace").split())
    if any(words in said.lower() for words in _NOTHING_THERE):
        return ClipboardError("the clipboard is empty")
    return _NoAnswer(f"{tool} can't read the clipboard: {said or f'exit {code}'}")
