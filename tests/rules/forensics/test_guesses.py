"""What a message only supposes is no sign of a failure; nor does its place in the text move."""

import pytest

from jobledger.core.jobs.failures.guesses import certain

SUPPOSED = (
    "its worker process has died. There are some potential root causes. (1) SIGKILL by OOM killer",
    "4 Insufficient nvidia.com/gpu. preemption: 0/12 nodes are available: 12 not helpful",
    "was dead. This can happen if the node was preempted",
    "14:24:30,726\tINFO scripts.py:1269 -- Subprocesses exit with SIGTERM will be treated",
    "W1121 Sending process 78 closing signal SIGTERM",
    'Traceback:\n  File "/a.py", line 1\n    raise OSError("SIGTERM")\nKeyError: 1',
)


@pytest.mark.parametrize("text", SUPPOSED)
def test_a_guess_is_blank(text: str) -> None:
    shown = certain(text)
    assert len(shown) == len(text)
    assert not any(word in shown for word in ("SIGKILL", "SIGTERM", "preempt"))


def test_what_is_said_stays() -> None:
    text = "Preempted: preempting to accommodate a higher priority pod\nKeyError: 1"
    assert certain(text) == text
