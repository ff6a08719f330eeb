"""What an admission webhook says of RayJobs, TrainJobs and runtimes, and what it gives them."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from jobledger.core.jobs.admission import (
    ADMITTED,
    WARNING_LENGTH_MAX,
    WARNINGS_MAX,
    Verdict,
    warned,
)
from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.rayjob.validation import admission as of_rayjob
from jobledger.core.trainjob import admission as of_trainjob
from jobledger.core.trainjob.plugins import all_plugins
from tests.rules.rayjob.jobs import rayjob

Document = dict[str, Any]

NOW = datetime(2026, 11, 23, 3, 4, 5, 678901, tzinfo=UTC)


def changed(manifest: Document, **spec: object) -> Document:
    """Return a copy with other fields of the specification."""
    other = copy.deepcopy(manifest)
    other["spec"] |= spec
    return other


def test_a_valid_rayjob_is_let_in() -> None:
    assert of_rayjob.admission_of(rayjob(), None) == ADMITTED


def test_a_name_that_upstream_refuses_is_refused_in_its_words() -> None:
    job = rayjob({"metadata.name": "1-train"})
    verdict = of_rayjob.admission_of(job, None)
    assert verdict.refusal.startswith(
        'RayJob.ray.io "1-train" is invalid: metadata.name: Invalid value: "1-train": '
        "RayJob name should be a valid DNS1035 label: ["
    )


def test_what_else_is_wrong_is_a_warning_and_refused_only_on_request() -> None:
    job = rayjob(backoffLimit=-1)
    (problem,) = of_rayjob.admission_of(job, None).warnings
    assert "backoffLimit" in problem
    strict = of_rayjob.admission_of(job, None, strict=True)
    assert strict == Verdict(refusal=f'RayJob.ray.io "train" is invalid: {problem}')


def test_yaml_that_cannot_be_read_is_named_without_its_content() -> None:
    verdict = of_rayjob.admission_of(rayjob(runtimeEnvYAML="{"), None, "yaml: at line 1, column 2")
    assert any("yaml: at line 1, column 2" in one for one in verdict.warnings)


def test_a_retry_annotation_that_is_left_out_is_a_warning() -> None:
    job = rayjob({"metadata.annotations": {"jobledger.dev/retry-delay": "soon"}})
    (warning,) = of_rayjob.admission_of(job, None).warnings
    assert "jobledger.dev/retry-delay" in warning
    assert "soon" in warning


def test_a_deadline_over_all_attempts_that_cannot_be_understood_is_a_warning() -> None:
    annotations = {JOB_DEADLINE_ANNOTATION: "tomorrow"}
    for_ray = of_rayjob.admission_of(rayjob({"metadata.annotations": annotations}), None)
    slipped = trainjob()
    slipped["metadata"]["annotations"] = annotations
    on_edit = of_trainjob.admission_of_annotations(slipped, trainjob())
    for verdict in (for_ray, judged(slipped), on_edit):
        (warning,) = verdict.warnings
        assert not verdict.refusal
        assert JOB_DEADLINE_ANNOTATION in warning
        assert "tomorrow" in warning
    assert of_trainjob.admission_of_annotations(slipped, slipped) == ADMITTED, "it was told"
    slipped["metadata"]["annotations"] = {JOB_DEADLINE_ANNOTATION: "6h"}
    assert judged(slipped) == of_trainjob.admission_of_annotations(slipped, trainjob()) == ADMITTED


@pytest.mark.parametrize("strict", [False, True])
def test_an_update_that_leaves_the_specification_is_let_in(strict: bool) -> None:
    """The finalizer of a job that is invalid all along can be removed."""
    old = rayjob({"metadata.name": "1-train"}, backoffLimit=-1)
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"team": "vision"}
    assert of_rayjob.admission_of(new, old, strict=strict) == ADMITTED
    gone = changed(old, entrypoint="other")
    gone["metadata"]["deletionTimestamp"] = "2026-11-23T03:00:00Z"
    assert of_rayjob.admission_of(gone, old, strict=strict) == ADMITTED


def test_warnings_are_few_and_short() -> None:
    verdict = warned(["x" * 1000] * 100)
    assert verdict == Verdict(warnings=("x" * WARNING_LENGTH_MAX,) * WARNINGS_MAX)


RUNTIME: Document = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "plain"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "replicas": 1,
                        "template": {
                            "metadata": {
                                "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
                            },
                            "spec": {
                                "template": {
                                    "spec": {"containers": [{"name": "node", "image": "train:1"}]}
                                }
                            },
                        },
                    }
                ]
            }
        },
    },
}
PATCHES: list[Document] = [{"manager": "acme.io/queue"}, {"manager": "acme.io/site"}]


def trainjob(**spec: object) -> Document:
    """Return a TrainJob on that runtime."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "ml", "uid": "u"},
        "spec": {"runtimeRef": {"name": "plain"}, **spec},
    }


def judged(job: Document, runtime: Document | None = RUNTIME) -> Verdict:
    """Return the verdict with all plugins."""
    return of_trainjob.admission_of(all_plugins(), job, runtime)


def test_a_trainjob_that_can_be_built_is_let_in() -> None:
    assert judged(trainjob()) == ADMITTED


@pytest.mark.parametrize(
    ("job", "runtime", "refusal"),
    [
        (
            trainjob(),
            None,
            (
                "spec.runtimeRef: ClusterTrainingRuntime specified in TrainJob is not found: "
                "plain; create it before the TrainJob"
            ),
        ),
        (
            trainjob(runtimeRef={"name": "x", "kind": "Slurm", "apiGroup": "acme.io"}),
            None,
            "unsupported runtime: Slurm.acme.io",
        ),
        (
            trainjob(runtimePatches=[{"manager": "queue"}]),
            RUNTIME,
            (
                "spec.runtimePatches[0].manager: 'queue' must be a domain-prefixed path "
                '(such as "acme.io/foo")'
            ),
        ),
    ],
    ids=["no runtime", "another's runtime", "a manager without a domain"],
)
def test_a_trainjob_that_cannot_be_built_is_refused(
    job: Document, runtime: Document | None, refusal: str
) -> None:
    assert judged(job, runtime) == Verdict(refusal=refusal)


def test_what_no_plugin_carries_out_is_refused_by_name() -> None:
    runtime = changed(RUNTIME, mlPolicy={"numNodes": 1, "dask": {}})
    assert "mlPolicy.dask" in judged(trainjob(), runtime).refusal


def test_a_deprecated_runtime_is_warned_of() -> None:
    runtime = copy.deepcopy(RUNTIME)
    runtime["metadata"]["labels"] = {"trainer.kubeflow.org/support": "deprecated"}
    (warning,) = judged(trainjob(), runtime).warnings
    assert warning.startswith('ClusterTrainingRuntime "plain" is deprecated')


@pytest.mark.parametrize(
    ("new", "anew"),
    [
        (trainjob(suspend=True), False),
        (trainjob(runtimePatches=PATCHES), True),
        (trainjob(), False),
    ],
    ids=["suspended", "patched", "touched"],
)
def test_only_what_decides_about_objects_is_judged_in_an_update(new: Document, anew: bool) -> None:
    """So a job whose runtime is gone can still be suspended."""
    assert of_trainjob.is_built_anew(new, trainjob()) is anew
    assert of_trainjob.is_built_anew(new, None) is True
    new = copy.deepcopy(new)
    new["metadata"]["deletionTimestamp"] = "2026-11-23T03:00:00Z"
    assert of_trainjob.is_built_anew(new, trainjob()) is False


def test_patches_of_a_job_that_runs_are_refused() -> None:
    new, jobset = trainjob(runtimePatches=PATCHES), None
    verdict = of_trainjob.admission_of_change(new, trainjob(), jobset)
    assert "suspended" in verdict.refusal
    paused = changed(new, suspend=True)
    assert of_trainjob.admission_of_change(paused, trainjob(), jobset) == ADMITTED
    active: Document = {"status": {"replicatedJobsStatus": [{"name": "node", "active": 1}]}}
    assert "node is still active" in (
        of_trainjob.admission_of_change(paused, trainjob(), active).refusal
    )


def test_a_runtime_is_judged_when_it_is_made() -> None:
    wrong = copy.deepcopy(RUNTIME)
    (job,) = wrong["spec"]["template"]["spec"]["replicatedJobs"]
    job["replicas"] = 2
    refusal = of_trainjob.admission_of_runtime(wrong, None).refusal
    assert refusal == (
        "spec.template.spec.replicatedJobs[0].replicas: Invalid value: 2: always must be 1"
    )
    assert of_trainjob.admission_of_runtime(wrong, RUNTIME) == ADMITTED
    assert of_trainjob.admission_of_runtime(RUNTIME, None) == ADMITTED


AT, EARLIER = "2026-11-23T03:04:05Z", "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("new", "old", "given"),
    [
        ([{"manager": "a.io/x"}], None, [(0, AT)]),
        ([{"manager": "a.io/x", "time": EARLIER}], None, []),
        ([{"manager": "a.io/x"}], [{"manager": "a.io/x", "time": EARLIER}], [(0, EARLIER)]),
        ([{"manager": "a.io/x", "time": AT}], [{"manager": "a.io/x"}], []),
        (
            [{"manager": "a.io/x", "trainingRuntimeSpec": {}, "time": EARLIER}],
            [{"manager": "a.io/x", "time": EARLIER}],
            [(0, AT)],
        ),
        (
            [{"manager": "a.io/x", "time": EARLIER}, {"manager": "a.io/y"}],
            [{"manager": "a.io/x", "time": EARLIER}],
            [(1, AT)],
        ),
    ],
    ids=["new", "brings its own", "as it was", "none before", "changed", "one more"],
)
def test_times_of_patches(
    new: list[Document], old: list[Document] | None, given: list[tuple[int, str]]
) -> None:
    before = None if old is None else trainjob(runtimePatches=old)
    assert of_trainjob.times_of_patches(trainjob(runtimePatches=new), before, NOW) == given
