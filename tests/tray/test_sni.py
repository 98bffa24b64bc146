"""Our tray backend as a panel sees it, on a private bus: no screen, no toolkit. What it shows and what it answers."""

import subprocess
import sys
import threading
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from sni_icon import GREEN, LIMIT, RED, Item, Menu, Switch, picture, shown
from standin import ITEM, ITEM_PATH, MENU, PROPERTIES, CallError, plain

from slothtray.model import Face
from slothtray.tray import menu as entries
from slothtray.tray import shell
from slothtray.tray.sni import interfaces
from slothtray.tray.sni.interfaces import MENU_PATH

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


def test_a_picture_that_changes_before_attention_is_asked_for_is_told_then_too(panel):
    with shown(image=picture(RED)) as icon:
        assert panel.pixel() == RED
        panel.settled()
        icon.icon = picture(GREEN)
        panel.wait(lambda: panel.seen()["NewIcon"])
        assert not panel.seen()["NewAttentionIcon"]
        icon.attention = True
        panel.wait(lambda: panel.seen()["NewStatus"])
        assert [name for name, _body in panel.signals] == ["NewIcon", "NewAttentionIcon", "NewStatus"]


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
