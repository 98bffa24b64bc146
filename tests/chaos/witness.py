"""What the jobs of a campaign have said of themselves, in files of their working folder."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """A run's word: it has begun (S), or it is about to end (E)."""

    kind: str
    job: int
    run: str


class Witness:
    """Reads along while they write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = b""
        self._seen = 0
        (folder / "witness").touch()

    def lines(self) -> int:
        """How many lines there are by now."""
        with (self._folder / "witness").open("rb") as file:
            file.seek(len(self._read))
            self._read += file.read()
        return self._read.count(b"\n")

    def grown(self) -> bool:
        """Whether there are more than when this was asked the last time."""
        before, self._seen = self._seen, len(self._read)
        return self._seen > before

    def overlapped(self) -> bool:
        """Whether anything has met anything else alive."""
        return (self._folder / "overlaps").exists()

    def overlaps(self) -> list[str]:
        """What has met what."""
        return (self._folder / "overlaps").read_text().splitlines() if self.overlapped() else []

    def repeated(self) -> list[int]:
        """The jobs that have begun more than once."""
        began = Counter(line.job for line in self.words() if line.kind == "S")
        return [job for job, times in began.items() if times > 1]

    def ended(self) -> int:
        """How many jobs have come to their end."""
        return len({line.job for line in self.words() if line.kind == "E"})

    def words(self) -> list[Line]:
        """All lines, in the order in which they were written."""
        self.lines()
        rows = (line.split() for line in self._read.decode().splitlines())
        return [Line(kind, int(job), run) for kind, job, run in rows]
