"""Puts a text into the clipboard, with the same care as it is read: within two seconds, and nothing of it hangs on us.

On X and Wayland whoever has copied something must live on to hand it out. So wl-copy, xclip and xsel leave a process behind when
they end: it has a session of its own and no pipe of ours, and stays until something else is copied.
"""

import os
import select
import shutil
import signal
import subprocess
import sys
import time

from slothtray.system.ports import Copier, CopyFailed

TIMEOUT = 1.8
"""Seconds for the tool to have taken the text; what is left of 2 is for starting and ending it."""


def system_copier() -> Copier:
    """Return this system's."""
    return LinuxCopier() if sys.platform == "linux" else PyperclipCopier()


class PyperclipCopier:
    """macOS and Windows, through pyperclip. Not run by us yet."""

    def write(self, text: str) -> None:
        """Copy it. Raises CopyFailed."""
        import pyperclip

        try:
            pyperclip.copy(text)
        except Exception as error:  # pyperclip's, and whatever its system's calls raise
            raise CopyFailed(f"nothing was copied: {' '.join(str(error).split())}") from error


class LinuxCopier:
    """wl-copy, xclip or xsel, as the session has them."""

    def write(self, text: str) -> None:
        """Copy it, within 2 s. Raises CopyFailed."""
        data = text.encode("utf-8", "surrogateescape")
        _hand_over(_tool(), data, time.monotonic() + TIMEOUT)


def _tool() -> list[str]:
    """Return the command that copies what it reads from its stdin."""
    if os.environ.get("WAYLAND_DISPLAY") and shutil.which("wl-copy"):
        # Without the type it would guess it by the text's first bytes, with a program that may be missing.
        return ["wl-copy", "--type", "text/plain;charset=utf-8"]
    if os.environ.get("DISPLAY"):
        if shutil.which("xclip"):
            return ["xclip", "-selection", "clipboard", "-in"]
        if shutil.which("xsel"):
            return ["xsel", "--clipboard", "--input"]
    if os.environ.get("WAYLAND_DISPLAY"):
        raise CopyFailed("nothing was copied: wl-copy is missing", "install wl-clipboard")
    if os.environ.get("DISPLAY"):
        raise CopyFailed("nothing was copied: xclip is missing", "install xclip")
    raise CopyFailed("there is no clipboard: neither WAYLAND_DISPLAY nor DISPLAY is set")


def _hand_over(argv: list[str], data: bytes, deadline: float) -> None:
    complaint = os.memfd_create("complaint")  # not a pipe: what stays behind may still write when nobody reads
    try:
        null = subprocess.DEVNULL
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=null, stderr=complaint, start_new_session=True)
        try:
            _feed(process, data, deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise CopyFailed(f"nothing was copied: {argv[0]} does not take it") from None
        if code:
            said = " ".join(os.pread(complaint, 2000, 0).decode("utf-8", "replace").split())
            raise CopyFailed(f"nothing was copied: {argv[0]}: {said or f'exit {code}'}")
    except OSError as error:
        raise CopyFailed(f"nothing was copied: {argv[0]}: {error.strerror}") from error
    finally:
        os.close(complaint)


def _feed(process: subprocess.Popen[bytes], data: bytes, deadline: float) -> None:
    """Write it all and close the pipe. Raises TimeoutError. A tool that has ended already is judged by its exit code."""
    assert process.stdin is not None
    descriptor = process.stdin.fileno()
    os.set_blocking(descriptor, False)
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    try:
        while data:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError
            data = data[os.write(descriptor, data[:65536]) :]
    except BrokenPipeError:
        pass
    finally:
        process.stdin.close()
