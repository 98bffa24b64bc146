"""From a file to what is in force: a bad file is told in one line and stops nothing; a changed one counts without a restart."""

import os
import re
import stat
import time
from typing import NamedTuple

from slothtray.config.keys import Config, Value, field_of
from slothtray.config.statements import find, lines_of, loads, says_nothing
from slothtray.config.values import AUTO, Bad, as_toml
from slothtray.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LARGEST = 32_000
"""Bytes: the file that slothtray writes has 1,700. A log or a disk that somebody named config.toml is told, not read."""
SETTLED = 1.0
"""Seconds after which the time of a file's last change is trusted to tell the next change: the kernel's stamps are coarse."""
SHOWN = 60


class Reading(NamedTuple):
    """What a file says.

    ``config``: ``base`` with all the keys that are right; ``written``: their values as they stand there;
    ``problem``: what is wrong with the others, in one line that names file, line and key, or "".
    """

    config: Config
    written: dict[str, Value]
    problem: str


def parse(text: str, base: Config, name: str = "config.toml") -> Reading:
    """Read a config file's text. ``base``: what is in force where it says nothing; its ceiling is what "auto" means."""
    text = text.removeprefix("\ufeff")
    if says_nothing(text):
        return Reading(base, {}, "")
    try:
        found = loads(text)
    except ValueError as error:
        return Reading(base, {}, _not_toml(text, name, str(error)))
    fields: dict[str, object] = {}
    wrong: list[tuple[str, str]] = []
    for key, value in found.items():
        try:
            fields[key] = field_of(key, value)
        except Bad as error:
            wrong.append((key, f"{_shown(key, value)}: {error}"))
    written = {key: found[key] for key in fields}
    changed: dict[str, Any] = {key: field for key, field in fields.items() if field is not AUTO}
    return Reading(base._replace(**changed), written, _in_one_line(text, name, wrong))


def load(path: str, base: Config) -> Reading:
    """Read a config file. That there is none is no problem; that it can't be read is one, told as any other."""
    try:
        return parse(read(path), base, os.path.basename(path))
    except FileNotFoundError:
        return Reading(base, {}, "")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return Reading(base, {}, f"{os.path.basename(path)}, line {line}: this is no UTF-8 text")
    except OSError as error:
        return Reading(base, {}, f"{clean(path)} can't be read: {error.strerror or error}")


def read(path: str) -> str:
    """The text of a config file. Raises ``OSError`` or ``UnicodeDecodeError``."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a file")  # and opening a pipe would wait for its other end
    if status.st_size > LARGEST:
        raise OSError(f"it has more than {LARGEST:,} bytes")
    with open(path, encoding="utf-8", newline="") as file:
        return file.read(LARGEST)


class Watched:
    """The config in force for a program that runs on: read again when the file has changed. Belongs to one thread.

    ``overrides`` are fields that win over the file: options of the command line. While the file has a problem the last good
    config stays in force; at the start, when there is no such, what is right in it.
    """

    def __init__(self, path: str, base: Config, overrides: "Mapping[str, Any] | None" = None) -> None:
        self._path, self._base, self._overrides = path, base, dict(overrides or {})
        self._signature: object = self
        self._reading: Reading | None = None
        self._config = base._replace(**self._overrides)
        self._untold = ""

    @property
    def problem(self) -> str:
        """What is wrong with the file now, in one line; "" when nothing is."""
        return self._reading.problem if self._reading is not None else ""

    def current(self) -> Config:
        """What is in force. Costs a look at the file's times (3 µs), and when they have changed a reading (0.2 ms, once 6 ms)."""
        signature = _signature(self._path)
        if signature != self._signature:
            self._take(load(self._path, self._base))
            fresh = signature is not None and time.time() - max(signature[:2]) / 1e9 < SETTLED
            self._signature = self if fresh else signature
        return self._config

    def news(self) -> str:
        """The problem, once for each change of it; else ""."""
        news, self._untold = self._untold, ""
        return news

    def _take(self, reading: Reading) -> None:
        if reading == self._reading:
            return
        first = self._reading is None
        self._reading, self._untold = reading, reading.problem
        if first or not reading.problem:
            self._config = reading.config._replace(**self._overrides)


def _signature(path: str) -> tuple[int, ...] | None:
    """What is different after every change of a file, of its mode too; None when it can't be seen."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev


# --- what is wrong ----------------------------------------------------------------------------------------------------------


def _in_one_line(text: str, name: str, wrong: list[tuple[str, str]]) -> str:
    """The first of the things that are wrong, with its line, and how many there are besides."""
    if not wrong:
        return ""
    key, words = wrong[0]
    place = find(lines_of(text), key, section=True)
    where = name if place is None else f"{name}, line {place[0] + 1}"
    return f"{where}: {words}" + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else "")


def _shown(key: str, value: object) -> str:
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        return clean(key, SHOWN)
    return clean(f"{key} = {as_toml(value)}", SHOWN)


def _not_toml(text: str, name: str, words: str) -> str:
    """What tomllib has to say, with its line in front. What people forget most, the quotes, is told in so many words."""
    lines = lines_of(text)
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", words)
    if place is None:
        return f"{name}: {clean(words)}"
    number = int(place[1] or len(lines))
    line = lines[number - 1] if number <= len(lines) else ""
    said = words[: place.start()]
    if said == "Cannot overwrite a value":
        return f"{name}, line {number}: {clean(line, SHOWN)}: it has a value already, further up"
    bare = re.match(r"""\s*(\w+)\s*=\s*([^\s"'#\[{][^"'#]*?)\s*(?:#|$)""", line[:200])
    if bare and _would_do(bare[1], bare[2]):
        return f'{name}, line {number}: {bare[1]} = {clean(bare[2], SHOWN)}: put quotes around it, as in "{clean(bare[2], SHOWN)}"'
    return f"{name}, line {number}: {clean(line, SHOWN)}: {said[:1].lower()}{said[1:]}"


def _would_do(key: str, value: str) -> bool:
    try:
        field_of(key, value)
    except Bad:
        return False
    return True
