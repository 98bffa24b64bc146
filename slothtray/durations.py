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


def parse_age(text: str) -> float:
    """A duration that may be nothing: ``0``. Raises ``Usage``."""
    return 0.0 if text.strip().lower() in ("0", "0s") else parse_duration(text)


def parse_limit(text: str) -> float:
    """A duration, or infinity for ``none``. Raises ``Usage``."""
    return float("inf") if text.strip().lower() == "none" else parse_duration(text)


def _number(digits: str, text: str) -> float:
    try:
        return float(digits)
    except ValueError:
        raise _no_duration(text) from None


def _no_duration(text: str) -> Usage:
    return Usage(f"{text!r} is not a duration", "use one such as 90, 90s, 5m, 2h or 1d")


def parse_id(word: str) -> int:
    """One job id. Raises ``Usage``."""
    found = parse_ids([word])
    if len(found) != 1:
        raise Usage(f"{word!r} are several jobs", "this takes one")
    return found[0]


def parse_ids(words: "list[str]") -> list[int]:
    """Job ids out of ``7``, ``3,5`` and ``12-15``, in their order, each once. Raises ``Usage``."""
    found: dict[int, None] = {}
    for word in words:
        for part in word.split(","):
            first, dash, last = part.partition("-")
            if len(part) > 40 or not (first.isdecimal() and (last.isdecimal() if dash else not last)):
                raise Usage(f"{word!r} is not a job id", "use a number such as 7, or a range such as 12-15")
            if dash and int(last) < int(first):
                raise Usage(f"{part!r} is no range", f"did you mean {last}-{first}?")
            if int(last or first) - int(first) > 100_000 or int(last or first) > 2**62:
                raise Usage(f"{part!r} are too many jobs at once")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(found)


def parse_moment(text: str, now: float) -> float:
    """Wall time of ``HH:MM`` (the next one, local) or of an ISO 8601 date and time (local by default). ``Usage`` if past."""
    import datetime as dt

    word = text.strip()
    current = dt.datetime.fromtimestamp(now).astimezone()
    try:
        if len(word) <= len("HH:MM:SS") and ":" in word:
            moment = dt.datetime.combine(current.date(), dt.time.fromisoformat(word.zfill(5))).astimezone()
            if moment <= current:
                moment = dt.datetime.combine(current.date() + dt.timedelta(days=1), moment.time()).astimezone()
        else:
            moment = dt.datetime.fromisoformat(word).astimezone()
    except (ValueError, OverflowError, OSError):
        raise Usage(f"{text!r} is not a time", "use HH:MM, or a date and time such as 2027-01-31T06:30") from None
    if moment <= current:
        raise Usage(f"{text!r} is over already", "use a time to come")
    return moment.timestamp()


SIZE_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def parse_size(text: str) -> int:
    """Bytes of ``500``, ``50MB``, ``1.5G``. Raises ``Usage``."""
    word = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = word[-1:] if word[-1:] in ("k", "m", "g") else ""
    try:
        value = float(word.removesuffix(unit) if unit else word) * SIZE_UNITS[unit]
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise Usage(f"{text!r} is not a size", "use one such as 500k, 50MB or 1G")
    return int(value)
