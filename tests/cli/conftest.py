"""Queue folders that a whole file of tests may share: starting an app for each would take longer than the tests."""

import sys
from pathlib import Path

import pytest
from harness import Home

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "system"))


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """A queue without an app."""
    made = Home(tmp_path_factory.mktemp("idle") / "queue")
    yield made
    made.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A queue whose app runs, with nothing to keep a job waiting."""
    made = Home(tmp_path_factory.mktemp("running") / "queue")
    made.start()
    yield made
    made.close()


@pytest.fixture
def go(tmp_path):
    """A file that jobs may wait for with ``UNTIL``; it is made at the end at the latest, so that none stands in the way of others."""
    path = tmp_path / "go"
    yield path
    path.touch()
