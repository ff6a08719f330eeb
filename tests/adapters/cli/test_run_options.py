"""Which jobs `jobledger run` is told to control; contradictions are refused at once."""

from typing import Any

import pytest
import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.running.run import chosen_control, contradiction
from jobledger.adapters.settings import Settings


@pytest.mark.parametrize(
    ("control", "namespaces", "observe_only", "chosen"),
    [
        ("", None, False, ""),
        ("all", None, False, "all"),
        ("managed-by", None, False, "managed-by"),
        ("", ["team-a"], False, "namespaces"),
        ("namespaces", ["team-a"], False, "namespaces"),
        ("", None, True, "nothing"),
    ],
)
def test_options_say_what_is_controlled(
    control: str, namespaces: list[str] | None, observe_only: bool, chosen: str
) -> None:
    assert chosen_control(control, namespaces, observe_only=observe_only) == chosen


@pytest.mark.parametrize(
    ("control", "namespaces", "observe_only"),
    [("all", None, True), ("", ["team-a"], True), ("managed-by", ["team-a"], False)],
)
def test_contradictions_are_refused(
    control: str, namespaces: list[str] | None, observe_only: bool
) -> None:
    with pytest.raises(typer.Exit) as refused:
        chosen_control(control, namespaces, observe_only=observe_only)
    assert refused.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"control": "namespaces"}, "names none: say which (--control-namespace)"),
        ({"control_namespaces": ("team-a",)}, "set control to namespaces, or name none"),
        ({"control": "namespaces", "control_namespaces": ("a",), "namespaces": ("b",)}, ""),
        ({"control": "namespaces", "control_namespaces": ("a",)}, ""),
        ({"control": "namespaces", "control_namespaces": ("a",), "namespaces": ("a", "b")}, ""),
        ({"control": "nothing", "control_namespaces": ("a",)}, ""),
        ({"control": "managed-by", "control_namespaces": ("a",)}, ""),
        ({}, ""),
    ],
)
def test_settings_that_would_control_nothing_or_too_much_are_told(
    given: dict[str, Any], said: str
) -> None:
    told = contradiction(Settings(**given))
    assert said in told
    assert bool(told) == bool(said)
