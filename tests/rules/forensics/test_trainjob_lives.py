"""TrainJobs, looked at afterwards: decided again, told, explained, shown as of an instant."""

from collections.abc import Callable

import pytest

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.replay.replay import replay
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.moment import at_instant, at_version
from jobledger.core.forensics.story.timeline import timeline
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.rows import JobRow
from jobledger.core.trainjob.observations import JobSetEnd
from tests.support import train_lives
from tests.support.recorded import stored
from tests.support.records import with_data
from tests.support.train_lives import LOG, LOG_DIGEST, TRAIN_LIVES, recorded_training
from tests.support.trainjobs import (
    Step,
    after,
    applied,
    completed_end,
    counts,
    created,
    due,
    failed_end,
    faltered,
    jobset,
    manifest,
    not_built,
    running,
)

ENDED = {
    "training-failed": "missing-file",
    "training-out-of-restarts": "restarts-used-up",
    "training-past-its-deadline": "deadline",
    "training-made-its-jobset-anew": "application",
    "training-lost-its-jobset": "jobset-deleted",
    "training-of-an-unknown-runtime": "runtime-missing",
}
"""Life that ended in failure -> its class."""


def dossier(name: str, latency_seconds: float = 0.02) -> Dossier:
    records = recorded_training(name, latency_seconds)
    evidence = reader_of({LOG_DIGEST: LOG.encode()})
    return Dossier(events=stored(records), evidence=evidence, origin="a test")


def account(name: str) -> Account:
    return explain(dossier(name))


@pytest.mark.parametrize("life", TRAIN_LIVES)
def test_every_life_is_decided_again_as_it_was(life: str) -> None:
    records = recorded_training(life)
    replayed = replay(records)
    assert (replayed.divergences, replayed.unknown) == ((), ())
    assert replayed.events == len(records)


def test_an_end_that_nothing_brought_is_told_by_replay() -> None:
    records = recorded_training("training-failed")
    without = [item for item in records if item.type != "JobSetObserved"]
    assert not replay(without).is_reproduced


def test_a_changed_end_is_told_by_its_field() -> None:
    records = [
        with_data(item, {**item.data, "reason": "Whim"}) if item.type == "TrainJobFailed" else item
        for item in recorded_training("training-failed")
    ]
    (found,) = replay(records).divergences
    assert (found.recorded, found.fields) == ("TrainJobFailed", ("reason: 'Whim' -> 'FailedJobs'",))


@pytest.mark.parametrize("life", TRAIN_LIVES)
def test_every_life_is_explained_and_only_failures_have_a_class(life: str) -> None:
    told = account(life)
    assert told.failure_class == ENDED.get(life, "")
    assert all(sentence.versions for sentence in told.sentences)
    events = dossier(life).read()
    lines = list(timeline((item.version, item.event) for item in events))
    assert len(lines) == len(events)
    assert all(line.words for line in lines)


def test_a_failure_is_explained_by_the_log_that_was_kept() -> None:
    first, sign, attempt = account("training-failed").sentences
    assert "because the program, or a file that it reads, is not there" in first.text
    assert first.evidence == (LOG_DIGEST,)
    assert ": FileNotFoundError" in first.text
    assert sign.text.endswith("(log of container node of Pod training-failed-node-0-0).")
    assert attempt.text.startswith("Attempt 1 failed after 59.0 s: FailedJobs")


def row(found: JobRow | None) -> JobRow:
    assert found is not None
    return found


def test_between_the_end_and_its_record_the_two_senses_differ() -> None:
    moment = at_instant(dossier("training-failed", 5).read(), after(61))
    assert row(moment.true.job).phase == "Failed"
    assert row(moment.known.job).phase == "Running"
    assert moment.not_known


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (completed_end, "TrainJob ml/train is complete since 2026-11-21T12:00:05Z"),
        (failed_end, "TrainJob ml/train failed at 2026-11-21T12:00:05Z"),
    ],
)
@pytest.mark.parametrize(
    ("seen_at", "late"), [(6, ""), (65, " (seen at 2026-11-21T12:01:05Z)")], ids=["soon", "late"]
)
def test_a_job_ended_when_its_jobset_did_however_late_that_is_seen(
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[float], JobSetEnd],
    says: str,
    seen_at: float,
    late: str,
) -> None:
    story = (*created(), jobset(seen_at, counts(), end=end(5)))
    monkeypatch.setattr(train_lives, "TRAIN_LIVES", {"train": lambda: story})
    first = account("train").sentences[0].text
    assert first.removeprefix(says + late)[:1] in {".", " "}, first
    assert first.startswith(says + late)


def test_a_version_is_the_state_that_its_decision_was_taken_in() -> None:
    events = dossier("training-failed").read()
    failed = next(item.version for item in events if type(item.event).__name__ == "TrainJobFailed")
    before, then = at_version(events, failed - 1), at_version(events, failed)
    assert (row(before.known.job).phase, row(then.known.job).phase) == ("Created", "Failed")
    jobset = next(part for part in then.parts if part.part == "JobSet")
    assert jobset.changed_at == after(60)


@pytest.mark.parametrize(
    ("build", "failure_class", "says"),
    [
        (
            not_built(
                1,
                "TrainingRuntime specified in TrainJob is not found: x",
                runtime_digest="",
                may_pass=True,
            ),
            "runtime-missing",
            "It waits: another try is due",
        ),
        (
            not_built(
                1,
                "ConfigMap ml/x-runtime-snapshot: PATCH configmaps ml/x-runtime-snapshot: 422 "
                'Invalid: configmaps "x-runtime-snapshot" is forbidden: '
                "ValidatingAdmissionPolicy 'a' with binding 'a' denied request: no",
                may_pass=True,
            ),
            "admission",
            "It waits: another try is due",
        ),
        (
            not_built(
                1,
                "ClusterTrainingRuntime torch: GET clustertrainingruntimes torch: 403 Forbidden: "
                'clustertrainingruntimes.trainer.kubeflow.org "torch" is forbidden: User "x" '
                "cannot get resource",
                may_pass=True,
            ),
            "permission",
            "It waits: another try is due",
        ),
        (
            not_built(1, "plugin torch: no"),
            "invalid-manifest",
            "It waits for a change of its manifest or its runtime: ",
        ),
    ],
)
def test_what_keeps_a_job_from_being_built_is_told_until_it_is(
    monkeypatch: pytest.MonkeyPatch, build: Step, failure_class: str, says: str
) -> None:
    def stuck() -> tuple[Step, ...]:
        return manifest(), build

    def over() -> tuple[Step, ...]:
        ended = jobset(60, counts(failed=1), end=failed_end())
        return *stuck(), manifest(5, generation=2), applied(6), ended

    lives = {"stuck": stuck, "over": over}
    monkeypatch.setattr(train_lives, "TRAIN_LIVES", lives)
    told = account("stuck")
    assert (told.outcome, told.failure_class) == ("going on", failure_class)
    assert any(sentence.text.startswith(says) for sentence in told.sentences)
    assert account("over").failure_class == "application"


def test_a_deletion_that_is_refused_after_the_end_is_not_the_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its JobSet runs on meanwhile, which is told as what it waits for."""
    denied = 'admission webhook "policy" denied the request: no'

    def story() -> tuple[Step, ...]:
        late = (*running(active_deadline_seconds=60), due(DecisionKind.ACTIVE_DEADLINE))
        return *late, faltered(64, EffectKind.DELETE_JOBSET, denied)

    monkeypatch.setitem(train_lives.TRAIN_LIVES, "training-not-deleted", story)
    told = account("training-not-deleted")
    assert told.failure_class == "deadline"
    assert "deadline" in told.sentences[0].text
    assert denied in told.sentences[1].text
