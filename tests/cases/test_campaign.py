"""Sixty jobs, and an app that is killed all the while."""

import pytest
from campaign import Campaign, Plan


@pytest.mark.race
@pytest.mark.timeout(150)
def test_while_the_app_is_killed_at_random_each_job_ends_exactly_once_with_its_true_exit_code(home):
    campaign = Campaign(home, Plan(seed=2, jobs=60, lives=5))
    campaign.run()
    campaign.audit()
    assert campaign.kills["app"] >= 25
    assert campaign.kills["at work"] >= 10, "too few of the kills met a running job: not random moments"
