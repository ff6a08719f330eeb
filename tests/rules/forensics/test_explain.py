"""The account of a job: the right class, plain words, and every sentence cites its events."""

from collections.abc import Iterable

import pytest

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.story.account import NO_LOG, Account
from jobledger.core.forensics.story.explain import explain
from jobledger.core.jobs.failures.rules import CAUSES, RULES, UNEXPLAINED
from jobledger.core.jobs.pending.decisions import DECISION_WORDS, DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.log.envelope import StoredEvent
from tests.rules.forensics.corpus.batchjobs import BATCHJOBS, BatchCase
from tests.rules.forensics.corpus.cases import Case
from tests.rules.forensics.corpus.jobs import JOBS
from tests.rules.forensics.corpus.pods import PODS
from tests.rules.forensics.corpus.programs import PROGRAMS
from tests.rules.forensics.corpus.trainjobs import TRAINJOBS, TrainCase
from tests.support import batchjobs
from tests.support import rayjob_stories as stories
from tests.support.batch_lives import BATCH_LIVES
from tests.support.rayjob_builders import faltered, interrupted, manifest, poll, submitter
from tests.support.recorded import dossier_of
from tests.support.rows import Step

CORPUS: tuple[Case | TrainCase | BatchCase, ...] = (
    *PROGRAMS,
    *PODS,
    *JOBS,
    *TRAINJOBS,
    *BATCHJOBS,
)


def checked(dossier: Dossier) -> Account:
    """Return the account, after holding it against what is true of every account."""
    account = explain(dossier)
    last = dossier.events[-1].record.version
    assert account.sentences
    for sentence in account.sentences:
        assert sentence.versions, f"no event is cited: {sentence.text}"
        assert all(1 <= version <= last for version in sentence.versions)
        assert all(dossier.evidence(digest) is not None for digest in sentence.evidence)
        assert sentence.text.endswith("."), sentence.text
        assert "\n" not in sentence.text
    return account


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_every_failure_of_the_corpus_is_told_by_its_class(
    case: Case | TrainCase | BatchCase,
) -> None:
    account = checked(case.dossier())
    told = [sentence.text for sentence in account.sentences]
    assert account.failure_class == case.expected, told
    assert account.advice
    says = case.says if isinstance(case, Case) else ""
    assert any(says in text for text in told), told


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_nobody_is_sent_to_a_log_that_was_not_kept(case: Case | TrainCase | BatchCase) -> None:
    account = checked(case.dossier())
    advice = CAUSES[account.failure_class].advice
    sends = advice.startswith(("read the end of", "the submitter's log says"))
    in_vain = sends and not account.logs and account.outcome in ("failed", "complete")
    assert account.advice == (NO_LOG if in_vain else advice)


def test_the_corpus_is_large_and_has_every_class() -> None:
    assert len(CORPUS) >= 40
    assert len({case.name for case in CORPUS}) == len(CORPUS)
    known = {rule.name for rule in RULES}
    assert {case.expected for case in CORPUS} == known


def words(story: Iterable[Step]) -> tuple[Account, list[str]]:
    account = checked(dossier_of(story))
    return account, [sentence.text for sentence in account.sentences]


def test_a_failed_job_is_told_from_the_cause_to_the_verdict() -> None:
    account, told = words((*stories.failed_attempts(1, backoff_limit=1), *second_failure()))
    assert account.outcome == "failed"
    assert "after 2 attempts, because the program itself failed" in told[0]
    assert told[1].startswith("The first sign was at")
    assert any(text.startswith("Attempt 1 failed after 42.0 s: AppFailed") for text in told)
    assert any(text.startswith("Attempt 2 failed after") for text in told)
    assert "No further retry: 2 failed attempts exhaust backoffLimit 1." in told


def second_failure() -> tuple[Step, ...]:
    return (*stories.built(2), *stories.readied(2), *stories.failing(2))


def test_the_first_sentence_cites_the_sign_and_the_end() -> None:
    account, _ = words((*stories.working(), *stories.failing()))
    cited = account.sentences[0].versions
    types = {item.record.version: item.record.type for item in failing_events()}
    assert {types[version] for version in cited} >= {"EntrypointObserved", "JobFailed"}


def failing_events() -> Iterable[StoredEvent]:
    return dossier_of((*stories.working(), *stories.failing())).events


def test_a_success_after_failures_tells_what_failed_before() -> None:
    account, told = words(
        (
            *stories.failed_attempts(1, backoff_limit=1),
            *stories.built(2),
            *stories.readied(2),
            poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
            submitter("Complete", 142, attempt=2),
        )
    )
    assert account.outcome == "complete"
    assert (account.failure_class, account.advice) == ("application", NO_LOG)
    assert told[0].endswith("on attempt 2.")
    assert any("was to be retried: failed attempt 1 is within backoffLimit 1" in t for t in told)


def test_so_it_is_told_of_a_job_of_any_kind() -> None:
    retried = BatchCase(name="retried", expected="application", story=BATCH_LIVES["retried"])
    account = checked(retried.dossier())
    assert (account.outcome, account.failure_class) == ("complete", "application")


def test_a_plain_success_has_no_failure_class() -> None:
    account, told = words(stories.succeeded())
    assert (account.outcome, account.failure_class) == ("complete", "")
    assert len(told) == 1


def test_a_job_that_waits_says_for_what() -> None:
    account, told = words(
        (*stories.seen(pre_running_deadline_seconds=60), faltered(EffectKind.CREATE_CLUSTER, 1))
    )
    assert account.outcome == "going on"
    assert any(text.startswith("It waits for an effect: create cluster") for text in told)
    assert any(DECISION_WORDS[DecisionKind.PRE_RUNNING_DEADLINE] in text for text in told)


def test_a_gap_in_what_was_seen_is_said() -> None:
    _, told = words((*stories.working(), interrupted(31, 39), *stories.failing()))
    assert any(text.startswith("Not everything was seen: changes of RayCluster") for text in told)


def test_a_manifest_that_became_valid_again_is_no_cause() -> None:
    account, _ = words((manifest(problem="no"), manifest(5, generation=2)))
    assert account.outcome == "going on"


def test_what_no_rule_explains_is_said_to_be_unexplained() -> None:
    assert UNEXPLAINED.tests == ()
    assert UNEXPLAINED not in RULES


def test_rules_have_unique_names_and_can_be_read() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.because == rule.because.strip()
        assert not rule.because.endswith(".")
        assert rule.advice


def test_what_a_job_has_got_over_is_not_quoted_as_why_it_failed() -> None:
    """The API server did not answer in time when the attempt's Job was made, and had made it."""
    unheard = batchjobs.outcome(
        EffectKind.CREATE_ATTEMPT_JOB, 4, Outcome.FALTERED, trouble="no answer in time"
    )
    story = (
        batchjobs.manifest(),
        unheard,
        batchjobs.job(10, active=1, ready=1),
        batchjobs.job(60, end=batchjobs.failed_end(), failed=1),
    )
    told = explain(BatchCase(name="", expected="", story=story).dossier())
    first = told.sentences[0].text
    assert first.endswith(f"because the program itself failed: {batchjobs.BACKOFF.rstrip('.')}.")
    assert not any("no answer in time" in one.text for one in told.sentences)


def test_of_a_stream_that_lacks_an_event_nothing_wrong_is_told() -> None:
    """Events are told by their versions, which would be those of others."""
    whole = dossier_of((*stories.working(), *stories.failing()))
    for number in range(1, len(whole.events) - 1):
        cut = (*whole.events[:number], *whole.events[number + 1 :])
        with pytest.raises(BrokenChain, match=f"event {number + 1} of the stream is missing"):
            explain(Dossier(events=cut, evidence=whole.evidence, origin="the log"))
