"""How people write durations, times and ids on a command line. Pure; on `add`'s path."""

from slothtray.errors import Usage

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST = 100 * 365 * 86400.0


def parse_duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``5m``, ``2h``, ``1d`` or a row of them (``1h30m``). Raises ``Usage``; never 0 or less."""
    total, number, word = 0.0, "", text.strip().lower()
    if word.startswith("-"):
        raise Usage(f"{text!r} is a negative duration", "use one that is more than nothing, such as 90, 5m or 2h")
    for character in word + ("" if word[-1:].isalpha() else "s"):
        if character.isascii() and (character.isdigit() or character == "."):
            number += character
            continue
        total += _number(number, text) * UNITS.get(character, float("nan"))
        number = ""
    if total != total:  # noqa: PLR0124 - NaN: a unit that is none
        raise _no_duration(text)
    if total <= 0:
        raise Usage(f"{text!r} is no time at all", "use a duration that is more than nothing, such as 90, 5m or 2h")
    if total > LONGEST:
        raise Usage(f"{text!r} is longer than a hundred years")
    return total


def _number(digits: str, text: str) -> float:
    try:
        return float(digits)
    except ValueError:
        raise _no_duration(text) from None


def _no_duration(text: str) -> Usage:
    return Usage(f"{text!r} is not a duration", "use one such as 90, 90s, 5m, 2h or 1d")


def parse_ids(words: "list[str]") -> list[int]:
    """Job ids out of ``7``, ``3,5`` and ``12-15``, in their order, each once. Raises ``Usage``."""
    found: dict[int, None] = {}
    for word in words:
        for part in word.split(","):
            first, dash, last = part.partition("-")
            if not (first.isdecimal() and (last.isdecimal() if dash else not last)):
                raise Usage(f"{word!r} is not a job id", "use a number such as 7, or a range such as 12-15")
            if int(last or first) - int(first) > 100_000 or int(last or first) > 2**62:
                raise Usage(f"{word!r} are too many jobs at once")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(found)
