"""A command on a real terminal: what it writes there, what the keyboard does to it, what is left on the screen."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from harness import LIMIT, PROGRAM, Home


class Terminal:
    """One command with a pty as standard input, output and error; gives up its output byte by byte, as it was written."""

    def __init__(self, home: Home, *words: str, columns: int = 80, lines: int = 24, program: list[str] = PROGRAM, **environment) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        settings = termios.tcgetattr(slave)
        settings[1] &= ~termios.OPOST  # no \r before each \n
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        mine = {"TERM": "xterm-256color", "COLUMNS": None, "LINES": None, "NO_COLOR": None, **environment}
        env = {name: value for name, value in {**home.environment, **mine}.items() if value is not None}

        def take_keyboard() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [*program, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=home.work,
            start_new_session=True,
            preexec_fn=take_keyboard,  # noqa: PLW1509 - no other thread is started here
        )
        os.close(slave)
        self.written = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def read(self, until: bytes | None = None, limit: float = LIMIT) -> str:
        """What it has written by the time it has written ``until``, or by its end."""
        deadline = time.monotonic() + limit
        while until is None or until not in self.written:
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"not within {limit} s: {until!r} in {self.written!r}"
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                assert until is None, f"it ended without {until!r}: {self.written!r}"
                break
            self.written += data
        return self.written.decode()

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    def end(self, limit: float = LIMIT) -> int:
        """Its exit code, when it has written all."""
        self.read(limit=limit)
        code = self.process.wait(limit)
        assert b"Traceback" not in self.written, self.written
        return code


def shown(home: Home, *words: str, code: int = 0, **options) -> str:
    """All that a command writes to a terminal."""
    with Terminal(home, *words, **options) as terminal:
        assert terminal.end() == code, terminal.written
        return terminal.written.decode()


@contextmanager
def beside(home: Home, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs while a test does something else, with pipes to read from."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*PROGRAM, *words], env=home.environment, cwd=home.work, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


SGR = re.compile("\x1b\\[[0-9;:]*m")


def plain(text: str) -> str:
    """A text without its colours."""
    return SGR.sub("", text)


def screen(text: str) -> list[str]:
    """What is left on a screen on which nothing but carriage returns moves the cursor back."""
    lines = [""]
    column = 0
    for character in plain(text):
        if character == "\n":
            lines.append("")
            column = 0
        elif character == "\r":
            column = 0
        else:
            line = lines[-1]
            lines[-1] = line[:column] + character + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
