"""Notifications as a real daemon shows them, and what is chosen in them."""

import re
import time
from pathlib import Path

import pytest
import session
from told import OFFERS, bus_name, notice, notified, server, shown


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("--help", "usage: nothing"),
        ("--urgency=critical", "-5 is the exit code"),
        ("-5 is the exit code", "--help"),
        ('<b>&"', '<b>bold</b> & "quoted" \'single\' 1 < 2 && y &amp; <a href="x">l</a>'),
        ("a & b", "first line\nsecond line"),
        ("🦥 שלום", "你好 é"),
        ("only a title", ""),
    ],
)
def test_text_is_shown_as_it_is(desktop, title, body, notifier):
    notifier.notify(notice(title, body))
    [bubble] = desktop.history()
    assert (bubble["summary"], bubble["body"], bubble["appname"]) == (title, shown(body), "slothtray")


def test_what_a_bubble_cannot_carry_is_made_visible_and_cut(desktop, notifier):
    notifier.notify(notice("nul \0 half \udcff", "esc \x1b[31m\u202egpj.sh\nnul \0 half \udcff", job=1))
    notifier.notify(notice("L" * 300, "🦥" * 1000, job=2))
    notifier.notify(notice(" \n\t ", "no title", job=3))
    odd, long, untitled = desktop.history()
    assert (odd["summary"], odd["body"]) == ("nul ␀ half �", "esc ␛[31mgpj.sh\nnul ␀ half �")
    assert (long["summary"], long["body"]) == ("L" * 62 + "…", "🦥" * 127 + "…")
    assert untitled["summary"] == "slothtray"


def test_an_urgent_notice_is_critical_and_stays(desktop, notifier):
    notifier.notify(notice("ordinary"))
    notifier.notify(notice("urgent", urgent=True))
    ordinary, urgent = desktop.history()
    assert (ordinary["category"], ordinary["timeout"]) == ("", 10_000_000)  # dunst counts in microseconds
    assert (urgent["category"], urgent["timeout"]) == ("critical", 0)


def test_a_job_has_one_bubble_and_the_rest_have_their_own(desktop, notifier):
    for text, job in (("failed", 5), ("other", 6), ("failed again", 5), ("no job", None), ("nor this", None)):
        notifier.notify(notice(text, job=job))
    assert sorted(bubble["summary"] for bubble in desktop.history()) == ["failed again", "no job", "nor this", "other"]


# --- what is chosen in a bubble ---------------------------------------------------------------------------------------


class Chosen:
    """What was chosen: titles and offers."""

    def __init__(self, notifier):
        self.all = []
        notifier.listen(self)

    def __call__(self, notice, offer):
        self.all.append((notice.title, offer))
        if notice.title == "bad":
            raise ZeroDivisionError

    def wait(self, *wanted):
        session.until(lambda: self.all == list(wanted))


def tells(stand_in, member, *body, signature="us"):
    stand_in.emit("/org/freedesktop/Notifications", session.NOTIFICATIONS, member, signature, body)


def test_what_is_chosen_in_a_real_bubble_comes_back_with_its_notice(desktop, notifier):
    chosen = Chosen(notifier)
    notifier.notify(notice("Failed: make", job=5, urgent=True, offers=OFFERS))
    desktop.choose("Retry")
    chosen.wait(("Failed: make", "retry"))
    notifier.notify(notice("Failed: make", job=5, urgent=True, offers=OFFERS))
    desktop.choose("Open log")
    chosen.wait(("Failed: make", "retry"), ("Failed: make", "open_log"))


def test_a_click_on_the_bubble_itself_opens_the_log(desktop, notifier):
    chosen = Chosen(notifier)
    notifier.notify(notice("Failed: make", job=5, urgent=True, offers=("open_log",)))
    desktop.click()
    chosen.wait(("Failed: make", "open_log"))


def test_one_notice_about_several_takes_the_place_of_those_about_each_and_is_kept_up_to_date(desktop, notifier):
    chosen = Chosen(notifier)
    for job in (5, 6):
        notifier.notify(notice(f"Failed: {job}", job=job, urgent=True))
    assert desktop.displayed() == 2
    several = {"urgent": True, "offers": OFFERS}
    notifier.notify(notice("3 jobs failed", covers=(5, 6, 7), **several))
    assert desktop.displayed() == 1
    notifier.notify(notice("4 jobs failed", covers=(5, 6, 7, 8), **several))
    assert desktop.displayed() == 1
    desktop.choose("Retry all")
    chosen.wait(("4 jobs failed", "retry"))


def test_a_notice_that_is_no_longer_true_is_taken_from_the_screen(desktop, notifier):
    for job in (5, 6):
        notifier.notify(notice(f"Failed: {job}", job=job, urgent=True))
    for job in (5, 5, 7):
        notifier.withdraw(job)
    assert desktop.displayed() == 1
    notifier.notify(notice("again", job=5))  # nothing is left that it could replace
    assert desktop.displayed() == 2


def test_withdrawing_before_the_first_notice_is_nothing(notifier):
    notifier.withdraw(5)


def test_a_server_without_buttons_gets_none(session_bus, notifier):
    with server(session_bus) as plain:
        notifier.notify(notice("t", job=5, offers=OFFERS))
    assert notified(plain)[0][5] == []


def test_buttons_are_named_for_what_they_do(session_bus, notifier):
    with server(session_bus, ["actions"]) as able:
        notifier.notify(notice("t", job=5, offers=OFFERS))
        notifier.notify(notice("t", job=6, offers=("open_log", "release")))
        notifier.notify(notice("t", offers=OFFERS, covers=(5, 6)))
        notifier.notify(notice("t"))
    log = ["default", "Open log", "open_log", "Open log"]
    wanted = [[*log, "retry", "Retry"], [*log, "release", "Release"], [*log, "retry", "Retry all"], []]
    assert [call[5] for call in notified(able)] == wanted


def test_where_a_click_on_the_bubble_would_be_shown_as_a_button_there_is_none_for_it(session_bus, notifier):
    with server(session_bus, ["actions"], GetServerInformation=lambda: ("ssss", ("lxqt-notificationd", "LXQt.org", "1.2", "1.2"))) as lxqt:
        notifier.notify(notice("t", job=5, offers=OFFERS))
    assert notified(lxqt)[0][5] == ["open_log", "Open log", "retry", "Retry"]


def test_a_choice_is_heard_also_after_the_closing_and_while_another_notice_is_shown(session_bus, notifier):
    def closing_first(_app, _replaces, _icon, title, *_):
        if title == "second":
            tells(able, "NotificationClosed", 7, 2, signature="uu")
            tells(able, "ActionInvoked", 7, "retry")  # on its way before the answer
        return "u", (7 if title == "first" else 8,)

    chosen = Chosen(notifier)
    with server(session_bus, ["actions"], Notify=closing_first) as able:
        notifier.notify(notice("first", job=5, offers=OFFERS))
        notifier.notify(notice("second", job=6, offers=OFFERS))
        chosen.wait(("first", "retry"))


def test_only_what_the_server_says_of_our_own_bubbles_and_offers_counts(session_bus, notifier):
    chosen = Chosen(notifier)
    with server(session_bus, ["actions"]) as able:
        notifier.notify(notice("ours", job=5, offers=OFFERS))
        with session_bus.connection() as stranger:
            address = session.DBusAddress("/org/freedesktop/Notifications", interface=session.NOTIFICATIONS)
            message = session.new_signal(address, "ActionInvoked", "us", (7, "open_log"))
            message.header.fields[session.HeaderFields.destination] = bus_name(notifier)
            stranger.send(message)
            session.Proxy(session.message_bus, stranger).GetId()  # answered: so the bus has passed the signal on
        tells(able, "ActionInvoked", 99, "retry")
        tells(able, "ActionInvoked", 7, "format-disk")
        tells(able, "ActionInvoked", 7, "retry")
        chosen.wait(("ours", "retry"))


def test_a_closed_bubble_is_not_replaced(session_bus, notifier):
    with server(session_bus) as service:
        notifier.notify(notice("a", job=5))
        tells(service, "NotificationClosed", 7, 2, signature="uu")
        session.until(lambda: not notifier._bubbles._worker._service._numbers)
        notifier.notify(notice("b", job=5))
        notifier.notify(notice("c", job=5))
    assert [call[1] for call in notified(service)] == [0, 0, 8]


def test_a_listener_that_fails_is_survived(session_bus, notifier, caplog):
    chosen = Chosen(notifier)
    with server(session_bus, ["actions"]) as able:
        notifier.notify(notice("bad", job=5, offers=OFFERS))
        tells(able, "ActionInvoked", 7, "retry")
        chosen.wait(("bad", "retry"))
        notifier.notify(notice("good", job=6, offers=OFFERS))
        tells(able, "ActionInvoked", 8, "retry")
        chosen.wait(("bad", "retry"), ("good", "retry"))
    assert "ZeroDivisionError" in caplog.text


def test_waiting_for_a_choice_wakes_nobody(session_bus, notifier):
    def switches():
        text = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
        return re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)[1]

    with server(session_bus):
        notifier.notify(notice("t", job=5, offers=OFFERS))
        thread = notifier._bubbles._worker._thread
        session.until(lambda: (before := switches()) and not time.sleep(0.1) and before == switches())
        before = switches()
        time.sleep(1)  # the time is what is asked about
        assert switches() == before
