"""The token of a request, read out of its header."""

import pytest

from jobledger.adapters.serving.bearer import TOKEN_CHARACTERS_MAX, bearer_token

LONGEST = "a" * TOKEN_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("  Bearer   abc \t", "abc"),
        (f"Bearer {LONGEST}", LONGEST),
        (f"Bearer {LONGEST}a", ""),
        ("Bearer a b", ""),
        ("Bearer", ""),
        ("Bearer ", ""),
        ("Basic abc", ""),
        ("abc", ""),
        ("", ""),
    ],
)
def test_a_token_is_one_word_after_bearer(header: str, token: str) -> None:
    assert bearer_token(header) == token
