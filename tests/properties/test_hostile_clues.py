"""Why a job failed is read from texts of any content in a time that follows their length."""

import re
import resource
import subprocess
import sys

import pytest

from jobledger.core.jobs.failures.rules import RULES

pytestmark = pytest.mark.faults

PATTERNS = sorted(
    {test.pattern for rule in RULES for test in rule.tests} | {rule.telling for rule in RULES}
)
UNBOUNDED = re.compile(r"(?<!\\)[*+]|\{\d+,\}")
CPU_SECONDS = 30
"""Far more than it takes: what reads a text again and again takes hours."""

PROGRAM = """
from jobledger.core.jobs.failures.diagnosis import diagnose
from jobledger.core.forensics.failures.signs import Sign
from jobledger.core.jobs.history.signs import Source
from jobledger.core.values.excerpts import gist, telling
for unit in ("a", "cuda alloc ", "NCCL ", "runtime ", "node ", "policy ", "forbidden: ", "Gloo ",
             "c10d", "agent", "For more information ", 'File "', "(a) ", "[a] ", "a.",
             "Traceback (most recent call last):\\n", "exec ", ".cu:1: ", "Assertion ",
             "OutOfMemoryError", "ProcessGroup", "didn't match ", "Insufficient "):
    text = unit * (16_384 // len(unit))
    found = [Sign(version=1, attempt=1, source=one, text=text) for one in Source]
    diagnose(found, ran=True)
    diagnose(found, ran=False)
    telling([text, *text.split("\\n")])
    gist(text, 300)
print("read")
"""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_rule_repeats_anything_without_a_bound(pattern: str) -> None:
    assert UNBOUNDED.search(pattern) is None


def test_messages_that_are_made_to_be_read_again_and_again_are_read_in_time() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),
    )
    assert (ended.returncode, ended.stdout) == (0, "read\n"), ended.stderr
