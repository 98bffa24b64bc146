"""What a person was told once and need not be told at each login: a line each in the file ``told`` of the queue folder."""

import os
from typing import TextIO

from slothtray import private
from slothtray.paths import Paths


def once(paths: Paths, mark: str) -> bool:
    """Whether this was never noted before; it is from now on. Where it can't be, it is told each time."""
    if mark in _marks(paths):
        return False
    try:
        with _opened(paths.told, os.O_APPEND) as file:
            file.write(mark + "\n")
    except OSError:
        pass
    return True


def forget(paths: Paths, mark: str) -> None:
    """It is no longer true: when it is again, it is told again."""
    marks = _marks(paths)
    if mark not in marks:
        return
    try:
        with _opened(paths.told + ".new", os.O_TRUNC) as file:
            file.writelines(f"{one}\n" for one in marks if one != mark)
        os.replace(paths.told + ".new", paths.told)
    except OSError:
        pass


def _opened(path: str, flag: int) -> TextIO:
    descriptor = private.open_file(path, os.O_WRONLY | os.O_CREAT | flag)
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace")


def _marks(paths: Paths) -> list[str]:
    try:
        with open(private.open_file(paths.told, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
