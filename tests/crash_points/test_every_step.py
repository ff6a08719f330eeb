"""A real controller that dies by SIGKILL, before or after any step that the ports have.

Each point is hit before or after, in turns, in the shortest life that passes it; the lives in
memory die at every step of each (`tests/adapters/service/test_crash_points.py`). Each point before
and after: `python -m tests.crash_points`; in every life: with `--all`.
"""

import pytest

from tests.crash_points.campaign import Campaign, Thoroughness
from tests.crash_points.grounds import LANES, grounds
from tests.crash_points.lives import LIVES

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

LIMIT_SECONDS = 1500
"""Generous: with two free cores it takes a minute and a half."""


@pytest.mark.timeout(LIMIT_SECONDS)
def test_a_controller_that_dies_at_any_step_changes_nothing_of_any_life() -> None:
    """No life may end otherwise than without a death, and no point may be left out."""
    with grounds(LANES) as lanes:
        findings = Campaign(lanes, Thoroughness.ONCE, print).run(LIVES)
    print("\n".join(findings.lines()))  # noqa: T201  # shown if the test fails
    assert findings.unhit == []
