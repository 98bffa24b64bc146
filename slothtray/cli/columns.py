"""Texts in columns, measured as a terminal draws them: East Asian wide characters and emoji take two cells, marks none. Pure."""

import unicodedata

from slothtray.text import ELLIPSIS

_SHAPELESS = {"Mn", "Me", "Cf"}
_EMOJI_STYLE = "\ufe0f"


def width(text: str) -> int:
    """How many cells a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.category(character) in _SHAPELESS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, cells: int) -> str:
    """The text, cut to at most so many cells; the last of them is … when something was cut."""
    if width(text) <= cells:
        return text
    used, kept = 0, []
    for character in text:
        used += _cells(character)
        if used > cells - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip(f" \u200c\u200d\ufe0e{_EMOJI_STYLE}") + ELLIPSIS[:cells]


def pad(text: str, cells: int) -> str:
    """The text with blanks after it, so many cells wide."""
    return text + " " * (cells - width(text))
