"""What the controller's own doing brings back: every field of it, and what is no news."""

import pytest

from jobledger.core.jobs.events import (
    Confirmation,
    EffectFailed,
    EffectFaltered,
    EffectSucceeded,
    EffectSuperseded,
    ObservationGapFound,
    ObservationsConfirmed,
    StatusPublished,
)
from jobledger.core.jobs.observations import (
    EffectEnded,
    NothingNew,
    StatusWritten,
    WatchInterrupted,
)
from jobledger.core.jobs.outcomes import (
    EffectOutcome,
    confirmation_of,
    gap_of,
    outcome_of,
    publication_of,
)
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind, OpenEffect, Outcome
from jobledger.core.values.ids import effect_id_of, observation_id
from tests.support.rayjob_builders import after
from tests.support.records import a_stream

SEEN = observation_id(a_stream(), "manifest", "7")
EFFECT_ID = effect_id_of(SEEN, "create_cluster", "train-x2x2x")
EFFECT = OpenEffect(
    effect_id=EFFECT_ID,
    attempt=1,
    desired=DesiredEffect(kind=EffectKind.CREATE_CLUSTER, name="train-x2x2x"),
    digest="d",
    trouble="known",
)


def ended(outcome: Outcome, trouble: str = "refused") -> EffectEnded:
    return EffectEnded(
        id=SEEN,
        at=after(7),
        effect_id=EFFECT_ID,
        outcome=outcome,
        trouble=trouble,
        uid="u-1",
        gone=True,
        already=True,
        sent={"kind": "RayCluster"},
    )


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (
            Outcome.SUCCEEDED,
            EffectSucceeded(
                at=after(7),
                effect_id=EFFECT_ID,
                kind=EffectKind.CREATE_CLUSTER,
                name="train-x2x2x",
                uid="u-1",
                gone=True,
                already=True,
                sent={"kind": "RayCluster"},
            ),
        ),
        (
            Outcome.FALTERED,
            EffectFaltered(
                at=after(7),
                effect_id=EFFECT_ID,
                kind=EffectKind.CREATE_CLUSTER,
                name="train-x2x2x",
                trouble="refused",
            ),
        ),
        (
            Outcome.FAILED,
            EffectFailed(
                at=after(7),
                effect_id=EFFECT_ID,
                kind=EffectKind.CREATE_CLUSTER,
                name="train-x2x2x",
                trouble="refused",
            ),
        ),
        (
            Outcome.SUPERSEDED,
            EffectSuperseded(
                at=after(7),
                effect_id=EFFECT_ID,
                kind=EffectKind.CREATE_CLUSTER,
                name="train-x2x2x",
                cause="refused",
                sent=False,
            ),
        ),
    ],
)
def test_an_outcome_is_told_with_all_that_came_back(outcome: Outcome, told: EffectOutcome) -> None:
    assert outcome_of(EFFECT, ended(outcome)) == (told,)


def test_a_trouble_that_is_known_is_told_once_and_a_refusal_always() -> None:
    assert outcome_of(EFFECT, ended(Outcome.FALTERED, "known")) == ()
    assert len(outcome_of(EFFECT, ended(Outcome.FAILED, "known"))) == 1


GAP = WatchInterrupted(
    id=SEEN, at=after(9), source="RayCluster", since=after(3), until=after(8), reason="410 Gone"
)
FOUND = ObservationGapFound(
    at=after(8), source="RayCluster", since=after(3), until=after(8), reason="410 Gone"
)


def test_a_gap_is_told_if_it_goes_beyond_the_known_one() -> None:
    assert gap_of(GAP, None) == gap_of(GAP, after(7.9)) == (FOUND,)
    assert gap_of(GAP, after(8)) == gap_of(GAP, after(8.1)) == ()


def test_a_sum_of_what_was_unchanged_is_told_once_and_never_empty() -> None:
    sources = (Confirmation(source="poll", count=3, first_at=after(1), last_at=after(5)),)
    total = NothingNew(id=SEEN, at=after(6), sources=sources)
    told = (ObservationsConfirmed(at=after(6), sources=sources),)
    assert confirmation_of(total, None) == confirmation_of(total, after(5.9)) == told
    assert confirmation_of(total, after(6)) == confirmation_of(total, after(6.1)) == ()
    assert confirmation_of(NothingNew(id=SEEN, at=after(6), sources=()), None) == ()


def test_a_status_is_published_once_per_version() -> None:
    written = StatusWritten(
        id=SEEN, at=after(6), phase="Running", resource_version="17", status_sha="s"
    )
    told = StatusPublished(at=after(6), phase="Running", resource_version="17", status_sha="s")
    assert publication_of(written, "16") == (told,)
    assert publication_of(written, "17") == ()
