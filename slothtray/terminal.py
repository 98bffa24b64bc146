"""What a job wrote, made harmless for a terminal: only colours come through (DESIGN 12). Pure; works in pieces of any size."""

import codecs
import re
from collections.abc import Iterator

_ESCAPES = re.compile(
    "\x1b\\[[0-9:;<=>?]*[ -/]*[@-~]"  # CSI: moves, clears, modes, colours
    "|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS, SOS, PM, APC: titles, clipboards, links
    "|\x1b[ -/]*[0-~]"  # two or three characters
)
_COLOUR = re.compile("\x1b\\[[0-9;:]*m")
_UNFINISHED = re.compile("\x1b(?:\\[[0-9:;<=>?]*[ -/]*|[\\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)?$")
_LONGEST = 4096
"""Characters after which a sequence that doesn't end is none."""
_KEPT = "\n\t"


class TerminalFilter:
    """Feeds on bytes, gives text. A sequence or a character that is cut in two by a piece's end waits for the next piece."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        self._return = False

    def feed(self, data: bytes, *, last: bool = False) -> str:
        """The text of this piece that is complete; with ``last`` all that is left."""
        text = self._rest + self._decoder.decode(data, final=last)
        self._rest = ""
        unfinished = None if last else _UNFINISHED.search(text)
        if unfinished is not None and len(unfinished[0]) < _LONGEST:
            text, self._rest = text[: unfinished.start()], unfinished[0]
        return self._plain(text)

    def _plain(self, text: str) -> str:
        """Drop control characters but colours; a lone carriage return, which would overwrite what was read, starts a line."""
        out: list[str] = []
        done = 0
        for escape in _ESCAPES.finditer(text):
            out += self._harmless(text[done : escape.start()])
            if _COLOUR.fullmatch(escape[0]):
                out.append(escape[0])
            done = escape.end()
        out += self._harmless(text[done:])
        return "".join(out)

    def _harmless(self, text: str) -> Iterator[str]:
        for character in text:
            if self._return and character != "\n":
                yield "\n"
            self._return = character == "\r"
            if character in _KEPT or character.isprintable():
                yield character
