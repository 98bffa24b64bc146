"""Our tray backend when a watcher, a panel or the bus is late, stuck, flooding or gone."""

import signal
import threading
import time
from pathlib import Path

import pytest
from jeepney import DBusAddress, new_method_call
from sni_icon import (
    BLUE,
    GREEN,
    LIMIT,
    RED,
    FakeBus,
    Icon,
    Item,
    Menu,
    loop_thread,
    picture,
    seconds_run,
    shown,
)
from standin import ITEM, ITEM_PATH, PROPERTIES, Panel
from system.session import message_bus_in, until

from slothtray.tray import sni
from slothtray.tray.sni import connection, service, watcher


def test_a_watcher_that_comes_late_and_twenty_that_follow_it_get_the_icon(bus):
    with shown(Item("One", None)):
        for _ in range(21):
            with Panel(bus) as panel:
                assert panel.labels() == ["One"]
                assert panel.registered == [panel.item()]


def test_a_watcher_that_is_replaced_while_it_lives_is_followed(bus):
    with shown(), Panel(bus) as first, Panel(bus, watch=False) as second:
        first.item()
        first.bus("ReleaseName", "s", "org.kde.StatusNotifierWatcher")
        second.bus("RequestName", "su", "org.kde.StatusNotifierWatcher", 0)
        assert second.item() == first.item()


def test_a_watcher_that_owns_its_name_before_it_can_answer_is_asked_again(bus, monkeypatch):
    monkeypatch.setattr(watcher, "REST", 0.02)
    with shown(), Panel(bus, refusals=watcher.TRIES) as panel:
        assert panel.item()


def test_a_watcher_that_refuses_for_good_is_left_in_peace(bus, monkeypatch, caplog):
    monkeypatch.setattr(watcher, "REST", 0.01)
    with shown(), Panel(bus, refusals=1000) as panel:
        panel.wait(lambda: "does not take the icon: not yet" in caplog.text)
        panel.settled()
        assert panel.refusals == 1000 - watcher.TRIES - 1


def test_a_watcher_that_dies_without_an_answer_does_not_count_for_the_next(bus, monkeypatch):
    monkeypatch.setattr(watcher, "REST", 0.05)
    with shown():
        with Panel(bus, mute=True) as first:
            first.wait(lambda: first.asked)
        time.sleep(0.2)  # nothing must happen; what went wrong once was a second try
        with Panel(bus) as second:
            second.item()
            second.settled()
            assert second.registered == [second.item()]


def test_nothing_is_registered_before_the_icon_is_visible(panel):
    icon = Icon("name", picture(RED), "title", Menu())
    setting_up, go_on = threading.Event(), threading.Event()

    def setup(icon):
        setting_up.set()
        go_on.wait(LIMIT)
        icon.visible = True

    thread = threading.Thread(target=icon.run, args=(setup,))
    thread.start()
    assert setting_up.wait(LIMIT)
    panel.settled()
    assert not panel.registered
    go_on.set()
    panel.item()
    icon.stop()
    thread.join(LIMIT)


def test_a_stopped_icon_is_gone_from_the_bus_and_can_run_again(panel):
    icon = Icon("name", picture(RED), "title", Menu())
    for turn in range(2):
        panel.registered.clear()
        icon.title = f"before {turn}"
        thread = threading.Thread(target=icon.run)
        thread.start()
        name = panel.item()
        assert panel.get("Title") == f"before {turn}"
        panel.settled()
        icon.title = f"while it runs {turn}"
        panel.wait(lambda: panel.seen()["NewTitle"])
        icon.stop()
        thread.join(LIMIT)
        assert not thread.is_alive()
        panel.wait(lambda name=name: not panel.bus("NameHasOwner", "s", name))


def test_a_panel_that_stops_reading_costs_nothing_and_sees_the_last_state_when_it_goes_on(bus, panel):
    titles = ["0"]
    with shown(Item(lambda _item: titles[-1], None)) as icon, Panel(bus, watch=False) as other:
        name = panel.item()
        for _ in range(500):  # and it reads no answer either
            panel.send(name, ITEM_PATH, PROPERTIES, "GetAll", "s", ITEM)
        begun = time.monotonic()
        for number in range(1000):
            icon.icon = picture(GREEN)
            titles[:] = [str(number)]
            icon.title = titles[-1]
            icon.update_menu()
        assert time.monotonic() - begun < 10
        other.registered.append(name)
        other.wait(lambda: other.get("Title") == "999")
        assert panel.get("Title") == "999"
        assert panel.pixel() == GREEN


def test_a_bus_that_stops_reading_blocks_nobody_and_nothing_piles_up(bus, panel, monkeypatch):
    monkeypatch.setattr(service, "PACE", 0)
    titles = ["0"]
    with shown(Item(lambda _item: titles[-1], None)) as icon:
        panel.item()
        panel.settled()
        bus.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        for number in range(1500):
            icon.icon = picture(BLUE)
            titles[:] = [f"{number} " + "x" * 2000]
            icon.title = titles[-1]
            icon.update_menu()
            time.sleep(0.001)
        assert time.monotonic() - begun < 10
        assert len(icon._service._bus._outgoing) < 20_000  # one announcement
        bus.process.send_signal(signal.SIGCONT)
        panel.wait(lambda: panel.get("Title").startswith("1499 "))
        assert panel.pixel() == BLUE


def test_whoever_asks_without_end_and_reads_nothing_is_answered_later(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "FULL", 1 << 16)
    with FakeBus(tmp_path, monkeypatch) as bus, shown(image=picture(RED, 16)) as icon:
        assert bus.ready.wait(LIMIT)
        bus.send_calls(3000)
        mine = icon._service._bus
        until(lambda: mine.full)
        loop, sizes = loop_thread(), []
        until(lambda: sizes.append(len(mine._incoming)) or (len(sizes) > 40 and len(set(sizes[-40:])) == 1))
        icon.title = "still served"
        before = seconds_run(loop)
        time.sleep(0.2)
        assert seconds_run(loop) - before < 0.02  # it waits

        def little_is_kept():
            return len(mine._outgoing) < 80_000 and len(mine._incoming) < 160_000

        assert bus.answers(3000, little_is_kept)


def test_a_message_that_can_not_be_read_is_skipped(tmp_path, monkeypatch, caplog):
    with FakeBus(tmp_path, monkeypatch) as bus, shown():
        assert bus.ready.wait(LIMIT)
        strange = bytearray(new_method_call(DBusAddress("/", ":1.1", PROPERTIES), "Get").serialise(serial=7))
        strange[16] = 99  # the first header field's number
        bus.connection.sendall(bytes(strange))
        bus.send_calls(1)
        assert bus.answers(1, lambda: True)
    assert "a D-Bus message that can't be read" in caplog.text


def test_the_loop_returns_when_the_bus_dies_and_runs_again_with_another(tmp_path, monkeypatch, caplog):
    icon = Icon("name", picture(RED), "title", Menu())
    for turn in range(2):
        folder = tmp_path / str(turn)
        folder.mkdir()
        with message_bus_in(folder) as bus, Panel(bus) as panel:
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
            thread = threading.Thread(target=icon.run)
            thread.start()
            panel.item()
            bus.process.kill()
            thread.join(1.0)
            assert not thread.is_alive()
            icon.title = f"nobody sees it {turn}"  # and nobody minds
            icon.stop()
    assert caplog.text.count("the session bus went away") == 2


def test_without_a_bus_run_says_so_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    before = set(threading.enumerate())
    with pytest.raises(sni.BusLost, match="can't be reached"):
        Icon("name", picture(RED)).run()
    assert set(threading.enumerate()) <= before


def test_a_bus_that_hangs_as_we_come_costs_two_seconds_and_no_more(bus, monkeypatch):
    monkeypatch.setattr(service, "CONNECT_LIMIT", 0.3)
    bus.process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(sni.BusLost):
        Icon("name", picture(RED)).run()
    assert time.monotonic() - begun < 3


def test_a_bus_that_lets_us_in_and_then_hangs_can_be_left(tmp_path, monkeypatch):
    with FakeBus(tmp_path, monkeypatch) as bus, shown() as icon:
        assert bus.ready.wait(LIMIT)
        until(lambda: icon._running)


@pytest.mark.parametrize("variable", [None, ""])
def test_the_bus_is_found_without_the_variable(bus, panel, monkeypatch, variable):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", variable or "")
    if variable is None:
        monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    folder = Path(bus.socket).parent
    (folder / "bus").symlink_to(bus.socket)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    with shown():
        assert panel.item()


@pytest.mark.parametrize("address", ["autolaunch:", "tcp:host=localhost,port=1", "nonsense", "unix:dir=/tmp"])
def test_an_address_that_leads_nowhere_is_no_bus(monkeypatch, address):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    with pytest.raises(sni.BusLost):
        Icon("name", picture(RED)).run()


def test_of_several_addresses_the_one_that_answers_is_taken(bus, panel, monkeypatch):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path=/nowhere;tcp:host=x;{bus.address}")
    with shown():
        assert panel.item()


def test_the_loop_can_run_beside_another_one(panel):
    icon = Icon("name", picture(RED), "title", Menu())
    icon.run_detached()
    panel.item()
    icon.stop()
    panel.wait(lambda: not panel.bus("NameHasOwner", "s", panel.item()))
