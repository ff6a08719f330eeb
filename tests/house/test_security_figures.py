"""The figures in rows of the attacker's table are those of the code that the rows speak of."""

import pytest

from jobledger.adapters.clock_wiring import COMPARE_EVERY
from jobledger.adapters.http.patience import HEAD_SECONDS, WAITING_MAX
from jobledger.adapters.postgres.log.evidence import CONTENT_BYTES_MAX
from jobledger.adapters.service.clocks import APART_MAX
from jobledger.adapters.service.loop.slowing import LOOKS_MAX
from jobledger.adapters.serving import pace
from jobledger.adapters.serving.judgements import REMEMBERED_SECONDS
from jobledger.adapters.telemetry.clock import STEP_MAX
from jobledger.core.jobs.budget import EDITS_AT_ONCE
from tests.house.test_security_page import rows

WORDS = {1: "one", 10: "ten", 60: "a minute"}


def word(number: float) -> str:
    """Return a number as the page writes it."""
    return WORDS[int(number)]


MIB = 2**20
FIGURES = [
    ("open 600 connections to the HTTP port", f"has {word(HEAD_SECONDS)} seconds for the head"),
    ("open 600 connections to the HTTP port", f"beyond {WAITING_MAX} that wait"),
    ("open 600 connections to a port with TLS", f"{word(HEAD_SECONDS)} seconds at most"),
    ("open 600 connections to a port with TLS", f"beyond {WAITING_MAX} the oldest"),
    ("answer a request of ours with", f"of evidence {CONTENT_BYTES_MAX // MIB} MiB"),
    ("send bogus bearer tokens", f"kept for {word(REMEMBERED_SECONDS)}"),
    ("send bogus bearer tokens", f"{word(pace.PER_SECOND)} per second and address"),
    ("send bogus bearer tokens", f"after {pace.AT_ONCE:.0f} at once"),
    ("send bogus bearer tokens", f"{word(pace.ALL_PER_SECOND)} per second in all"),
    ("the clock of the controller's machine", f"more than {STEP_MAX.seconds} s"),
    ("the clocks of controller, database and API", f"more than {APART_MAX.seconds} s apart"),
    ("the clocks of controller, database and API", f"every {word(COMPARE_EVERY.seconds)} seconds"),
    ("a job's specification is edited", f"of which {EDITS_AT_ONCE // MIB} MiB"),
    ("make, and delete, objects without number", f"{LOOKS_MAX} looks at objects"),
]
"""How a row begins, and what it says."""


@pytest.mark.parametrize(("begin", "said"), FIGURES)
def test_a_row_says_what_the_code_has(begin: str, said: str) -> None:
    (row,) = [" | ".join(cells) for _, cells in rows() if cells[0].startswith(begin)]
    assert said in row
