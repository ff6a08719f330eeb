"""The fields of a TrainJob's specification that the rules use.

Everything else (the trainer, the initializers, the patches) is read from the live object when its
objects are built. Source: Trainer v2.3, trainjob_types.go; the defaults are those of the CRD.
"""

from msgspec import Struct

from jobledger.core.jobs.retries.job_deadline import read_job_deadline
from jobledger.core.log.storable import word
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.durations import delay_seconds

GROUP = "trainer.kubeflow.org"
RUNTIME_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
MANAGED_BY_US = frozenset({"", "trainer.kubeflow.org/trainjob-controller"})
"""Values of spec.managedBy that leave the job to this controller."""


class RuntimeRef(Struct, frozen=True, kw_only=True):
    """Which runtime a TrainJob names."""

    name: str = ""
    group: str = GROUP
    kind: str = RUNTIME_KINDS[0]

    @property
    def key(self) -> str:
        """Return `<Kind>.<group>`, as upstream's registry calls it."""
        return f"{self.kind}.{self.group}"

    @property
    def is_supported(self) -> bool:
        """Return whether it is of a kind that is known here."""
        return self.group == GROUP and self.kind in RUNTIME_KINDS

    @property
    def is_cluster_wide(self) -> bool:
        """Return whether it has no namespace."""
        return self.kind == RUNTIME_KINDS[0]


class TrainJobSpec(Struct, frozen=True, kw_only=True, gc=False):
    """What decides about the life of the job."""

    runtime: RuntimeRef = RuntimeRef()
    suspend: bool = False
    active_deadline_seconds: int = 0
    """Seconds from the start or the latest resume; 0: no deadline."""
    managed_by: str = ""
    job_deadline_seconds: int = 0
    """Seconds from the start of the first attempt since the creation or the latest resume, over all
    attempts; 0: no such deadline. Ours, asked for by an annotation."""
    patches: str = ""
    """Keyed digest of the runtimePatches without their times; empty: there are none."""

    @property
    def is_ours(self) -> bool:
        """Return whether the job is left to this controller."""
        return self.managed_by in MANAGED_BY_US


def read_runtime_ref(manifest: Manifest) -> RuntimeRef:
    """Return the runtime that a TrainJob names, with the CRD's defaults."""
    ref = child(manifest, "spec", "runtimeRef")
    return RuntimeRef(
        name=word(ref, "name"),
        group=word(ref, "apiGroup") or GROUP,
        kind=word(ref, "kind") or RUNTIME_KINDS[0],
    )


def read_spec(manifest: Manifest) -> TrainJobSpec:
    """Return the specification of a TrainJob; what is absent or of a wrong type has its default."""
    spec = child(manifest, "spec")
    return TrainJobSpec(
        runtime=read_runtime_ref(manifest),
        suspend=spec.get("suspend") is True,
        active_deadline_seconds=delay_seconds(spec, "activeDeadlineSeconds"),
        managed_by=word(spec, "managedBy"),
        job_deadline_seconds=read_job_deadline(manifest).seconds,
    )
