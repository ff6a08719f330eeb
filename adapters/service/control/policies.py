"""Builds the policies of jobs from settings; they are recorded with every manifest."""

from collections.abc import Callable

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.adapters.settings import Settings
from jobledger.core.jobs.control.control_policy import Control, ControlScope
from jobledger.core.jobs.policy import Policy


def policy(settings: Settings) -> Policy:
    """Return what jobs are judged by here."""
    return Policy(
        transition_grace_seconds=settings.transition_grace_seconds,
        status_check_timeout_seconds=settings.status_check_timeout_seconds,
        submitter_finished_timeout_seconds=settings.submitter_finished_timeout_seconds,
        retry_delay_seconds=settings.retry_delay_seconds,
        retry_delay_max_seconds=settings.retry_delay_max_seconds,
        effect_retry_seconds=settings.effect_retry_seconds,
        delete_job_after_finish=settings.delete_job_after_finish,
        batch_scheduler=settings.batch_scheduler,
        evidence_timeout_seconds=settings.evidence_timeout_seconds,
    )


def control_policy(settings: Settings, refused: Callable[[str, str], None]) -> ControlPolicy:
    """Return in whose hands jobs are here; `refused` is told kind and namespace of a refusal."""
    scope = ControlScope(
        control=Control(settings.control), namespaces=frozenset(settings.control_namespaces)
    )
    return ControlPolicy(scope, take_over=settings.take_over, refused=refused)
