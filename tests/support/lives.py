"""One story for every kind of life that a RayJob can have."""

from collections.abc import Mapping

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import (
    HTTP,
    cluster_gone,
    done,
    due,
    faltered,
    interrupted,
    manifest,
    manifest_gone,
    not_found,
    nothing_new,
    outdated,
    poll,
    refused,
    silence,
    submitter,
    submitter_gone,
    written,
)
from tests.support.recorded import Story
from tests.support.rows import Step


def _second_attempt_succeeds() -> tuple[Step, ...]:
    return (
        *stories.failed_attempts(2, backoff_limit=2),
        *stories.built(3),
        *stories.readied(3),
        poll("SUCCEEDED", 240, attempt=3, started_at=225, ended_at=239),
        submitter("Complete", 242, attempt=3),
    )


def _shut_down() -> tuple[Step, ...]:
    return (
        *stories.succeeded(shutdown_after_job_finishes=True, ttl_seconds_after_finished=60),
        written("Complete", 43),
        due(DecisionKind.TTL_SHUTDOWN),
        done(EffectKind.DELETE_CLUSTER, 103, uid="cluster-1"),
        cluster_gone(110),
        manifest_gone(200),
    )


def _refused_by_a_quota() -> tuple[Step, ...]:
    return (
        *stories.seen(),
        refused(EffectKind.CREATE_CLUSTER, 1),
        due(DecisionKind.EFFECT_RETRY),
        faltered(EffectKind.CREATE_CLUSTER, 12),
        outdated(EffectKind.CREATE_CLUSTER, 13),
    )


def _over_http() -> tuple[Step, ...]:
    ended = poll("FAILED", 60, started_at=25, ended_at=59, message="ValueError: 42", exit_code=1)
    return (*stories.working(submission_mode=HTTP), ended)


def _past_its_deadline() -> tuple[Step, ...]:
    return (*stories.working(active_deadline_seconds=100), due(DecisionKind.ACTIVE_DEADLINE))


def _watched_through_a_gap() -> tuple[Step, ...]:
    return (*stories.working(), nothing_new(40), interrupted(40, 50), written("Running", 51))


def _being_deleted() -> tuple[Step, ...]:
    return (*stories.working(), manifest(60, generation=2, finalizer=True, deleting=True))


LIVES: Mapping[str, Story] = {
    "succeeded": stories.succeeded,
    "succeeded-after-two-failures": _second_attempt_succeeds,
    "failed": lambda: (*stories.working(), *stories.failing()),
    "suspended-and-resumed": lambda: (
        *stories.suspended(),
        manifest(200, generation=3, finalizer=True),
    ),
    "shut-down-and-deleted": _shut_down,
    "past-its-deadline": _past_its_deadline,
    "silent-for-too-long": lambda: (
        *stories.working(),
        silence(60),
        due(DecisionKind.STATUS_CHECK),
    ),
    "silent-for-a-while": lambda: (
        *stories.working(),
        silence(60),
        poll("RUNNING", 90, started_at=25),
    ),
    "silent-then-unknown": lambda: (*stories.running(), silence(60), not_found(90)),
    "lost-its-cluster": lambda: (*stories.working(), cluster_gone(60)),
    "refused-by-a-quota": _refused_by_a_quota,
    "not-valid": lambda: (
        manifest(problem="backoffLimit must be 0 or more"),
        manifest(5, generation=2),
    ),
    "handed-in-over-http": _over_http,
    "lost-its-submitter": lambda: (*stories.working(), submitter_gone(60), not_found(62)),
    "watched-through-a-gap": _watched_through_a_gap,
    "being-deleted": _being_deleted,
}
"""Name -> story."""
