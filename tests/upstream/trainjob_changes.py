"""How a plain TrainJob is changed: every field of its specification, and the edges."""

from collections.abc import Mapping, Sequence

from tests.upstream.changing import Change, patch, put

GPU = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}
CPU = {"limits": {"cpu": "3500m", "memory": "1Gi"}, "requests": {"cpu": "2"}}
MIG = {"limits": {"nvidia.com/mig-1g.5gb": "2"}}

FROM_SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}

LORA = ("model.lora_attn_modules=[q_proj]",)
QLORA = ("model.quantize_base=True",)
ONE, FOUR = put("spec.trainer.numProcPerNode", 1), put("spec.trainer.numProcPerNode", 4)
TWO_NODES = put("spec.trainer.numNodes", 2)
TUNINGS: Sequence[tuple[str, Sequence[str], Sequence[Change]]] = (
    ("full", ("batch_size=8", "dtype=bf16"), ()),
    ("full-one", (), (ONE,)),
    ("full-four", (), (FOUR,)),
    ("full-two-nodes", (), (TWO_NODES,)),
    ("lora", LORA, ()),
    ("lora-one", LORA, (ONE,)),
    ("lora-two-nodes", LORA, (TWO_NODES,)),
    ("qlora-one", QLORA, (ONE,)),
    ("qlora-four", QLORA, (FOUR,)),
    ("qlora-spaced", ("model.quantize_base= true ",), (ONE,)),
    ("qlora-off", ("model.quantize_base=False",), (ONE,)),
    ("qlora-and-lora", (*LORA, *QLORA), (ONE,)),
    ("dora", (*LORA, *QLORA, "model.use_dora=True"), (ONE,)),
    ("output-dir", ("output_dir=/x",), ()),
)
"""Name, arguments and changes of a TrainJob that TorchTune trains."""

JOB_CHANGES: Mapping[str, tuple[Change, ...]] = {
    "plain": (),
    "trainer-empty": (put("spec.trainer", {}),),
    "nodes-1": (put("spec.trainer.numNodes", 1),),
    "nodes-3": (put("spec.trainer.numNodes", 3),),
    "nodes-0": (put("spec.trainer.numNodes", 0),),
    "nodes-below-0": (put("spec.trainer.numNodes", -1),),
    "processes-0": (put("spec.trainer.numProcPerNode", 0),),
    "manager-with-path": (put("spec.runtimePatches", [{"manager": "acme.io/a%20b/c:1"}]),),
    "manager-with-space": (put("spec.runtimePatches", [{"manager": "acme.io/a b"}]),),
    "processes-2": (put("spec.trainer.numProcPerNode", 2),),
    "nodes-2-processes-4": (
        put("spec.trainer.numNodes", 2),
        put("spec.trainer.numProcPerNode", 4),
    ),
    "gpus": (put("spec.trainer.resourcesPerNode", GPU),),
    "gpus-2-nodes": (
        put("spec.trainer.numNodes", 2),
        put("spec.trainer.resourcesPerNode", GPU),
    ),
    "cpus": (put("spec.trainer.resourcesPerNode", CPU),),
    "mig": (put("spec.trainer.resourcesPerNode", MIG),),
    "gpus-beyond-32-bits": (
        put("spec.trainer.resourcesPerNode", {"limits": {"nvidia.com/gpu": "3G"}}),
    ),
    "cpus-beyond-32-bits": (
        put("spec.trainer.resourcesPerNode", {"limits": {"cpu": "4294967298"}}),
    ),
    "gpus-beyond-64-bits": (
        put("spec.trainer.resourcesPerNode", {"limits": {"nvidia.com/gpu": "10E"}}),
    ),
    "cpus-beyond-64-bits": (put("spec.trainer.resourcesPerNode", {"requests": {"cpu": "1e30"}}),),
    "memory-beyond-64-bits": (
        put("spec.trainer.resourcesPerNode", {"requests": {"cpu": "9Ei", "memory": "8Ei"}}),
    ),
    "gpus-below-0": (put("spec.trainer.resourcesPerNode", {"requests": {"nvidia.com/gpu": "-1"}}),),
    "less-than-a-nano": (
        put("spec.trainer.resourcesPerNode", {"requests": {"cpu": "0.1n", "memory": "1e-30"}}),
    ),
    "limits-only": (put("spec.trainer.resourcesPerNode", {"limits": {"cpu": "2"}}),),
    "requests-only": (put("spec.trainer.resourcesPerNode", {"requests": {"cpu": "0.5"}}),),
    "quantity-written-oddly": (
        put(
            "spec.trainer.resourcesPerNode",
            {"limits": {"cpu": "1.50", "memory": "1024Mi", "nvidia.com/gpu": 2}},
        ),
    ),
    "image": (put("spec.trainer.image", "example.com/train:1"),),
    "command": (put("spec.trainer.command", ["python", "train.py"]),),
    "command-and-args": (
        put("spec.trainer.command", ["torchrun"]),
        put("spec.trainer.args", ["train.py", "--epochs=3"]),
    ),
    **{
        f"torchtune-{name}": (
            put("spec.trainer.command", ["tune", "run"]),
            put("spec.trainer.args", list(args)),
            *more,
        )
        for name, args, more in TUNINGS
    },
    "empty-command": (put("spec.trainer.command", []),),
    "empty-args": (put("spec.trainer.args", []),),
    "env": (put("spec.trainer.env", [{"name": "A", "value": "1"}, {"name": "B"}]),),
    "env-from": (
        put(
            "spec.trainer.env",
            [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        ),
    ),
    "env-reserved": (put("spec.trainer.env", [{"name": "PET_NNODES", "value": "9"}]),),
    "env-of-flux": (
        put(
            "spec.trainer.env",
            [
                {"name": "FLUX_VIEW_IMAGE", "value": "example.com/view:1"},
                {"name": "FLUX_QUEUE_POLICY", "value": "easy"},
                {"name": "FLUX_QUEUE_POLICY", "value": "hybrid"},
                {"name": "FLUX_OTHER", "value": "1"},
            ],
        ),
    ),
    "env-of-flux-empty": (
        put(
            "spec.trainer.env",
            [
                {"name": "FLUX_VIEW_IMAGE", "value": ""},
                {"name": "FLUX_NETWORK_DEVICE", **FROM_SECRET},
            ],
        ),
    ),
    "env-twice": (
        put("spec.trainer.env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    ),
    "labels": (put("spec.labels", {"team": "ml"}), put("spec.annotations", {"a/b": "c"})),
    "suspended": (put("spec.suspend", True),),
    "suspend-unset": (put("spec.suspend", None),),
    "deadline": (put("spec.activeDeadlineSeconds", 60),),
    "dataset": (
        put(
            "spec.initializer.dataset",
            {"storageUri": "hf://a/b", "env": [{"name": "X", "value": "1"}]},
        ),
    ),
    "dataset-secret": (
        put(
            "spec.initializer.dataset",
            {"storageUri": "hf://a/b", "secretRef": {"name": "hf"}},
        ),
    ),
    "model": (put("spec.initializer.model", {"storageUri": "hf://meta-llama/x"}),),
    "model-empty": (put("spec.initializer.model", {}),),
    "both-initializers": (
        put("spec.initializer.model", {"storageUri": "s3://m/x"}),
        put("spec.initializer.dataset", {"storageUri": "s3://d/x"}),
    ),
    "cache-dataset": (put("spec.initializer.dataset", {"storageUri": "cache://a/b/c"}),),
    "patch-pod": (
        put(
            "spec.runtimePatches",
            [
                patch(
                    {
                        "serviceAccountName": "sa",
                        "nodeSelector": {"gpu": "a100"},
                        "tolerations": [{"key": "gpu", "operator": "Exists"}],
                        "volumes": [{"name": "v", "emptyDir": {}}],
                        "containers": [
                            {
                                "name": "node",
                                "env": [{"name": "P", "value": "1"}],
                                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                            }
                        ],
                        "imagePullSecrets": [{"name": "pull"}],
                        "schedulingGates": [{"name": "acme.io/gate"}],
                        "terminationGracePeriodSeconds": 7,
                        "securityContext": {"runAsUser": 1000},
                    }
                )
            ],
        ),
    ),
    "patch-metadata": (
        put(
            "spec.runtimePatches",
            [patch(metadata={"labels": {"l": "1"}, "annotations": {"an": "2"}})],
        ),
    ),
    "patch-unknown-job": (put("spec.runtimePatches", [patch({}, job="nobody")]),),
    "patch-unknown-container": (
        put("spec.runtimePatches", [patch({"containers": [{"name": "nobody"}]})]),
    ),
    "patch-unknown-init-container": (
        put("spec.runtimePatches", [patch({"initContainers": [{"name": "nobody"}]})]),
    ),
    "patch-env-reserved": (
        put(
            "spec.runtimePatches",
            [
                patch(
                    {
                        "containers": [
                            {"name": "node", "env": [{"name": "PET_NNODES", "value": "5"}]}
                        ]
                    }
                )
            ],
        ),
    ),
    "patches-two": (
        put(
            "spec.runtimePatches",
            [
                patch({"nodeSelector": {"a": "1", "b": "1"}}),
                {**patch({"nodeSelector": {"b": "2"}}), "manager": "acme.io/other"},
            ],
        ),
    ),
    "patch-empties": (
        put(
            "spec.runtimePatches",
            [
                patch(
                    {
                        "tolerations": [{"key": "gpu", "operator": "Exists"}],
                        "securityContext": {"supplementalGroups": [1], "runAsUser": 1000},
                        "serviceAccountName": "sa",
                        "nodeSelector": {"a": "1"},
                        "containers": [
                            {
                                "name": "node",
                                "securityContext": {"capabilities": {"add": ["A"]}},
                                "volumeMounts": [
                                    {
                                        "name": "v",
                                        "mountPath": "/v",
                                        "readOnly": True,
                                        "subPath": "s",
                                    }
                                ],
                            }
                        ],
                    }
                ),
                {
                    **patch(
                        {
                            "tolerations": [],
                            "securityContext": {"supplementalGroups": []},
                            "serviceAccountName": "",
                            "nodeSelector": {"a": ""},
                            "affinity": {},
                            "containers": [
                                {
                                    "name": "node",
                                    "env": [],
                                    "securityContext": {"capabilities": {"add": []}},
                                    "volumeMounts": [
                                        {
                                            "name": "v",
                                            "mountPath": "/v",
                                            "readOnly": False,
                                            "subPath": "",
                                        }
                                    ],
                                }
                            ],
                        }
                    ),
                    "manager": "acme.io/other",
                },
            ],
        ),
    ),
    "name-long": (put("metadata.name", "n" * 63),),
}
"""Name -> how a plain TrainJob is changed; asked on every runtime."""
