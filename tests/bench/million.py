"""A million jobs, of which a thousand wait, beside a thousand: what a person, a runner and an `add` feel of it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bulk
from measure import PYTHON, environment, folder, interleaved, program, quietly

from slothtray.store import Queue

SIZES = {"1,000": {"finished": 900, "ready": 100}, "1,000,000": {"finished": 999_000, "ready": 1000}}
ROUNDS = 60
"""Of each case. The claims find enough: what they take is added again."""
LOOK_LIMIT, FLAT_LIMIT = 0.1, 2.0
LOOKS = (["list"], ["list", "--json"], ["list", "--state", "failed"], ["list", "--label", "nightly"], ["why"], ["why", "LAST"])


def build(home: str, size: str) -> None:
    """The queue of this size in a folder, told apart by its name."""
    begin = time.perf_counter()
    path = os.path.join(home, size, "queue.db")
    bulk.fill(path, **SIZES[size])
    seconds, megabytes = time.perf_counter() - begin, os.path.getsize(path) / 1e6
    print(f"  {size} jobs with {3 * sum(SIZES[size].values()):,} events: {megabytes:,.1f} MB, built in {seconds:.1f} s")


def looks(home: str) -> None:
    """The commands that look, as whole processes."""
    cases = {("python -c pass", "-"): quietly([PYTHON, "-c", "pass"], environment(home))}
    for size, counts in SIZES.items():
        env = environment(os.path.join(home, size))
        for words in LOOKS:
            real = [str(sum(counts.values())) if word == "LAST" else word for word in words]
            cases[" ".join(words), size] = quietly([*program(), *real], env)
    table(interleaved(cases, ROUNDS // 3), LOOK_LIMIT)


def work(home: str) -> None:
    """The runner's work in this process: durable, as it is, and without the syncs, which would hide what SQLite does."""
    for syncs, pragma in (("", "EXTRA"), (", without syncs", "OFF")):
        queues = {size: Queue(os.path.join(home, size, "queue.db")) for size in SIZES}
        for queue in queues.values():
            queue.database.execute(f"PRAGMA synchronous={pragma}")
        names: dict[str, Callable[[Queue], object]] = {"claim + complete": claim_and_complete, "add": lambda queue: queue.add("true")}
        cases = {
            (name + syncs, size): lambda case=case, queue=queue: case(queue)
            for name, case in names.items()
            for size, queue in queues.items()
        }
        table(interleaved(cases, ROUNDS))
        for queue in queues.values():
            queue.close()


def claim_and_complete(queue: Queue) -> None:
    """One job from waiting to done."""
    job = queue.claim(lease=60)
    assert job is not None
    assert queue.complete(job)


def adds(home: str) -> None:
    """`add` as a whole process, and the queues that people come from where they are installed: they keep no history on disk."""
    cases = {("slothtray add", size): quietly([*program(), "add", "-q", "true"], environment(os.path.join(home, size))) for size in SIZES}
    others = peers(home)
    try:
        table(interleaved({**cases, **{(name, "-"): quietly(words, env) for name, (words, env) in others.items()}}, ROUNDS // 3))
    finally:
        if "tsp" in others:
            subprocess.run(["tsp", "-K"], env=others["tsp"][1], check=False)


def peers(home: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """How each of them queues a job, in a place of its own."""
    nq = os.path.join(home, "nq")
    known = {
        "tsp": (["tsp", "-n", "true"], {**os.environ, "TS_SOCKET": os.path.join(home, "tsp.socket"), "TMPDIR": home}),
        "nq": (["nq", "-q", "true"], {**os.environ, "NQDIR": nq}),
    }
    os.makedirs(nq)
    return {name: case for name, case in known.items() if shutil.which(name)}


def table(found: dict[tuple[str, str], float], limit: float | None = None) -> None:
    """A line for each case with its median at both sizes; what is beyond its limit is marked."""
    for name in dict.fromkeys(name for name, _ in found):
        if (name, "-") in found:
            print(f"  {name:<34}{found[name, '-'] * 1e3:9.2f} ms")
            continue
        few, many = (found[name, size] for size in SIZES)
        wanted = f"at most {limit * 1e3:.0f} ms" if limit is not None else f"at most {FLAT_LIMIT} x"
        beyond = many > limit if limit is not None else many > FLAT_LIMIT * few
        figures = f"{few * 1e3:9.2f} ms {many * 1e3:9.2f} ms {many / few:6.2f} x"
        print(f"  {name:<34}{figures}   ({wanted}{': MISSED' if beyond else ''})")


def main() -> None:
    """All figures of this file."""
    with folder() as home:
        print(f"a queue of 1,000 jobs beside one of 1,000,000, at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
        for size in SIZES:
            build(home, size)
        print(f"  {'medians':<34}{'1,000':>12} {'1,000,000':>12}")
        looks(home)
        work(home)
        adds(home)


if __name__ == "__main__":
    main()
