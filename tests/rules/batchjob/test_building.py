"""The Job that is made for an attempt: its name, what it is copied from, what is left out."""

import re
from typing import Any

import pytest

from jobledger.core.batchjob.building import attempt_job
from jobledger.core.batchjob.names import MANAGED_BY, attempt_job_name, attempt_of
from jobledger.core.batchjob.spec import read_spec
from jobledger.core.jobs.control.ownership import is_controlled_by
from jobledger.core.values.documents import Manifest, child, text

UID = "0d5b3c1e"


def parent(template_labels: dict[str, str] | None = None, **spec: Any) -> Manifest:  # noqa: ANN401 any JSON
    """Return a Job as a watch shows it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "etl",
            "namespace": "data",
            "uid": UID,
            "labels": {"kueue.x-k8s.io/queue-name": "gpus"},
            "annotations": {"jobledger.dev/backoff-limit": "2"},
        },
        "spec": {
            "managedBy": MANAGED_BY,
            "backoffLimit": 6,
            "template": {
                "metadata": {"labels": template_labels or {}},
                "spec": {"containers": [{"name": "main", "image": "etl:1"}]},
            },
            **spec,
        },
        "status": {"active": 1},
    }


GENERATED = {
    "controller-uid": UID,
    "job-name": "etl",
    "batch.kubernetes.io/controller-uid": UID,
    "batch.kubernetes.io/job-name": "etl",
}


def test_an_attempts_job_is_the_users_with_a_name_an_owner_and_labels_of_its_own() -> None:
    made = attempt_job(
        parent(
            {"app": "etl", **GENERATED},
            selector={"matchLabels": {"batch.kubernetes.io/controller-uid": UID}},
            ttlSecondsAfterFinished=60,
            suspend=False,
        ),
        2,
    )
    labels = {"jobledger.dev/job": "etl", "jobledger.dev/attempt": "2"}
    assert made == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": attempt_job_name("etl", UID, 2),
            "namespace": "data",
            "labels": labels,
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "etl",
                    "uid": UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "backoffLimit": 6,
            "suspend": False,
            "template": {
                "metadata": {"labels": {"app": "etl", **labels}},
                "spec": {"containers": [{"name": "main", "image": "etl:1"}]},
            },
        },
    }
    assert is_controlled_by(made, UID)


def test_a_selector_of_the_users_own_is_kept_with_the_labels_that_it_selects() -> None:
    selector = {"matchLabels": {"job-name": "mine"}}
    made = attempt_job(parent({"job-name": "mine"}, manualSelector=True, selector=selector), 1)
    spec = child(made, "spec")
    assert spec["selector"] == selector
    assert spec["manualSelector"] is True
    assert child(spec, "template", "metadata", "labels")["job-name"] == "mine"


@pytest.mark.parametrize("name", ["c" * 200, "d." * 100 + "d", "e" * 62 + ".f", "etl"])
def test_a_label_holds_as_much_of_a_long_name_as_it_can(name: str) -> None:
    """A Job that selects its Pods by hand may have a longer name than a label's value."""
    long = {**parent(), "metadata": {**child(parent(), "metadata"), "name": name}}
    label = text(attempt_job(long, 1), "metadata", "labels", "jobledger.dev/job")
    assert re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", label)
    assert name.startswith(label)


def test_an_attempts_job_is_suspended_as_the_users_is() -> None:
    assert child(attempt_job(parent(suspend=True), 1), "spec")["suspend"] is True


@pytest.mark.parametrize("name", ["a", "etl", "etl.v2.daily", "x" * 63, "a" * 56 + ".b.c.d"])
def test_a_name_is_a_dns_label_that_follows_from_job_uid_and_attempt(name: str) -> None:
    made = [attempt_job_name(name, UID, number) for number in (1, 2, 3)]
    for one in made:
        assert len(f"{one}-2147483646") <= 63, "the host name of an Indexed Job's last Pod"
        assert all(part.isalnum() for part in one.replace("-", ""))
        assert one[0].isalnum()
        assert one[-1].isalnum()
    assert len(set(made)) == 3
    assert made == [attempt_job_name(name, UID, number) for number in (1, 2, 3)]
    assert attempt_job_name(name, "another", 1) not in made
    assert [attempt_of(name, UID, one) for one in (*made, name, f"{name}-other")] == [1, 2, 3, 0, 0]


def asked(annotations: dict[str, str], **spec: Any) -> Manifest:  # noqa: ANN401 any JSON
    """Return a Job with annotations."""
    return {"metadata": {"annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    ("written", "limit"),
    [("0", 0), (" 2 ", 2), ("100", 100), ("101", 0), ("-1", 0), ("two", 0), ("", 0), ("1.5", 0)],
)
def test_the_annotation_says_how_often_a_job_is_retried_on_a_new_one(
    written: str, limit: int
) -> None:
    read = read_spec(asked({"jobledger.dev/backoff-limit": written}))
    assert read.spec.backoff_limit == limit
    assert len(read.problems) == (written.strip() not in {"0", "2", "100"})


def test_what_cannot_be_understood_is_named_with_what_to_write_instead() -> None:
    read = read_spec(asked({"jobledger.dev/backoff-limit": "many"}))
    (said,) = read.problems
    assert said == (
        "annotation jobledger.dev/backoff-limit is left out: 'many': "
        "write a whole number from 0 to 100"
    )


def test_a_deadline_that_cannot_be_understood_forbids_every_retry() -> None:
    read = read_spec(asked({"jobledger.dev/job-deadline-seconds": "soon"}))
    assert read.spec.options.deadline_unclear
    assert read.spec.options.job_deadline_seconds is None
    (said,) = read.problems
    assert "job-deadline-seconds cannot be understood, so nothing is retried: 'soon'" in said


@pytest.mark.parametrize(
    ("annotations", "unclear", "deadline_unclear"),
    [
        ({}, False, False),
        ({"jobledger.dev/backoff-limit": "3"}, False, False),
        ({"jobledger.dev/job-deadline-seconds": "60"}, False, False),
        ({"jobledger.dev/job-deadline-secs": "60"}, False, True),
        (
            {"jobledger.dev/job-deadline-secs": "60", "jobledger.dev/backof-limit": "3"},
            False,
            True,
        ),
        (
            {"jobledger.dev/retry-policy": "oom=never", "jobledger.dev/backof-limit": "3"},
            True,
            False,
        ),
        ({"jobledger.dev/backof-limit": "3"}, False, False),
    ],
)
def test_only_what_might_forbid_a_retry_makes_the_wish_unclear(
    annotations: dict[str, str], *, unclear: bool, deadline_unclear: bool
) -> None:
    options = read_spec(asked(annotations)).spec.options
    assert (options.unclear, options.deadline_unclear) == (unclear, deadline_unclear)


def test_a_policy_which_jobs_do_not_take_forbids_every_retry_and_is_named() -> None:
    read = read_spec(asked({"jobledger.dev/retry-policy": "application=never"}))
    assert read.spec.options.unclear
    (said,) = read.problems
    assert "retry-policy cannot be understood, so nothing is retried: 'application" in said
    assert said.endswith("known are backoff-limit, job-deadline-seconds")


def test_the_spec_that_decides_is_read_with_defaults_for_what_is_absent() -> None:
    read = read_spec(
        asked({"jobledger.dev/job-deadline-seconds": "1h"}, managedBy=MANAGED_BY, suspend=True)
    )
    assert read.problems == ()
    assert read.spec.is_ours
    assert read.spec.suspend
    assert read.spec.options.job_deadline_seconds == 3600
    assert not read_spec({}).spec.is_ours
    assert not read_spec(asked({}, managedBy="example.com/other")).spec.is_ours
