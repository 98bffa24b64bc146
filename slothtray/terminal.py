"""What a job wrote, made harmless for a terminal: only colours come through (DESIGN 12). Pure; works in pieces of any size."""

import codecs
import re
import unicodedata

LONGEST = 4096
"""Characters after which a title or another text in an escape sequence that doesn't end is none: it is shown, not swallowed."""
_TEXT = f"[^\x07\x1b\x9c\r\n]{{0,{LONGEST}}}"
_CSI = "\\[[0-?]{0,256}[ -/]{0,16}"
_OTHER = "[ -/]{0,16}"
_ESCAPES = re.compile(
    f"\x1b{_CSI}[@-~]"  # moves, clears, modes, colours
    f"|\x1b[\\]PX^_]{_TEXT}(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS, SOS, PM, APC: titles, clipboards, links
    f"|\x1b{_OTHER}[0-~]"  # two or three characters
    "|\x1b"  # alone
)
_UNFINISHED = re.compile(f"\x1b(?:{_CSI}|[\\]PX^_]{_TEXT}\x1b?|{_OTHER})\\Z")
_COLOUR = "\x1b\\[[0-9;:]*m"
_IS_COLOUR = re.compile(_COLOUR)
_RETURN = re.compile(f"\r((?:\r|{_COLOUR})*)\n?")
_OPEN_RETURN = re.compile(f"\r(?:\r|{_COLOUR})*\\Z")
_KEPT = "\n\t\r\x1b\u200c\u200d"  # the escape of a colour; joiners, which emoji and several scripts need


class _Shown(dict[int, str | None]):
    """For ``str.translate``: characters that do nothing but show, and blanks of any width; asked once for each."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        shown = character.isprintable() or character in _KEPT or unicodedata.category(character) == "Zs"
        self[code] = character if shown else None
        return self[code]


_SHOWN = _Shown()


class TerminalFilter:
    """Feeds on bytes, gives text; what a piece's end cuts in two waits for the next piece.

    Without ``colours`` none come through.
    """

    def __init__(self, *, colours: bool = True) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._colours = colours
        self._sequence = ""
        """The beginning of an escape sequence."""
        self._return = ""
        """A carriage return that may belong to a line feed."""

    def feed(self, data: bytes, *, last: bool = False) -> str:
        """The text of this piece that is complete; with ``last`` all that is left."""
        text = self._sequence + self._decoder.decode(data, final=last)
        text, self._sequence = _cut(text, None if last else _UNFINISHED.search(text, max(0, len(text) - LONGEST - 4)))
        text = self._return + _ESCAPES.sub(self._colour, text).translate(_SHOWN)
        text, self._return = _cut(text, None if last else _OPEN_RETURN.search(text))
        # A carriage return alone would let what follows overwrite what was read: it begins a line.
        return _RETURN.sub(lambda found: "\n" + found[1].replace("\r", ""), text)

    def _colour(self, escape: re.Match[str]) -> str:
        return escape[0] if self._colours and _IS_COLOUR.fullmatch(escape[0]) else ""


def _cut(text: str, rest: re.Match[str] | None) -> tuple[str, str]:
    return (text, "") if rest is None else (text[: rest.start()], text[rest.start() :])
