"""How a value in `config.toml` becomes a setting, and what is said of one that can't be meant so. Pure."""

from slothtray.durations import LONGEST, parse_duration, parse_size
from slothtray.errors import Usage
from slothtray.text import duration_words, size_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Convert = Callable[[object], Any]
    """From a TOML value to the setting's field. Raises ``Bad``."""


class Bad(ValueError):
    """A value that won't do. Its text says what would: "use a whole number from 0 to 19"."""


class Auto:
    """What ``ceiling = "auto"`` means: the program finds the value out by itself."""


AUTO = Auto()


def ceiling(value: object) -> float | Auto | None:
    """A load above 0; None for "off", ``AUTO`` for "auto"."""
    word = _word(value)
    if word == "off":
        return None
    if word == "auto":
        return AUTO
    number = _number(value)
    if number is None or number <= 0:
        raise Bad("use a number above 0, auto or off")
    return number


def duration(least: float = 0.0, never: str = "") -> "Convert":
    """Makes the converter of a duration: seconds, at least ``least``; None for the word ``never``, if one is given."""
    wanted = "use a duration such as 90, 15s, 5m or 2h" + (f", or {never}" if never else "")

    def convert(value: object) -> float | None:
        if never and _word(value) == never:
            return None
        seconds = _seconds(value)
        if seconds is None:
            raise Bad(wanted)
        if not least <= seconds <= LONGEST:
            limit = f"at least {duration_words(least)}" if seconds < least else "less than a hundred years"
            raise Bad(f"use {limit}" + (f", or {never}" if never else ""))
        return seconds

    return convert


def whole(least: int, most: int) -> "Convert":
    """Makes the converter of a whole number."""

    def convert(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Bad(f"use a whole number from {least} to {most}")
        return value

    return convert


def size(least: int) -> "Convert":
    """Makes the converter of a size: bytes, at least ``least``."""

    def convert(value: object) -> int:
        try:
            found = parse_size(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
        except Usage:
            found = None
        if found is None:
            raise Bad("use a size such as 500kB, 50MB or 1GB")
        if found < least:
            raise Bad(f"use at least {size_words(least)}")
        return found

    return convert


def some_of(choices: "Sequence[str]") -> "Convert":
    """Makes the converter of a list of some of these words, each once."""

    def convert(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(word in choices for word in value):
            raise Bad("use a list of some of " + ", ".join(choices))
        return tuple(dict.fromkeys(value))

    return convert


def names(value: object) -> tuple[str, ...]:
    """A list of names of environment variables, each once."""
    if not isinstance(value, list) or not all(_is_variable(name) for name in value):
        raise Bad('use a list of names of variables, such as ["GITHUB_TOKEN"]')
    return tuple(dict.fromkeys(value))


def hours(value: object) -> tuple[str, str] | None:
    """A daily stretch of local time as ("22:00", "07:00"); None for "none"."""
    word = _word(value)
    if word == "none":
        return None
    begin, _, end = word.partition("-")
    found = _time_of_day(begin), _time_of_day(end)
    if not (found[0] and found[1]) or found[0] == found[1]:
        raise Bad("use hours such as 22:00-07:00, or none")
    return found


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    """A finite number, also one in quotes; TOML's booleans, nan and inf are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _seconds(value: object) -> float | None:
    number = _number(value)
    if number is not None:
        return number
    if not isinstance(value, str):
        return None
    if _word(value) == "0s":
        return 0.0  # a duration of nothing is no duration on a command line, but here it turns a wait off
    try:
        return parse_duration(value)
    except Usage:
        return None


def _time_of_day(text: str) -> str:
    hour, colon, minute = text.strip().partition(":")
    digits = hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit() and len(minute) == 2
    return f"{int(hour):02}:{minute}" if colon and digits and int(hour) < 24 and int(minute) < 60 else ""


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and bool(name) and not set(name) & set("=, \"'")


# --- how a value is written -----------------------------------------------------------------------------------------------


def as_toml(value: object) -> str:
    """A value as it stands in the file, for the kinds of values there are here."""
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_words(value: object) -> str:
    """A value as people type it: no quotes, a list with commas. ``from_words`` reads it back."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def from_words(text: str, like: object) -> object:
    """The TOML value that was typed; ``like`` is the key's default, which tells a list from the rest. As in the file will do."""
    word = text.strip()
    if isinstance(like, list):
        inner = word[1:-1] if word.startswith("[") and word.endswith("]") else word
        parts = (_unquoted(part) for part in inner.split(","))
        return [part for part in parts if part]
    word = _unquoted(word)
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _unquoted(text: str) -> str:
    word = text.strip()
    quoted = len(word) >= 2 and word[0] == word[-1] and word[0] in "\"'"
    return word[1:-1] if quoted else word
