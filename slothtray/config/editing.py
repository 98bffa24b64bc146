"""The file itself: written once with every key explained, then changed a key at a time; what a person wrote stays as it is.

No TOML library for that: all values are on the top level and ours to write, so one statement's lines are replaced. tomlkit would
do it too, as one more package to install and 34 ms to import, where this takes 2 ms.
"""

import contextlib
import os
import re

from slothtray import private
from slothtray.config.keys import KEYS, Config, Value, field_of
from slothtray.config.reading import load, parse, read
from slothtray.config.statements import comment_of, find, lines_of
from slothtray.config.values import Bad, as_toml, from_words
from slothtray.errors import ConfigError, StorageError, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """\
# slothtray's settings. A line that begins with # says nothing: each shows the default; to change one, take its # away.
# A change counts at once, without a restart. `slothtray config` shows what is in force and where it comes from.
# Durations are written "90s", "5m", "2h", "1d" or "1h30m"; a plain number is in seconds.
"""


def template() -> str:
    """The file as it is written first: every key with its default, as comments."""
    return HEAD + "".join(f"\n# {key.meaning}\n#{key.name} = {as_toml(key.default)}\n" for key in KEYS.values())


# --- the text: pure -------------------------------------------------------------------------------------------------------


def with_key(text: str, name: str, value: Value) -> str:
    """The text with the key set; all else is as it was, byte for byte. The comment behind the key's own value stays too."""
    lines = lines_of(text)
    end_of_line = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    statement = f"{name} = {as_toml(value)}"
    place = find(lines, name)
    if place is not None:
        first, end = place
        indent = re.match(r"\s*", lines[first])
        old = "".join(lines[first:end])
        comment = comment_of(old)
        lines[first:end] = [(indent[0] if indent else "") + statement + comment + (end_of_line if old.endswith("\n") else "")]
        return "".join(lines)
    at = _after_its_explanation(lines, name)
    if lines and at == len(lines) and not lines[-1].endswith("\n"):
        lines[-1] += end_of_line
    return "".join([*lines[:at], statement + end_of_line, *lines[at:]])


def without_key(text: str, name: str) -> str:
    """The text without the key's own lines: after ``with_key`` on the template, the template again."""
    lines = lines_of(text)
    place = find(lines, name)
    if place is not None:
        del lines[place[0] : place[1]]
    return "".join(lines)


def _after_its_explanation(lines: list[str], name: str) -> int:
    """Where a new statement goes: below the comment that shows its default, else at the end."""
    shown = re.compile(rf"#\s?{re.escape(name)}\s*=")
    return next((number + 1 for number, line in enumerate(lines) if shown.match(line)), len(lines))


# --- a person's words -----------------------------------------------------------------------------------------------------


def key_of(name: str) -> str:
    """The name of a key. Raises ``Usage`` with the nearest one."""
    try:
        field_of(name, KEYS[name].default if name in KEYS else None)
    except Bad as error:
        raise Usage(f"{name!r}: {error}") from None
    return name


def value_of(name: str, text: str) -> Value:
    """The value that was typed for a key, as it goes into the file. Raises ``Usage`` that says what would do."""
    value = from_words(text, KEYS[name].default)
    try:
        field_of(name, value)
    except Bad as error:
        raise Usage(f"{name} can't be {text!r}", str(error)) from None
    assert isinstance(value, int | float | str | list)
    return value


# --- the file -------------------------------------------------------------------------------------------------------------


def ensure(path: str) -> None:
    """Write the template if there is no file: 0600 whatever the umask, all at once, never over another. Raises ``StorageError``."""
    if os.path.lexists(path):
        return
    with _telling(path):
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            private.make_folder(folder)
        fresh = _write_beside(path, template(), 0o600)
        try:
            os.link(fresh, path)  # fails when somebody else was quicker, which is as good
        except FileExistsError:
            pass
        except OSError:
            _without_links(fresh, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh)


def line_of(path: str, name: str) -> int | None:
    """The number of the line in which the file sets a key; None when it doesn't, or can't be read."""
    try:
        place = find(lines_of(read(path)), name)
    except (OSError, UnicodeDecodeError):
        return None
    return None if place is None else place[0] + 1


def change(path: str, name: str, value: Value | None, base: Config) -> None:
    """Set a key (None: take it out again), or leave the file as it is: raises ``ConfigError`` when it would not be right after
    that, ``StorageError`` when it can't be written. A link to the file stays a link.
    """
    ensure(path)
    target = os.path.realpath(path)
    with _telling(path), _alone(os.path.dirname(target)):
        try:
            before = read(target)
        except UnicodeDecodeError:
            raise ConfigError(load(path, base).problem) from None
        after = without_key(before, name) if value is None else with_key(before, name, value)
        _check(before, after, base, os.path.basename(path))
        if after != before:
            os.replace(_write_beside(target, after, os.stat(target).st_mode & 0o777), target)


def _check(before: str, after: str, base: Config, name: str) -> None:
    """What is wrong after the change was so before it: our own value is right. The lines to name are those of the file as it is."""
    found = parse(after, base, name)
    if found.problem:
        same_lines = before.count("\n") == after.count("\n")
        told = found.problem if same_lines else parse(before, base, name).problem or found.problem
        raise ConfigError(told, "mend that first")


def _write_beside(path: str, text: str, mode: int) -> str:
    """Write a new file next to ``path``, durably, ready to take its place; its name."""
    fresh = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.chmod(fresh, mode)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        os.unlink(fresh)
        raise
    return fresh


def _without_links(fresh: str, path: str) -> None:
    """For file systems that have no hard links: as good, but for an instant in which both names are free to take."""
    if not os.path.lexists(path):
        os.replace(fresh, path)


@contextlib.contextmanager
def _alone(folder: str) -> "Iterator[None]":
    """One change at a time, so that none is lost: two commands at once read the same text. Where it can't be had, without."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _telling(path: str) -> "Iterator[None]":
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} can't be written: {error.strerror or error}", "check its folder's owner and mode") from error
