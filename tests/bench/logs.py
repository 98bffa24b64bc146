"""The end of a huge log, beside `tail`: 300 MB of output, whole and with its middle cut out."""

import os

from measure import environment, folder, interleaved, program, quietly

from slothtray.paths import Paths
from slothtray.store import Queue
from slothtray.system import logcap, tail

SIZE, CAP = 300_000_000, 50_000_000
LINE = b"forty characters in each of these lines.\n"
ROUNDS = 15
LIMIT = 0.05


def written(paths: Paths) -> int:
    """A job that has written so much, and is over."""
    with Queue(paths.database) as queue:
        number = queue.add("yes").id
        with queue.database.write():
            queue.database.execute("UPDATE jobs SET state = 'done', finished_at = 1e9 WHERE id = ?", (number,))
    os.makedirs(paths.logs)
    with open(paths.log(number), "wb") as file:
        file.writelines(LINE * 10_000 for _ in range(SIZE // (len(LINE) * 10_000)))
    return number


def main() -> None:
    """All figures of this file."""
    with folder() as home:
        paths = Paths(os.path.join(home, "queue"))
        os.makedirs(paths.home)
        number = written(paths)
        path, env = paths.log(number), environment(paths.home)
        for what in ("300 MB", "300 MB, cut to 50 MB"):
            cases = {
                "its last 1,000 lines found": lambda: tail.place_of_last(path, 1000),
                "slothtray log -n 1000": quietly([*program(), "log", "-n", "1000", str(number)], env),
                "slothtray --version": quietly([*program(), "--version"], env),
                "tail -n 1000": quietly(["tail", "-n", "1000", path], env),
            }
            print(f"a log of {what}, at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
            for name, seconds in interleaved(cases, ROUNDS).items():
                missed = "  MISSED" if name.startswith("its") and seconds > LIMIT else ""
                print(f"  {name:<34}{seconds * 1e3:9.2f} ms{missed}")
            logcap.trim(path, CAP)


if __name__ == "__main__":
    main()
