"""Where a key stands in the text of a TOML file. tomllib tells values but no places, so the places are found by asking it. Pure.

A line that looks like the key's begins its statement when the text up to where it is whole TOML has the key: this holds beside
texts and lists over several lines too, without a second parser that could be of another opinion.
"""

import re

LONGEST = 200
"""Lines of one statement: each is a parse of all before it, and this may happen on the runner's thread."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def loads(text: str) -> "dict[str, Any]":
    """What the text says. Raises ``ValueError`` (usually ``TOMLDecodeError``) when it is not TOML."""
    import tomllib  # 6 to 11 ms that a file of comments doesn't pay

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError):  # Python's own limits
        raise ValueError("a number has too many digits, or brackets are nested too deep") from None


def says_nothing(text: str) -> bool:
    """Whether there is nothing but comments in it, as in the file that slothtray writes itself."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n"))


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends one, as TOML says; Python's ``splitlines`` knows more."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]] * (not text.endswith("\n"))


def find(lines: list[str], key: str, *, section: bool = False) -> tuple[int, int] | None:
    """The lines [first, end) in which the key gets its value at the top level; None when it gets none.

    ``lines`` with their ends. With ``section`` a header ``[key]`` is found too. A statement without an end counts as one line.
    """
    name = re.escape(key)
    opening = r"[\[\s]*" if section else r"\s*"
    begins = re.compile(rf"""{opening}(?:{name}|"{name}"|'{name}')\s*[=.\]]""")
    for first, line in enumerate(lines):
        if begins.match(line):
            ends = range(first + 1, min(len(lines), first + LONGEST) + 1)
            end = next((end for end in ends if _whole(lines[:end]) is not None), None)
            if end is None:
                return first, first + 1
            if key in (_whole(lines[:end]) or {}):  # else it is inside a text, or in a section
                return first, end
    return None


def comment_of(statement: str) -> str:
    """The comment at the end of a statement, with the blanks before it; "" when there is none."""
    for place, character in enumerate(statement):
        if character == "#" and _whole([statement[:place]]):
            body = statement[:place].rstrip(" \t")
            return statement[len(body) :].rstrip("\r\n")
    return ""


def _whole(lines: list[str]) -> "dict[str, Any] | None":
    """What these lines say; None when they are not whole TOML."""
    try:
        return loads("".join(lines))
    except ValueError:
        return None
