"""RayJobs that hypothesis puts together, asked of KubeRay and of us."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from hypothesis import reject
from hypothesis import strategies as st

from tests.upstream.changing import Document, put
from tests.upstream.programs import Oracle
from tests.upstream.rayjob_cases import MODES, Case, bases, case_of
from tests.upstream.rayjob_changes import CHANGES, ENVIRONMENTS, SCHEDULERS
from tests.upstream.rayjob_fields import CONTAINER, GROUP
from tests.upstream.rayjob_known import found
from tests.upstream.rayjob_shapes import before, shaped
from tests.upstream.rayjobs import question
from tests.upstream.searching import Searched, smallest

CHANGES_MAX = 4

words = st.sampled_from(["", "1", "a b", "$(A)", "ü", "true", "<&>", '"', "\\", "`x`", "\u2028"])
amounts = st.sampled_from(
    ["0", "1", "500m", "1.5", "0.1", "1Gi", "1000M", "1e3", "100n", "0.1n", "0.5Ki", "9Ei", "1e30"]
)
resources = st.dictionaries(
    st.sampled_from(["limits", "requests"]),
    st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), amounts, max_size=3),
)
counts = st.sampled_from([0, 1, 2, 3, 7])
groups = st.fixed_dictionaries(
    {},
    optional={
        "replicas": counts,
        "minReplicas": counts,
        "maxReplicas": counts,
        "numOfHosts": counts,
        "suspend": st.booleans(),
    },
)
"""Fields of a group of workers."""

numerals = st.text("0123456789abcdefoxXeE+-_.:", min_size=1, max_size=8)
plain_words = st.sampled_from(
    ["yes", "No", "ON", "y", "~", "null", ".inf", "=", "<<", "0o17", "1e3", "16:9", "2020-01-02"]
)
scalars = numerals | plain_words
runtime_envs = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), scalars | st.lists(scalars, max_size=3), max_size=3
)


marks = st.sampled_from(
    [
        *("a", "b", "1", "0x1", "é", "true", ": ", ":\n", ":", "- ", "-", " ", "  ", "\n", "\n  "),
        *("[", "]", "{", "}", ",", ", ", "# c", "&a ", "*a", "!", "!!str ", "!a ", "|\n", ">+\n"),
        *("'", '"', "%", "@", "`", "? ", "~", "=", "<<", "---\n", "...\n", "\t", "\\n", "\r\n"),
    ]
)
marked = st.builds("{}{}".format, st.sampled_from(["", "a: "]), st.lists(marks).map("".join))
"""Texts of the marks of YAML: few of them can be read."""


def written(environment: Mapping[str, str | Sequence[str]]) -> str:
    """Return a runtime environment as YAML, with its scalars as they are."""
    lines = []
    for key, value in environment.items():
        shown = value if isinstance(value, str) else f"[{', '.join(value)}]"
        lines.append(f"{key}: {shown}\n")
    return "".join(lines)


quoted = st.dictionaries(words, words | st.booleans() | st.integers() | st.floats(), max_size=3)
"""What PyYAML writes so that every reader takes it for the same."""

jobs = st.fixed_dictionaries(
    {},
    optional={
        "entrypoint": words,
        "entrypointNumCpus": st.floats(0, 1e6, width=32) | st.integers(0, 10**9),
        "entrypointNumGpus": st.floats(0, 1e6, width=32),
        "entrypointResources": st.sampled_from(["{}", '{"a": 1}', '{"a": 0.1, "b": 3e2}']),
        "metadata": st.dictionaries(words, words, max_size=3),
        "jobId": st.sampled_from(["mine", "a-1"]),
        "runtimeEnvYAML": runtime_envs.map(written) | quoted.map(yaml.safe_dump) | marked,
        "submitterConfig": st.fixed_dictionaries({"backoffLimit": counts}),
    },
)
"""Fields of a RayJob's specification."""


@st.composite
def generated(draw: st.DrawFn, every: Mapping[str, Document]) -> Case:
    """Return a case of several changes of a sample or of the small RayJob."""
    name = draw(st.sampled_from(sorted(every)))
    names = sorted(CHANGES)
    changes = [
        *draw(st.lists(st.sampled_from(MODES), max_size=1)),
        *draw(st.lists(st.sampled_from(names), max_size=CHANGES_MAX)),
    ]
    base: Any = copy.deepcopy(every[name])
    base["spec"].update(draw(jobs))
    if name == "small":
        put(f"{CONTAINER}.resources", draw(resources))(base)
        base["spec"]["rayClusterSpec"]["workerGroupSpecs"][0].update(draw(groups))
        put(f"{GROUP}.template.spec.containers.0.resources", draw(resources))(base)
    else:
        changes = [change for change in changes if change in MODES or applies(change)]
    scheduler = draw(st.sampled_from(["", *SCHEDULERS]))
    environment = draw(st.sampled_from(["", *ENVIRONMENTS]))
    if draw(st.booleans()):
        draw(shaped(base["spec"]))
    try:
        case = case_of(name, base, changes, scheduler, environment)
    except LookupError:  # one change took away what another is made to
        reject()
    case.job["status"] |= draw(before)
    return case


def applies(change: str) -> bool:
    """Return whether a change can be made to any RayJob: not all samples have groups of workers."""
    return change.startswith(("env-", "rules", "old", "cpus", "resources", "ttl", "metadata"))


def search(upstream: Oracle, count: int, number: int) -> Searched:
    """Return the smallest unlisted difference among so many generated cases."""

    def told(case: Case) -> str:
        differs = found(case, upstream.ask(question(case)))
        shown = f"{case.id} with {case.job['spec']}:\n  "
        return shown + "\n  ".join(differs[:10]) if differs else ""

    return smallest(generated(bases()), told, count, number)
