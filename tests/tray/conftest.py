"""Parts of a private desktop as fixtures."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # desktop_session, which other folders use as well

import desktop_session
import standin
from system.session import message_bus_in


@pytest.fixture
def desktop(tmp_path):
    with desktop_session.x_desktop(tmp_path) as desktop:
        yield desktop


@pytest.fixture
def bus(tmp_path, monkeypatch):
    """A session bus, which programs of the test find."""
    with message_bus_in(tmp_path) as bus:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        yield bus


@pytest.fixture
def panel(bus):
    """A panel of our own on it, with a watcher."""
    with standin.Panel(bus) as panel:
        yield panel
