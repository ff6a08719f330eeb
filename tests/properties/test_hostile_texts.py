"""Redaction reads a text of any content in a time that follows its length.

An expression that reads two hundred kilobytes again and again needs minutes or hours of CPU, and
the worst of those that do not a second: the limit lies between, and is one of CPU so that a busy
machine changes nothing.
"""

import pytest

from jobledger.core.log.redaction.redact import Redactor, secrets_in
from jobledger.core.log.redaction.secret_search import SecretSearch
from tests.properties.hostile_texts import HOSTILE
from tests.support.cpu import limited_cpu

pytestmark = pytest.mark.faults

KEY = b"a key of the installation, 32 by"
CHARACTERS = 200_000
CPU_SECONDS_MAX = 10.0


@pytest.mark.parametrize("repeated", HOSTILE, ids=repr)
def test_a_text_of_anything_is_read_in_time(repeated: str) -> None:
    text = (repeated * (CHARACTERS // len(repeated) + 1))[:CHARACTERS]
    with limited_cpu(CPU_SECONDS_MAX):
        known = secrets_in({"spec": {"entrypoint": text[: CHARACTERS // 10]}}, None)
        assert len(Redactor(KEY, known).text(text, 1000, keep_end=True)) <= 1000


PERIOD = "sk-abcdefghijklmno."
TIMES = 40


def test_a_secret_that_repeats_itself_is_not_compared_at_each_of_its_places() -> None:
    """Each comparison is as long as the secret: minutes for one of 64 KiB in a log of its size."""
    secret = PERIOD * TIMES
    search = SecretSearch([secret])
    text = f"a {PERIOD * 10 * TIMES} {secret}{secret[5:]} {secret} b"
    spans = {(one.start, one.end) for one in search.occurrences(text, search.present(text))}
    assert len(spans) <= 2 * len(text) // len(secret) + 2
    covered = {at for start, end in spans for at in range(start, end)}
    places = (at for at in range(len(text)) if text.startswith(secret, at))
    assert covered == {at for place in places for at in range(place, place + len(secret))}
