"""What the supervisor does (supervisor.py), and the job's own processes."""

from collections.abc import Iterator

from record_lock import RecordLock
from world import Run, lives

STARTS = "job: execs"
"""The step by which there is a copy of the job."""
RunStep = tuple[str, Run, bool]
"""Label, the run after it, fair."""


class SupervisorSteps(RecordLock):
    """Each method is one place of the code and has its name. ``broken_install``: it never gets as far as its S."""

    broken_install = False

    def supervisor(self, run: Run) -> Iterator[RunStep]:
        """One step of supervisor.py, or what befalls it."""
        at = run.supervisor
        if not at:
            return
        yield "KILL supervisor", run._replace(supervisor=""), False
        if not run.stop:
            yield "TERM supervisor", run._replace(stop=True), False
        if at == "born":
            yield from self.born(run)
        elif at in ("told", "S", "forked"):
            yield self.begin(run)
        elif at == "watching":
            yield from self.watching(run)
        elif at == "ending":
            yield self.kill_or_write(run)
        elif at == "X":
            yield self.sync(run)
        elif at == "synced":
            yield "supervisor: exits", run._replace(supervisor="", finished=True), True

    def born(self, run: Run) -> Iterator[RunStep]:
        """main, up to the spec: cut short, or told to stop by then, nothing was begun."""
        if run.stop or run.spec == "cut" or self.broken_install:
            yield "supervisor: ends without an S", run._replace(supervisor=""), True
        elif run.spec == "sent":
            yield "supervisor: read_spec", run._replace(supervisor="told"), True

    def begin(self, run: Run) -> RunStep:
        """No S on the disk, no start; J is what a cancel waits for."""
        if run.supervisor == "told":
            return "supervisor: record.line S", self.line(run, "S", "S"), True
        if run.supervisor == "S":
            return "supervisor: os.fork", run._replace(supervisor="forked", main="forked"), True
        return "supervisor: record.line J", self.line(run, "J", "watching"), True

    @staticmethod
    def line(run: Run, letter: str, at: str) -> Run:
        """Record.line: written, not synced."""
        return run._replace(written=run.written + letter, supervisor=at)

    def watching(self, run: Run) -> Iterator[RunStep]:
        """Attempt._over and _judge, in their order."""
        if run.main == "ok":
            yield "supervisor: X, exit", self.result_written(run._replace(ending="exit", kid="")), True  # a daemon may stay
        elif run.stop:
            yield "supervisor: _end, interrupted", run._replace(supervisor="ending", ending="interrupted"), True
        elif run.main in ("bad", "killed"):
            yield "supervisor: _end, exit", run._replace(supervisor="ending", ending="exit"), True
        elif run.cancel:
            yield "supervisor: _end, cancel", run._replace(supervisor="ending", ending="cancel"), True

    def kill_or_write(self, run: Run) -> RunStep:
        """As the subreaper it reaches all that was ever born of the job; X only after ECHILD."""
        if not self.is_empty(run):
            main = "killed" if run.main in ("live", "forked") else run.main
            return "supervisor: signal_tree", run._replace(main=main, kid=""), True
        return f"supervisor: X, {run.ending}", self.result_written(run), True

    def is_empty(self, run: Run) -> bool:
        """ECHILD."""
        return not lives(run) and run.main != "forked"

    def result_written(self, run: Run) -> Run:
        """Attempt._write_result."""
        code = {"ok": 0, "told ok": 0, "bad": 1}.get(run.main)
        return self.line(run, "X", "X")._replace(result=(run.ending, code))

    def sync(self, run: Run) -> RunStep:
        """Record.sync, before the lock is free."""
        return "supervisor: record.sync", run._replace(supervisor="synced", synced=len(run.written)), True

    # --- the job ------------------------------------------------------------------------------------------------------------------

    def job(self, run: Run) -> Iterator[RunStep]:
        """What the job's own processes do."""
        if run.main == "forked":
            yield STARTS, run._replace(main="live"), True
        if run.main == "live":
            told = run.supervisor == "ending"
            yield "job: ends with 0", run._replace(main="told ok" if told else "ok"), True
            yield "job: ends with 1", run._replace(main="bad"), True
            if not run.kid and not told:
                yield "job: leaves a child", run._replace(kid="child"), False
                if run.name != "removed":
                    yield "job: a process drops its cookie, session and group", run._replace(kid="escapee"), False
        if run.kid:
            yield "job: its other process ends", run._replace(kid=""), False
