"""Strategic merge, quantities, validation, snapshots: what building rests on."""

from typing import Any

import pytest

from jobledger.core.trainjob.building.framework import BuildFailed
from jobledger.core.trainjob.building.pod_sets import pod_sets_of
from jobledger.core.trainjob.building.runtimes import (
    check_snapshot,
    not_found,
    snapshot_of,
    snapshotted,
)
from jobledger.core.trainjob.building.strategic_merge import as_typed, strategic_merge
from jobledger.core.trainjob.building.validation import (
    ONLY_WHEN_SUSPENDED,
    job_problems,
    update_problems,
)
from jobledger.core.trainjob.spec import RuntimeRef, read_spec
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.quantities import parse_quantity, total
from tests.rules.trainjob.plugins.runtimes import replicated_job, runtime, trainjob

REF = RuntimeRef(name="plain")


def env(*found: str) -> list[dict[str, str]]:
    return [{"name": name} for name in found]


@pytest.mark.parametrize(
    ("server", "patch", "merged"),
    [
        ("AB", "B", "AB"),
        ("AB", "C", "CAB"),
        ("ABC", "CA", "BCA"),
        ("AB", "", "AB"),
        ("", "AB", "AB"),
        ("ABCD", "DX", "ABCDX"),
    ],
)
def test_a_merged_list_keeps_the_servers_order_only_where_both_are_known(
    server: str, patch: str, merged: str
) -> None:
    found = strategic_merge({"env": env(*server)}, {"env": env(*patch)})["env"]
    assert found == env(*merged)


def test_maps_are_merged_scalars_and_other_lists_replaced_null_removes() -> None:
    found = strategic_merge(
        {"a": {"x": 1, "y": 2}, "tolerations": [1], "n": 1, "gone": 1},
        {"a": {"y": 3}, "tolerations": [2], "n": 2, "gone": None},
    )
    assert found == {"a": {"x": 1, "y": 3}, "tolerations": [2], "n": 2}


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("100m", "100m"),
        ("0.5", "500m"),
        (2, "2"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("1e3", "1k"),
        ("0", "0"),
        ("128Ki", "128Ki"),
    ],
)
def test_quantities_are_written_in_the_canonical_form(written: Json, canonical: str) -> None:
    assert str(parse_quantity(written)) == canonical


@pytest.mark.parametrize("written", ["", "x", "1.2.3", True, None, [], "1 Gi"])
def test_what_is_no_quantity_is_none(written: Json) -> None:
    assert parse_quantity(written) is None


def test_quantities_add_up_resource_by_resource() -> None:
    one, two = parse_quantity("1Gi"), parse_quantity("512Mi")
    assert one is not None
    assert two is not None
    assert {k: str(v) for k, v in total([{"m": one}, {"m": two, "c": two}]).items()} == {
        "m": "1536Mi",
        "c": "512Mi",
    }


def test_a_pods_requests_are_kubernetes_arithmetic() -> None:
    job = replicated_job(resources={"requests": {"cpu": 1}})
    inner = job["template"]["spec"]["template"]["spec"]
    inner["initContainers"] = [
        {"name": "big", "resources": {"requests": {"cpu": 3}}},
        {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": 1}}},
        {"name": "late", "resources": {"requests": {"cpu": 1}}},
    ]
    inner["overhead"] = {"cpu": "100m"}
    (found,) = pod_sets_of({"replicatedJobs": [job]}, trainjob(), runtime())
    assert str(found.requests["cpu"]) == "3100m"


@pytest.mark.parametrize(
    ("patch", "typed"),
    [
        ({"tolerations": []}, {}),
        ({"nodeSelector": {}}, {}),
        ({"nodeSelector": {"a": ""}}, {"nodeSelector": {"a": ""}}),
        ({"affinity": {}}, {"affinity": {}}),
        ({"serviceAccountName": ""}, {"serviceAccountName": ""}),
        ({"env": [{"name": "A", "value": ""}]}, {"env": [{"name": "A"}]}),
        ({"volumeMounts": [{"readOnly": False, "subPath": ""}]}, {"volumeMounts": [{}]}),
        ({"csi": {"readOnly": False}}, {"csi": {"readOnly": False}}),
        ({"runAsNonRoot": False, "runAsUser": 0}, {"runAsNonRoot": False, "runAsUser": 0}),
    ],
)
def test_what_types_do_not_tell_from_none_is_left_out_of_a_patch(
    patch: Manifest, typed: Manifest
) -> None:
    assert as_typed(patch) == typed


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"metadata": {"name": "1a"}}, "metadata.name must match RFC 1035 DNS label format"),
        ({"metadata": {"name": "a" * 64}}, "metadata.name must be no more than 63 characters"),
        (
            {"spec": {"trainer": {"numProcPerNode": 0}}},
            "spec.trainer.numProcPerNode is 0, must be 1 or more",
        ),
        (
            {"spec": {"runtimePatches": [{"manager": "kueue"}]}},
            (
                "spec.runtimePatches[0].manager: 'kueue' must be a domain-prefixed path "
                '(such as "acme.io/foo")'
            ),
        ),
    ],
)
def test_what_is_wrong_with_a_job_is_told(change: dict[str, Any], problem: str) -> None:
    assert job_problems({"metadata": {"name": "train"}, "spec": {}, **change}) == [problem]


PATCHED = [{"manager": "a.io/b", "time": "1"}]
PLACED: list[Json] = [{"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"spec": {}}}}]
PLACED_NOWHERE: list[Json] = [
    {
        "manager": "a.io/b",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": []}}},
    }
]
"""The same, written otherwise."""


@pytest.mark.parametrize(
    ("before", "after", "active", "problems"),
    [
        ({}, {}, {"node": 1}, []),
        ({"runtimePatches": PATCHED}, {"runtimePatches": [{"manager": "a.io/b"}]}, {}, []),
        ({}, {"runtimePatches": PATCHED}, {}, [ONLY_WHEN_SUSPENDED]),
        ({"runtimePatches": PLACED}, {"runtimePatches": PLACED_NOWHERE}, {"node": 1}, []),
        ({"suspend": True}, {"runtimePatches": PATCHED}, {"node": 0}, []),
        (
            {},
            {"runtimePatches": PATCHED, "suspend": True},
            {"node": 1},
            [
                (
                    "RuntimePatches cannot be modified when the JobSet's ReplicatedJob node "
                    "is still active"
                )
            ],
        ),
    ],
)
def test_patches_change_only_while_the_job_is_suspended(
    before: dict[str, Any], after: dict[str, Any], active: dict[str, int], problems: list[str]
) -> None:
    assert update_problems({"spec": before}, {"spec": after}, active) == problems


def test_defaults_of_the_specification_are_the_crds() -> None:
    spec = read_spec({"spec": {"runtimeRef": {"name": "x"}, "activeDeadlineSeconds": -1}})
    assert spec.runtime == RuntimeRef(
        name="x", group="trainer.kubeflow.org", kind="ClusterTrainingRuntime"
    )
    assert (spec.suspend, spec.active_deadline_seconds, spec.is_ours) == (False, 0, True)
    assert not read_spec({"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}).is_ours


def snapshot(owner: str = "uid-of-train", **data: str) -> dict[str, Any]:
    owners = [{"controller": True, "uid": owner}]
    return {"metadata": {"name": "s", "ownerReferences": owners}, "data": data}


def test_a_snapshot_holds_version_and_kind_whatever_the_server_left_out() -> None:
    bare: Manifest = {"metadata": {"name": "plain", "managedFields": [1]}, "spec": {"a": 1}}
    assert snapshotted(bare, REF) == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "plain"},
        "spec": {"a": 1},
    }
    assert snapshot_of(trainjob(), "text") == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "train-runtime-snapshot"},
        "data": {"runtime": "text"},
    }


def test_a_sound_snapshot_is_the_runtime() -> None:
    held = snapshotted(runtime(), REF)
    assert check_snapshot(snapshot(runtime="x"), "uid-of-train", REF, held) == held


@pytest.mark.parametrize(
    ("found", "held", "problem"),
    [
        (snapshot("other", runtime="x"), runtime(), "it is not controlled by this TrainJob"),
        (snapshot(), runtime(), "key 'runtime' is missing"),
        (snapshot(runtime="["), {}, "its content is not readable as YAML"),
        (snapshot(runtime="x"), {**runtime(), "kind": "TrainingRuntime"}, "it holds TrainingR"),
        (snapshot(runtime="x"), {**runtime(), "metadata": {"name": "b"}}, "'b'"),
    ],
)
def test_what_is_wrong_with_a_snapshot_is_told_and_never_mended(
    found: dict[str, Any], held: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BuildFailed) as caught:
        check_snapshot(found, "uid-of-train", REF, held)
    assert caught.value.cause.startswith("invalid runtime snapshot: ")
    assert problem in caught.value.cause


def test_a_runtime_that_is_missing_has_upstreams_words() -> None:
    assert not_found(REF) == "ClusterTrainingRuntime specified in TrainJob is not found: plain"
