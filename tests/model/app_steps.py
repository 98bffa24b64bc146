"""What the app does: runner/step.py, runner/settle.py, system/launcher.py and system/records.py, step by step."""

from collections.abc import Iterator

from record_lock import RecordLock
from world import App, Row, Run, Seen, Step, World, announces, present

from slothtray.errors import IllegalTransition
from slothtray.states import State, check_transition

Steps = Iterator[Step]


class AppSteps(RecordLock):
    """Each method is one place of the code and has its name."""

    def app(self, world: World) -> Steps:
        """The app: one step of the runner after the other, or its start."""
        app, row = world.app, world.row
        if app is None:
            yield Step("app: starts", world._replace(app=App()))
            if row.state is State.RUNNING:
                there = world._replace(app=App(elsewhere=True, opened=self.open_for_look(world.run), cancel_seen=row.cancel_requested))
                yield Step("app: starts on another machine, gather", self.read(there), fair=False)
            return
        yield self.app_killed(world)
        if app.at == "select":
            yield from self.step(world, app)
        elif app.at == "probed":
            yield Step("app: gather, records.read", self.read(world))
        elif app.at == "gathered":
            yield from self.judge(world, app)
        elif app.at == "swept":
            yield from self.end(world, app)
        else:
            yield from self.launch(world, app)

    def app_killed(self, world: World) -> Step:
        """SIGKILL: its descriptors are closed, a spec that was not sent never will be."""
        run = world.run
        if run is not None and run.spec == "":
            run = run._replace(spec="cut")
        return Step("KILL app", world._replace(app=None, run=run), fair=False)

    def _at(self, world: World, at: str, **changed: object) -> World:
        assert world.app is not None
        return world._replace(app=world.app._replace(at=at, **changed))  # type: ignore[arg-type]

    def step(self, world: World, app: App) -> Steps:
        """Runner.step: `_settle_running`, else `_start_next`. What its waiter does comes between two steps."""
        row, run = world.row, world.run
        if row.state is State.RUNNING:
            if app.attempt == "watching":
                assert run is not None
                yield from self.watch(world, app, run)
            elif app.attempt == "over":
                seen = self._at(world, "probed", cancel_seen=row.cancel_requested)
                yield Step("app: gather, by its waiter", self.judged(seen, app.seen))
            else:
                yield self.gather(world)
        elif app.elsewhere:
            yield Step("app: quits", world._replace(app=None))
        elif row.state is State.PENDING and self.is_due(row):
            yield from self.take(world)

    def is_due(self, row: Row) -> bool:
        """The claim leaves a backoff alone."""
        return not row.backoff

    def watch(self, world: World, app: App, run: Run) -> Steps:
        """Attempt: its waiter sends the spec and waits for the lock; the runner passes a cancel on once there is a J."""
        if run.spec == "" and run.supervisor == "born":
            yield Step("app: waiter, _send_spec", world._replace(run=run._replace(spec="sent")))
        elif not self.is_locked(world, run):
            yield Step("app: waiter, wait_for_release", self._at(world, "select", attempt="over", seen=self.waited(run)))
        if world.row.cancel_requested and not app.cancel_sent and "J" in run.written and run.supervisor:
            told = self._at(world, "select", cancel_sent=True)
            yield Step("app: attempt.cancel", told._replace(run=run._replace(cancel=True)))

    def waited(self, run: Run) -> Seen | None:
        """The waiter reads by the descriptor in which it has waited, so a name that is gone does not matter."""
        return run.written, run.result

    def gather(self, world: World) -> Step:
        """The lock is asked before the record is read: what a free lock leaves behind is final."""
        opened = self.open_for_look(world.run)
        held = opened and self.is_locked(world, world.run)
        asked = self._at(world, "probed", opened=opened, held=held, cancel_seen=world.row.cancel_requested)
        return Step("app: gather, records.is_locked", asked)

    def read(self, world: World) -> World:
        """What the record says once the lock was asked."""
        app, run = world.app, world.run
        assert app is not None
        return self.judged(world, (run.written, run.result) if run is not None and app.opened else None)

    def judged(self, world: World, seen: Seen | None) -> World:
        """policy.verdict on what was gathered; only a result counts any further."""
        app = world.app
        assert app is not None
        verdict = self.rules.verdict(not app.elsewhere, world.row.same_boot and not app.elsewhere, app.held, seen)
        return self._at(world, "gathered", opened=False, held=False, verdict=verdict, seen=seen if verdict == "RECORD" else None)

    def judge(self, world: World, app: App) -> Steps:
        """What a verdict leads to."""
        if app.verdict == "ADOPT":
            if self.open_for_look(world.run):
                yield Step("app: _adopt", world._replace(app=App(attempt="watching")))
            else:
                yield Step("app: _adopt, the record is gone", world._replace(app=App()))
        elif app.verdict in ("SWEEP", "SWEEP_COOKIE"):
            yield self.sweep(world, app.verdict)
        else:
            yield from self.end(world, app)

    def sweep(self, world: World, verdict: str) -> Step:
        """processes.sweep kills what carries the cookie, the session or the group, then looks for orphans that may have
        dropped them. Without a record what carries the cookie is only looked for.
        """
        run = world.run
        assert run is not None
        if verdict == "SWEEP_COOKIE":
            found = run.supervisor != "" or run.main in ("forked", "live") or run.kid == "child"
            return Step("app: processes.remains", self._at(world, "swept", found=found))
        left = run._replace(
            supervisor="",
            main="killed" if run.main in ("forked", "live") else run.main,
            kid="" if run.kid == "child" else run.kid,
        )
        swept = self._at(world, "swept", found=self.suspects(run))._replace(run=left)
        broken = ""
        if run.supervisor:
            broken = "a run was swept under its living supervisor"
        elif "J" in run.written and not world.row.same_boot:
            broken = "a stranger was killed by a pid of another boot"
        return Step("app: processes.sweep", swept, broken=broken)

    def suspects(self, run: Run) -> bool:
        """processes.suspects: an orphan of this user that is younger than S."""
        return run.kid == "escapee"

    def end(self, world: World, app: App) -> Steps:
        """Runner._end: the change, written in one transaction. A busy database means doing all this again."""
        again = App(attempt="watching" if app.attempt else "")
        if not app.elsewhere:
            yield Step(f"app: _end, {app.verdict}, DatabaseBusy", world._replace(app=again), fair=False)
        try:
            row, kind, back = self.change(world.row, app)
        except IllegalTransition as error:
            yield Step(f"app: _end, {app.verdict}", world, broken=str(error))
            return
        run = world.run
        if run is not None and (app.verdict == "HOLD_FOREIGN" or app.found):
            run = run._replace(given_up=True)
        unannounced = world.unannounced and not announces(kind)
        after = world._replace(row=row, run=run, app=App(elsewhere=app.elsewhere), unannounced=unannounced)
        yield Step(f"app: _end, {app.verdict}, {kind}", after, event=kind, broken=self.attempts_are_wrong(app.verdict, back))

    def change(self, row: Row, app: App) -> tuple[Row, str, int]:
        """settle.change_for on the row as it was read, then queue.apply, which reads it again."""
        return self.rules.change(app.verdict, row, app.cancel_seen, app.seen, app.found)

    @staticmethod
    def attempts_are_wrong(verdict: str, back: int) -> str:
        """An attempt that never began is taken off again, and no other one."""
        return "" if back == (verdict == "UNSTARTED") else "the attempts are counted wrong"

    # --- the app starts an attempt ------------------------------------------------------------------------------------------------

    def take(self, world: World) -> Steps:
        """claim.take: durable before any process is made."""
        check_transition(world.row.state, State.RUNNING, "claimed")
        yield Step("app: claim.take", self.claimed(world, "claimed"), event="claimed")

    def claimed(self, world: World, at: str) -> World:
        """A row that runs, under a run-id never used before."""
        row = world.row._replace(state=State.RUNNING, same_boot=True, backoff=False)
        stale = world.run if present(world.run) else world.stale
        return world._replace(row=row, run=Run(), stale=stale, app=App(at=at), cli=None)

    def launch(self, world: World, app: App) -> Steps:
        """Launcher.launch: record, lock, both durable, then the supervisor, then our own copy is closed."""
        run = world.run
        assert run is not None
        if app.at == "claimed":
            yield Step("app: records.create, open", self._at(world, "created")._replace(run=run._replace(name="volatile")))
            yield Step("app: records.create fails", self._at(world, "no record"), fair=False)
        elif app.at == "no record":
            row, kind, _ = self.rules.changed(world.row, self.rules.no_record(world.row))
            yield Step(f"app: _cannot_record, {kind}", world._replace(row=row, app=App()), event=kind)
        elif app.at == "created":
            yield Step("app: records.lock", self._at(world, "locked"))
        elif app.at == "locked":
            yield Step("app: records.sync", self._at(world, "recorded")._replace(run=self.record_synced(run)))
        elif app.at == "recorded":
            yield Step("app: Popen", self._at(world, "spawned")._replace(run=run._replace(supervisor="born")))
            yield Step("app: Popen fails", self._at(world, "spawned"), fair=False)
        elif app.at == "spawned":
            yield self.own_copy_closed(world, run)

    def record_synced(self, run: Run) -> Run:
        """The file and its folder: a result in a file without a name would be lost."""
        return run._replace(name="durable") if run.name == "volatile" else run

    def own_copy_closed(self, world: World, run: Run) -> Step:
        """Close, never LOCK_UN."""
        return Step("app: os.close(record)", world._replace(app=App(attempt="watching")))
