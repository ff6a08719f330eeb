"""The table of phases and what it promises."""

import pytest

from jobledger.core.rayjob.phases import ENDED, FINAL, FOLLOWERS, JobStatus, Phase


def test_every_phase_says_who_may_follow() -> None:
    assert set(FOLLOWERS) == set(Phase)


@pytest.mark.parametrize("phase", sorted(FINAL))
def test_nothing_leaves_a_final_phase(phase: Phase) -> None:
    assert FOLLOWERS[phase] == frozenset()


@pytest.mark.parametrize("phase", sorted(set(Phase) - FINAL - {Phase.VALIDATION_FAILED}))
def test_every_phase_that_is_not_final_can_be_paused(phase: Phase) -> None:
    assert Phase.VALIDATION_FAILED in FOLLOWERS[phase]


def test_every_phase_can_be_reached_from_the_first() -> None:
    reached, frontier = {Phase.NEW}, {Phase.NEW}
    while frontier:
        frontier = {after for phase in frontier for after in FOLLOWERS[phase]} - reached
        reached |= frontier
    assert reached == set(Phase)


def test_phases_and_statuses_are_upstreams_words() -> None:
    """Source: KubeRay's rayjob_types.go."""
    assert [phase.value for phase in Phase] == [
        "",
        "Initializing",
        "Waiting",
        "Running",
        "Suspending",
        "Suspended",
        "Retrying",
        "Complete",
        "Failed",
        "ValidationFailed",
    ]
    assert {status.value for status in ENDED} == {"STOPPED", "SUCCEEDED", "FAILED"}
    assert len(JobStatus) == 6
