"""What a person was told once and need not be told at each login: a line each in the file ``told`` of the queue folder."""

import os

from slothtray.paths import Paths


def once(paths: Paths, mark: str) -> bool:
    """Whether this was never noted before; it is from now on. Where it can't be, it is told each time."""
    if mark in _marks(paths):
        return False
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(paths.told, flags, 0o600), "a", encoding="utf-8", errors="backslashreplace") as file:
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
        with open(paths.told + ".new", "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{one}\n" for one in marks if one != mark)
        os.replace(paths.told + ".new", paths.told)
    except OSError:
        pass


def _marks(paths: Paths) -> list[str]:
    try:
        with open(paths.told, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
