"""What a RayJob may ask for by annotations, and what is said of one that cannot be understood."""

from typing import Any

import pytest

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import (
    NOTHING_ASKED,
    Answer,
    Growth,
    RetryOptions,
    RetryRule,
)
from jobledger.core.rayjob.spec.retry_annotations import read_retry_options
from tests.rules.rayjob.jobs import rayjob, selecting

PREFIX = "jobledger.dev/"


def asking(**annotations: str) -> dict[str, Any]:
    """Return a RayJob with annotations; `_` stands for `-`."""
    named = {f"{PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()}
    return rayjob({"metadata.annotations": named})


@pytest.mark.parametrize(
    ("annotations", "options"),
    [
        ({}, NOTHING_ASKED),
        ({"retry_delay_seconds": "10"}, RetryOptions(delay_seconds=10)),
        ({"retry_delay_seconds": " 0 "}, RetryOptions(delay_seconds=0)),
        ({"retry_delay_seconds": "30s"}, RetryOptions(delay_seconds=30)),
        ({"retry_delay_seconds": "1h30m"}, RetryOptions(delay_seconds=5400)),
        ({"retry_delay_max_seconds": "10m5s"}, RetryOptions(delay_max_seconds=605)),
        ({"retry_delay_max_seconds": "168h"}, RetryOptions(delay_max_seconds=604800)),
        ({"retry_delay_max_seconds": "604800"}, RetryOptions(delay_max_seconds=604800)),
        ({"retry_delay_growth": "constant"}, RetryOptions(growth=Growth.CONSTANT)),
        ({"retry_delay_growth": "exponential"}, RetryOptions()),
        ({"retry_jitter_percent": "100"}, RetryOptions(jitter_percent=100)),
        ({"retry_uncounted_max": "0"}, RetryOptions(uncounted_max=0)),
        ({"retry_after_pods_gone": "true"}, RetryOptions(wait_for_pods=True)),
        ({"retry_after_pods_gone": "false"}, RetryOptions()),
        ({"label_attempts": "true"}, RetryOptions(label_attempts=True)),
        ({"retry_on": " same-cluster "}, RetryOptions(same_cluster=True)),
        ({"retry_on": "new-cluster"}, RetryOptions()),
        ({"job_deadline_seconds": "6h"}, RetryOptions(job_deadline_seconds=21600)),
        ({"job_deadline_seconds": " 1 "}, RetryOptions(job_deadline_seconds=1)),
        (
            {"retry_policy": "preemption=uncounted, application:3=never,image-pull=never"},
            RetryOptions(
                rules=(
                    RetryRule(failure=FailureClass.PREEMPTION, answer=Answer.UNCOUNTED),
                    RetryRule(failure=FailureClass.APPLICATION, answer=Answer.NEVER, exit_code=3),
                    RetryRule(failure=FailureClass.IMAGE_PULL, answer=Answer.NEVER),
                )
            ),
        ),
        (
            {"retry_policy": "application:-9=retry"},
            RetryOptions(
                rules=(
                    RetryRule(failure=FailureClass.APPLICATION, answer=Answer.RETRY, exit_code=-9),
                )
            ),
        ),
    ],
)
def test_what_is_asked_for(annotations: dict[str, str], options: RetryOptions) -> None:
    found = read_retry_options(asking(**annotations))
    assert (found.options, found.problems) == (options, ())


SECONDS = "write a duration from 0 to 604800 seconds, as in 90, 90s or 1h30m"
CLASSES = "application or head-lost or preemption or image-pull or submission or other"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("retry-on", "samecluster", "write same-cluster or new-cluster"),
        ("retry-delay-seconds", "ten", SECONDS),
        ("retry-delay-seconds", "-1", SECONDS),
        ("retry-delay-seconds", "1.5", SECONDS),
        ("retry-delay-seconds", "604801", SECONDS),
        ("retry-delay-seconds", "604801s", SECONDS),
        ("retry-delay-seconds", "169h", SECONDS),
        ("retry-delay-seconds", "30 s", SECONDS),
        ("retry-delay-seconds", "s", SECONDS),
        ("retry-delay-seconds", "30s5m", SECONDS),
        ("retry-delay-seconds", "3d", SECONDS),
        ("retry-delay-seconds", "٣s", SECONDS),
        ("retry-delay-seconds", "9" * 60, SECONDS),
        ("retry-delay-max-seconds", "", SECONDS),
        (
            "retry-delay-growth",
            "cubic",
            "there is no kind of growth 'cubic'; write constant or exponential",
        ),
        ("retry-jitter-percent", "101", "write a whole number from 0 to 100"),
        ("retry-uncounted-max", "-3", "write a whole number from 0 to 1000"),
        ("retry-after-pods-gone", "yes", "write true or false"),
        ("label-attempts", "True", "write true or false"),
        (
            "retry-policy",
            "preempt=retry",
            f"there is no failure class 'preempt'; write {CLASSES}, or a cause of one",
        ),
        (
            "retry-policy",
            "admission=never",
            "admission shows only after the retry was judged; write its group, other",
        ),
        (
            "retry-policy",
            "missing-module:1=never",
            "only application takes an exit code, as in application:3=never",
        ),
        (
            "retry-policy",
            "missing-module=never,missing-module=retry",
            "'missing-module=retry' says something that was said before",
        ),
        (
            "retry-policy",
            "preemption=always",
            "there is no answer 'always'; write retry or never or uncounted",
        ),
        (
            "retry-policy",
            "preemption",
            "write class=answer, parted by commas, as in preemption=uncounted",
        ),
        ("retry-policy", "", "write class=answer, parted by commas, as in preemption=uncounted"),
        (
            "retry-policy",
            "head-lost:3=never",
            "only application takes an exit code, as in application:3=never",
        ),
        (
            "retry-policy",
            "application:x=never",
            "only application takes an exit code, as in application:3=never",
        ),
        (
            "retry-policy",
            "application=never,application=retry",
            "'application=retry' says something that was said before",
        ),
    ],
)
def test_one_that_cannot_be_understood_is_left_out_and_named(
    name: str, text: str, why: str
) -> None:
    job = asking(label_attempts="true") if name != "label-attempts" else asking()
    annotations = dict(job["metadata"].get("annotations", {}))
    annotations[f"{PREFIX}{name}"] = text
    found = read_retry_options(rayjob({"metadata.annotations": annotations}))
    policy = name == "retry-policy"
    done = "cannot be understood, so nothing is retried" if policy else "is left out"
    assert found.problems == (f"annotation {PREFIX}{name} {done}: {text!a}: {why}",)
    others = RetryOptions(label_attempts=name != "label-attempts", unclear=policy)
    assert found.options == others, "the others stand"


def test_an_annotation_that_looks_meant_for_here_and_is_not_known_is_named() -> None:
    found = read_retry_options(asking(retry_dely="30s"))
    (problem,) = found.problems
    assert problem.startswith(
        f"annotation {PREFIX}retry-dely is left out: '30s': "
        "there is no such annotation; known are job-deadline-seconds, "
    )
    assert found.options == NOTHING_ASKED


def test_a_policy_under_a_name_that_is_not_known_is_one_that_cannot_be_understood() -> None:
    found = read_retry_options(asking(retry_polcy="application=never"))
    (problem,) = found.problems
    assert problem.startswith(
        f"annotation {PREFIX}retry-polcy cannot be understood, so nothing is retried: "
        "'application=never': there is no such annotation; known are job-deadline-seconds, "
    )
    assert found.options == RetryOptions(unclear=True)


@pytest.mark.parametrize("text", ["", "0", "0s", "-5", "1.5h", "tomorrow", "999999999h"])
def test_a_deadline_over_all_attempts_that_cannot_be_understood_fails_safe(text: str) -> None:
    """It might forbid any retry, so there is none; what runs goes on."""
    found = read_retry_options(asking(job_deadline_seconds=text))
    assert found.options == RetryOptions(deadline_unclear=True)
    (problem,) = found.problems
    assert problem == (
        f"annotation {PREFIX}job-deadline-seconds cannot be understood, so nothing is retried: "
        f"{text!a}: write a duration from 1 to 2147483647 seconds, as in 90, 90s or 1h30m"
    )


@pytest.mark.parametrize(
    "name",
    [
        "job-dedline-seconds",
        "job-deadline",
        "job-deadline-second",
        "deadline-seconds",
        "Job-Deadline-Seconds",
        "active-deadline-seconds",
        "retry-deadline-seconds",
    ],
)
def test_so_does_one_under_a_name_that_is_not_known(name: str) -> None:
    found = read_retry_options(rayjob({"metadata.annotations": {f"{PREFIX}{name}": "6h"}}))
    assert found.options == RetryOptions(deadline_unclear=True)
    (problem,) = found.problems
    assert problem.startswith(
        f"annotation {PREFIX}{name} cannot be understood, so nothing is retried: '6h': "
        "there is no such annotation; known are job-deadline-seconds, "
    )


@pytest.mark.parametrize(
    "name",
    ["recover", "recover-lost-head", "ray-success-wins", "attempt", "user", "team", "controller"],
)
def test_our_other_names_are_no_slips(name: str) -> None:
    found = read_retry_options(rayjob({"metadata.annotations": {f"{PREFIX}{name}": "true"}}))
    assert (found.options, found.problems) == (NOTHING_ASKED, ())


def test_of_very_many_that_are_not_known_a_few_are_named_and_the_others_counted() -> None:
    slips = {f"retry_{number:03}": "x" for number in range(50)} | {"retry_x": "application=never"}
    found = read_retry_options(asking(**slips))
    assert len(found.problems) == 9
    assert found.problems[-1] == f"43 more annotations under {PREFIX} are not known"
    assert found.options == RetryOptions(unclear=True), "a policy among them counts all the same"


def test_annotations_of_others_are_none_of_our_business() -> None:
    others = {"example.com/retry-policy": "x", f"{PREFIX}attempt": "3", "retry-policy": "y"}
    found = read_retry_options(rayjob({"metadata.annotations": others}))
    assert (found.options, found.problems) == (NOTHING_ASKED, ())


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (
            selecting({"metadata.annotations": {f"{PREFIX}retry-policy": "other=uncounted"}}),
            "a job with a clusterSelector is never retried",
        ),
        (
            rayjob(
                {"metadata.annotations": {f"{PREFIX}retry-policy": "other=uncounted"}},
                submissionMode="InteractiveMode",
            ),
            "a job in InteractiveMode is never retried",
        ),
    ],
    ids=["clusterSelector", "InteractiveMode"],
)
def test_a_policy_retries_nothing_where_upstream_takes_no_backoff_limit(
    job: dict[str, Any], why: str
) -> None:
    found = read_retry_options(job)
    assert found.options.rules == ()
    (problem,) = found.problems
    assert problem.endswith(why)


@pytest.mark.parametrize("annotations", [None, [], "x", {f"{PREFIX}retry-policy": 3}])
def test_annotations_of_a_wrong_type_count_as_absent(annotations: object) -> None:
    found = read_retry_options({"metadata": {"annotations": annotations}, "spec": {}})  # type: ignore[dict-item]
    assert (found.options, found.problems) == (NOTHING_ASKED, ())


@pytest.mark.parametrize(
    ("job", "others", "why"),
    [
        (rayjob(submissionMode="SidecarMode"), {}, "in SidecarMode the submitter is part of"),
        (rayjob(submissionMode="InteractiveMode"), {}, "a job in InteractiveMode is never retried"),
        (selecting(), {}, "a job with a clusterSelector is never retried"),
        (rayjob(jobId="mine"), {}, "a head takes the submission that spec.jobId names only once"),
        (rayjob(), {"retry-after-pods-gone": "true"}, "no Pod of the last attempt is left"),
        (rayjob(), {"label-attempts": "true"}, "labelled with their attempt"),
    ],
    ids=["sidecar", "interactive", "selector", "jobId", "pods gone", "labels"],
)
def test_who_cannot_have_the_same_cluster_is_told(
    job: dict[str, Any], others: dict[str, str], why: str
) -> None:
    wanted = {"retry-on": "same-cluster", **others}
    job["metadata"]["annotations"] = {f"{PREFIX}{name}": text for name, text in wanted.items()}
    found = read_retry_options(job)
    assert not found.options.same_cluster
    assert len(found.problems) == 1
    assert found.problems[0].startswith(f"annotation {PREFIX}retry-on is left out: 'same-cluster'")
    assert why in found.problems[0]


def test_a_slip_in_the_name_is_for_a_new_cluster_and_told() -> None:
    found = read_retry_options(asking(retry_at="same-cluster"))
    assert found.options == NOTHING_ASKED
    assert "there is no such annotation" in found.problems[0]
