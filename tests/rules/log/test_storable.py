"""What a redacted document looks like can be stored as jsonb and hashed."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobledger.core.log.chain import canonical
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import Redactor, secrets_in
from jobledger.core.log.storable import DEEPEST, storable, storable_json
from jobledger.core.values.documents import Json
from tests.rules.rayjob.jobs import rayjob

KEY = b"a key of the installation, 32 by"
SECRET = "Tr0ub4dor-and-3"
NO_SECRETS = Redactor(KEY, ())


STORABLE: tuple[tuple[str, Json, Json], ...] = (
    ("a whole number written as a float is an integer", 3.0, 3),
    ("a float stays one", 0.25, 0.25),
    ("minus nothing is nothing", -0.0, 0),
    ("what is no number is said in words", float("nan"), "nan"),
    ("infinity is said in words", float("-inf"), "-inf"),
    ("U+0000 is replaced", "a\x00b", "a\ufffdb"),
    ("half a surrogate pair is replaced", "a\ud800b", "a\ufffdb"),
    ("a number that fills a page is described", 10**5000, "a number of 16610 bits"),
)


@pytest.mark.parametrize(("rule", "given", "kept"), STORABLE, ids=[row[0] for row in STORABLE])
def test_what_is_kept_can_be_stored_and_hashed(rule: str, given: Json, kept: Json) -> None:
    redacted = NO_SECRETS.document([given])
    assert canonical(redacted) == canonical([kept]), rule
    assert digest(KEY, [given]) == digest(KEY, [kept])


def test_a_document_nested_beyond_all_schemas_is_cut_off() -> None:
    deep: Json = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert b"too deep" in canonical(NO_SECRETS.document({"env": deep, "password": deep}))
    assert len(digest(KEY, deep)) == 32
    assert secrets_in({"env": deep}, deep) == frozenset()
    assert NO_SECRETS.document("[" * 100_000) == "nested too deeply to be kept"


@pytest.mark.parametrize("key", ["env", "password", "data"])
def test_no_place_below_the_deepest_level_is_looked_at(key: str) -> None:
    for levels in range(90, 105):
        entry: Json = [SECRET] if key == "password" else {"A": [{"B": [SECRET]}, SECRET]}
        deep: Json = {"kind": "Secret", key: entry, "said": json.dumps({"env": {"A": SECRET}})}
        for _ in range(levels):
            deep = [deep]
        assert SECRET not in canonical(NO_SECRETS.document(deep)).decode()
        assert len(digest(KEY, [None, deep])) == 32


def test_a_digest_depends_on_key_and_content_but_not_on_order() -> None:
    assert digest(KEY, {"a": 1, "b": "x"}) == digest(KEY, {"b": "x", "a": 1.0})
    assert digest(KEY, {"a": 1}) != digest(KEY, {"a": 2})
    assert digest(KEY, {"a": 1}) != digest(b"other", {"a": 1})


def _nested(levels: int) -> Json:
    deep: Json = "bottom"
    for level in range(levels):
        deep = [deep] if level % 2 else {"a": deep}
    return deep


TEXTS = st.text(st.characters(exclude_categories=())) | st.sampled_from(["\\u0000", "null", "\x7f"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner) | st.tuples(inner),
    max_leaves=20,
)


@given(JSON)
@example(10**5000)
@example(2**70)
@example({"b": None, "a": float("nan")})
@example({"b": None, "a": ["x\x00", "\ud800"]})
@example(_nested(DEEPEST))
@example(_nested(DEEPEST + 1))
def test_the_quick_text_of_a_document_is_that_of_what_is_stored(document: Json) -> None:
    quick = storable_json(document)
    assert quick is None or quick == canonical(storable(document))


@pytest.mark.parametrize(
    "document", [rayjob(), {"a": None, "b": [1, 2**70, "é"]}, _nested(DEEPEST)]
)
def test_the_quick_text_is_there_for_what_clusters_hold(document: Json) -> None:
    assert storable_json(document) is not None
