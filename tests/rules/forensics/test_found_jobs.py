"""A job that was found in an attempt of another controller's is told of as of that attempt."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.explain import explain
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.values.instants import rfc3339
from tests.rules.forensics.corpus.cases import Capture, waiting
from tests.rules.rayjob.test_first_sight import COMPLETE as SUCCEEDED
from tests.rules.rayjob.test_first_sight import FAILED as LOST
from tests.rules.rayjob.test_ledger_behind import ours
from tests.rules.rayjob.test_recording import shown
from tests.rules.trainjob.test_end import ENDED
from tests.support import train_lives, trainjobs
from tests.support.rayjob_builders import (
    after,
    cluster,
    cluster_of,
    manifest,
    manifest_gone,
    submission_of,
)
from tests.support.rayjob_builders import named as ray_named
from tests.support.recorded import dossier_of, stored
from tests.support.rows import Step

FOUND = shown("Running", 30, job_status="RUNNING")
FAILED: dict[str, Any] = {"job_status": "FAILED", "reason": "AppFailed"}
FIRST = shown("Retrying", 60, failed=1, message="KeyError: 'loss'", **FAILED)
SECOND = shown("Running", 130, attempt=2, failed=1, job_status="RUNNING")
LAST = shown("Failed", 160, attempt=2, failed=2, message="ValueError: no data", **FAILED)


def told(*steps: Step) -> Account:
    return explain(dossier_of(steps))


def texts(account: Account) -> list[str]:
    return [sentence.text for sentence in account.sentences]


def test_the_attempt_in_which_it_was_found_is_counted_without_a_duration_nobody_knows() -> None:
    account = told(FOUND, shown("Failed", 60, failed=1, message="KeyError: 'loss'", **FAILED))
    assert " after 1 attempt, because" in texts(account)[0]
    assert "Attempt 1 failed: AppFailed (KeyError: 'loss')." in texts(account)


def test_signs_of_the_attempt_in_which_it_was_found_are_none_of_the_next() -> None:
    account = told(FOUND, FIRST, SECOND, LAST)
    first, second = texts(account)[:2]
    assert " after 2 attempts, because" in first
    assert "ValueError: no data" in first
    assert second.startswith(f"The first sign was at {rfc3339(after(160))}")


@pytest.mark.parametrize(("failed", "which"), [(2, "attempt 1"), (5, "attempts 1 to 4")])
def test_attempts_of_which_nobody_knows_are_told_by_their_numbers(failed: int, which: str) -> None:
    """It told how "attempt 0" ended."""
    name, job_id = cluster_of(failed), submission_of(failed)
    said = SeenStatus(
        phase="Failed", started_at=after(300), failed=failed, cluster_name=name, job_id=job_id
    )
    missed = f"Not everything was seen: how {which} ended was not seen; Failed was shown next."
    assert missed in texts(told(ours(400, said)))


def test_why_its_pods_wait_is_told_while_they_do() -> None:
    capture = Capture(pods=(waiting("train-head", "ImagePullBackOff", "manifest unknown"),))
    looked = ray_named(replace(capture.seen(40), occasion="waiting/1"))
    account = told(shown("Initializing", 10), cluster("", 11), looked)
    assert account.failure_class == "image-pull"
    assert texts(account)[1].startswith("It waits for container ray of Pod train-head, as seen at ")


def test_what_was_known_before_it_was_found_is_not_told_as_seen_last() -> None:
    assert not any("manifest generation" in text for text in texts(told(FOUND)))


def test_of_a_job_that_was_found_failed_no_attempt_is_counted() -> None:
    account = told(shown("Failed", 60, bare=True, **FAILED))
    assert " attempt" not in texts(account)[0]


@pytest.mark.parametrize("then", [(), (manifest_gone(),)], ids=["is there", "was deleted"])
@pytest.mark.parametrize(
    ("status", "outcome", "first"),
    [
        (SUCCEEDED, "complete", "RayJob ml/train had ended as Complete at 2026-11-21T11:59:55Z, "),
        (LOST, "failed", "RayJob ml/train had failed at 2026-11-21T11:59:55Z, "),
    ],
)
def test_a_rayjob_that_had_ended_before_it_was_seen_has_ended(
    status: SeenStatus, outcome: str, first: str, then: tuple[Step, ...]
) -> None:
    """It was told as a job that goes on, or as one that was deleted before its end."""
    account = told(manifest(5, status=status), *then)
    assert account.outcome == outcome
    assert texts(account)[0].startswith(f"{first}before it was first seen at {rfc3339(after(5))}")
    assert texts(account)[0].endswith(": AppFailed." if outcome == "failed" else "Z.")


def test_so_has_a_trainjob(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "training-that-had-failed"
    life = {name: lambda: (trainjobs.manifest(status=ENDED),)}
    monkeypatch.setattr(train_lives, "TRAIN_LIVES", life)
    records = train_lives.recorded_training(name)
    account = explain(Dossier(events=stored(records), evidence=reader_of({}), origin="a test"))
    assert account.outcome == "failed"
    assert "had failed at 2026-11-21T11:58:20Z, before it was first seen" in texts(account)[0]
    assert texts(account)[0].endswith(": FailedJobs (no).")


def test_a_job_that_is_held_says_how_it_goes_on() -> None:
    said = SeenStatus(phase="Running", started_at=after(300), cluster_name=cluster_of(1))
    held = texts(told(ours(400, said, surveyed=False)))[0]
    assert "; it is held, and goes on once it is taken over, as by: jobledger recover ml/" in held
