"""One failure has one cause and one retry group, whoever is asked: explain, reports, what-if."""

import pytest
from msgspec.structs import asdict

from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.story.causes import ExplainedCauses, counted_as, with_causes
from jobledger.core.forensics.story.explain import explain
from jobledger.core.jobs.failures.rules import GENERAL
from jobledger.core.projections.reporting.fold import Folded, Rules, fold, rows_of
from tests.rules.forensics.corpus.batchjobs import BATCHJOBS, BatchCase
from tests.rules.forensics.corpus.cases import Case
from tests.rules.forensics.corpus.jobs import JOBS
from tests.rules.forensics.corpus.pods import PODS
from tests.rules.forensics.corpus.programs import PROGRAMS
from tests.rules.forensics.corpus.trainjobs import TRAINJOBS, TrainCase
from tests.support.rayjob_builders import manifest
from tests.support.rayjob_stories import failing, working
from tests.support.recorded import dossier_of, recorded

RULES = Rules(causes=ExplainedCauses())
CORPUS: tuple[Case | TrainCase | BatchCase, ...] = (
    *PROGRAMS,
    *PODS,
    *JOBS,
    *TRAINJOBS,
    *BATCHJOBS,
)


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_explain_reports_and_what_if_say_the_same_of_a_failure(
    case: Case | TrainCase | BatchCase,
) -> None:
    dossier = case.dossier()
    account, folded = explain(dossier), Folded()
    records = [stored.record for stored in dossier.events]
    for one in records:
        folded = fold(folded, one, read_event(one), RULES)
    failures = [asdict(fact) for fact in rows_of(folded).facts["report_failure"]]
    possible = {(account.failure_class, account.failure_group)}
    if any(sentence.evidence for sentence in account.sentences):
        # Reports read no kept logs, only their last lines: they may not know more than the group.
        possible |= {
            (rule.name, group.value)
            for group, rule in GENERAL.items()
            if group.value == account.failure_group
        }
    told = {(fact["cause"], fact["failure_class"]) for fact in failures[-1:]}
    assert told <= possible
    events = [read_event(one) for one in records]
    attempts = with_causes(facts(events), events).attempts
    assert {(one.cause, one.failure.value) for one in attempts[-1:] if one.cause} <= possible
    if told:
        assert counted_as(account, events) in {"", *(cause for cause, _ in told)}


def test_where_the_log_alone_decides_reports_count_it_as_the_general_class() -> None:
    (case,) = (one for one in CORPUS if one.name == "a loss that is no number")
    dossier = case.dossier()
    account = explain(dossier)
    assert account.failure_class == "diverged"
    assert counted_as(account, [read.event for read in dossier.read()]) == "application"


def test_a_job_of_which_nothing_failed_is_counted_as_nothing() -> None:
    account = explain(dossier_of(working()))
    assert counted_as(account, [read_event(one) for one in recorded(working())]) == ""


def test_what_a_job_that_goes_on_lacks_is_counted_as_nothing() -> None:
    """Its first attempt failed of the program; what is told is why its manifest is refused."""
    story = (
        *working(backoff_limit=1),
        *failing(),
        manifest(60, generation=2, problem="The RayJob spec is invalid: no RayCluster"),
    )
    account = explain(dossier_of(story))
    assert account.failure_class == "invalid-manifest"
    assert counted_as(account, [read_event(one) for one in recorded(story)]) == ""
