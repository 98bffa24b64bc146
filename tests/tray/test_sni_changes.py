"""Our tray backend while things change: clicks, news, floods of news, and quiet."""

import threading
import time

import pytest
from sni_icon import (
    BLUE,
    GREEN,
    LIMIT,
    RED,
    Icon,
    Item,
    Menu,
    Switch,
    loop_thread,
    picture,
    shown,
    switches,
)
from standin import MENU, CallError
from system.session import until

from slothtray.tray.sni import service
from slothtray.tray.sni.interfaces import MENU_PATH

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
    titles = [""]
    with shown(Item(lambda _item: titles[-1], None)) as icon:
        panel.item()
        panel.settled()
        begun = time.monotonic()
        pictures = [picture(colour) for colour in (RED, GREEN, BLUE)]
        for number in range(3000):
            icon.icon = pictures[number % 3]
            titles[:] = [f"change {number}"]
            icon.title = titles[-1]
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


def test_the_last_picture_is_announced_once_more_after_a_while_and_then_no_more(panel, monkeypatch):
    monkeypatch.setattr(service, "AGAIN", 0.3)
    with shown(Item("One", None)) as icon:
        panel.item()
        icon.icon = picture(GREEN)
        icon.attention = True
        panel.wait(lambda: [name for name, _body in panel.signals][-3:] == ["NewStatus", "NewIcon", "NewAttentionIcon"])
        panel.settled()
        panel._serve(0.5)
        assert panel.signals == []


def test_without_changes_the_loop_sleeps(panel, monkeypatch):
    monkeypatch.setattr(service, "AGAIN", 0.01)
    with shown(Item("One", None)):
        panel.labels()
        panel.settled()
        loop = loop_thread()
        before = switches(loop)
        time.sleep(1.0)
        assert switches(loop) == before
