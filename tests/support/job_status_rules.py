"""What the API server asks of a change of a Job's status, as far as this controller writes it.

Source: Kubernetes 1.36, pkg/apis/batch/validation/validation.go (validateJobStatus,
ValidateJobStatusUpdate) with the options of pkg/registry/batch/job/strategy.go for a Job that is
not Indexed.
"""

from collections.abc import Iterator

from jobledger.core.values.documents import Manifest, items, number, text


def problems(old: Manifest, new: Manifest, *, suspend: bool = False) -> list[str]:
    """Return why the API server would refuse `new` in place of `old`; empty: it takes it."""
    return [*_alone(new), *_against(old, new, suspend=suspend)]


def _is_true(status: Manifest, kind: str) -> bool:
    return any(
        text(item, "type") == kind and text(item, "status") == "True"
        for item in items(status, "conditions")
    )


def _count(status: Manifest, name: str) -> int:
    return number(status, name) or 0


def _alone(new: Manifest) -> Iterator[str]:  # noqa: C901 one sentence per rule
    complete, failed = _is_true(new, "Complete"), _is_true(new, "Failed")
    success, target = _is_true(new, "SuccessCriteriaMet"), _is_true(new, "FailureTarget")
    names = ("active", "ready", "succeeded", "failed", "terminating")
    if any(_count(new, name) < 0 for name in names):
        yield "a counter is negative"
    if complete and failed:
        yield "Complete and Failed"
    if complete and target:
        yield "Complete and FailureTarget"
    if ("completionTime" in new) is not complete:
        yield "completionTime without Complete, or Complete without it"
    if complete and text(new, "completionTime") < text(new, "startTime"):
        yield "completed before the start"
    if failed and not target:
        yield "Failed without FailureTarget"
    if complete and not success:
        yield "Complete without SuccessCriteriaMet"
    if success and (failed or target):
        yield "SuccessCriteriaMet of a Job that fails"
    if complete or failed:
        if _count(new, "active") or _count(new, "terminating"):
            yield "active or terminating Pods of a finished Job"
        if not text(new, "startTime"):
            yield "a finished Job without a start"
    if _count(new, "ready") > _count(new, "active"):
        yield "more ready Pods than active ones"


def _against(old: Manifest, new: Manifest, *, suspend: bool) -> Iterator[str]:
    for kind in ("Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"):
        if _is_true(old, kind) and not _is_true(new, kind):
            yield f"{kind} is taken back"
    for name in ("failed", "succeeded"):
        if _count(new, name) < _count(old, name):
            yield f"the counter {name} falls"
    for name in ("completionTime", "startTime"):
        changes = old.get(name) and new.get(name) != old.get(name)
        if changes and not (name == "startTime" and suspend):
            yield f"{name} changes"
