"""What is typed into a real cluster stands on the page, and the reader knows what to put where."""

import pytest

from tests.node.install.__main__ import NEW, OLD, SECTIONS, URL
from tests.node.install.page import PAGE, Command, commands, typed
from tests.node.install.story import OTHERWISE, disagreement

COMMANDS = commands(PAGE.read_text(encoding="utf-8"))


def test_commands_are_read_in_their_order_with_their_headings() -> None:
    page = (
        "# P\n## A\n```console\n$ one \\\n    --more\n$ two\n```\n## B\n```console\n$ three\n```\n"
    )
    found = [Command("A", "one --more"), Command("A", "two"), Command("B", "three")]
    assert commands(page) == found


def test_what_is_no_command_is_told() -> None:
    with pytest.raises(ValueError, match="a line shows no command: said"):
        commands("## A\n```console\n$ one\nsaid\n```\n")


def test_examples_are_replaced() -> None:
    assert typed("a --url=db.example:1", {"db.example:1": "10.0.0.1:2"}) == "a --url=10.0.0.1:2"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_that_is_typed_is_on_the_page(section: str) -> None:
    assert [one for one in COMMANDS if one.section == section]


@pytest.mark.parametrize("beginning", OTHERWISE)
def test_what_is_done_otherwise_is_on_the_page(beginning: str) -> None:
    assert [one for one in COMMANDS if one.text.startswith(beginning)]


def test_the_page_has_the_images_and_addresses_that_are_put_there() -> None:
    text = "\n".join(one.text for one in COMMANDS)
    assert f"-t {OLD}" in text
    assert f"image.tag={NEW.rpartition(':')[2]}" in text
    for role in ("jobledger_service", "jobledger_owner"):
        assert URL.format(role=role) in text


@pytest.mark.parametrize(
    ("outcomes", "told", "clusters", "said"),
    [
        (["failed", "succeeded"], ["a", "b"], {"a", "b"}, ""),
        (["failed", "succeeded"], ["a", "b"], {"a", "b", "c"}, "there were ['a', 'b', 'c']"),
        (["failed", "succeeded"], ["a", "a"], {"a"}, "and the ledger has ['a', 'a']"),
        (["succeeded"], ["a"], {"a"}, "the ledger has ['succeeded']"),
        (["failed", "failed"], ["a", "b"], {"a", "b"}, "and 1 have failed"),
    ],
)
def test_an_attempt_too_many_or_too_few_is_seen(
    outcomes: list[str], told: list[str], clusters: set[str], said: str
) -> None:
    pairs = zip(outcomes, told, strict=True)
    attempts = [{"outcome": outcome, "ray_cluster_name": name} for outcome, name in pairs]
    found = disagreement(attempts, clusters, failed=1)
    assert said in found
    assert bool(said) == bool(found)
