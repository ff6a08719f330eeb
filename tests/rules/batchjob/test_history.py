"""Jobs, looked at afterwards: decided again, told, explained, counted in reports."""

import pytest

from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import cluster_hours
from jobledger.core.forensics.attempts import facts as story_facts
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.replay.replay import replay
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import timeline
from jobledger.core.jobs.rows import AttemptRow
from jobledger.core.kinds import KINDS, kind_of, kind_of_type
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.reporting.dimensions import dimension_of
from jobledger.core.projections.reporting.facts import AttemptFact, FailureFact, JobFact
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, fold, rows_of
from jobledger.core.projections.reporting.user_labels import USER_LABELS
from jobledger.core.projections.view import View, advance
from jobledger.core.values.documents import Manifest
from tests.support.batch_lives import BATCH_LIVES, recorded_job
from tests.support.batchjobs import IDENTITY, after
from tests.support.recorded import stored
from tests.support.records import with_data


def records_of(life: str) -> list[EventRecord]:
    return recorded_job(BATCH_LIVES[life])


def dossier(life: str) -> Dossier:
    return Dossier(events=stored(records_of(life)), evidence=reader_of({}), origin="a test")


def rows(life: str) -> list[AttemptRow]:
    """Return the rows of the attempts of a life."""
    view, found = View(), dict[int, AttemptRow]()
    for record in records_of(life):
        view, changes = advance(view, [read_event(record)])
        found |= {row.number: row for row in changes.attempts}
    return [found[number] for number in sorted(found)]


def report(life: str) -> Rows:
    """Return the facts of the report on a life."""
    folded, rules = Folded(), Rules(causes=ExplainedCauses())
    for record in records_of(life):
        folded = fold(folded, record, read_event(record), rules)
    return rows_of(folded)


@pytest.mark.parametrize("life", BATCH_LIVES)
def test_every_life_is_decided_again_as_it_was(life: str) -> None:
    records = records_of(life)
    replayed = replay(records)
    assert (replayed.divergences, replayed.unknown) == ((), ())
    assert replayed.events == len(records)


def test_a_changed_end_is_told_by_its_field() -> None:
    records = [
        with_data(item, {**item.data, "reason": "Whim"})
        if item.type == "BatchRetryRefused"
        else item
        for item in records_of("failed")
    ]
    (found,) = replay(records).divergences
    assert found.fields == ("reason: 'Whim' -> 'BackoffLimitExceeded'",)


@pytest.mark.parametrize("life", BATCH_LIVES)
def test_every_life_is_told_and_its_kind_is_known(life: str) -> None:
    told = dossier(life)
    assert told.kind == "Job"
    lines = list(timeline((item.version, item.event) for item in told.read()))
    assert len(lines) == len(told.read())
    assert all(line.words for line in lines)
    assert all(sentence.versions for sentence in explain(told).sentences)


def test_a_retry_is_explained_with_the_numbers_that_it_was_judged_by() -> None:
    told = [sentence.text for sentence in explain(dossier("out-of-retries")).sentences]
    assert any(
        "failed attempt 1 is within jobledger.dev/backoff-limit 1" in text for text in told
    ), told
    assert any(
        "2 failed attempts exhaust jobledger.dev/backoff-limit 1" in text for text in told
    ), told


def test_each_attempt_has_a_row() -> None:
    first, second = rows("retried")
    assert (first.number, first.outcome, first.reason, first.retried) == (
        1,
        "failed",
        "BackoffLimitExceeded",
        True,
    )
    assert (first.started_at, first.running_at, first.ended_at) == (after(0), after(10), after(60))
    assert (second.number, second.outcome, second.retried) == (2, "succeeded", False)
    assert (second.started_at, second.running_at) == (after(62), after(70))


def test_an_attempt_that_was_found_is_marked_as_inferred() -> None:
    (row,) = rows("held-and-recovered")
    assert (row.number, row.outcome, row.inferred) == (3, "succeeded", True)


def test_an_attempt_goes_with_its_job() -> None:
    (row,) = rows("deleted")
    assert row.outcome == "deleted"


def test_reports_count_attempts_failures_and_retries() -> None:
    facts = report("out-of-retries").facts
    (job,) = facts["report_job"]
    assert isinstance(job, JobFact)
    assert (job.outcome, job.attempts, job.failed_attempts, job.retries) == ("failed", 2, 2, 1)
    failures = [one for one in facts["report_failure"] if isinstance(one, FailureFact)]
    assert [(one.attempt, one.cause, one.retried, one.final) for one in failures] == [
        (1, "application", True, False),
        (2, "application", False, True),
    ]
    attempts = [one for one in facts["report_attempt"] if isinstance(one, AttemptFact)]
    assert [one.granted_at for one in attempts] == [after(60), None]


def test_policies_are_tried_on_what_was_seen_of_its_attempts() -> None:
    found = story_facts(item.event for item in dossier("out-of-retries").read())
    assert found.retries_itself
    assert found.backoff_limit == 1
    assert [(one.number, one.outcome) for one in found.attempts] == [(1, "failed"), (2, "failed")]
    assert found.attempts[0].cluster_from == after(0)
    assert found.attempts[0].cluster_until == after(60)
    assert found.outcome == "Failed"


@pytest.mark.parametrize("life", BATCH_LIVES)
def test_what_if_reckons_the_hours_that_reports_have(life: str) -> None:
    """A Job holds nothing once it is over, however long its object stays."""
    (job,) = report(life).facts["report_job"]
    assert isinstance(job, JobFact)
    reckoned = cluster_hours(story_facts(map(read_event, records_of(life))).attempts)
    assert reckoned * 3600 == pytest.approx(job.cluster_seconds)


def test_a_report_knows_the_image_and_no_framework() -> None:
    document: Manifest = {
        "spec": {"template": {"spec": {"containers": [{"image": "etl:1"}, {"image": "x"}]}}},
        "labels": {"kueue.x-k8s.io/queue-name": "gpus"},
    }
    found = dimension_of(IDENTITY, KINDS["Job"], document, USER_LABELS)
    assert (found.kind, found.framework, found.runtime, found.image) == ("Job", "", "", "etl:1")
    assert found.queue == "gpus"
    assert dimension_of(IDENTITY, KINDS["Job"], {}, USER_LABELS).image == ""


def test_the_kind_of_a_stream_follows_from_its_first_event() -> None:
    named = {"JobDiscovered": "RayJob", "TrainJobDiscovered": "TrainJob"}
    for stored_name, kind in {**named, "BatchJobDiscovered": "Job"}.items():
        known = kind_of_type(stored_name)
        assert known is not None
        assert known.name == kind
        assert kind_of(known.initial) is known
    assert kind_of_type("EffectRequested") is None
