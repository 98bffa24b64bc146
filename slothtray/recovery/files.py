"""The files that keep a queue's past: backups in ``backups/``, and databases that were set aside beside the present one."""

import os
import re
import time
from typing import NamedTuple

from slothtray import private
from slothtray.errors import Refused
from slothtray.paths import Paths
from slothtray.private import sync_folder

_BACKUP = re.compile(r"queue-(\d{4,})-\d{4}-\d\d-\d\d(-schema\d+)?\.db")
_ASIDE = re.compile(r"queue\.(replaced|damaged)-(\d+)-\d{4}-\d\d-\d\d\.db")
UNFINISHED = "unfinished-"
"""How the name of a backup begins that is just being made."""
TWO = 2
"""So many daily backups are kept."""


class Kept(NamedTuple):
    """One file. ``kind`` is "backup", "upgrade" (made before a migration), "replaced" or "damaged".

    ``number`` tells which one is newer within its kind: the wall clock, and with it ``made_at``, may have been set back.
    """

    path: str
    kind: str
    number: int
    made_at: float
    size: int

    @property
    def name(self) -> str:
        """The file's name, by which `slothtray restore` finds it."""
        return os.path.basename(self.path)

    @property
    def when(self) -> str:
        """Its time in words: "2026-11-30 12:45"."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.made_at))


def backups(paths: Paths) -> list[Kept]:
    """The backups, the newest first."""
    found = [(name, _BACKUP.fullmatch(name)) for name in private.names_in(paths.backups)]
    kept = [
        _kept(os.path.join(paths.backups, name), "upgrade" if match[2] else "backup", int(match[1]))
        for name, match in found
        if match is not None
    ]
    return sorted([one for one in kept if one is not None], key=lambda one: one.number, reverse=True)


def asides(paths: Paths) -> list[Kept]:
    """What was set aside: by a restore ("replaced"), or because it could not be used ("damaged"); the newest first."""
    found = [(name, _ASIDE.fullmatch(name)) for name in private.names_in(paths.home)]
    kept = [_kept(os.path.join(paths.home, name), match[1], int(match[2])) for name, match in found if match is not None]
    return sorted([one for one in kept if one is not None], key=lambda one: one.number, reverse=True)


def named(paths: Paths, word: str) -> Kept:
    """What ``word`` means: "newest", a name from the list, or any file's path. Raises ``Refused``."""
    known = [*backups(paths), *asides(paths)]
    if word == "newest":
        found = next((one for one in known if one.kind in ("backup", "upgrade")), None)
    else:
        found = next((one for one in known if one.name == word), None)
        if found is None and os.sep in word:
            found = _kept(os.path.abspath(word), "file", 0)
    if found is None:
        what = "there is no backup yet" if word == "newest" else f"there is no backup {word!r}"
        raise Refused(what, "`slothtray restore` lists what there is")
    return found


def backup_path(paths: Paths, now: float, schema: int | None = None) -> str:
    """The next backup's name; ``schema`` for one made before a migration from that schema."""
    number = max((one.number for one in backups(paths)), default=0) + 1
    return os.path.join(paths.backups, f"queue-{number:04d}-{_day(now)}{f'-schema{schema}' if schema is not None else ''}.db")


def aside_path(paths: Paths, kind: str, now: float) -> str:
    """The name under which the present database is set aside."""
    number = max((one.number for one in asides(paths)), default=0) + 1
    return os.path.join(paths.home, f"queue.{kind}-{number}-{_day(now)}.db")


def thin(paths: Paths) -> None:
    """Keep the last two backups, and beyond them the last one made before a migration: the way back to an older program."""
    every = backups(paths)
    upgrades = [one for one in every if one.kind == "upgrade"]
    for one in every:
        if one not in every[:TWO] and one not in upgrades[:1]:
            discard(one.path)


def discard_unfinished(paths: Paths) -> None:
    """Remove what is left of backups that were cut off."""
    for name in private.names_in(paths.backups):
        if name.startswith(UNFINISHED):
            discard(os.path.join(paths.backups, name))


def discard(path: str) -> None:
    """Remove a file of ours and its journal; that there is none, or that it can't be removed, stops nothing."""
    for name in (path, f"{path}-journal"):
        try:
            os.unlink(name)
        except OSError:
            continue


def sync(path: str) -> None:
    """Make a file's contents durable. Never for the database in use: closing it here would drop SQLite's locks."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(source: str, target: str) -> None:
    """Rename durably."""
    os.rename(source, target)
    sync_folder(os.path.dirname(target))


def _kept(path: str, kind: str, number: int) -> Kept | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Kept(path, kind, number, found.st_mtime, found.st_size)


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(now))
