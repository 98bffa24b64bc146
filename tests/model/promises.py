"""The promises (DESIGN 1), checked at every step of the model."""

from protocol import Protocol
from supervisor_steps import STARTS
from world import Run, Step, World, began, lives

from slothtray.states import FINISHED, State

OVER = (*FINISHED, State.HELD)


def broken(protocol: Protocol, before: World, step: Step) -> str:
    """Which promise a step breaks; "" when none."""
    after = step.to
    if step.broken:
        return step.broken
    if lives(after.run) and lives(after.stale):
        return "two live copies"
    if step.label.endswith(STARTS):
        return _start(before)
    if step.event == "claimed":
        return _claim(before)
    if step.event and step.label.startswith("app:"):
        return _end(protocol, before, step)
    return ""


def _start(before: World) -> str:
    if before.unannounced:
        return "started again without a word"
    given_up = before.run is not None and before.run.given_up
    return f"started although it is {before.row.state}" if before.row.state in FINISHED and not given_up else ""


def _claim(before: World) -> str:
    if before.row.cancel_requested:
        return "to run again although it was cancelled"
    return "started before its backoff was over" if before.row.backoff else ""


def _end(protocol: Protocol, before: World, step: Step) -> str:
    """The runner takes the row out of running."""
    app, run, row = before.app, before.run, step.to.row
    assert app is not None
    assert run is not None
    by_result = app.verdict == "RECORD"
    # Only of a removed record that nobody had open is the result really gone.
    if run.finished and not by_result and not app.elsewhere and not (run.name == "removed" and not app.attempt):
        return "the result was there and was not used"
    if row.cancel_requested and row.state in (State.PENDING, State.HELD):
        return f"{row.state} although it was cancelled"
    if step.event == "done" and run.main != "ok":
        return "done, though it did not end by itself with 0"
    if by_result and lives(run):
        return "over, with something of it alive"
    if app.verdict == "UNSTARTED" and began(run):
        return "called unstarted though it had started"
    if step.event == "reclaimed":
        return _reclaimed(protocol, before, run)
    if step.event == "held" and app.verdict == "SWEEP_COOKIE" and app.found and run.name != "removed":
        return "held though its record was never removed"
    return ""


def _reclaimed(protocol: Protocol, before: World, run: Run) -> str:
    if protocol.limits.once:
        return "queued again though it may run only once"
    here = before.row.same_boot and before.app is not None and not before.app.elsewhere
    if here and protocol.open_for_look(run) and "S" not in run.written:
        return "an attempt was counted that never began"
    return ""


def is_over(world: World) -> bool:
    """Whether the job has come to an end, or waits for the person."""
    return world.row.state in OVER


def is_being_cancelled(world: World) -> bool:
    """Whether a cancel was asked for and is to be carried out, however long the job would run."""
    return world.row.state is State.RUNNING and world.row.cancel_requested

