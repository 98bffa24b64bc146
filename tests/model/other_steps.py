"""What all others do: `slothtray cancel` (actions.cancel, processes.cancel), the person (store/person.py), the machine."""

from collections.abc import Iterator

from record_lock import RecordLock
from world import Cancel, Row, Run, Step, World, announces, began, present

from slothtray.states import FINISHED, State, check_transition

Steps = Iterator[Step]


class OtherSteps(RecordLock):
    """Each method is one place of the code and has its name, but for the faults."""

    # --- cancel by the command line -------------------------------------------------------------------------------------------

    def cli(self, world: World) -> Steps:
        """actions._signal after its commit. It may give up (2 s), or be killed, at any moment."""
        cli = world.cli
        if cli is None:
            return
        over = world._replace(cli=None)
        run = world.run
        assert run is not None
        gone = run.supervisor == "" and "S" in run.written
        yield Step("cancel: gives up", over)
        if gone and self.is_before_pin(cli) and not cli.reused and run.main != "forked":
            # Not while its child is still at its exec: a whole round of the pids takes longer than that.
            yield Step("a stranger gets the supervisor's pid", world._replace(cli=cli._replace(reused=True)), fair=False)
        if cli.at == "asked":
            yield from self.pin(world, cli, run, gone=gone)
        elif cli.at == "pinned" and self.cancel_may_signal(world, run):
            yield Step("cancel: is_locked, held", world._replace(cli=cli._replace(at="checked")))
        elif cli.at == "checked":
            yield self.signal(world, cli, run, gone=gone)

    def is_before_pin(self, cli: Cancel) -> bool:
        """Later it makes no difference who gets the pid."""
        return cli.at == "asked"

    def pin(self, world: World, cli: Cancel, run: Run, *, gone: bool) -> Steps:
        """os.pidfd_open of the pid in S, once there is a J."""
        if "J" not in run.written:
            return
        if not gone:
            yield Step("cancel: pidfd_open", world._replace(cli=cli._replace(at="pinned", pinned="supervisor")))
        elif cli.reused:
            yield Step("cancel: pidfd_open", world._replace(cli=Cancel("pinned", "stranger")))

    def cancel_may_signal(self, world: World, run: Run) -> bool:
        """If the lock is still held, then what was pinned before is its holder."""
        return self.is_locked(world, run)

    def signal(self, world: World, cli: Cancel, run: Run, *, gone: bool) -> Step:
        """pidfd_send_signal: it reaches what was pinned or nobody."""
        over = world._replace(cli=None)
        if cli.pinned == "stranger":
            return Step("cancel: SIGUSR1", over, broken="a stranger was signalled")
        if gone:
            return Step("cancel: SIGUSR1, nobody there", over)
        return Step("cancel: SIGUSR1", over._replace(run=run._replace(cancel=True)))

    # --- what people do -----------------------------------------------------------------------------------------------------------

    def person(self, world: World) -> Steps:
        """hold, release, retry, cancel. A person who releases a held job has looked that nothing of it runs."""
        row = world.row
        quiet = not present(world.run) and not present(world.stale)
        if row.state is State.PENDING:
            yield self.said(world, row._replace(state=State.HELD, backoff=False), "held")
            yield self.said(world, row._replace(state=State.CANCELLED, backoff=False), "cancelled")
            if row.backoff:
                yield Step("time: the backoff is over", world._replace(row=row._replace(backoff=False)))
        elif row.state is State.HELD and quiet:
            yield self.said(world, row._replace(state=State.CANCELLED), "cancelled")
            yield self.said(world, Row(), "released")
        elif row.state in FINISHED and quiet:
            yield self.said(world, Row(), "retried")
        elif row.state is State.RUNNING and not row.cancel_requested and world.cli is None:
            asked = world._replace(row=row._replace(cancel_requested=True), cli=Cancel())
            yield Step("person: cancel, committed", asked, fair=False)

    @staticmethod
    def said(world: World, row: Row, kind: str) -> Step:
        """A person's change."""
        check_transition(world.row.state, row.state, kind)
        unannounced = world.unannounced and not announces(kind)
        return Step(f"person: {kind}", world._replace(row=row, unannounced=unannounced), fair=False, event=kind)

    # --- the machine --------------------------------------------------------------------------------------------------------------

    def machine(self, world: World) -> Steps:
        """A power cut, and somebody who removes runs/."""
        run = world.run
        if run is not None and self.open_for_look(run) and run.kid != "escapee":
            # With a process that has dropped everything there would be nothing left to know it by.
            yield Step("somebody removes runs/", world._replace(run=run._replace(name="removed")), fair=False)
        for after in self.after_power_cut(world):
            yield Step("POWER CUT", after, fair=False)

    def after_power_cut(self, world: World) -> Iterator[World]:
        """No process is left. Of the record any part that was not synced may be there or not."""
        row = world.row
        if row.state is State.RUNNING:
            row = row._replace(same_boot=False)
        dark = world._replace(row=row, app=None, cli=None, stale=None)
        run = world.run
        if run is None:
            yield dark
            return
        main = "killed" if run.main in ("forked", "live") and began(run) else "" if run.main == "forked" else run.main
        off = run._replace(supervisor="", kid="", main=main, spec="")
        for kept in range(run.synced, len(run.written) + 1):
            yield dark._replace(run=off._replace(written=run.written[:kept], synced=kept))
        if run.name == "volatile":
            yield dark._replace(run=off._replace(name="", written="", synced=0))
