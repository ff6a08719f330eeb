"""Parses and validates the progress report that a Pod posts.

Source: Trainer v2.3, `UpdateTrainJobStatusRequest` and the markers of `TrainerStatus`.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from jobledger.core.errors import JobledgerError
from jobledger.core.log.storable import storable_text
from jobledger.core.trainjob.progress import DONE
from jobledger.core.values.documents import Json, Manifest, text
from jobledger.core.values.instants import Instant, parse_rfc3339, rfc3339

METRICS_TAKEN_MAX = 256
TEXT_CHARACTERS_MAX = 64
"""Longest name and value of a metric."""
SECONDS_MAX = 2**31 - 1

AHEAD_MAX = timedelta(minutes=1)
"""So far the clock of a Pod may be ahead of ours for its report to stand before later ones."""

AUDIENCE = "trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"
"""Of the token that a Pod sends; upstream's."""
PATH = f"/apis/{AUDIENCE}"
"""Where a Pod posts; upstream's."""
WRITER = "trainer-status"
"""Field manager of `trainerStatus`; upstream's, so that one may follow the other."""


class ReportRefused(JobledgerError):
    """What was posted is no report; the text says which field is wrong, and how."""


def read_report(body: Json) -> Manifest | None:
    """Return the `trainerStatus` that a body asks for; None if it asks for none.

    Raises:
        ReportRefused: the API server would not take it.
    """
    if not isinstance(body, Mapping):
        raise ReportRefused("the body must be a JSON object with trainerStatus")
    asked = body.get("trainerStatus")
    if asked is None:
        return None
    if not isinstance(asked, Mapping):
        raise ReportRefused("trainerStatus must be an object")
    shown: dict[str, Json] = {}
    for field, most in (("progressPercentage", DONE), ("estimatedRemainingSeconds", SECONDS_MAX)):
        if (value := asked.get(field)) is not None:
            shown[field] = _number(field, value, most)
    if metrics := _metrics(asked.get("metrics")):
        shown["metrics"] = metrics
    updated = asked.get("lastUpdatedTime")
    when = parse_rfc3339(updated) if isinstance(updated, str) else None
    if when is None:
        raise ReportRefused(
            "lastUpdatedTime is required when trainerStatus is present, as 2026-01-31T12:00:00Z"
        )
    return {**shown, "lastUpdatedTime": rfc3339(when)}


def is_outdated(report: Manifest, shown: Manifest, now: Instant) -> bool:
    """Return whether a `trainerStatus` is older than the one that is shown, by `lastUpdatedTime`.

    Those of one second are equally old. What is shown and lies more than `AHEAD_MAX` after `now`
    makes nothing old: else one wrong clock would silence all other Pods of the job until then.
    """
    told, before = _when(report), _when(shown)
    if told is None or before is None:
        return False
    return told < before and before - now <= AHEAD_MAX


def _when(trainer_status: Manifest) -> Instant | None:
    return parse_rfc3339(text(trainer_status, "lastUpdatedTime"))


def _number(field: str, value: Json, most: int) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most:  # type: ignore[operator] # a number by then
        raise ReportRefused(f"trainerStatus.{field} must be a whole number from 0 to {most}")
    return int(value)  # type: ignore[arg-type] # as above


def _metrics(given: Json) -> list[Json]:
    if given is None:
        return []
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ReportRefused("trainerStatus.metrics must be a list")
    if len(given) > METRICS_TAKEN_MAX:
        raise ReportRefused(f"trainerStatus.metrics has more than {METRICS_TAKEN_MAX} entries")
    return [_metric(index, one) for index, one in enumerate(given)]


def _metric(index: int, one: Json) -> Manifest:
    found = one if isinstance(one, Mapping) else {}
    read: dict[str, Json] = {}
    for field in ("name", "value"):
        value = found.get(field)
        if not isinstance(value, str) or not 1 <= len(value) <= TEXT_CHARACTERS_MAX:
            raise ReportRefused(
                f"trainerStatus.metrics[{index}].{field} must be a text of 1 to "
                f"{TEXT_CHARACTERS_MAX} characters"
            )
        read[field] = storable_text(value)
    return read
