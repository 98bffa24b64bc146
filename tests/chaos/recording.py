"""Every write, sync and change of a name that some programs do, in their order, as strace tells it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

CALLS = (
    "openat", "open", "creat", "write", "pwrite64", "ftruncate", "truncate", "fallocate", "fsync", "fdatasync",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat",
)  # fmt: skip
LINE = re.compile(r"(\d+) +(?:<\.\.\. \w+ resumed>)?(.*)")
CALL = re.compile(r"(\w+)\((.*)\) += (\d+)(?:<([^>]*)>)?")
UNFINISHED = " <unfinished ...>"


def recorder(log: Path) -> list[str]:
    """The words in front of a command that record it and all it starts."""
    calls = ",".join(CALLS)
    return ["strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "1000000", "-e", "signal=none", "-e", f"trace={calls}", "-o", str(log)]


OPENED = {"O_CREAT": "make", "O_TRUNC": "truncate"}
NAMED, BEHIND = "a name", "behind a descriptor"


class Operation(NamedTuple):
    """What a process did to a path: make, mkdir, write (at a place), append, truncate, allocate, sync, unlink, rename (to ``data``),
    or exit. ``at`` and ``size`` are in bytes.
    """

    kind: str
    path: str
    pid: int
    data: bytes = b""
    at: int = 0
    size: int = 0

    @property
    def end(self) -> int:
        """Where in the file it ends."""
        return self.at + max(len(self.data), self.size)


def operations(log: Path, folder: Path) -> list[Operation]:
    """Those that have to do with a folder, and the ends of all processes. A call counts when it has returned."""
    inside = f"{folder}/"
    return [one for one in parsed(log) if one.kind == "exit" or one.path.startswith(inside) or one.path == str(folder)]


def parsed(log: Path) -> Iterator[Operation]:
    """All of them."""
    begun: dict[str, str] = {}
    with log.open() as file:
        for line in file:
            found = LINE.match(line.rstrip("\n"))
            assert found, line
            pid, text = found.groups()
            if text.endswith(UNFINISHED):
                begun[pid] = text.removesuffix(UNFINISHED)
            elif text.startswith("+++"):
                yield Operation("exit", "", int(pid))
            else:
                yield from of_call(int(pid), (begun.pop(pid) + text) if "resumed>" in line else text)


def of_call(pid: int, text: str) -> list[Operation]:
    """What a finished call has done; nothing when it has failed."""
    found = CALL.match(text)
    if not found:
        return []
    name, arguments, _, returned = found.groups()
    words = arguments.split(", ")
    if name in ("openat", "open", "creat"):
        path = decoded(f"<{returned}>")
        kinds = [kind for flag, kind in OPENED.items() if flag in arguments or name == "creat"]
        return [Operation(kind, path, pid) for kind in kinds]
    kind, path_of, data, at, size = DONE[name]
    path = paths_of(words)[0] if path_of == NAMED else decoded(words[0])
    return [Operation(kind, path, pid, data(words), *(int(words[place]) if place else 0 for place in (at, size)))]


def paths_of(words: list[str]) -> list[str]:
    """The paths among a call's arguments: those in quotes."""
    return [decoded(word) for word in words if word.startswith('"')]


def decoded(word: str) -> str:
    """The text in quotes, or the path behind a descriptor."""
    return binary(word.partition("<")[2].partition(">")[0] if "<" in word else word).decode(errors="replace")


def binary(word: str) -> bytes:
    """The bytes that a word of strace's stands for."""
    digits = word.strip('"')
    return bytes.fromhex(digits.replace("\\x", "")) if digits.startswith("\\x") else b""


class Meaning(NamedTuple):
    """What a call does, to a path that is named or behind a descriptor; its data; which of its arguments are ``at`` and ``size``."""

    kind: str
    path: str
    data: Callable[[list[str]], bytes] = lambda _: b""
    at: int = 0
    size: int = 0


def written(words: list[str]) -> bytes:
    """The data of a write."""
    return binary(words[1])


def new_name(words: list[str]) -> bytes:
    """What it is renamed to."""
    return paths_of(words)[1].encode()


DONE = {
    "write": Meaning("append", BEHIND, written),
    "pwrite64": Meaning("write", BEHIND, written, at=3),
    "ftruncate": Meaning("truncate", BEHIND, at=1),
    "truncate": Meaning("truncate", NAMED, at=1),
    "fallocate": Meaning("allocate", BEHIND, at=2, size=3),
    "fsync": Meaning("sync", BEHIND),
    "fdatasync": Meaning("sync", BEHIND),
    **dict.fromkeys(("mkdir", "mkdirat"), Meaning("mkdir", NAMED)),
    **dict.fromkeys(("unlink", "unlinkat"), Meaning("unlink", NAMED)),
    **dict.fromkeys(("rename", "renameat", "renameat2"), Meaning("rename", NAMED, new_name)),
}
