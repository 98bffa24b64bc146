"""One mutant for each rule that matters: the protocol without that rule. The promise it breaks shows what the rule is for."""

from collections.abc import Iterator

from app_steps import Steps
from protocol import Protocol
from rules import Limits
from supervisor_steps import RunStep
from world import App, Cancel, Row, Run, Seen, Step, World

from slothtray.states import State

USUAL = Limits(attempts=1, unstarted=1, interruptions=2)
"""Two runs, the second after an interruption."""
SMALL = Limits(attempts=1, unstarted=1, interruptions=1)
"""For those that are found only when all states are known."""


class Mutant(Protocol):
    """``breaks``: the promise that goes with the rule."""

    breaks = ""
    within = USUAL


class BrokenInstallation(Protocol):
    """No mutant: no supervisor gets as far as its S, so every attempt is unstarted."""

    broken_install = True


# --- the lock -------------------------------------------------------------------------------------------------------------------


class IgnoresTheLock(Mutant):
    """A row that says running and has no result is taken for lost."""

    breaks = "a run was swept under its living supervisor"

    def gather(self, world: World) -> Step:
        step = super().gather(world)
        return step._replace(to=self._at(step.to, "probed", held=False))


class UnlocksItsCopy(Mutant):
    """LOCK_UN before the close: that frees the supervisor's lock too."""

    breaks = "a run was swept under its living supervisor"

    def own_copy_closed(self, world: World, run: Run) -> Step:
        return super().own_copy_closed(world._replace(run=run._replace(freed=True)), run)


class SupervisorLocksItself(Mutant):
    """The lock is not inherited: the supervisor takes it once it has read its spec."""

    breaks = "a run was swept under its living supervisor"

    def supervisor_has_lock(self, run: Run) -> bool:
        return run.supervisor not in ("", "born")


class JobInheritsTheRecord(Mutant):
    """The record is not close-on-exec in the supervisor: the job, too, is taken for it."""

    breaks = "a stranger was signalled"

    def job_has_lock(self, run: Run) -> bool:
        return run.main in ("forked", "live") or run.kid != ""


class ReadsBeforeItAsks(Mutant):
    """The record is read first and the lock asked afterwards: the end may come in between."""

    breaks = "called unstarted though it had started"

    def gather(self, world: World) -> Step:
        run, opened = world.run, self.open_for_look(world.run)
        seen = (run.written, run.result) if run is not None and opened else None
        read = self._at(world, "probed", opened=opened, seen=seen, cancel_seen=world.row.cancel_requested)
        return Step("app: gather, records.read", read)

    def read(self, world: World) -> World:
        app = world.app
        assert app is not None
        held = app.opened and not app.elsewhere and self.is_locked(world, world.run)
        return self.judged(self._at(world, "probed", held=held), app.seen)


# --- claim, record, start -----------------------------------------------------------------------------------------------------------


class ClaimsAfterTheFork(Mutant):
    """The job is started, then the row says so."""

    breaks = "started although it is cancelled"

    def take(self, world: World) -> Steps:
        if world.app is not None and world.app.at == "select":
            begun = self.claimed(world, "unclaimed")
            run = Run(name="durable", supervisor="born", spec="sent")
            yield Step("app: launch, before the claim", begun._replace(row=world.row, run=run))

    def launch(self, world: World, app: App) -> Steps:
        if app.at != "unclaimed":
            yield from super().launch(world, app)
            return
        row = world.row._replace(state=State.RUNNING, same_boot=True)
        yield Step("app: claim.take", world._replace(row=row, app=App(attempt="watching")), event="claimed")


class ClaimIsNotDurable(Mutant):
    """A power cut may take the claim back."""

    breaks = "started again without a word"

    def after_power_cut(self, world: World) -> Iterator[World]:
        yield from super().after_power_cut(world)
        if world.row.state is State.RUNNING and not world.row.cancel_requested:
            yield world._replace(row=world.row._replace(state=State.PENDING), run=None, stale=None, app=None, cli=None)


class ClaimsInABackoff(Mutant):
    """not_before is not looked at."""

    breaks = "started before its backoff was over"
    within = Limits(attempts=1)

    def is_due(self, row: Row) -> bool:
        return True


class RecordAfterTheFork(Mutant):
    """The supervisor is there before its record."""

    breaks = "held though its record was never removed"

    def launch(self, world: World, app: App) -> Steps:
        run = world.run
        assert run is not None
        if app.at == "claimed":
            yield Step("app: Popen", self._at(world, "forked")._replace(run=run._replace(supervisor="born")))
        elif app.at == "forked":
            made = run._replace(name="durable")
            yield Step("app: records.create", world._replace(run=made, app=App(attempt="watching")))
        else:
            yield from super().launch(world, app)


class RecordIsNotSynced(Mutant):
    """The record's name is not made durable: after a power cut its result is in no folder."""

    breaks = "the result was there and was not used"

    def record_synced(self, run: Run) -> Run:
        return run


class SAfterTheFork(Mutant):
    """A supervisor killed between the two leaves a job, and a record that says it was never started."""

    breaks = "called unstarted though it had started"

    def begin(self, run: Run) -> RunStep:
        if run.supervisor == "told":
            return "supervisor: os.fork", run._replace(supervisor="S", main="forked"), True
        if run.supervisor == "S":
            return "supervisor: record.line S", self.line(run, "S", "forked"), True
        return super().begin(run)


# --- the result ---------------------------------------------------------------------------------------------------------------------


class XIsNotSynced(Mutant):
    """The supervisor ends with its result in memory only."""

    breaks = "the result was there and was not used"

    def sync(self, run: Run) -> RunStep:
        return "supervisor: no sync", run._replace(supervisor="synced"), True


class XBeforeTheTreeIsEmpty(Mutant):
    """X is written when the first process is over, whatever it left."""

    breaks = "over, with something of it alive"

    def is_empty(self, run: Run) -> bool:
        return run.main not in ("live", "forked")


class WaiterReadsByName(Mutant):
    """The waiter opens the record again by its path, which somebody may have removed."""

    breaks = "the result was there and was not used"

    def waited(self, run: Run) -> Seen | None:
        return super().waited(run) if self.open_for_look(run) else None


class AnyZeroIsDone(Mutant):
    """The code alone decides, though the job had been told to end."""

    breaks = "done, though it did not end by itself with 0"
    exchanges = (("policy", 'if result.why == "exit" and result.code == 0:', "if result.code == 0:"),)


# --- the verdict's order ----------------------------------------------------------------------------------------------------------

RESULT_FIRST = """    if record is not None and record.result is not None:
        return Verdict.RECORD
"""
BOOT = """    if not evidence.same_boot:
        return Verdict.RECLAIM
"""


class SweepsBeforeItReadsX(Mutant):
    """What has started is swept, result or not."""

    breaks = "the result was there and was not used"
    exchanges = (("policy", RESULT_FIRST, ""),)


class BootBeforeResult(Mutant):
    """Another boot, so reclaimed: though the result is on the disk."""

    breaks = "the result was there and was not used"
    exchanges = (("policy", RESULT_FIRST + BOOT, BOOT + RESULT_FIRST),)


class AnyBootIsThisOne(Mutant):
    """A record of another boot is judged as if its pids meant anything."""

    breaks = "a stranger was killed by a pid of another boot"
    exchanges = (("policy", BOOT, ""),)


class AnyMachineIsThisOne(Mutant):
    """A folder on two machines: no lock is seen from the other one."""

    breaks = "started although it is cancelled"
    exchanges = (("policy", "if not evidence.same_machine:", "if False:"),)


class NoRecordIsUnstarted(Mutant):
    """A missing record is taken for one that was never made."""

    breaks = "called unstarted though it had started"
    exchanges = (("policy", "return Verdict.SWEEP_COOKIE", "return Verdict.UNSTARTED"),)


class UnstartedIsStarted(Mutant):
    """A supervisor that never began costs the job an attempt."""

    breaks = "an attempt was counted that never began"
    exchanges = (("policy", "return Verdict.UNSTARTED if record.started is None else Verdict.SWEEP", "return Verdict.SWEEP"),)


class UnstartedIsNotTakenBack(Mutant):
    """The attempt that the claim had counted stays counted."""

    breaks = "the attempts are counted wrong"
    exchanges = (("policy", '"attempts": job.attempts - 1', '"attempts": job.attempts'),)


class NeverHeldForNotStarting(Mutant):
    """An installation that is broken is tried for ever."""

    breaks = "it never comes to an end"
    within = SMALL
    broken_install = True
    exchanges = (("policy", "if count >= UNSTARTED_LIMIT:", "if False:"),)


class OnceIsForgotten(Mutant):
    """A job that may run only once is interrupted and queued again."""

    breaks = "queued again though it may run only once"
    within = Limits(once=True, attempts=1, unstarted=1)
    exchanges = (("policy", "if job.once:", "if False:"),)


# --- the sweep ------------------------------------------------------------------------------------------------------------------


class NoSweep(Mutant):
    """Its supervisor is dead, so it is taken to be dead as well."""

    breaks = "two live copies"

    def sweep(self, world: World, verdict: str) -> Step:
        return Step("app: no sweep", self._at(world, "swept")) if verdict == "SWEEP" else super().sweep(world, verdict)


class NoLookForOrphans(Mutant):
    """What carries neither cookie nor session is taken not to be there."""

    breaks = "two live copies"

    def suspects(self, run: Run) -> bool:
        return False


class CookieIsNoProof(Mutant):
    """The record is gone and processes with its cookie are there: queued again all the same."""

    breaks = "started although it is cancelled"
    exchanges = (("settle", "    if found:\n", "    if False:\n"),)


# --- cancel -----------------------------------------------------------------------------------------------------------------------


class CancelWithoutTheLock(Mutant):
    """The pid in the record is signalled whoever has it now."""

    breaks = "a stranger was signalled"

    def cancel_may_signal(self, world: World, run: Run) -> bool:
        return True


class CancelWithoutAPin(Mutant):
    """The lock is asked, then the pid is signalled: its holder may have ended in between."""

    breaks = "a stranger was signalled"

    def is_before_pin(self, cli: Cancel) -> bool:
        return True

    def pin(self, world: World, cli: Cancel, run: Run, *, gone: bool) -> Steps:
        if "J" in run.written and self.is_locked(world, run):
            yield Step("cancel: is_locked, held", world._replace(cli=cli._replace(at="checked")))

    def signal(self, world: World, cli: Cancel, run: Run, *, gone: bool) -> Step:
        return super().signal(world, cli._replace(pinned="stranger" if cli.reused else "supervisor"), run, gone=gone)


class CancelIsOverlooked(Mutant):
    """What was asked for after the row was read is not read again."""

    breaks = "pending although it was cancelled"
    exchanges = (("policy", "if change.to not in (State.PENDING, State.HELD):", "if True:"),)


class RetryIgnoresCancel(Mutant):
    """A failed attempt is followed by the next, cancelled or not."""

    breaks = "pending although it was cancelled"
    within = Limits(attempts=2, unstarted=1, interruptions=1)
    exchanges = (
        ("policy", "    if job.cancel_requested:\n        return Change(State.CANCELLED, \"cancelled\", words, columns)\n", ""),
        ("policy", "if change.to not in (State.PENDING, State.HELD):", 'if change.kind == "retry" or change.to not in (State.PENDING, State.HELD):'),
    )


class CancelIsNotPassedOn(Mutant):
    """A cancel that came before J is left to the command line, which gives up after 2 s."""

    breaks = "the cancel is never carried out"
    within = SMALL

    def watch(self, world: World, app: App, run: Run) -> Steps:
        yield from (step for step in super().watch(world, app, run) if step.label != "app: attempt.cancel")


MUTANTS = Mutant.__subclasses__()
