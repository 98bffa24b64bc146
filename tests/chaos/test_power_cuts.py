"""The power is cut at random moments: no acknowledged add is lost, and what had ended is not run again (DESIGN 4, 5)."""

from concurrent.futures import Future, ThreadPoolExecutor

import adds
import power
import pytest
from audit import Tally
from campaign import Plan
from private import in_namespace

SEED, JOBS, CUTS = 6, 5, 6
ADDS, ADD_CUTS = 250, 120
LIMIT = 100.0
PLANTED = UNSYNCED, ALMOST = "the result is not synced", "an add is synced but for its last step"

pytestmark = pytest.mark.timeout(2 * LIMIT + 20)


def jobs_under_cuts(folder, fault: str) -> Tally:
    """A recorded campaign, with a planted fault or without, and the power cuts in it."""
    power.recorded(folder, Plan("app", SEED, JOBS, 2, fault), LIMIT)
    return Tally(**in_namespace(power.live, str(folder), str(SEED), str(JOBS), str(CUTS), limit=LIMIT))


@pytest.fixture(scope="module")
def tallies(tmp_path_factory) -> dict[str, Future]:
    """Both, side by side: without a fault and with it."""
    folder = tmp_path_factory.mktemp("power")
    with ThreadPoolExecutor(2) as pool:
        yield {fault: pool.submit(jobs_under_cuts, folder / f"recorded-{bool(fault)}", fault) for fault in ("", UNSYNCED)}


def test_no_acknowledged_add_is_lost_by_a_power_cut(tmp_path):
    found = adds.cut(tmp_path / "adds", adds.recorded(tmp_path / "adds", ADDS), SEED, ADD_CUTS)
    assert found.findings == []
    assert found.looked_for > ADDS * ADD_CUTS / 4  # most cuts came after many of them


def test_the_same_cuts_find_an_add_that_is_synced_but_for_its_last_step(tmp_path):
    found = adds.cut(tmp_path / "adds", adds.recorded(tmp_path / "adds", ADDS, ALMOST), SEED, ADD_CUTS)
    assert any(finding.endswith("is lost") for finding in found.findings)


def test_after_a_power_cut_each_job_ends_with_its_own_exit_code_and_none_that_had_ended_is_run_again(tallies):
    tally = tallies[""].result()
    assert tally.findings == []
    assert tally.jobs >= JOBS * CUTS / 2


def test_the_same_cuts_find_a_result_that_is_not_synced(tallies):
    findings = tallies[UNSYNCED].result().findings
    assert any(finding.startswith("forgotten result") for finding in findings), findings
