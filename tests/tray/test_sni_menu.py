"""Numbers of menu items: what stays the same, what is new, and what is never used again. No bus."""

import copy
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray.tray import shell
from slothtray.tray.sni import menu

pystray = shell._pystray()
Item, Menu = pystray.MenuItem, pystray.Menu


def keyed(key, words, inner=(), **options):
    item = Item(words, Menu(*inner) if inner else None, **options)
    item.key = key
    return item


def tree(old, *items):
    return old.after(menu.lines(Menu(*items), Menu.SEPARATOR))


def numbers(tree, parent=0):
    """The numbers below one item, in order."""
    return [node.id for node in tree[parent].children]


def words(tree, number):
    return tree[number].properties["label"][1]


def test_the_same_object_keeps_its_number_whatever_it_says():
    label = ["one"]
    item = Item(lambda _item: label[0], None)
    before = tree(menu.empty(), item, Item("other", None))
    label[0] = "two"
    after = tree(before, Item("third", None), item)
    assert numbers(after)[1] == numbers(before)[0]
    assert words(after, numbers(before)[0]) == "two"


def test_a_menu_made_anew_keeps_the_numbers_of_what_says_the_same():
    before = tree(menu.empty(), Item("a", None), Item("b", None), Item("b", None))
    after = tree(before, Item("b", None), Item("c", None), Item("a", None), Item("b", None))
    a, b, second_b = numbers(before)
    assert numbers(after) == [b, 4, a, second_b]


def test_the_same_key_is_the_same_item_and_the_same_words_under_another_key_are_not():
    before = tree(menu.empty(), keyed("job 1", "Cancel"), keyed("job 2", "Cancel"))
    after = tree(before, keyed("job 2", "Cancel it"), keyed("job 3", "Cancel"))
    assert numbers(after) == [numbers(before)[1], 3]


def test_the_children_of_a_new_item_are_new_even_if_they_say_the_same():
    before = tree(menu.empty(), keyed("job 1", "make", [Item("Cancel", None)]))
    after = tree(before, keyed("job 2", "make", [Item("Cancel", None)]))
    assert not set(numbers(before, numbers(before)[0])) & set(numbers(after, numbers(after)[0]))


@pytest.mark.parametrize(
    "other", [{"inner": [Item("x", None)]}, {"checked": lambda _item: True}, {"checked": lambda _item: True, "radio": True}]
)
def test_an_item_that_becomes_another_kind_gets_another_number(other):
    before = tree(menu.empty(), keyed("one", "One"))
    after = tree(before, keyed("one", "One", **other))
    assert numbers(after) != numbers(before)


def test_news_are_the_properties_that_differ_and_those_that_are_gone():
    on = [True]
    item = keyed("one", "One", checked=lambda _item: on[0])
    before = tree(menu.empty(), item, Menu.SEPARATOR, keyed("two", "Two"))
    on[0] = False
    after = tree(before, item, Menu.SEPARATOR, keyed("two", "Two"))
    assert after.revision == before.revision
    assert after.news(before) == ([(numbers(before)[0], {"toggle-state": ("i", 0)})], [])
    assert before.news(after)[0] == [(numbers(before)[0], {"toggle-state": ("i", 1)})]
    assert after.news(after) == ([], [])
    bare = copy.copy(after)
    bare._nodes = {**after._nodes, numbers(after)[0]: after[numbers(after)[0]]._replace(properties={})}
    assert bare.news(after)[1] == [(numbers(after)[0], ["label", "enabled", "toggle-type", "toggle-state"])]


lines = st.recursive(
    st.builds(SimpleNamespace, key=st.none() | st.sampled_from("abc"), words=st.sampled_from("xyz"), inner=st.just([])),
    lambda inner: st.builds(SimpleNamespace, key=st.none() | st.sampled_from("abc"), words=st.sampled_from("xyz"), inner=st.lists(inner, min_size=1, max_size=3)),
    max_leaves=6,
)


def built(line):
    item = Item(line.words, Menu(*map(built, line.inner)) if line.inner else None)
    if line.key:
        item.key = line.key
    return item


@given(st.lists(st.lists(lines, max_size=5), min_size=2, max_size=6))
def test_a_number_never_comes_to_mean_another_item(menus):
    meanings = {}
    gone = set()
    last = menu.empty()
    for one in menus:
        now = tree(last, *map(built, one))
        here = {}
        collect(now[0], here)
        assert not gone & set(here)
        for number, meaning in here.items():
            assert meanings.setdefault(number, meaning) == meaning
        gone |= set(meanings) - set(here)
        assert (now.revision == last.revision) == (shape(now[0]) == shape(last[0]))
        assert {number for number, _properties in now.group([], [])} == {0, *here}
        last = now


def collect(node, found, above=()):
    """What each number stands for: its key, or else its words, below those of its parents."""
    for child in node.children:
        meaning = (*above, getattr(child.item, "key", None) or child.properties["label"][1])
        assert child.id not in found
        found[child.id] = meaning
        collect(child, found, meaning)


def shape(node):
    return node.id, [shape(child) for child in node.children]
