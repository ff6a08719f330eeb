"""KubeRay's sample RayJobs, made to run on one machine without the package `ray`, and driven.

Whatever a sample says about the life of the job stays as it is. Replaced are: the Python programs
that import Ray (a line of output takes their place), an image's own program that is not here (the
light-weight submitter), and delays of half a minute and more (by a second or two).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3
import yaml

from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Witness
from tests.support.api import CONFIGMAPS, PODS, SERVICES
from tests.support.upstream_data import SAMPLES
from tests.support.waiting import wait_until

Document = dict[str, Any]
PROGRAM = "import os\nprint('the sample ran,', os.getenv('counter_name'))\n"
INLINE = "python -c \"print('the sample ran')\""
SUBMITTER = (
    'ray job submit --address="http://$RAY_DASHBOARD_ADDRESS" '
    '--submission-id="$RAY_JOB_SUBMISSION_ID" -- python /home/ray/samples/sample_code.py'
)
SHORTENED = {30: 1, 60: 2, 90: 4, 10: 1, 600: 1}
"""Delay of a sample -> delay here, in seconds."""
LIMIT_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample file, made to run here."""

    job: Document
    others: list[Document]

    @property
    def name(self) -> str:
        """The RayJob's name."""
        return str(self.job["metadata"]["name"])


def load(name: str) -> Sample:
    """Return a sample; skip the test if upstream's files are not here, which in CI is an error."""
    documents = [item for item in yaml.safe_load_all((SAMPLES / name).read_text()) if item]
    job = next(item for item in documents if item["kind"] == "RayJob")
    others = [item for item in documents if item["kind"] != "RayJob"]
    if "generateName" in job["metadata"]:
        job["metadata"]["name"] = job["metadata"].pop("generateName") + "x7k2q"
    for other in others:
        if "sample_code.py" in other.get("data", {}):
            other["data"]["sample_code.py"] = PROGRAM
    spec = job["spec"]
    if "import ray" in spec.get("entrypoint", ""):
        spec["entrypoint"] = INLINE
    for container in spec.get("submitterPodTemplate", {}).get("spec", {}).get("containers", []):
        if container.get("command") == ["/submitter"]:
            container |= {"command": ["/bin/sh", "-c"], "args": [SUBMITTER]}
    _shorten(spec)
    return Sample(job, others)


def _shorten(here: object) -> None:
    if isinstance(here, dict):
        for key, value in here.items():
            if key.lower().startswith("ttlseconds"):
                here[key] = SHORTENED.get(value, value)
            _shorten(value)
    for item in here if isinstance(here, list) else ():
        _shorten(item)


def drive(site: Site, witness: Witness, name: str) -> None:
    """Take a sample its whole way: to Complete, and through whatever it asks for after that.

    A controller that controls RayJobs is at work, and nothing else in the namespace.
    """
    sample = load(name)
    for other in sample.others:
        assert site.api.create(CONFIGMAPS, other).code == 201  # Created
    COURSES.get(name, ordinary)(site, witness, sample)
    wait_until_closed(site, witness, sample)
    (row,) = site.rows(
        "SELECT phase, job_status, succeeded, failed, attempt FROM job WHERE uid = %s",
        uid_of(witness, sample),
    )
    assert row == {
        "phase": "Complete",
        "job_status": "SUCCEEDED",
        "succeeded": 1,
        "failed": 0,
        "attempt": 1,
    }


def ordinary(site: Site, witness: Witness, sample: Sample) -> None:
    """Success with a submitter; the RayCluster stays, unless the sample has it shut down."""
    site.submit(sample.job)
    status = complete(witness, sample)
    cluster = status["rayClusterName"]
    assert witness.phases(sample.name) == ["Initializing", "Running", "Complete"]
    assert status["dashboardURL"] == _dashboard(site, sample, cluster)
    leads_to_its_head(site, sample, cluster)
    if sample.job["spec"].get("shutdownAfterJobFinishes"):
        witness.wait_until(lambda: _is_gone(witness), "the shutdown", LIMIT_SECONDS)
    else:
        assert [life.ended for life in witness.lives(RAYCLUSTERS)] == [None]
    (submitter,) = witness.lives(BATCH_JOBS)
    assert (submitter.name, submitter.ended) == (sample.name, None), "its log is kept"


def beside_the_head(site: Site, witness: Witness, sample: Sample) -> None:
    """SidecarMode: no batch Job; the head's Pod carries the submitter."""
    site.submit(sample.job)
    status = complete(witness, sample)
    leads_to_its_head(site, sample, status["rayClusterName"])
    assert witness.lives(BATCH_JOBS) == []
    heads = site.api.list(PODS, labelSelector="ray.io/node-type=head").body["items"]
    names = [one["name"] for head in heads for one in head["spec"]["containers"]]
    assert names == ["ray-head", "ray-job-submitter"]


def by_stages(site: Site, witness: Witness, sample: Sample) -> None:
    """deletionRules: the workers go, then the RayCluster, then the RayJob."""
    site.submit(sample.job)
    complete(witness, sample)

    def gone() -> bool:
        return any(item.verb == "DELETED" for item in witness.told(RAYJOBS, sample.name))

    witness.wait_until(gone, "the RayJob has deleted itself", LIMIT_SECONDS)
    witness.wait_until(lambda: _is_gone(witness), "the RayCluster is gone", LIMIT_SECONDS)
    wait_until_closed(site, witness, sample)
    stages = _stages(site, uid_of(witness, sample))
    groups = [
        [group.get("suspend", False) for group in item.document["spec"]["workerGroupSpecs"]]
        for item in witness.told(RAYCLUSTERS)
    ]
    assert groups[0] == [False]
    assert groups[-1] == [STAGES["DeleteWorkers"] in stages], "the workers were the first to go"


STAGES = {
    "DeleteWorkers": "suspend_workers",
    "DeleteCluster": "delete_cluster",
    "DeleteSelf": "delete_job",
}
"""Policy -> the effect that carries it out, in the order in which the sample wants them."""


def _stages(site: Site, uid: str) -> list[str]:
    """Return what was done, in order: every stage, unless a busy machine let the next overtake it.

    That is what upstream does with rules that are overdue together, and the log says so.
    """
    decided = site.rows(
        "SELECT d.cause, d.state, d.resolution FROM decision d JOIN job USING (stream_id)"
        " WHERE uid = %s AND d.kind = 'deletion_rule' ORDER BY due_at",
        uid,
    )
    assert [row["cause"].split()[1] for row in decided] == list(STAGES)
    fired = []
    for row, effect in zip(decided, STAGES.values(), strict=True):
        if row["state"] == "fired":
            fired.append(effect)
        else:
            assert "goes further" in row["resolution"], row
    assert fired[-1] == "delete_job"
    done = site.rows(  # of the last the watch may have told before its answer came
        "SELECT e.kind FROM effect e JOIN job USING (stream_id) WHERE uid = %s"
        " AND e.kind IN ('suspend_workers', 'delete_cluster', 'delete_job')"
        " AND e.state IN ('succeeded', 'superseded') ORDER BY requested_at",
        uid,
    )
    assert [row["kind"] for row in done] == fired
    return fired


def by_hand(site: Site, witness: Witness, sample: Sample) -> None:
    """InteractiveMode: the user submits, then says what."""
    site.submit(sample.job)
    witness.wait_for_status(sample.name, jobDeploymentStatus="Waiting")
    address = witness.status(sample.name)["dashboardURL"]
    body = json.dumps({"entrypoint": INLINE, "submission_id": "by-hand"})
    proxy = urllib3.ProxyManager(site.proxy_url)
    try:
        answer = proxy.request("POST", f"http://{address}/api/jobs/", body=body)
        assert answer.status == 200, answer.data  # OK
    finally:
        proxy.clear()
    site.change(sample.name, jobId="by-hand")
    status = complete(witness, sample)
    assert status["jobId"] == "by-hand"
    assert witness.phases(sample.name)[:2] == ["Initializing", "Waiting"]


def on_a_cluster_that_is_there(site: Site, witness: Witness, sample: Sample) -> None:
    """clusterSelector: nobody finds the RayCluster at first; then it is used, and never deleted."""
    name = sample.job["spec"]["clusterSelector"]["ray.io/cluster"]
    site.submit(sample.job)

    def told() -> bool:
        message = str(witness.status(sample.name).get("message", ""))
        return "is not found" in message

    witness.wait_until(told, "that the RayCluster is not found", LIMIT_SECONDS)
    made = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": load("ray-job.interactive-mode.yaml").job["spec"]["rayClusterSpec"],
    }
    assert site.api.create(RAYCLUSTERS, made).code == 201  # Created
    status = complete(witness, sample)
    assert status["rayClusterName"] == name
    assert site.api.delete(RAYJOBS, sample.name).code == 200  # OK
    witness.wait_until(
        lambda: any(item.verb == "DELETED" for item in witness.told(RAYJOBS, sample.name)),
        "the RayJob is gone",
        LIMIT_SECONDS,
    )
    assert [life.ended for life in witness.lives(RAYCLUSTERS)] == [None], "shared, so it stays"


ONLY_RAYJOBS = {"JOBLEDGER_JOB_KINDS": '["RayJob"]'}
"""Setting of the controller that takes samples their way."""

COURSES: Mapping[str, Callable[[Site, Witness, Sample], None]] = {
    "ray-job.sidecar-mode.yaml": beside_the_head,
    "ray-job.deletion-rules.yaml": by_stages,
    "ray-job.interactive-mode.yaml": by_hand,
    "ray-job.use-existing-raycluster.yaml": on_a_cluster_that_is_there,
}
"""Samples whose way is another than most."""


def uid_of(witness: Witness, sample: Sample) -> str:
    """Return the UID of a sample's RayJob: several samples have one name."""
    return witness.told(RAYJOBS, sample.name)[0].uid


def wait_until_closed(site: Site, witness: Witness, sample: Sample) -> None:
    """Return once nothing is left to do for a sample's RayJob."""
    query = "SELECT NOT open FROM job WHERE uid = %s"
    site.wait_for_true("nothing is left to do", query, uid_of(witness, sample))


def complete(witness: Witness, sample: Sample) -> Document:
    """Return the status of a sample that has succeeded."""
    witness.wait_for_status(
        sample.name, seconds=LIMIT_SECONDS, jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"
    )
    status = witness.status(sample.name)
    assert status["succeeded"] == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", status["endTime"])
    return status


def leads_to_its_head(site: Site, sample: Sample, cluster: str) -> None:
    """Assert that `<rayjob>-head-svc` leads to the head of the RayCluster."""
    name = f"{sample.name}-head-svc"

    def leads() -> bool:
        found = site.api.get(SERVICES, name)
        return (
            found.code == 200 and found.body["spec"]["selector"]["ray.io/cluster"] == cluster
        )  # OK

    wait_until(leads, f"{name} leads to {cluster}", LIMIT_SECONDS)


def _dashboard(site: Site, sample: Sample, cluster: str) -> str:
    head = sample.job["spec"]["rayClusterSpec"]["headGroupSpec"]
    given = head.get("headService", {}).get("metadata", {}).get("name")
    service = given or f"{cluster}-head-svc"
    address = f"{service}.{site.api.namespace}.svc.cluster.local:8265"
    assert urlsplit(f"http://{address}").port == 8265
    return address


def _is_gone(witness: Witness) -> bool:
    lives = witness.lives(RAYCLUSTERS)
    return bool(lives) and all(life.ended is not None for life in lives)
