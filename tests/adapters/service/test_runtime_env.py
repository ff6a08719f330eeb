"""`spec.runtimeEnvYAML`: any text at all comes in, and nothing of it comes out in an error."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.adapters.service.objects import runtime_env
from jobledger.adapters.service.objects.runtime_env import (
    CHARACTERS_MAX,
    NODES_MAX,
    parse_runtime_env,
)
from tests.adapters.service.parts import SECRET
from tests.support.cpu import limited_cpu

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


@pytest.mark.parametrize("text", ["", "  \n", "# later\n", "null", "~", "---\n---\na: 1"])
def test_nothing_is_none_and_no_problem(text: str) -> None:
    assert parse_runtime_env(text) == (None, "")


def test_only_the_first_document_counts() -> None:
    assert parse_runtime_env("a: 1\n---\nb: [\n") == ({"a": 1}, "")


def test_dates_stay_texts() -> None:
    text = "env_vars: {DAY: 2026-11-21, AT: 2026-11-21T12:00:00Z}"
    read, problem = parse_runtime_env(text)
    assert (read, problem) == (
        {"env_vars": {"DAY": "2026-11-21", "AT": "2026-11-21T12:00:00Z"}},
        "",
    )


def test_keys_are_texts_as_json_has_them() -> None:
    read, problem = parse_runtime_env("{2: a, true: b, 1.5: d, 1e6: e, 1e-5: f, 123456.0: g}")
    assert problem == ""
    assert read == {"2": "a", "true": "b", "1.5": "d", "1e+06": "e", "1e-05": "f", "123456": "g"}


def test_a_key_that_is_nothing_is_refused() -> None:
    assert parse_runtime_env("null: c") == (
        None,
        "yaml: a key that JSON cannot have at line 1, column 1",
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("16:9", "16:9"), ("12:30:00", "12:30:00"), ("1e3", 1000.0), ("=", "="), ("<<", "<<")),
        *(("010", 8), ("0o10", 8), ("08", 8.0), ("0x1F", 31), ("-0b11", -3), ("1_000", 1000)),
        *(("yes", True), ("y", True), ("N", False), ("oN", "oN"), ("+1", 1), ("0b-1", -1)),
        *((".5", 0.5), (".5_5", 0.55), ("._5", "._5"), ("1e400", "1e400"), ("nan", "nan")),
        *(("18446744073709551615", 2**64 - 1), ("+18446744073709551615", 1.8446744073709552e19)),
        *((f"0x{'f' * 5000}", f"0x{'f' * 5000}"), ("9" * 5000, "9" * 5000)),
        *(("!!str 1", "1"), ("!!int '2'", 2), ("!!float 3", 3.0), ("!mine 5", "5")),
        *(
            ("!!binary aGk=", "hi"),
            ("!!bool 'yes'", True),
            ("!!timestamp 2020-01-02", "2020-01-02"),
        ),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_scalar_means_what_it_means_to_go(written: str, value: object) -> None:
    read, problem = parse_runtime_env(f"a: {written}")
    assert problem == ""
    assert read is not None
    assert (read["a"], type(read["a"])) == (value, type(value))


def test_maps_are_merged() -> None:
    read, problem = parse_runtime_env("base: &b {x: 1, z: 2}\nmine: {<<: *b, z: 3}")
    assert problem == ""
    assert read is not None
    assert read["mine"] == {"x": 1, "z": 3}


@pytest.mark.parametrize("bomb", [LAUGHS, MERGED], ids=["aliases", "merges"])
def test_what_grows_without_bound_when_written_out_is_refused(bomb: str) -> None:
    assert parse_runtime_env(bomb) == (None, "yaml: more than 20000 values")


def test_many_aliases_of_a_long_map_are_refused_before_they_are_merged() -> None:
    long = ", ".join(f"k{number}: v" for number in range(500))
    text = f"a: &a {{{long}}}\nb: {{<<: [{', '.join(['*a'] * 2000)}]}}"
    assert parse_runtime_env(text) == (None, "yaml: more than 20000 values")


def test_as_many_values_as_allowed_are_read() -> None:
    read, problem = parse_runtime_env(json.dumps({"pip": ["x"] * (NODES_MAX - 2)}))
    assert problem == ""
    assert parse_runtime_env(json.dumps({"pip": ["x"] * (NODES_MAX - 1)}))[1] != ""
    assert len(json.dumps(read)) > NODES_MAX


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a {<<: *a}"])
def test_what_holds_itself_is_refused(text: str) -> None:
    assert parse_runtime_env(text) == (None, "yaml: a map or list that holds itself")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n? [b]\n: c", "a key that is no text at line 2, column 3"),
        ("a: 1\n<<: 5", "a map is needed for a merge at line 2, column 5"),
        ("a:\n  - !!binary '#'", "a value that is no base64 at line 2, column 5"),
        ("a: !!int x", "a value that is not what its tag says at line 1, column 4"),
        ("a: !!float .inf", "a number that JSON cannot hold at line 1, column 4"),
        ("%YAML 1.2\n---\na: b", "another version of YAML than 1.1"),
        ('a: "\\ud800"', "half of a character (a lone surrogate), which no request can carry"),
    ],
)
def test_what_cannot_be_read_is_said_in_words_with_its_place(text: str, said: str) -> None:
    """No name of a Python class: who wrote the manifest need not know what reads it."""
    assert parse_runtime_env(text) == (None, f"yaml: {said}")


@pytest.mark.parametrize(
    "text",
    [
        "x: .nan",
        "x: .inf",
        "x: -.inf",
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
    assert read is None
    assert problem


@pytest.mark.parametrize(
    ("text", "kind"),
    [("just text", "a text"), ("[1]", "a list"), ("12", "a number")],
)
def test_anything_but_a_map_is_named_by_its_kind(text: str, kind: str) -> None:
    assert parse_runtime_env(text) == (None, f"a YAML map is needed, found {kind}")


def test_a_text_that_is_too_long_is_not_even_parsed() -> None:
    problem = f"longer than {CHARACTERS_MAX} characters"
    assert parse_runtime_env("#" * (CHARACTERS_MAX + 1)) == (None, problem)


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
    assert problem == "" or read is None


@pytest.mark.parametrize(
    "deep",
    ["[" * 100_000, "- " * 100_000, "? " * 100_000, "a: [" + "{a: " * 60_000, "!a [" * 60_000],
)
def test_what_lies_too_deep_is_refused_before_anything_recurses(deep: str) -> None:
    """The parser in C would end the whole process."""
    read, problem = parse_runtime_env(deep[:CHARACTERS_MAX])
    assert (read, problem) == (None, "yaml: more than 100 maps and lists in each other")


def test_the_same_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is edited elsewhere again and again has its runtime environment read once."""
    read: list[str] = []
    look_ahead = runtime_env._look_ahead  # noqa: SLF001  # what every reading begins with

    def counted(text: str) -> None:
        read.append(text)
        look_ahead(text)

    monkeypatch.setattr(runtime_env, "_look_ahead", counted)
    text = f"env_vars: {{ONLY_HERE: '{SECRET}'}}"
    parse_runtime_env.cache_clear()
    assert {parse_runtime_env(text)[1] for _ in range(5)} == {""}
    assert read == [text]


@pytest.mark.parametrize(
    "much",
    ["[" + "x, " * 80_000 + "]", "".join(f"k{n}: &a{n} [1]\n" for n in range(12_000)), LAUGHS],
)
def test_what_holds_too_much_is_refused_with_how_much_may_be(much: str) -> None:
    assert parse_runtime_env(much) == (None, "yaml: more than 20000 values")


def test_of_what_holds_far_too_much_nothing_is_built() -> None:
    """A parser in Python takes seconds to read it, and no RayJob is seen meanwhile."""
    with limited_cpu(1.0):
        refused = parse_runtime_env("[" + "x," * 125_000 + "]")
    assert refused == (None, "yaml: more than 20000 values")
