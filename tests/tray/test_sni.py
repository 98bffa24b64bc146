"""Our tray backend as a panel sees it, on a private bus: no screen, no toolkit."""

import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from jeepney import DBusAddress, MessageType, Parser, new_method_call
from PIL import Image
from standin import ITEM, ITEM_PATH, MENU, PROPERTIES, CallError, Panel, plain
from system.session import message_bus_in, until

from slothtray.model import Face
from slothtray.tray import menu as entries
from slothtray.tray import shell, sni
from slothtray.tray.sni import connection, interfaces, service, watcher

pystray = shell._pystray()
Icon = sni.icon_class(pystray)
Item, Menu = pystray.MenuItem, pystray.Menu
MENU_PATH = interfaces.MENU_PATH
RED, GREEN, BLUE = ((255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255))
LIMIT = 5.0


def picture(colour, size=64):
    return Image.new("RGBA", (size, size), colour)


@pytest.fixture
def bus(tmp_path, monkeypatch):
    with message_bus_in(tmp_path) as bus:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        yield bus


@pytest.fixture
def panel(bus):
    with Panel(bus) as panel:
        yield panel


@contextmanager
def shown(*items, title="title", image=None):
    """An icon whose loop runs in a thread."""
    icon = Icon("name", image or picture(RED), title, Menu(*items))
    thread = threading.Thread(target=icon.run, name="loop")
    thread.start()
    try:
        yield icon
    finally:
        icon.stop()
        thread.join(LIMIT)
        assert not thread.is_alive()


class Switch:
    """What a click does, and a label that follows."""

    def __init__(self):
        self.on = False

    def flip(self):
        self.on = not self.on

    def item(self, **options):
        return Item(lambda _item: "On" if self.on else "Off", self.flip, checked=lambda _item: self.on, **options)


# --- a panel's cycle


def test_an_icon_is_registered_looked_at_opened_and_clicked(panel):
    switch = Switch()
    with shown(Item("Nothing", None, enabled=False), switch.item()):
        assert panel.item().startswith(":")  # the unique name: GNOME's extension shows no other
        assert panel.get("Title") == "title"
        assert panel.get("Status") == "Active"
        assert panel.pixel() == RED
        revision, (nothing, flip) = panel.open_menu()
        assert nothing[1] == {"label": "Nothing", "enabled": False}
        assert flip[1] == {"label": "Off", "enabled": True, "toggle-type": "checkmark", "toggle-state": 0}
        panel.settled()
        panel.click(flip[0])
        panel.wait(lambda: panel.seen()["ItemsPropertiesUpdated"])
        assert switch.on
        changed = {number: {name: value for name, (_s, value) in some.items()} for number, some in panel.signals[-1][1][0]}
        assert changed == {flip[0]: {"label": "On", "toggle-state": 1}}
        assert panel.open_menu() == (revision, [nothing, (flip[0], {**flip[1], "label": "On", "toggle-state": 1}, [])])
        assert panel.seen()["LayoutUpdated"] == 0  # an open menu stays open


def test_a_plain_click_does_the_default(panel):
    switch = Switch()
    with shown(Item("Other", None), switch.item(default=True)):
        assert panel.get("ItemIsMenu") is False
        panel.call(ITEM_PATH, ITEM, "Activate", "ii", 0, 0)
        panel.wait(lambda: panel.labels()[1] == "On")


def test_without_a_default_a_plain_click_is_refused_so_that_panels_open_the_menu(panel):
    with shown(Item("Other", lambda: None)):
        assert panel.get("ItemIsMenu") is True
        with pytest.raises(CallError, match="UnknownMethod"):
            panel.call(ITEM_PATH, ITEM, "Activate", "ii", 0, 0)


def test_other_clicks_and_the_wheel_are_accepted_and_do_nothing(panel):
    switch = Switch()
    with shown(switch.item(default=True)):
        for member in ("SecondaryActivate", "ContextMenu"):
            assert panel.call(ITEM_PATH, ITEM, member, "ii", 0, 0) == ()
        assert panel.call(ITEM_PATH, ITEM, "Scroll", "is", 1, "vertical") == ()
        assert panel.labels() == ["Off"]


def test_submenus_separators_radio_items_and_a_menu_without_items(panel):
    inner = Menu(Item("One", None), Menu.SEPARATOR, Item("A", None, checked=lambda _item: True, radio=True))
    with shown(Item("More", inner), Menu.SEPARATOR, Item("Last", None)) as icon:
        _, (more, line, last) = panel.open_menu()
        assert more[1] == {"label": "More", "enabled": True, "children-display": "submenu"}
        assert [child[1] for child in more[2]] == [
            {"label": "One", "enabled": True},
            {"type": "separator"},
            {"label": "A", "enabled": True, "toggle-type": "radio", "toggle-state": 1},
        ]
        assert line[1] == {"type": "separator"}
        assert len({more[0], line[0], last[0], *(child[0] for child in more[2])}) == 6
        icon.menu = None
        panel.wait(lambda: panel.open_menu()[1] == [])


def test_an_icon_that_asks_for_a_look(panel):
    with shown() as icon:
        panel.item()
        panel.settled()
        icon.attention = True
        panel.wait(lambda: ("NewStatus", ("NeedsAttention",)) in panel.signals)
        assert panel.get("Status") == "NeedsAttention"
        assert panel.get("AttentionIconPixmap") == panel.get("IconPixmap")
        icon.visible = False
        panel.wait(lambda: ("NewStatus", ("Passive",)) in panel.signals)


def test_every_property_is_answered_alone_and_together(panel):
    with shown():
        together = panel.call(ITEM_PATH, PROPERTIES, "GetAll", "s", ITEM)
        assert {name: signature for name, (signature, _value) in together.items()} == interfaces.ITEM.properties
        for name, value in together.items():
            assert panel.call(ITEM_PATH, PROPERTIES, "Get", "ss", ITEM, name) == value
        menu = panel.call(MENU_PATH, PROPERTIES, "GetAll", "s", MENU)
        assert {name: signature for name, (signature, _value) in menu.items()} == interfaces.MENU.properties


def test_every_method_that_introspection_names_is_there(panel):
    with shown():
        root = ET.fromstring(panel.call("/", "org.freedesktop.DBus.Introspectable", "Introspect"))
        paths = ["/" + node.get("name") for node in root.iter("node") if node.get("name")]
        assert sorted(paths) == sorted([ITEM_PATH, MENU_PATH])
        methods = 0
        for path in paths:
            tree = ET.fromstring(panel.call(path, "org.freedesktop.DBus.Introspectable", "Introspect"))
            for interface in tree.iter("interface"):
                for method in interface.iter("method"):
                    methods += 1
                    with pytest.raises(CallError, match="InvalidArgs"):
                        panel.call(path, interface.get("name"), method.get("name"), "d", 1.0)
        assert methods == 2 * (3 + 1 + 1) + 5 + 7


@pytest.mark.parametrize(
    ("path", "interface", "member", "arguments", "error"),
    [
        ("/elsewhere", ITEM, "Activate", ("ii", 0, 0), "UnknownObject"),
        (ITEM_PATH, "org.example.Other", "Activate", ("ii", 0, 0), "UnknownInterface"),
        (ITEM_PATH, ITEM, "Explode", (), "UnknownMethod"),
        (ITEM_PATH, ITEM, "Activate", ("s", "here"), "InvalidArgs"),
        (ITEM_PATH, ITEM, "Activate", (), "InvalidArgs"),
        (ITEM_PATH, PROPERTIES, "Get", ("ss", ITEM, "Nothing"), "UnknownProperty"),
        (ITEM_PATH, PROPERTIES, "Get", ("ss", "org.example.Other", "Title"), "UnknownInterface"),
        (ITEM_PATH, PROPERTIES, "Set", ("ssv", ITEM, "Title", ("s", "mine")), "PropertyReadOnly"),
        (MENU_PATH, MENU, "GetLayout", ("iias", 99, -1, []), "InvalidArgs"),
        (MENU_PATH, MENU, "GetProperty", ("is", 99, "label"), "InvalidArgs"),
        (MENU_PATH, MENU, "GetProperty", ("is", 1, "nothing"), "InvalidArgs"),
        (MENU_PATH, MENU, "Event", ("isvu", 99, "clicked", ("s", ""), 0), "InvalidArgs"),
        (MENU_PATH, MENU, "EventGroup", ("a(isvu)", [(99, "clicked", ("s", ""), 0)]), "InvalidArgs"),
        (MENU_PATH, MENU, "AboutToShow", ("i", 99), "InvalidArgs"),
        (MENU_PATH, MENU, "AboutToShowGroup", ("ai", [98, 99]), "InvalidArgs"),
    ],
)
def test_what_there_is_not_gets_the_error_that_says_so(panel, path, interface, member, arguments, error):
    with shown(Item("One", None, default=True)):
        with pytest.raises(CallError, match=f"^{error}$"):
            panel.call(path, interface, member, *arguments)
        assert panel.labels() == ["One"]


def test_the_menu_in_parts_and_in_groups(panel):
    clicked = []
    with shown(Item("One", lambda: clicked.append(1)), Item("More", Menu(Item("Two", lambda: clicked.append(2))))):
        _, (one, more) = panel.open_menu()
        two = more[2][0]
        assert plain(panel.menu("GetLayout", "iias", 0, 1, ["label"])[1]) == (
            0,
            {},
            [(one[0], {"label": "One"}, []), (more[0], {"label": "More"}, [])],
        )
        assert plain(panel.menu("GetLayout", "iias", two[0], 0, [])[1]) == two
        assert panel.menu("GetGroupProperties", "aias", [two[0], 99], ["label"]) == [(two[0], {"label": ("s", "Two")})]
        assert [number for number, _ in panel.menu("GetGroupProperties", "aias", [], [])] == [0, one[0], more[0], two[0]]
        assert panel.menu("GetProperty", "is", two[0], "label") == ("s", "Two")
        assert panel.menu("GetProperty", "is", two[0], "visible") == ("b", True)
        assert panel.menu("AboutToShowGroup", "ai", [0, 99]) == ([], [99])
        events = [(number, kind, ("s", ""), 0) for number, kind in ((two[0], "hovered"), (99, "clicked"), (two[0], "clicked"))]
        assert panel.menu("EventGroup", "a(isvu)", events) == [99]
        panel.wait(lambda: clicked == [2])


def test_a_call_that_wants_no_answer_gets_none(panel):
    with shown():
        serial = panel.send(panel.item(), ITEM_PATH, ITEM, "Explode", flags=1)
        panel.labels()
        assert serial not in panel._replies


# --- text and pictures


def test_text_is_made_fit_for_the_bus_and_underscores_stay(panel):
    nasty = "a_b__c\0\udc80 & <b>é</b> 😀"
    with shown(Item(nasty, None), title=nasty):
        assert panel.labels() == ["a__b____c? & <b>é</b> 😀"]
        assert panel.get("Title") == "a_b__c? & <b>é</b> 😀"
        assert panel.get("ToolTip") == ("", [], "a_b__c? & <b>é</b> 😀", "")


def test_a_text_beyond_all_measure_does_not_cost_the_connection(panel):
    with shown(Item("x" * 200_000_000, None)):
        assert len(panel.labels()[0]) == 4096


def test_a_picture_is_offered_in_every_usual_size_that_it_is_large_enough_for(panel):
    with shown(image=picture((10, 20, 30, 255), 50)):
        pixmaps = panel.get("IconPixmap")
        assert [(width, height) for width, height, _data in pixmaps] == [(16, 16), (22, 22), (24, 24), (32, 32), (48, 48)]
        assert all(data == bytes((255, 10, 20, 30)) * width * height for width, height, data in pixmaps)  # ARGB


def test_a_picture_that_is_no_square_is_not_stretched(panel):
    with shown(image=Image.new("RGB", (64, 32), "red")):
        width, height, data = panel.get("IconPixmap")[0]
        rows = [data[4 * width * row : 4 * width * (row + 1)] for row in range(height)]
        assert (width, height) == (16, 16)
        assert [row[1] for row in rows] == [0] * 4 + [255] * 8 + [0] * 4  # red, in the middle


def test_a_change_of_picture_is_told_and_one_that_is_broken_leaves_the_icon(panel, caplog):
    with shown() as icon:
        assert panel.pixel() == RED
        panel.settled()
        icon.icon = picture(GREEN)
        panel.wait(lambda: panel.seen()["NewIcon"])
        assert panel.pixel() == GREEN
        icon.icon = "no picture"
        panel.wait(lambda: panel.get("IconPixmap") == [])
        assert panel.get("Title") == "title"
    assert "a picture that can't be shown" in caplog.text


# --- callbacks


def test_a_click_that_fails_is_logged_and_the_next_one_works(panel, caplog):
    switch = Switch()
    with shown(Item("Broken", lambda: 1 / 0), switch.item()):
        _, (broken, flip) = panel.open_menu()
        panel.click(broken[0])
        panel.click(flip[0])
        panel.wait(lambda: switch.on)
    assert "ZeroDivisionError" in caplog.text


def test_the_panel_has_its_answer_before_a_slow_click_is_carried_out(panel):
    answered = threading.Event()
    seen = []
    with shown(Item("Slow", lambda: seen.append(answered.wait(LIMIT)))):
        panel.click(panel.open_menu()[1][0][0])
        answered.set()
        until(lambda: seen == [True])


def test_disabled_items_and_separators_can_not_be_chosen(panel):
    clicked = []
    with shown(Item("Off", lambda: clicked.append(1), enabled=False), Menu.SEPARATOR, Item("On", lambda: clicked.append(2))):
        for number, _properties, _children in panel.open_menu()[1]:
            panel.click(number)
        panel.wait(lambda: 2 in clicked)
        assert clicked == [2]


def test_a_click_may_end_the_icon(panel):
    icon = Icon("name", picture(RED), "title", Menu(Item("Quit", lambda icon: icon.stop())))
    thread = threading.Thread(target=icon.run)
    thread.start()
    panel.click(panel.open_menu()[1][0][0])
    thread.join(LIMIT)
    assert not thread.is_alive()


def test_a_menu_that_fails_is_raised_and_leaves_nothing_on_the_bus(panel):
    icon = Icon("name", picture(RED), "title", Menu(Item(lambda _item: 1 / 0, None)))
    with pytest.raises(ZeroDivisionError):
        icon.run()
    panel.wait(lambda: [name for name in panel.bus("ListNames", "") if name.startswith(":")] == [panel.connection.unique_name])


def test_of_two_menu_updates_at_once_the_later_one_is_seen(panel):
    words, reading, go_on = ["first"], threading.Event(), threading.Event()

    def label(_item):
        word = words[0]
        if threading.current_thread().name == "late":
            reading.set()
            go_on.wait(LIMIT)
        return word

    with shown(Item(label, None)) as icon:
        assert panel.labels() == ["first"]
        late = threading.Thread(target=icon.update_menu, name="late")
        late.start()
        assert reading.wait(LIMIT)
        words[0] = "second"
        icon.update_menu()
        go_on.set()
        late.join(LIMIT)
        assert panel.labels() == ["second"]


# --- changes


def test_items_that_come_and_go_leave_the_others_their_numbers(panel):
    items = [Item(word, None) for word in "abc"]
    wanted = [items[0], items[1]]
    with shown(lambda: wanted) as icon:
        revision, (a, b) = panel.open_menu()
        panel.settled()
        wanted = [items[2], items[1]]
        icon.update_menu()
        panel.wait(lambda: panel.seen()["LayoutUpdated"])
        newer, (c, still_b) = panel.open_menu()
        assert newer > revision
        assert still_b == b
        assert c[0] not in (a[0], b[0])
        with pytest.raises(CallError, match="InvalidArgs"):
            panel.click(a[0])


def test_a_change_is_told_even_while_a_panel_asks(panel):
    with shown() as icon:
        panel.item()
        panel.settled()
        for number in range(30):  # an answer that was still on its way once kept the news back
            panel.send(panel.item(), MENU_PATH, MENU, "GetLayout", "iias", 0, -1, [])
            icon.title = str(number)
            panel.wait(lambda number=number: panel.seen()["NewTitle"] == number + 1)


def test_a_menu_that_opens_is_told_at_once_what_could_have_waited(panel, monkeypatch):
    items = [Item("a", None)]
    with shown(lambda: items) as icon:
        panel.item()
        panel.settled()
        monkeypatch.setattr(service, "PACE", 30)
        icon.title = "told"
        panel.wait(lambda: panel.seen()["NewTitle"])
        items.append(Item("b", None))
        icon.update_menu()
        assert panel.menu("AboutToShow", "i", 0) is True
        assert panel.menu("AboutToShow", "i", 0) is False
        assert panel.seen()["LayoutUpdated"] == 1
        assert panel.labels() == ["a", "b"]


@pytest.mark.parametrize("ask", [("AboutToShow", "i", 0), ("AboutToShowGroup", "ai", [0, 1])])
def test_what_is_changed_before_the_menu_opens_is_in_it(panel, caplog, ask):
    items = [Item("More", Menu(Item("a", None)))]
    with shown(lambda: items) as icon:
        panel.item()
        panel.settled()

        def add():
            items.append(Item("new", None))
            icon.update_menu()
            raise ZeroDivisionError

        icon.about_to_show = add
        assert panel.menu("AboutToShow", "i", 1) is False  # a submenu: it is too late for that
        assert panel.menu(*ask) in (True, ([0, 1], []))
        assert panel.labels()[:2] == ["More", "new"]
    assert "ZeroDivisionError" in caplog.text


def test_of_3000_changes_at_500_a_second_the_last_one_is_shown_and_few_are_told(panel):
    with shown(Item(lambda _item: icon.title, None)) as icon:
        panel.item()
        panel.settled()
        begun = time.monotonic()
        pictures = [picture(colour) for colour in (RED, GREEN, BLUE)]
        for number in range(3000):
            icon.icon = pictures[number % 3]
            icon.title = f"change {number}"
            icon.update_menu()
            if number % 5 == 0:
                panel._serve(0)
            time.sleep(max(0, begun + (number + 1) / 500 - time.monotonic()))
        took = time.monotonic() - begun
        panel.wait(lambda: panel.pixel() == BLUE)
        assert panel.get("Title") == "change 2999"
        assert panel.labels() == ["change 2999"]
        assert panel.seen().most_common(1)[0][1] <= took / service.PACE + 3
        assert panel.seen().total() >= 100
        assert panel.seen()["LayoutUpdated"] == 0


def test_without_changes_the_loop_sleeps(panel):
    with shown(Item("One", None)):
        panel.labels()
        panel.settled()
        loop = loop_thread()
        before = switches(loop)
        time.sleep(1.0)
        assert switches(loop) == before


def loop_thread():
    return next(thread for thread in threading.enumerate() if thread.name == "loop")


def seconds_run(thread):
    """How long a thread has been on a processor."""
    return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9


def switches(thread):
    """How often a thread has gone to sleep so far: once for each time it was woken."""
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])


# --- a watcher, a panel, a bus in trouble


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
    with shown(Item(lambda _item: icon.title, None)) as icon, Panel(bus, watch=False) as other:
        name = panel.item()
        for _ in range(500):  # and it reads no answer either
            panel.send(name, ITEM_PATH, PROPERTIES, "GetAll", "s", ITEM)
        begun = time.monotonic()
        for number in range(1000):
            icon.icon = picture(GREEN)
            icon.title = str(number)
            icon.update_menu()
        assert time.monotonic() - begun < 2
        other.registered.append(name)
        other.wait(lambda: other.get("Title") == "999")
        assert panel.get("Title") == "999"
        assert panel.pixel() == GREEN


def test_a_bus_that_stops_reading_blocks_nobody_and_nothing_piles_up(bus, panel, monkeypatch):
    monkeypatch.setattr(service, "PACE", 0)
    with shown(Item(lambda _item: icon.title, None)) as icon:
        panel.item()
        panel.settled()
        bus.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        for number in range(1500):
            icon.icon = picture(BLUE)
            icon.title = f"{number} " + "x" * 2000
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


class FakeBus:
    """The other end of the socket: lets in, asks, and reads only when told."""

    def __init__(self, folder, monkeypatch):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "fake"))
        self.listener.listen()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={folder / 'fake'}")

        self.parser = Parser()
        self.ready = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.let_in, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self.listener.close()
        self.connection.close()

    def let_in(self):
        self.connection, _ = self.listener.accept()
        self.read_to(b"\r\n")
        self.connection.sendall(b"OK 1234\r\n")
        self.parser.add_data(self.read_to(b"BEGIN\r\n"))
        self.ready.set()

    def read_to(self, end):
        """Read past ``end``; what came after it."""
        data = b""
        while end not in data:
            data += self.connection.recv(1000)
        return data.partition(end)[2]

    def send_calls(self, count):
        ask = new_method_call(DBusAddress(ITEM_PATH, ":1.1", PROPERTIES), "GetAll", "s", (ITEM,))
        data = b"".join(ask.serialise(serial=number + 1) for number in range(count))
        threading.Thread(target=self.connection.sendall, args=(data,), daemon=True).start()

    def answers(self, count, check):
        """Whether all answers come, and the check holds all the while."""
        self.connection.settimeout(LIMIT)
        seen = 0
        while check():
            seen += sum(message.header.message_type is MessageType.method_return for message in iter(self.parser.get_next_message, None))
            if seen >= count:
                return seen == count
            self.parser.add_data(self.connection.recv(1 << 20))
        return False


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
    before = threading.active_count()
    with pytest.raises(sni.BusLost, match="can't be reached"):
        Icon("name", picture(RED)).run()
    assert threading.active_count() == before


def test_a_bus_that_hangs_as_we_come_costs_two_seconds_and_no_more(bus, monkeypatch):
    monkeypatch.setattr(service, "CONNECT_LIMIT", 0.3)
    bus.process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(sni.BusLost):
        Icon("name", picture(RED)).run()
    assert time.monotonic() - begun < 1


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


# --- the whole of it under slothtray's shell


def test_the_shell_changes_words_in_place_and_shows_each_face_in_its_drawn_sizes(panel, monkeypatch):
    monkeypatch.setenv("SLOTHTRAY_TRAY", "sni")
    tray = shell.Shell(lambda *_: None)
    thread = threading.Thread(target=tray.run)
    thread.start()
    idle = entries.STARTING._replace(reason="")
    tray.show(idle)
    panel.wait(lambda: panel.labels()[0] == "Idle")
    revision, before = panel.open_menu()
    tray.show(idle._replace(face=Face.RUNNING))
    panel.wait(lambda: panel.labels()[0] == "Running")
    assert panel.open_menu()[0] == revision
    assert [number for number, *_ in panel.open_menu()[1]] == [number for number, *_ in before]
    assert [width for width, _height, _data in panel.get("IconPixmap")] == [16, 22, 24, 32, 48, 64]
    tray.show(idle._replace(failed_unseen=1))
    panel.wait(lambda: panel.get("Status") == "NeedsAttention")
    tray.stop()
    thread.join(LIMIT)
    assert not thread.is_alive()


def test_the_backend_loads_nothing_of_slothtray_and_no_toolkit():
    code = "import sys, slothtray.tray.sni; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    ours = [name for name in loaded if name.partition(".")[0] in ("slothtray", "pystray", "Xlib", "gi")]
    assert all(name in ("slothtray", "slothtray.tray") or name.startswith("slothtray.tray.sni") for name in ours)
