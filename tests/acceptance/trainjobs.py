"""TrainJobs for acceptance tests: runtimes, what the nodes run, how they are watched."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, JOBSETS, TRAINJOBS, Witness
from tests.support.api import PODS, Api
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.upstream_data import RUNTIMES as RUNTIME_FILES

RUNTIMES = "trainer.kubeflow.org/v1alpha1/trainingruntimes"
CLUSTER_RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
TRAINING = Path(__file__).with_name("two_node_training.py")
"""What the nodes run: a real training, with the standard library."""

Document = dict[str, Any]


def upstreams_runtime(name: str) -> Document:
    """Return one of upstream's cluster training runtimes."""
    file = RUNTIME_FILES / f"{name}_distributed.yaml"
    found: Document = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def torch_runtime(name: str, **jobset: object) -> Document:
    """Return a namespaced runtime like upstream's for torch, whose failed nodes fail at once."""
    runtime = upstreams_runtime("torch")
    runtime["kind"], runtime["metadata"]["name"] = "TrainingRuntime", name
    spec = runtime["spec"]["template"]["spec"]
    (group,) = spec["replicatedJobs"]
    group["template"]["spec"]["backoffLimit"] = 0
    group["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    spec |= jobset
    return runtime


def trainjob(
    name: str, *command: str, nodes: int = 1, runtime: str = "", **spec: object
) -> Document:
    """Return a TrainJob; without a namespaced runtime it is of upstream's for torch."""
    reference = {"kind": "TrainingRuntime", "name": runtime} if runtime else {}
    trainer = {"command": list(command), "numNodes": nodes} if command else {"numNodes": nodes}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": reference or {"name": "torch-distributed"},
            "trainer": trainer,
            **spec,
        },
    }


@dataclass(frozen=True, slots=True)
class Trainings:
    """A site where TrainJobs run, and somebody who watches them."""

    site: Site
    admin: Api
    """May create runtimes, which users may not."""
    witness: Witness

    def runtime(self, document: Document) -> None:
        """Create a runtime; a cluster's may be there already."""
        namespaced = document["kind"] == "TrainingRuntime"
        path = self.admin.path(RUNTIMES) if namespaced else CLUSTER_RUNTIMES
        reply = self.admin.request("POST", path, document)
        assert reply.code == 201 or (reply.code == 409 and not namespaced), reply.message

    def submit(self, document: Document) -> None:
        """Create a TrainJob."""
        reply = self.site.api.create(TRAINJOBS, document)
        assert reply.code == 201, reply.message

    def change(self, name: str, **spec: object) -> None:
        """Merge something into the specification of a TrainJob."""
        reply = self.site.api.merge(TRAINJOBS, name, {"spec": spec})
        assert reply.code == 200, reply.message

    def conditions(self, name: str) -> dict[str, Document]:
        """Return the conditions of a TrainJob by type, in their order."""
        status = self.witness_status(name)
        return {one["type"]: one for one in status.get("conditions") or []}

    def witness_status(self, name: str) -> Document:
        """Return the last status that was shown."""
        told = self.witness.told(TRAINJOBS, name)
        return dict(told[-1].document.get("status") or {}) if told else {}

    def wait_for(self, name: str, kind: str, value: str = "True") -> Document:
        """Wait for a condition; return it."""

        def reached() -> bool:
            found = self.conditions(name).get(kind)
            return found is not None and found["status"] == value

        self.witness.wait_until(reached, f"{name} has {kind}={value}")
        return self.conditions(name)[kind]

    def wait_for_counts(self, name: str, group: str = "node", **wanted: int) -> None:
        """Wait until a group's counters in the status are these; the others are nought."""

        def reached() -> bool:
            found = self.witness_status(name).get("jobsStatus") or []
            counts: Document = next((one for one in found if one["name"] == group), {})
            return {k: v for k, v in counts.items() if k != "name" and v} == wanted

        self.witness.wait_until(reached, f"{name} has {wanted}")

    def shown(self, name: str) -> list[tuple[str, str]]:
        """Return type and status of the conditions that were shown, one after the other."""
        found: list[tuple[str, str]] = []
        last: dict[str, str] = {}
        for told in self.witness.told(TRAINJOBS, name):
            for one in (told.document.get("status") or {}).get("conditions") or []:
                if last.get(one["type"]) != one["status"]:
                    last[one["type"]] = one["status"]
                    found.append((one["type"], one["status"]))
        return found

    def pods(self, name: str) -> list[Document]:
        """Return the Pods of a TrainJob."""
        selector = f"jobset.sigs.k8s.io/jobset-name={name}"
        return list(self.admin.list(PODS, labelSelector=selector).body["items"])

    def jobset(self, name: str) -> Document:
        """Return the JobSet as it is."""
        return dict(self.admin.get(JOBSETS, name).body)


@contextmanager
def trainings(site: Site, admin: Api) -> Iterator[Trainings]:
    """Watch the TrainJobs of a site, and all that is made for them."""
    mine = Api(admin.url, admin.pool, site.api.namespace, admin.headers)
    with Witness(mine, (TRAINJOBS, JOBSETS, BATCH_JOBS, PODS)) as witness:
        yield Trainings(site, mine, witness)


@contextmanager
def real_trainings(server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    """Watch those of a site on a real API server, as its administrator."""
    with real_site(server, terminal, ledger_url) as site:
        admin = server.api()
        with trainings(site, admin) as watched:
            yield watched
        admin.pool.clear()
