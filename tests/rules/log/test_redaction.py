"""How a secret is known in a text, and what stands in its place."""

import base64
import html
import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import pytest

from jobledger.core.jobs.retries.retry import NEVER_RETRIED
from jobledger.core.log.redaction import secret_places
from jobledger.core.log.redaction.detection.assigned_values import NESTED_MAX
from jobledger.core.log.redaction.detection.secret_names import Promise, promise_of
from jobledger.core.log.redaction.redact import HIDDEN, UNCOUNTED, Redactor, secrets_in
from jobledger.core.log.redaction.secret_values import (
    CHARACTERS_MAX,
    SECRET_CHARACTERS_MAX,
    SECRETS_MAX,
    VALUES_MAX,
)
from jobledger.core.values.documents import Json, Manifest

KEY = b"a key of the installation, 32 by"
SECRET = "Tr0ub4dor-and-3"
NO_SECRETS = Redactor(KEY, ())
MARK = NO_SECRETS.marker(SECRET)


ISSUED = (
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_" + "11ABCDEFG0abcdefghijkl_0123456789",
    "glpat-" + "0123456789abcdefghij",
    "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "sk-" + "proj-0123456789abcdefghij0123456789",
    "xox" + "b-0123456789-abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJyYXkifQ." + "abcdefghij",
    "AIza" + "0123456789abcdefghij0123456789ABCDE",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\ndef=\n-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("token", ISSUED)
def test_a_token_is_known_by_its_shape(token: str) -> None:
    assert NO_SECRETS.text(f"got {token}, why?", 500) == (f"got {NO_SECRETS.marker(token)}, why?")
    assert secrets_in({"args": [token]}, {}) == {token}


@dataclass(frozen=True, kw_only=True)
class Said:
    rule: str
    text: str
    left: str


WORDS = (
    Said(rule="an assignment", text="password=S3cr3t ok", left="password={} ok"),
    Said(rule="an upper-case variable", text="export HF_TOKEN=S3cr3t", left="export HF_TOKEN={}"),
    Said(rule="a line of YAML", text="  api_key: S3cr3t\n", left="  api_key: {}\n"),
    Said(rule="JSON", text='{"apiKey": "S3cr3t", "n": 1}', left='{"apiKey": "{}", "n": 1}'),
    Said(rule="JSON in JSON", text=r'"{\"pwd\":\"S3cr3t\"}"', left=r'"{\"pwd\":\"{}\"}"'),
    Said(rule="a Python object", text="{'secret': 'S3cr3t'}", left="{'secret': '{}'}"),
    Said(rule="a list of arguments", text="['--token', 'S3cr3t']", left="['--token', '{}']"),
    Said(rule="an option", text="run --token S3cr3t --fast", left="run --token {} --fast"),
    Said(rule="a header", text="Authorization: Bearer S3cr3t", left="Authorization: Bearer {}"),
    Said(rule="a query", text="/x?a=1&access_token=S3cr3t&b", left="/x?a=1&access_token={}&b"),
    Said(rule="a signed address", text="https://h/x?sig=S3cr3t", left="https://h/x?sig={}"),
    Said(rule="an address", text="redis://:S3cr3t@head:6379", left="redis://:{}@head:6379"),
    Said(rule="a storage key", text="AccountKey=S3cr3t;Other=1", left="AccountKey={};Other=1"),
)


@pytest.mark.parametrize("said", WORDS, ids=lambda said: said.rule)
def test_a_word_before_it_tells_a_secret(said: Said) -> None:
    expected = said.left.replace("{}", NO_SECRETS.marker("S3cr3t"))
    assert NO_SECRETS.text(said.text, 500) == expected
    assert NO_SECRETS.text(expected, 500) == expected


ODD = 'p&ss "w\'rd"/ü<$HOME>\\+x=%'
FORMS = (
    ("as it is", ODD),
    ("percent-encoded", quote(ODD, safe="")),
    ("percent-encoded but for slashes", quote(ODD)),
    ("as a form field", quote_plus(ODD)),
    (
        "percent-encoded in lower case",
        re.sub("%..", lambda code: code[0].lower(), quote(ODD, safe="")),
    ),
    ("in JSON", json.dumps(ODD)),
    ("in JSON without escapes for other scripts", json.dumps(ODD, ensure_ascii=False)),
    ("in JSON as Go writes it", json.dumps(ODD).replace("&", "\\u0026").replace("<", "\\u003c")),
    ("in JSON in JSON", json.dumps(json.dumps(ODD))),
    ("as Python shows it", repr(ODD)),
    ("quoted for a shell", shlex.quote(ODD)),
    ("in HTML", html.escape(ODD)),
    ("in HTML but for quotes", html.escape(ODD, quote=False)),
    ("in quoted YAML", ODD.replace("'", "''")),
    ("in base64", base64.b64encode(ODD.encode()).decode()),
    ("in base64 for addresses", base64.urlsafe_b64encode(ODD.encode()).decode()),
    ("in base64 behind one byte", base64.b64encode(b":" + ODD.encode() + b"x").decode()),
    ("in base64 behind two bytes", base64.b64encode(b"u:" + ODD.encode() + b"xy").decode()),
)


@pytest.mark.parametrize(("rule", "form"), FORMS, ids=[row[0] for row in FORMS])
def test_a_secret_is_found_in_every_form(rule: str, form: str) -> None:
    if rule == "in JSON as Go writes it":
        form = form.replace(">", "\\u003e")
    redactor = Redactor(KEY, [ODD])
    shown = redactor.text(f"before {form} after", 500)
    assert redactor.marker(ODD) in shown
    assert len(shown) <= len("before '' after") + 2 * len(MARK), rule
    assert shown.startswith("before ")
    assert shown.endswith(" after")


def test_a_long_secret_is_found_line_by_line() -> None:
    secret = "first line of it\n  second line of it\nshort"
    redactor = Redactor(KEY, [secret])
    mark = redactor.marker(secret)
    assert (
        redactor.text("1: first line of it\n2: second line of it", 500) == f"1: {mark}\n2: {mark}"
    )


def test_a_tail_that_begins_within_a_secret_hides_the_rest_of_it() -> None:
    redactor = Redactor(KEY, [SECRET])
    assert redactor.text(f"{SECRET[5:]} refused\n", 500) == f"{MARK} refused\n"


def test_a_text_that_ends_within_a_secret_hides_the_part() -> None:
    redactor = Redactor(KEY, [SECRET])
    assert redactor.text(f"refused: {SECRET[:-4]}", 500) == f"refused: {MARK}"


def test_a_piece_from_the_middle_of_a_secret_is_hidden() -> None:
    redactor = Redactor(KEY, [SECRET])
    assert redactor.text(SECRET[2:-2], 500) == MARK


def test_a_tail_that_begins_within_a_private_key_hides_the_rest_of_it() -> None:
    shown = NO_SECRETS.text("bGluZQ==\n-----END PRIVATE KEY-----\nready", 500)
    assert shown.endswith("\nready")
    assert "bGluZQ" not in shown


@pytest.mark.parametrize("limit", range(60))
def test_a_cut_never_shows_a_part_of_a_secret_or_of_a_marker(limit: int) -> None:
    redactor = Redactor(KEY, [SECRET])
    for keep_end in (False, True):
        shown = redactor.text(f"user ray {SECRET} was refused", limit, keep_end=keep_end)
        assert len(shown) <= limit
        assert SECRET[:3] not in shown
        assert ("redacted" in shown) == (MARK in shown)


def test_a_log_keeps_its_end_and_a_message_its_beginning() -> None:
    assert NO_SECRETS.text("0123456789", 5, keep_end=True) == "…6789"
    assert NO_SECRETS.text("0123456789", 5) == "0123…"
    assert NO_SECRETS.text("0123456789", 10) == "0123456789"


def test_overlapping_secrets_leave_no_remainder() -> None:
    redactor = Redactor(KEY, ["abcdefghij", "ghijklmnop"])
    assert redactor.text("x abcdefghijklmnop y", 99) == f"x {redactor.marker('abcdefghij')} y"


def test_the_submitters_runtime_environment_is_redacted_as_a_whole() -> None:
    shown = NO_SECRETS.text(
        r"""submit --runtime-env-json "{\"env_vars\":{\"A\":\"b c\"}}" -- x""", 99
    )
    assert shown.startswith('submit --runtime-env-json "redacted:')
    assert shown.endswith('" -- x')


def test_the_same_secret_shows_the_same_digits_and_another_key_others() -> None:
    document: Json = {"env_vars": {"A": SECRET, "B": SECRET}, "password": SECRET}
    assert NO_SECRETS.document(document) == {"env_vars": {"A": MARK, "B": MARK}, "password": MARK}
    assert Redactor(b"other", ()).marker(SECRET) != MARK


def test_a_number_that_shows_a_secret_is_replaced() -> None:
    redactor = Redactor(KEY, ["123456789"])
    assert redactor.document({"a": 1123456789, "b": 12}) == {
        "a": redactor.marker("1123456789"),
        "b": 12,
    }


def test_a_secret_within_a_key_is_replaced() -> None:
    assert Redactor(KEY, [SECRET]).document({f"x-{SECRET}": 1}) == {f"x-{MARK}": 1}


def test_a_long_secret_is_found_in_wrapped_base64() -> None:
    secret = "".join(f"{number:03}-" for number in range(60))
    wrapped = base64.encodebytes(secret.encode()).decode()
    redactor = Redactor(KEY, [secret])
    shown = redactor.text(wrapped, 500)
    assert shown.replace(redactor.marker(secret), "").strip("=\n") == ""


def test_basic_credentials_are_known_by_not_being_a_word() -> None:
    shown = NO_SECRETS.text("Basic cmF5OnNlY3JldA== is no basic understanding", 99)
    assert shown == f"Basic {NO_SECRETS.marker('cmF5OnNlY3JldA==')} is no basic understanding"


def test_a_secret_too_short_to_be_searched_for_is_not() -> None:
    assert Redactor(KEY, ["", "abc", " ab  "]).text("abcdef", 99) == "abcdef"


def test_a_secret_equal_to_a_part_of_our_mark_does_not_destroy_marks() -> None:
    redactor = Redactor(KEY, ["redacted", "acted"])
    assert redactor.text(f"was {MARK}", 99) == f"was {MARK}"


def test_a_marker_is_swallowed_whole_by_a_secret_around_it() -> None:
    shown = NO_SECRETS.text(f"password=a{MARK}b", 99)
    assert shown == f"password={NO_SECRETS.marker(f'a{MARK}b')}"


def test_a_secret_of_four_characters_is_found_as_it_is_and_in_base64() -> None:
    redactor = Redactor(KEY, ["a1b2"])
    mark = redactor.marker("a1b2")
    assert redactor.text("a1b2 or YTFiMg== or a1-b2", 99) == f"{mark} or {mark} or a1-b2"


def test_the_beginning_of_a_text_may_resemble_a_secret_twice() -> None:
    redactor = Redactor(KEY, ["x-abcdefgh-y-abcdefgh-z"])
    assert redactor.text("abcdefgh-z!", 99) == f"{redactor.marker('x-abcdefgh-y-abcdefgh-z')}!"
    assert redactor.text("abcdefgh-w!", 99) == "abcdefgh-w!"


def test_a_secret_that_only_our_mark_completes_is_replaced_at_once() -> None:
    """Redacting again must change nothing."""
    redactor = Redactor(KEY, ["superpower", "Zx9-secret"])
    once = redactor.text("a superpoweZx9-secret b", 99)
    assert redactor.text(once, 99) == once


@pytest.mark.parametrize("word", ["token=", "passwd: ", "token=bearer x "])
def test_words_within_the_value_of_another_make_no_secret_each(word: str) -> None:
    """What is to be kept in mind grows with the values that there are, not with their suffixes."""
    found = secrets_in({"spec": {"entrypoint": word * 800}}, None)
    assert len(found) <= 2 * (NESTED_MAX + 2)


def test_values_within_a_value_are_known_by_themselves() -> None:
    found = secrets_in({"spec": {"entrypoint": f"auth=token={SECRET}"}}, None)
    assert SECRET in found


def with_environment(values: Iterable[str], name: str = "T{}_PASSWORD") -> Manifest:
    return {"env": [{"name": name.format(n), "value": one} for n, one in enumerate(values)]}


MANY = [f"hunter-{number:05}" for number in range(SECRETS_MAX + 1)]
TOO_MUCH: tuple[tuple[str, Manifest], ...] = (
    ("secrets in the environment", with_environment(MANY)),
    ("secrets in a command", {"command": " ".join(f"--password {one}" for one in MANY)}),
    (
        "drawn values under ordinary names",
        with_environment((f"xK9vQ7{n:05}zR3" for n in range(SECRETS_MAX + 1)), name="OPTION_{}"),
    ),
    ("characters of secrets", with_environment(["hunter" * SECRET_CHARACTERS_MAX])),
    ("values", {"args": ["x"] * VALUES_MAX}),
    ("characters", {"command": "x " * (CHARACTERS_MAX // 2)}),
)


@pytest.mark.parametrize(("rule", "spec"), TOO_MUCH, ids=[rule for rule, _ in TOO_MUCH])
def test_of_an_object_with_too_many_of_them_nothing_is_kept(rule: str, spec: Manifest) -> None:
    """Before, a thousand were searched for and the others legible wherever they were printed."""
    manifest: Manifest = {"metadata": {"labels": {"team": "hunter"}}, "spec": spec}
    found = secrets_in(manifest, None)
    assert found == {UNCOUNTED}, rule
    redactor = Redactor(KEY, found)
    marker = redactor.marker("login as hunter-00001 failed")
    assert redactor.manifest(manifest, None) == {"spec": {"hidden": HIDDEN}}
    assert redactor.text("login as hunter-00001 failed", 500) == marker
    assert redactor.text(marker, 500) == marker
    assert redactor.message("login as hunter-00001 failed", 500) == f"{marker} ({HIDDEN})"
    assert redactor.message("", 500) == ""
    assert [redactor.text(said, 500) for said in ("", " \n")] == ["", " \n"]
    documents: list[Json] = [{"a": "hunter-00001"}, ["hunter-00001"], "hunter-00001", 123456, None]
    assert [redactor.document(one) for one in documents] == [
        {},
        [],
        redactor.marker("hunter-00001"),
        redactor.marker("123456"),
        None,
    ]


def test_of_such_an_object_failures_are_judged_as_of_others() -> None:
    """The deadline of a Job of 600 kB counted as any failure: its reason was a marker."""
    redactor = Redactor(KEY, {UNCOUNTED})
    for reason in (*NEVER_RETRIED, "BackoffLimitExceeded", "OOMKilled", "Evicted"):
        assert redactor.text(reason, 500) == reason
        assert redactor.text(f"{reason}: hunter", 500) == redactor.marker(f"{reason}: hunter")


def test_just_as_many_are_searched_for() -> None:
    found = secrets_in({"spec": with_environment(MANY[:SECRETS_MAX])}, None)
    assert found == set(MANY[:SECRETS_MAX])
    assert "hunter" not in Redactor(KEY, found).text(MANY[0], 500)


def test_no_more_is_looked_at_than_shows_that_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before, an edit of nine thousand secrets was walked twice from end to end."""
    asked: list[str] = []
    real = promise_of

    def counted(name: str) -> Promise:
        asked.append(name)
        return real(name)

    monkeypatch.setattr(secret_places, "promise_of", counted)
    manifest: Manifest = {"spec": with_environment(f"hunter-{n:05}" for n in range(9_000))}
    Redactor(KEY, secrets_in(manifest, None)).manifest(manifest, None)
    assert len(asked) == SECRETS_MAX + 1
