"""Redaction reads a text of any content in a time that follows its length.

No duration is asserted: an expression that reads a hundred kilobytes again and again would run
into the general limit of a test many times over.
"""

import pytest

from jobledger.core.log.redaction.redact import Redactor, secrets_in
from tests.properties.hostile_texts import HOSTILE

KEY = b"a key of the installation, 32 by"
CHARACTERS = 100_000


@pytest.mark.parametrize("repeated", HOSTILE, ids=repr)
def test_a_text_of_anything_is_read_in_time(repeated: str) -> None:
    text = (repeated * (CHARACTERS // len(repeated) + 1))[:CHARACTERS]
    redactor = Redactor(KEY, secrets_in({"spec": {"entrypoint": text[: CHARACTERS // 10]}}, None))
    assert len(redactor.text(text, 1000, keep_end=True)) <= 1000
