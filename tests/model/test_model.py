"""The promises hold in every state of the model, and each mutant breaks the one that its rule is for."""

import pytest
from explore import EXPECTED, explored

from slothtray.policy import Verdict
from slothtray.states import TRANSITIONS

LIMIT = 2
NOT_MODELLED = {"added", "expired", "dependency failed"}
"""Events that have to do with the time and with other jobs, not with the hand-over."""

pytestmark = pytest.mark.timeout(400)  # the first one waits for all


@pytest.fixture(scope="module")
def found():
    """What there is to find, by name."""
    return dict(explored(LIMIT))


@pytest.fixture
def holding(found):
    """What was found of the protocol as it is."""
    return {name: outcome for name, outcome in found.items() if name not in EXPECTED}


def test_every_promise_holds_in_every_state(holding):
    assert {name: (outcome.broken, outcome.trace) for name, outcome in holding.items()} == dict.fromkeys(holding, ("", ()))
    assert sum(outcome.states for outcome in holding.values()) > 100_000


def test_the_model_takes_every_transition_of_the_table_and_comes_to_every_verdict(holding):
    expected = {one for one in TRANSITIONS if one[2] not in NOT_MODELLED}
    assert frozenset.union(*(outcome.transitions for outcome in holding.values())) == expected
    verdicts = frozenset.union(*(outcome.verdicts for outcome in holding.values()))
    assert verdicts == {verdict.name for verdict in Verdict} - {"WAIT_LEASE"}


@pytest.mark.parametrize("mutant", EXPECTED)
def test_a_mutant_breaks_the_promise_of_its_rule(found, mutant):
    assert found[mutant].broken == EXPECTED[mutant], found[mutant].trace
