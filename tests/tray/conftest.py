"""The private desktop as a fixture."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # desktop_session, which other folders use as well

import desktop_session


@pytest.fixture
def desktop(tmp_path):
    with desktop_session.x_desktop(tmp_path) as desktop:
        yield desktop
