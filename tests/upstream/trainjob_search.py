"""TrainJobs and runtimes that hypothesis puts together, asked of Trainer and of us."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.upstream.changing import Document, put
from tests.upstream.programs import Oracle
from tests.upstream.runtime_changes import RUNTIME_CHANGES
from tests.upstream.searching import Searched, smallest
from tests.upstream.status_server import EDGES
from tests.upstream.trainjob_cases import Case, case_of_changes, with_defaults
from tests.upstream.trainjob_changes import JOB_CHANGES
from tests.upstream.trainjob_shapes import maps, patches, shaped
from tests.upstream.trainjobs import explained, found, question

CHANGES_MAX = 4

names = st.sampled_from(["node", "launcher", "dataset-initializer", "model-initializer", "other"])
values = st.sampled_from(["", "1", "a b", "$(A)", "ü", "true"])
named = ["A", "B", "STORAGE_URI", "FLUX_VIEW_IMAGE", "FLUX_QUEUE_POLICY", "FLUX_NETWORK_DEVICE"]
variables = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(named), "value": values}),
    max_size=4,
)
devices = st.sampled_from(["0", "1", "2", "8", "3G", "10E", "-1"])
parts = st.sampled_from(
    ["0", "1", "2", "500m", "1.5", "0.1", "100000000n", "0.1n", "-1", "4294967298", "9Ei", "1e30"]
)


def nodes_with(gpu: str) -> st.SearchStrategy[Document]:
    """Return resources of a node with one kind of GPU: of two, upstream takes any."""
    amounts = st.fixed_dictionaries(
        {},
        optional={
            "cpu": parts,
            "memory": st.sampled_from(["0", "1Gi", "1.5Gi", "1000M", "1e9", "9Ei", "1e-30"]),
            gpu: devices,
            "example.com/npu": devices,
        },
    )
    return st.dictionaries(st.sampled_from(["limits", "requests"]), amounts)


resources = st.sampled_from(["nvidia.com/gpu", "amd.com/gpu"]).flatmap(nodes_with)
trainers = st.fixed_dictionaries(
    {},
    optional={
        "numNodes": st.integers(1, 6),
        "numProcPerNode": st.integers(1, 9),
        "image": st.sampled_from(["a:1", "b"]),
        "command": st.lists(st.sampled_from(["python", "tune", "run", "-m"]), max_size=3),
        "args": st.lists(st.sampled_from(["x=1", "--y", "model.quantize_base=True"]), max_size=3),
        "env": variables,
        "resourcesPerNode": resources,
    },
)
"""A generated `spec.trainer`."""

sources = st.fixed_dictionaries(
    {},
    optional={
        "storageUri": st.sampled_from(["hf://a/b", "s3://bucket/x", "cache://t/u"]),
        "env": variables,
        "secretRef": st.sampled_from([{"name": "token"}, {}]),
    },
)
initializers = st.fixed_dictionaries({}, optional={"dataset": sources, "model": sources})
"""A generated `spec.initializer`."""


@st.composite
def generated(draw: st.DrawFn, runtimes: Mapping[str, Any]) -> Case:
    """Return a case of several changes of a runtime and of a TrainJob on it.

    Of half of them the Pods are told of a status server.
    """
    name = draw(st.sampled_from(sorted(runtimes)))
    of_runtime = draw(st.lists(st.sampled_from(sorted(RUNTIME_CHANGES)), max_size=CHANGES_MAX))
    of_job = draw(st.lists(st.sampled_from(sorted(JOB_CHANGES)), max_size=CHANGES_MAX))
    runtime = copy.deepcopy(runtimes[name])
    if is_shaped := draw(st.booleans()):
        with_defaults(draw(shaped(runtime)))
    case = case_of_changes(name, runtime, of_runtime, of_job)
    if is_shaped and draw(st.booleans()):
        case.job["spec"]["runtimePatches"] = draw(patches)
    trainer = draw(st.none() | trainers)
    if trainer is not None:
        put("spec.trainer", copy.deepcopy(trainer))(case.job)
    if draw(st.booleans()):
        put("spec.initializer", draw(initializers))(case.job)
        put("spec.labels", draw(maps))(case.job)
        put("spec.annotations", draw(maps))(case.job)
        put("metadata.labels", draw(maps))(case.job)
    if not draw(st.booleans()):
        return case
    edges = draw(st.lists(st.sampled_from(sorted(EDGES)), max_size=2))
    for edge in edges:
        for change in EDGES[edge]:
            change(case.job)
    return replace(case, id="/".join([case.id, "server", *edges]), status_server=True)


def search(upstream: Oracle, runtimes: Mapping[str, Any], count: int, number: int) -> Searched:
    """Return the smallest unlisted difference among so many generated cases."""

    def told(case: Case) -> str:
        answer = upstream.ask(question(case))
        differs = found(case, answer)
        if not differs or explained(case, answer):
            return ""
        return f"{case.id} with {case.job['spec']}:\n  " + "\n  ".join(differs[:10])

    return smallest(generated(runtimes), told, count, number)
