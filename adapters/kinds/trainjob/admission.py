"""The admission webhooks of TrainJobs and their runtimes, and what each looks up in the cluster."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jobledger.adapters.admission.reviews import Answer, Handler
from jobledger.core.jobs.admission import ADMITTED
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    JOBSETS,
    TRAINING_RUNTIMES,
    Cluster,
)
from jobledger.core.trainjob import admission
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.spec import read_runtime_ref
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant

DEFAULT_TRAINJOB = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob"
VALIDATE_TRAINJOB = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"
VALIDATE_RUNTIME = "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime"
VALIDATE_CLUSTER_RUNTIME = "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainJobAdmission:
    """The handlers, and what they decide by."""

    cluster: Cluster
    plugins: Sequence[Plugin]
    now: Callable[[], Instant]

    def by_path(self) -> Mapping[str, Handler]:
        """Return all, by path: upstream's."""
        return {
            DEFAULT_TRAINJOB: self._defaults,
            VALIDATE_TRAINJOB: self._trainjob,
            VALIDATE_RUNTIME: _runtime,
            VALIDATE_CLUSTER_RUNTIME: _runtime,
        }

    def _defaults(self, new: Manifest, old: Manifest | None) -> Answer:
        times = admission.times_of_patches(new, old, self.now())
        patch = tuple(
            {"op": "add", "path": f"/spec/runtimePatches/{index}/time", "value": time}
            for index, time in times
        )
        return Answer(verdict=ADMITTED, patch=patch)

    def _trainjob(self, new: Manifest, old: Manifest | None) -> Answer:
        if old is not None and not admission.is_built_anew(new, old):
            return Answer(verdict=admission.admission_of_annotations(new, old))
        verdict = admission.admission_of(self.plugins, new, self._runtime_of(new))
        if old is not None and not verdict.refusal:
            where = text(new, "metadata", "namespace"), text(new, "metadata", "name")
            change = admission.admission_of_change(new, old, self.cluster.get(JOBSETS, *where))
            verdict = change if change.refusal else verdict
        return Answer(verdict=verdict)

    def _runtime_of(self, job: Manifest) -> Manifest | None:
        ref = read_runtime_ref(job)
        if not ref.name or not ref.is_supported:
            return None
        if ref.is_cluster_wide:
            return self.cluster.get(CLUSTER_TRAINING_RUNTIMES, "", ref.name)
        return self.cluster.get(TRAINING_RUNTIMES, text(job, "metadata", "namespace"), ref.name)


def _runtime(new: Manifest, old: Manifest | None) -> Answer:
    return Answer(verdict=admission.admission_of_runtime(new, old))
