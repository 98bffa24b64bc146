"""What every test may ask for."""

import sys
from pathlib import Path

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import Home
from supervised import Supervised

# The same examples in every run, and no complaint about a machine that is slow for a moment.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None)
hypothesis.settings.load_profile("suite")


@pytest.fixture
def home(tmp_path):
    """A queue folder of the test's own; what still runs in it at the end is ended."""
    made = Home(tmp_path / "queue")
    yield made
    made.close()


@pytest.fixture
def homes(tmp_path):
    """Makes several queue folders."""
    made: list[Home] = []

    def make() -> Home:
        made.append(Home(tmp_path / f"queue-{len(made)}"))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def attempt(tmp_path):
    """A supervisor that waits for its spec; ended with all of its job at the end."""
    made = Supervised(tmp_path)
    yield made
    made.close()
