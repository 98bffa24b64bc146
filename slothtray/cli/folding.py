"""A progress bar on one line: of its states, each of which overwrites the like with a carriage return, the last is shown. Pure."""

import re
from collections.abc import Iterable, Iterator

LONGEST = 1 << 16
"""Bytes after which a line is shown as far as it has come."""
_END = re.compile(rb"\r+\n|\r+|\n")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_NO_LETTERS = re.compile(r"[\W\d_]+")


def folded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What is to be shown of a log that comes in pieces. A text that another one overwrites is shown, too: only the like goes."""
    state = rest = b""
    for piece in pieces:
        rest += piece
        if not state and b"\r" not in rest:
            shown, feed, rest = rest.rpartition(b"\n")
            shown += feed
        else:
            shown, state, rest = _fold(state, rest)
        if len(rest) > LONGEST:
            shown, state, rest = shown + state + rest, b"", b""
        yield shown
    yield rest if rest and alike(state, rest) else state + rest


def _fold(state: bytes, text: bytes) -> tuple[bytes, bytes, bytes]:
    """What of this can be shown now, the state that may still be overwritten, and the rest that isn't complete."""
    shown, done = [], 0
    for found in _END.finditer(text):
        line = text[done : found.end()]
        if found.end() == len(text) and line.endswith(b"\r"):
            break  # a line feed may follow
        done = found.end()
        if state and not alike(state, line):
            shown.append(state)
        state = b""
        if line.endswith(b"\n"):
            shown.append(line)
        else:
            state = line
    return b"".join(shown), state, text[done:]


def alike(one: bytes, other: bytes) -> bool:
    """Whether two states have the same letters, in whatever colours: numbers, bars and spinners are what changes."""
    return _letters(one) == _letters(other)


def _letters(state: bytes) -> str:
    return _NO_LETTERS.sub("", _ESCAPES.sub("", state.decode(errors="replace")))
