"""Queues with very many jobs, made by SQL in one transaction: a million of them, with their events, in seconds."""

import sqlite3

from slothtray.store import Queue
from slothtray.store.adding import fingerprint
from slothtray.store.rows import encode

WALL = 1_700_000_000.0
"""The wall time at which the jobs wait; the finished ones ended before it, the deferred ones are due after it."""
CWD = "/home/ada/work"
COMMANDS = [
    line.format(n=n)
    for n in range(4)
    for line in (
        "make -j4 -C ~/src/project-{n}",
        "rsync -a --delete ~/photos/album-{n} /mnt/backup/photos",
        "ffmpeg -i holiday-{n}.mov -c:v libx265 -crf 28 holiday-{n}.mp4",
        "restic -r /mnt/backup/restic backup ~/documents --tag run-{n}",
        "pytest -q tests/unit/test_part_{n}.py && notify-send done",
    )
]
ENVIRONMENT = {f"VARIABLE_{n}": f"/usr/share/some/value/{n}" for n in range(20)}
SOURCES = f"""
WITH RECURSIVE n (i) AS (SELECT 1 WHERE ? > 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO jobs (command, argv, fingerprint, cwd, env, umask, priority, label, {{columns}})
SELECT command, argv, fingerprint, cwd, env, 18, i % 7 - 3, CASE i % 5 WHEN 0 THEN 'nightly' END, {{values}}
FROM n JOIN temp.commands ON k = i % {len(COMMANDS)}
"""
FINISHED = {
    "state": "CASE WHEN i % 9 = 0 THEN 'cancelled' WHEN i % 14 = 0 THEN 'failed' ELSE 'done' END",
    "attempts": "1",
    "run": "i || '-0123abcd'",
    "machine": "'0123456789abcdef0123456789abcdef'",
    "boot": "'01234567-89ab-cdef-0123-456789abcdef'",
    "lease_until": "i * 10.0",
    "exit_code": "0",
    "message": "'ok'",
    "runtime": "60.0 + i % 100",
    "seen": "i % 1400 <> 0",
    "created_at": f"{WALL} - 6e7 + i * 50",
    "started_at": f"{WALL} - 6e7 + i * 50 + 5",
    "finished_at": f"{WALL} - 6e7 + i * 50 + 45",
}
READY = {"state": "'pending'", "created_at": f"{WALL}"}
HELD = {"state": "'held'", "reason": "'held by you'", "created_at": f"{WALL}"}
DEFERRED = {
    # Delayed, in backoff, waiting for another job; half of them must start in time.
    "state": "'pending'",
    "not_before": f"CASE i % 3 WHEN 2 THEN 9e999 ELSE {WALL} + 3600 + i END",
    "backoff": "CASE i % 3 WHEN 1 THEN 3600.0 + i END",
    "failures": "i % 3 = 1",
    "attempts": "i % 3 = 1",
    "after": "CASE i % 3 WHEN 2 THEN 1 END",
    "expires_at": f"CASE i % 2 WHEN 1 THEN {WALL} + 1e7 + i END",
    "created_at": f"{WALL}",
}
EVENTS = """
INSERT INTO events (job, at, kind, detail)
SELECT jobs.id, coalesce(CASE step WHEN 0 THEN created_at WHEN 1 THEN started_at ELSE finished_at END, created_at),
       CASE step WHEN 0 THEN 'added' WHEN 1 THEN 'claimed' ELSE state END, CASE step WHEN 1 THEN 'attempt 1' ELSE '' END
FROM jobs CROSS JOIN (SELECT 0 AS step UNION ALL SELECT 1 UNION ALL SELECT 2)
"""


def fill(path: str, *, finished: int = 0, ready: int = 0, deferred: int = 0, held: int = 0) -> None:
    """Make a queue with so many jobs: over, due, not due yet (in the same priorities), held; three events each."""
    Queue(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        # Nothing is lost that can't be made again, so the disk need not be waited for before the end.
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA threads=4")
        # 200 MB for a million rows, and no more than a test run has anyway for some thousands: a child's peak begins with ours.
        connection.execute(f"PRAGMA cache_size={-max(10_000, (finished + ready + deferred + held) // 5)}")
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("CREATE TEMP TABLE commands (k INTEGER PRIMARY KEY, command, argv, fingerprint, cwd, env)")
        connection.executemany("INSERT INTO temp.commands VALUES (?, ?, ?, ?, ?, ?)", map(_command, range(len(COMMANDS))))
        connection.execute("BEGIN IMMEDIATE")
        indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        for number, columns in ((finished, FINISHED), (ready, READY), (deferred, DEFERRED), (held, HELD)):
            sql = SOURCES.format(columns=", ".join(columns), values=", ".join(columns.values()))
            connection.execute(sql, (number, number))
        connection.execute(EVENTS)
        for _, sql in indexes:
            connection.execute(sql)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _command(number: int) -> tuple[object, ...]:
    command = COMMANDS[number]
    argv = encode(["/bin/bash", "-c", command])
    return number, encode(command), argv, fingerprint(command, CWD), encode(CWD), encode(ENVIRONMENT)
