"""Invariant 9: no secret in the log, wherever it was planted and however it is said."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import msgspec
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from jobledger.core.log.chain import canonical
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import Redactor, secrets_in
from jobledger.core.values.documents import Json, Manifest

KEY = b"a key of the installation, 32 by"
LIMIT = 100_000

Plant = Callable[[str], Manifest]

PLANTS: tuple[Plant, ...] = (
    lambda secret: {"containers": [{"env": [{"name": "A", "value": secret}]}]},
    lambda secret: {"initContainers": [{"env": [{"value": secret, "name": "B"}]}]},
    lambda secret: {"metadata": {"annotations": {"x/password": secret}}},
    lambda secret: {"metadata": {"labels": {"auth-token": secret}}},
    lambda secret: {"rayStartParams": {"redis-password": secret}},
    lambda secret: {"redisPassword": {"value": secret}},
    lambda secret: {"args": ["--secret", secret]},
    lambda secret: {"args": [f"--db-password={secret}", "--verbose"]},
    lambda secret: {"note": json.dumps({"env": [{"name": "A", "value": secret}]})},
    lambda secret: {"address": f"https://u:{quote(secret, safe='')}@h/x"},
    lambda secret: {"env": [{"name": "DSN", "value": f"redis://:{quote(secret, safe='')}@h"}]},
    lambda secret: {"kind": "Secret", "stringData": {"a": secret}},
    lambda secret: {"log": f'failed: {{"password": {json.dumps(secret)}}}'},
)

SAYINGS: tuple[Callable[[str], str], ...] = (
    lambda secret: f"cannot log in with {secret}, sorry",
    lambda secret: f"({secret})",
    lambda secret: json.dumps({"said": secret}),
    lambda secret: json.dumps({"said": [secret]}, ensure_ascii=False),
    lambda secret: f"GET /?q={quote(secret, safe='')}",
    lambda secret: f"Basic {base64.b64encode(b'u:' + secret.encode()).decode()}",
    lambda secret: base64.b64encode(b"u" + secret.encode() + b"more").decode(),
    lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    repr,
)

# Every secret holds a run of its own, so that no other part of a text can equal it by chance.
secrets = st.builds(
    lambda before, run, after: (before + run + after).strip(),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00…-"), max_size=8),
    st.from_regex(r"[G-Z][0-9][g-z]{2}[0-9][G-Z]{3}[0-9]{3}", fullmatch=True),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00…"), max_size=8),
)
FRAGMENTS = (
    *(
        "token",
        "=",
        ":",
        " ",
        "password",
        "--",
        "Bearer ",
        "://",
        "@",
        '"',
        "'",
        "\\",
        "key",
        "api_",
    ),
    *("\n", "redacted:", "0123456789ab", "secret", ",", "{", "}", "-u ", "a", "eyJ", ".", "…"),
    *("Authorization: ", "Basic ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
    *("--runtime-env-json ", "(", "]", "https", "/", "12", '\\"', "ghp_", "A1b2C3d4E5f6G7h8I9j0K1"),
)
words = st.sampled_from(FRAGMENTS)
texts = st.one_of(st.text(), st.lists(words, max_size=30).map("".join))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), texts)
keys = st.one_of(
    st.text(),
    st.sampled_from(
        ["env", "name", "value", "password", "runtimeEnvYAML", "kind", "data", "args", "template"]
    ),
)
documents: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4),
        st.lists(st.dictionaries(keys, inner, max_size=3), max_size=3).map(
            lambda variables: {"env": variables}
        ),
    ),
    max_leaves=20,
)


def forms_of(secret: str) -> tuple[str, ...]:
    """Return what must not be left of a secret."""
    return (
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        base64.b64encode(secret.encode()).decode().rstrip("="),
    )


@given(st.sampled_from(PLANTS), secrets)
def test_a_planted_secret_does_not_survive_in_its_place(plant: Plant, secret: str) -> None:
    """Not even for a redactor that knows no secrets."""
    shown = canonical(Redactor(KEY, ()).document(plant(secret))).decode()
    assert not [form for form in forms_of(secret) if form in shown]


@given(st.lists(st.tuples(st.sampled_from(PLANTS), secrets), min_size=1, max_size=4), st.data())
def test_a_planted_secret_does_not_survive_anywhere(
    planted: list[tuple[Plant, str]], data: st.DataObject
) -> None:
    """What one part of an object holds as a secret may not be said by another, or by a log."""
    manifest = {f"part{number}": plant(secret) for number, (plant, secret) in enumerate(planted)}
    redactor = Redactor(KEY, secrets_in(manifest, {}))
    said = "\n".join(data.draw(st.sampled_from(SAYINGS))(secret) for _, secret in planted)
    shown = canonical(redactor.document({"manifest": manifest, "said": said, said: 1})).decode()
    shown += redactor.text(said, LIMIT)
    for _, secret in planted:
        assert not [form for form in forms_of(secret) if form in shown]


@given(secrets, st.integers(0, 60), st.integers(0, 60), st.integers(0, 80), st.booleans())
def test_no_cut_shows_eight_characters_of_a_secret(
    secret: str, skipped: int, dropped: int, limit: int, keep_end: bool
) -> None:
    """Neither a tail that begins within it, nor our own cut."""
    whole = f"the log said {secret} and then it stopped"
    piece = whole[skipped : len(whole) - dropped]
    redactor = Redactor(KEY, [secret])
    shown = redactor.text(piece, limit, keep_end=keep_end)
    assert len(shown) <= limit
    parts = {secret[at : at + 8] for at in range(len(secret) - 7)}
    assert not [part for part in parts if part in shown]


@given(texts, st.lists(st.one_of(secrets, texts), max_size=4), st.integers(0, 200), st.booleans())
def test_redacting_a_text_twice_changes_nothing(
    text: str, known: list[str], limit: int, keep_end: bool
) -> None:
    redactor = Redactor(KEY, known)
    once = redactor.text(text, limit, keep_end=keep_end)
    assert redactor.text(once, limit, keep_end=keep_end) == once


@given(documents, st.lists(st.one_of(secrets, texts), max_size=3))
def test_redacting_a_document_twice_changes_nothing(document: Json, known: list[str]) -> None:
    redactor = Redactor(KEY, known)
    once = redactor.document(document)
    assert canonical(redactor.document(once)) == canonical(once)


@given(documents)
def test_any_json_is_redacted_and_comes_out_canonical(document: Json) -> None:
    redactor = Redactor(KEY, secrets_in({"spec": document}, document))
    kept = canonical(redactor.document(document))
    assert json.loads(kept) == redactor.document(document)
    assert b"\\u0000" not in kept
    assert len(digest(KEY, document)) == 32


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}", fullmatch=True),
        st.from_regex(r"[a-z]{1,6}( [a-z0-9]{1,6}){0,5}", fullmatch=True),
    ),
    st.lists(secrets, max_size=3),
)
def test_what_holds_no_secret_stays_untouched(document: Manifest, known: list[str]) -> None:
    words_of_ours = ("env", "auth", "pass", "pwd", "token", "secret", "dsn", "sig", "pat", "jwt")
    if any(word in canonical(document).decode() for word in words_of_ours):
        return
    redactor = Redactor(KEY, known)
    assert redactor.document(document) == document
    for value in document.values():
        assert redactor.text(str(value), LIMIT) == value


@given(
    st.one_of(
        st.dictionaries(keys, documents, max_size=4),
        st.builds(lambda plant, secret: plant(secret), st.sampled_from(PLANTS), secrets),
    ),
    st.lists(st.one_of(secrets, texts), max_size=3),
)
def test_a_template_is_redacted_as_any_other_object(template: Manifest, known: list[str]) -> None:
    try:
        assume(msgspec.json.decode(msgspec.json.encode(template)) == template)
    except UnicodeEncodeError:
        reject()
    redactor = Redactor(b"key", known)
    other = redactor.document({"likeness": template})
    for _ in range(2):  # found, then remembered
        assert redactor.document({"template": template}) == renamed(other, "likeness", "template")
        found = secrets_in({"template": template}, None)
        assert found == secrets_in({"likeness": template}, None)


def renamed(document: Json, before: str, after: str) -> Json:
    assert isinstance(document, dict)
    return {after if key == before else key: value for key, value in document.items()}
