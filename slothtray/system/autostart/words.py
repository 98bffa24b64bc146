"""The words of a command in a desktop entry and in a systemd unit: what both understand alike, else a refusal. Pure."""

import re
import shlex
from collections.abc import Sequence

from slothtray.errors import Refused

BAD = re.compile("[%\"'`$\\\\\0-\x1f\x7f]|[\ud800-\udfff]")
"""GLib, systemd and dex disagree about each of these in an Exec line, and a file of UTF-8 can't hold the last."""
_PLAIN = re.compile(r"[\w@+:,./-]+", re.ASCII)
_NAMES = {"%": "a % sign", '"': "a quote", "'": "a quote", "`": "a quote", "$": "a $ sign", "\\": "a backslash"}


def command_line(argv: Sequence[str]) -> str:
    """The words in one line, in double quotes where it takes them. Raises Refused, with the reason, where that can't be."""
    for word in argv:
        check(word)
    if "=" in argv[0]:
        raise Refused(f"slothtray can't be started at login from {argv[0]!r}: a program's path may have no = in it")
    return " ".join(word if _PLAIN.fullmatch(word) else f'"{word}"' for word in argv)


def check(word: str) -> None:
    """Raise Refused, with the reason, for what can't be put into such a file."""
    found = BAD.search(word)
    if found is not None:
        what = _NAMES.get(found[0], "a control character" if found[0] < "\x80" else "a byte that is no UTF-8")
        raise Refused(
            f"slothtray can't be started at login from {word!r}: it has {what} in it, which logins read differently",
            "install it, or put the queue folder, somewhere else",
        )


def words_of(line: str) -> tuple[str, ...]:
    """The words of such a line, also of one that a person has written; () when it makes no sense."""
    try:
        return tuple(shlex.split(line))
    except ValueError:
        return ()


def home_of(command: Sequence[str]) -> str | None:
    """The folder that ``--home`` names among the words; None for the person's own."""
    for word, after in zip(command, [*command[1:], ""], strict=True):
        if word.startswith("--home="):
            return word.partition("=")[2]
        if word == "--home":
            return after
    return None
