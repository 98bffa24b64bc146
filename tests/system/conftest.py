"""The parts of a private desktop as fixtures."""

import pytest
import session

from slothtray.system import notify


@pytest.fixture(scope="session")
def display():
    with session.screen() as name:
        yield name


@pytest.fixture
def message_bus(tmp_path):
    with session.message_bus_in(tmp_path) as bus:
        yield bus


@pytest.fixture
def session_bus(message_bus, monkeypatch):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", message_bus.address)
    return message_bus


@pytest.fixture
def system_bus(message_bus, monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", message_bus.address)
    return message_bus


@pytest.fixture
def notifier():
    made = notify.system_notifier("/icons/sloth.png")
    yield made
    made.close()


@pytest.fixture
def desktop(session_bus, display, tmp_path):
    with session.dunst(session_bus, display, tmp_path) as running:
        yield running
