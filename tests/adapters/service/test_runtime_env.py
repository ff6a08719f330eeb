"""`spec.runtimeEnvYAML`: any text at all comes in, and nothing of it comes out in an error."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.service.runtime_env import CHARACTERS_MAX, NODES_MAX, parse_runtime_env
from tests.adapters.service.parts import SECRET

LAUGHS = "\n".join(
    ["a0: &a0 [lol]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
)
MERGED = "\n".join(
    [
        "m0: &m0 {k: v}",
        *(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 10)}]}}" for n in range(1, 12)),
    ]
)


def test_a_runtime_environment_is_read_as_the_json_object_it_stands_for() -> None:
    text = """
    pip: [torch==2.9, "x"]
    env_vars: {A: "1", B: b}
    config: {setup_timeout_seconds: 600, eager_install: true, nothing: null, share: 0.5}
    """
    assert parse_runtime_env(text) == (
        {
            "pip": ["torch==2.9", "x"],
            "env_vars": {"A": "1", "B": "b"},
            "config": {
                "setup_timeout_seconds": 600,
                "eager_install": True,
                "nothing": None,
                "share": 0.5,
            },
        },
        "",
    )


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_nothing_is_an_empty_one_and_no_problem(text: str) -> None:
    assert parse_runtime_env(text) == ({}, "")


def test_dates_stay_texts() -> None:
    text = "env_vars: {DAY: 2026-11-21, AT: 2026-11-21T12:00:00Z}"
    read, problem = parse_runtime_env(text)
    assert (read, problem) == (
        {"env_vars": {"DAY": "2026-11-21", "AT": "2026-11-21T12:00:00Z"}},
        "",
    )


def test_keys_are_texts_as_json_has_them() -> None:
    read, problem = parse_runtime_env("{2: a, true: b, null: c, 1.5: d}")
    assert (read, problem) == ({"2": "a", "true": "b", "null": "c", "1.5": "d"}, "")


def test_maps_are_merged() -> None:
    read, problem = parse_runtime_env("base: &b {x: 1, y: 2}\nmine: {<<: *b, y: 3}")
    assert (read["mine"], problem) == ({"x": 1, "y": 3}, "")


@pytest.mark.parametrize("bomb", [LAUGHS, MERGED], ids=["aliases", "merges"])
def test_what_grows_without_bound_when_written_out_is_refused(bomb: str) -> None:
    assert parse_runtime_env(bomb) == ({}, "not readable as YAML (ValueError)")


def test_many_aliases_of_a_long_map_are_refused_before_they_are_merged() -> None:
    long = ", ".join(f"k{number}: v" for number in range(500))
    text = f"a: &a {{{long}}}\nb: {{<<: [{', '.join(['*a'] * 2000)}]}}"
    assert parse_runtime_env(text) == ({}, "not readable as YAML (ValueError)")


def test_as_many_values_as_allowed_are_read() -> None:
    read, problem = parse_runtime_env(json.dumps({"pip": ["x"] * (NODES_MAX - 2)}))
    assert problem == ""
    assert parse_runtime_env(json.dumps({"pip": ["x"] * (NODES_MAX - 1)}))[1] != ""
    assert len(json.dumps(read)) > NODES_MAX


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a {<<: *a}"])
def test_what_holds_itself_is_refused(text: str) -> None:
    assert parse_runtime_env(text)[1].startswith("not readable as YAML")


@pytest.mark.parametrize(
    "text",
    [
        "x: .nan",
        "x: .inf",
        "x: -.inf",
        f"x: 0x{'f' * 5000}",
        f"x: {'9' * 5000}",
        'x: "\\ud800"',
        '"\\udfff": x',
        "x: !!timestamp never",
        "x: !!bool perhaps",
        'x: !!int ""',
        "x: !!binary ===",
    ],
)
def test_what_no_request_can_carry_is_refused(text: str) -> None:
    read, problem = parse_runtime_env(text)
    assert read == {}
    assert problem


@pytest.mark.parametrize(
    ("text", "kind"),
    [("just text", "a text"), ("[1]", "a list"), ("null", "nothing"), ("12", "a number")],
)
def test_anything_but_a_map_is_named_by_its_kind(text: str, kind: str) -> None:
    assert parse_runtime_env(text) == ({}, f"a YAML map is needed, found {kind}")


def test_a_text_that_is_too_long_is_not_even_parsed() -> None:
    problem = f"longer than {CHARACTERS_MAX} characters"
    assert parse_runtime_env("#" * (CHARACTERS_MAX + 1)) == ({}, problem)


def test_deep_nesting_is_refused() -> None:
    assert parse_runtime_env("[" * 1_500)[1] != ""
    assert parse_runtime_env("x: " + "{a: " * 1_000 + "}" * 1_000)[1] != ""


def test_the_problem_names_the_place() -> None:
    _, problem = parse_runtime_env("env_vars:\n  A: [1\n")
    assert problem.startswith("yaml: ")
    assert "line 3, column 1" in problem


@pytest.mark.parametrize(
    "text",
    [
        f"env_vars:\n  TOKEN: {SECRET}: {SECRET}",
        f"env_vars: {{TOKEN: *{SECRET}}}",
        f"env_vars: {{TOKEN: !{SECRET} x}}",
        f"env_vars: {{TOKEN: !{SECRET}'s x}}",
        f"a: &{SECRET} 1\nb: &{SECRET} 2\nc: @",
        f"%{SECRET} x\n---\n",
        f"TOKEN: @{SECRET}",
        f"TOKEN: '{SECRET}",
        f'TOKEN: "\\x{SECRET}"',
        SECRET,
        f"- {SECRET}",
        f"!!timestamp {SECRET}",
        f"!!int {SECRET}",
    ],
)
def test_the_problem_never_holds_the_content(text: str) -> None:
    _, problem = parse_runtime_env(text)
    assert SECRET[:8] not in problem


YAMLISH = st.text(alphabet="ab: -[]{}&*!'\"\n|>%@#?,<0.~\\\t\x00\x85\ud800", max_size=60)


@given(YAMLISH)
def test_any_text_brings_an_object_that_json_holds_or_a_problem(text: str) -> None:
    read, problem = parse_runtime_env(text)
    assert msgspec.json.decode(msgspec.json.encode(read)) == read
    assert problem == "" or read == {}
