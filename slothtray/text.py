"""Text as it may be shown: one clean line of whatever a command or a clipboard holds, and durations in words. Pure.

Nothing is shown anywhere (list, menu, tooltip, notification) that has not been through ``clean``. It answers for what
the reader sees being what is there: no escape sequence reaches the terminal, no bidi override makes ``gpj.sh`` of ``hs.jpg``.
"""

ELLIPSIS = "…"
LINE_BREAK = "↵"
UNREADABLE = "\ufffd"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # kept: emoji and several scripts need them; never left dangling at a cut


def _table() -> dict[int, str]:
    """What ``str.translate`` puts for each character that may not be shown as it is."""
    table = {code: chr(0x2400 + code) for code in range(0x20)}  # ESC is shown as ␛: seen, and harmless
    table[0x7F] = "\u2421"
    table.update(dict.fromkeys(range(0x80, 0xA0), UNREADABLE))  # C1: some terminals obey them
    table.update(dict.fromkeys(map(ord, "\t\xa0"), " "))
    table.update(dict.fromkeys(map(ord, "\n\v\f\x85\u2028\u2029"), f" {LINE_BREAK} "))
    table.update(dict.fromkeys(range(0xD800, 0xE000), UNREADABLE))  # lone surrogates: bytes that were no UTF-8
    table.update(dict.fromkeys((0xFFFE, 0xFFFF), UNREADABLE))
    for first, last in _INVISIBLE:
        table.update(dict.fromkeys(range(first, last + 1), ""))
    return table


_INVISIBLE = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers, which look like nothing
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian selectors and vowel separator
    (0x200B, 0x200B),  # zero width space
    (0x200E, 0x200F),  # left-to-right and right-to-left mark
    (0x202A, 0x202E),  # bidi embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, bidi isolates, deprecated controls
    (0x3164, 0x3164),  # Hangul filler
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),  # half-width Hangul filler
    (0xFFF9, 0xFFFB),  # interlinear annotations
    (0xE0000, 0xE0FFF),  # tags and further selectors: text that no one sees
)
_TABLE: dict[int, str] = {}


def clean(text: str, limit: int | None = None) -> str:
    """``text`` on one line, safe to show: at most ``limit`` characters, the last of them … when something was cut.

    Line breaks become ↵ (at either end they go), tabs and runs of blanks one space, other control characters their picture
    (ESC is ␛), bytes that were no text �; bidi controls and other invisible characters are dropped. Plain ASCII costs 0.5 µs.
    """
    if not (text.isascii() and text.isprintable()):
        text = text.replace("\r\n", "\n").translate(_TABLE or _fill())
    line = " ".join(text.split()).strip(" " + LINE_BREAK)
    if limit is None or len(line) <= limit:
        return line
    return line[: max(limit - 1, 0)].rstrip(" " + _JOINERS) + ELLIPSIS[:limit]


def _fill() -> dict[int, str]:
    """The table, made when the first text needs it: 1 ms that ``add`` of a plain command does not pay."""
    _TABLE.update(_table())
    return _TABLE


def duration_words(seconds: float) -> str:
    """A duration for people: "0.4 s", "12 s", "2 min", "1 h 5 min", "3 d". A second unit only while the first is below ten.

    Below zero counts as 0; infinity is "forever". The rest is dropped, never rounded up: after 59.9 s a minute has not passed.
    """
    if seconds == float("inf"):
        return "forever"
    if not seconds > 0:  # NaN too
        return "0 s"
    if seconds < 10:
        return f"{int(seconds * 10) / 10:g} s"
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    whole = int(seconds)
    place = next(i for i, (size, _) in enumerate(units) if whole >= size)
    size, name = units[place]
    count, rest = divmod(whole, size)
    words = f"{count} {name}"
    if count < 10 and place + 1 < len(units):
        size, name = units[place + 1]
        if rest >= size:
            words += f" {rest // size} {name}"
    return words


def size_words(size: float) -> str:
    """Bytes for people: "0 B", "12 kB", "1.5 GB"; powers of a thousand, as disks are sold."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def id_ranges(ids: "Sequence[int]") -> str:
    """Job ids as people type them: "3-5, 9"."""
    found: list[list[int]] = []
    for number in sorted(ids):
        if found and found[-1][-1] == number - 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("-".join(map(str, one)) for one in found)
