"""What is left after a campaign: the jobs' rows and histories held against what the jobs themselves have witnessed."""

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from shapes import SHAPES, Shape

if TYPE_CHECKING:
    from campaign import Campaign

OVER = ("done", "failed")


class Tally(NamedTuple):
    """A campaign's figures. ``repeats``: starts seen by the witness that no failure had asked for; ``announced``: `reclaimed` in
    the histories. ``released``: jobs that were held after three supervisors in a row had been killed before they could begin.
    """

    target: str
    jobs: int
    kills: dict[str, int]
    adoptions: int
    announced: int
    repeats: int
    unannounced: int
    lost: int
    overlaps: int
    wrong: int
    findings: list[str]


class History(NamedTuple):
    """One job: its row, the kinds of its events, and how often it was seen to begin and to get to its end."""

    number: int
    state: str
    code: int | None
    signal: int | None
    attempts: int
    interruptions: int
    kinds: Counter[str]
    began: int
    ended: int


def audit(campaign: "Campaign") -> Tally:
    """All that is wrong, by its kind, and the figures."""
    jobs = histories(campaign)
    overlaps = [f"overlap: {line}" for line in campaign.witness.overlaps()]
    asked = [job for job in jobs if job.state in OVER or not campaign.cut_short]
    faults = [(job, fault) for job in jobs for fault in repeats_of(job, campaign.plan.target)]
    faults += [(job, fault) for job in asked for fault in ends_of(job, SHAPES[campaign.shapes[job.number]])]
    told = [f"{fault}: {campaign.shapes[job.number]} {job._replace(kinds=dict(job.kinds))}" for job, fault in faults]
    gone = [f"lost: job {number} is not there" for number in campaign.shapes.keys() - {job.number for job in jobs}]
    findings = [*campaign.complaints, *gone, *overlaps, *told, *untold(campaign, jobs)]
    if not campaign.cut_short:
        findings += [f"leftover: process {pid}" for pid in campaign.home.processes()]
    return Tally(
        target=campaign.plan.target,
        jobs=len(campaign.shapes),
        kills=dict(campaign.kills),
        adoptions=sum(job.kinds["adopted"] for job in jobs),
        announced=sum(job.kinds["reclaimed"] for job in jobs),
        repeats=sum(max(0, job.began - 1 - job.kinds["retry"]) for job in jobs),
        unannounced=count(findings, "unannounced"),
        lost=count(findings, "lost"),
        overlaps=len(overlaps),
        wrong=count(findings, "wrong"),
        findings=findings,
    )


def count(findings: list[str], kind: str) -> int:
    """How many of them are of a kind."""
    return sum(finding.startswith(kind) for finding in findings)


def repeats_of(job: History, target: str) -> list[str]:
    """Starts that nothing has announced: each but the first has a `retry` or a `reclaimed` before it."""
    if job.began > 1 + job.kinds["retry"] + job.kinds["reclaimed"]:
        return ["unannounced repeat"]
    if target == "app" and job.began > 1 + job.kinds["retry"]:
        return ["needless repeat, as no supervisor was killed"]
    return []


def ends_of(job: History, shape: Shape) -> list[str]:
    """What is wrong with how a job has ended, and with what its row and its history say of the way there."""
    kinds, faults = job.kinds, []
    if job.state not in OVER or not job.ended:
        faults.append("lost")
    elif (job.state, job.code, job.signal) != (shape.state, shape.code, shape.signal):
        faults.append("wrong end")
    starts = 1 + kinds["retry"] + kinds["reclaimed"]
    if kinds["claimed"] != starts + kinds["unstarted"] + kinds["held"] or job.attempts != starts:
        faults.append("miscounted")
    if sum(kinds[kind] for kind in (*OVER, "cancelled")) != 1:
        faults.append("not one end")
    return faults


def histories(campaign: "Campaign") -> list[History]:
    """All jobs, by id."""
    words = campaign.witness.words()
    began, ended = (Counter(line.job for line in words if line.kind == kind) for kind in "SE")
    connection = campaign.home.read()
    kinds: dict[int, Counter[str]] = {}
    for number, kind in connection.execute("SELECT job, kind FROM events WHERE job IS NOT NULL"):
        kinds.setdefault(number, Counter())[kind] += 1
    rows = connection.execute("SELECT id, state, exit_code, signal, attempts, interruptions FROM jobs ORDER BY id").fetchall()
    connection.close()
    return [History(*row, kinds[row[0]], began[row[0]], ended[row[0]]) for row in rows]


def untold(campaign: "Campaign", jobs: list[History]) -> list[str]:
    """Each job that was run again after a crash must say so in `list`, too."""
    listed = campaign.home.run("list", "-n", "1000000", env={**campaign.home.environment, "COLUMNS": "400"}).stdout
    rows = {int(line.split()[0]): line for line in listed.splitlines() if line[:1].isdigit()}
    asked = [job for job in jobs if job.state in OVER and not job.kinds["held"]]  # a person's release begins anew
    return [f"untold in `list`: job {job.number}" for job in asked if times_of(rows[job.number]) != job.kinds["reclaimed"]]


def times_of(row: str) -> int:
    """How many interruptions a line of `list` tells."""
    found = re.search(r", interrupted (once|\d+ times)", row)
    return int(found[1].replace("once", "1").split()[0]) if found else 0
