"""SIGKILL on the app, on supervisors and on both, at random moments: nothing lost, nothing doubled; and planted faults are found."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import campaign
import pytest
import test_power_cuts
from audit import Tally
from faults import FAULTS
from private import in_namespace

AT_ONCE = 3
JOBS = {"app": 46, "supervisor": 38, "both": 34}
"""Jobs of each campaign, to begin with."""
KILLS = {"app": 70, "supervisor": 40, "both": 90}
"""SIGKILLs in each of them, and more."""
SEED, LINES = 3, 2
OVERLAP, REPEAT = "overlap", "unannounced repeat"
CATCHES = {
    "a held lock counts as dead": ("app", OVERLAP, "needless repeat"),
    "the supervisor takes the lock itself": ("app", OVERLAP, REPEAT),
    "nothing is swept": ("supervisor", OVERLAP),
    "the claim is recorded after the start": ("app", OVERLAP, REPEAT),
}
"""By each planted fault: what must be killed to show it, and what the campaign finds then: one of these."""
LIMIT = 240.0

pytestmark = pytest.mark.timeout(LIMIT + 20)


@pytest.fixture(scope="module")
def start(tmp_path_factory) -> Callable[..., Future]:
    """Begins a campaign; some at a time."""
    folder = tmp_path_factory.mktemp("chaos")
    with ThreadPoolExecutor(AT_ONCE) as pool:

        def begin(target: str, fault: str = "") -> Future:
            words = (target, SEED, JOBS[target], LINES, fault, 0 if fault else KILLS[target])
            home = folder / f"{target}-{fault.replace(' ', '-')}"
            return pool.submit(in_namespace, campaign.live, str(home), *map(str, words), limit=LIMIT)

        yield begin
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def tallies(start) -> dict[str, Future]:
    """The campaigns against the code as it is."""
    return {target: start(target) for target in JOBS}


@pytest.mark.race
@pytest.mark.parametrize("target", JOBS)
def test_under_random_kills_each_job_ends_once_with_its_own_exit_code_and_each_repeat_is_announced(tallies, target):
    tally = Tally(**tallies[target].result())
    assert tally.findings == []
    assert (tally.lost, tally.overlaps, tally.wrong, tally.unannounced) == (0, 0, 0, 0)
    assert tally.kills.get("app", 0) + tally.kills.get("supervisor", 0) >= KILLS[target]
    assert (tally.repeats > 0, tally.announced >= tally.repeats) == (target != "app", True)
    assert target != "app" or tally.adoptions > 0


@pytest.mark.race
@pytest.mark.parametrize("fault", CATCHES)
def test_the_same_campaign_finds_a_planted_fault(start, fault):
    target, *sights = CATCHES[fault]
    findings = start(target, fault).result()["findings"]
    assert any(finding.startswith(tuple(sights)) for finding in findings), findings


def test_each_planted_fault_is_looked_for():
    assert set(FAULTS) == {*CATCHES, *test_power_cuts.PLANTED}
