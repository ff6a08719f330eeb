"""The canonical text of a payload is that of the standard library, whichever encoder writes it."""

import json
import math
from uuid import NAMESPACE_URL, uuid5

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobledger.core.log.chain import canonical
from jobledger.core.values import ids
from jobledger.core.values.documents import Json

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.sampled_from(["ray:2.9.0", ":1e5", "null", ",-0.5", "\x7f\x00\u2028\U0001f600"]),
)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def _by_the_standard_library(document: Json) -> bytes:
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


@given(DOCUMENTS)
@example({"a": 1e-7, "b": [1e16, -0.0, 5e-324]})
@example({"a": None, "b": {"null": "null"}})
def test_it_is_the_text_that_the_standard_library_writes(document: Json) -> None:
    assert canonical(document) == _by_the_standard_library(document)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_of_json_is_refused_and_not_written_as_null(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": number})


@pytest.mark.parametrize("document", [{"a": "\ud800"}, {"\udfff": 1}])
def test_half_a_character_is_refused(document: Json) -> None:
    with pytest.raises(UnicodeEncodeError):
        canonical(document)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_an_id_is_the_uuid5_of_its_parts(name: str) -> None:
    stream = ids.StreamId(uuid5(NAMESPACE_URL, name))
    expected = uuid5(ids.NAMESPACE, "\x1f".join((str(stream), "observation", name)))
    assert ids.observation_id(stream, name) == expected
