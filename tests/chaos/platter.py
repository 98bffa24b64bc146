"""What a disk may hold after a power cut, out of a recording (strace) of all that was written, synced and named.

As strict as POSIX allows: what was written to a file is there for certain once the file was synced, a name in a folder once the
folder was. Of what was not synced anything may be there: nothing, all, or some of the writes.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from recording import Operation

Keep = Callable[[], bool]
"""Whether a write that was not synced has reached the disk all the same."""


class File:
    """One file: what is on the disk for certain, and what may be."""

    def __init__(self) -> None:
        self.durable = bytearray()
        self.pending: list[Operation] = []
        self.position = 0

    def write(self, operation: Operation) -> None:
        """Take a write; one without a place goes behind the one before it, as all ours do."""
        if operation.kind == "append":
            operation = operation._replace(kind="write", at=self.position)
            self.position = operation.end
        elif operation.kind == "truncate":
            self.position = min(self.position, operation.at)
        self.pending.append(operation)

    def sync(self) -> None:
        """All of it is durable."""
        for operation in self.pending:
            apply(self.durable, operation)
        self.pending = []

    def after_cut(self, keep: Keep) -> bytes:
        """The content that is found later."""
        content = bytearray(self.durable)
        for operation in self.pending:
            if keep():
                apply(content, operation)
        return bytes(content)


def apply(content: bytearray, operation: Operation) -> None:
    """Do to the content what the operation does."""
    if operation.kind == "truncate":
        del content[operation.at :]
    missing = operation.end - len(content)
    content.extend(bytes(max(0, missing)))
    if operation.kind == "write":
        content[operation.at : operation.end] = operation.data


class Disk:
    """A folder's files as the operations go by. A folder is a name with None behind it."""

    def __init__(self) -> None:
        self._now: dict[str, File | None] = {}
        self._durable: dict[str, File | None] = {}
        self._pending: dict[str, list[tuple[str, str, File | None]]] = {}

    def take(self, operation: Operation) -> None:
        """One more."""
        match operation.kind:
            case "make" | "mkdir":
                if operation.path not in self._now:
                    self._name("add", operation.path, None if operation.kind == "mkdir" else File())
            case "unlink":
                self._name("remove", operation.path, self._now.get(operation.path))
            case "rename":
                moved = self._now.get(operation.path)
                self._name("remove", operation.path, moved)
                self._name("add", operation.data.decode(), moved)
            case "sync":
                self._sync(operation.path)
            case "write" | "append" | "truncate" | "allocate":
                file = self._now.get(operation.path)
                if file is not None:
                    file.write(operation)

    def _name(self, what: str, path: str, file: File | None) -> None:
        self._pending.setdefault(os.path.dirname(path), []).append((what, path, file))
        rename(self._now, what, path, file)

    def _sync(self, path: str) -> None:
        file = self._now.get(path)
        if file is not None:
            file.sync()
        for change in self._pending.pop(path, []):
            rename(self._durable, *change)

    def after_cut(self, keep: Keep) -> dict[str, bytes | None]:
        """What is found later, by path. Names reach a folder in their order."""
        names = dict(self._durable)
        for changes in self._pending.values():
            for change in changes:
                if not keep():
                    break
                rename(names, *change)
        reachable = (path for path in names if all(parent in names for parent in parents(path, self._now)))
        return {path: None if (file := names[path]) is None else file.after_cut(keep) for path in reachable}


def rename(names: dict[str, File | None], what: str, path: str, file: File | None) -> None:
    """Add or remove one name."""
    if what == "add":
        names[path] = file
    else:
        names.pop(path, None)


def parents(path: str, known: dict[str, File | None]) -> Iterator[str]:
    """The folders above a path that were made while we looked."""
    return (str(parent) for parent in Path(path).parents if str(parent) in known)


def restore(image: dict[str, bytes | None], folder: Path) -> None:
    """Write what is found of this folder."""
    for path in sorted(path for path in image if Path(path) == folder or folder in Path(path).parents):
        content = image[path]
        if content is None:
            Path(path).mkdir(mode=0o700, exist_ok=True)
        else:
            Path(path).write_bytes(content)
