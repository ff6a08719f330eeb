"""What a JobSet is made into: Jobs, Pods, names, a Service, claims."""

import hashlib
import re

from tests.support.api import SERVICES
from tests.support.jobsets import JOBSETS, Bench, group, jobset, shell, waiting_for

PREFIX = "jobset.sigs.k8s.io/"
INDEX = "batch.kubernetes.io/job-completion-index"
CLAIMS = "v1/persistentvolumeclaims"


def jobs_are_named_and_marked(bench: Bench) -> None:
    """The same marks are labels and annotations, on Jobs and on the template of their Pods."""
    bench.start(group("a", "true"), group("b", "true", replicas=2, groupName="shared"))
    bench.wait(lambda: len(bench.jobs()) == 3, "all Jobs are there")
    jobs, whole = bench.jobs(), bench.jobset()
    assert list(jobs) == [f"{bench.name}-a-0", f"{bench.name}-b-0", f"{bench.name}-b-1"]
    job = jobs[f"{bench.name}-b-1"]
    key = f"{bench.api.namespace}/{bench.name}-b-1"
    wanted = {
        f"{PREFIX}jobset-name": bench.name,
        f"{PREFIX}jobset-uid": whole["metadata"]["uid"],
        f"{PREFIX}replicatedjob-name": "b",
        f"{PREFIX}restart-attempt": "0",
        f"{PREFIX}replicatedjob-replicas": "2",
        f"{PREFIX}global-replicas": "3",
        f"{PREFIX}job-index": "1",
        f"{PREFIX}job-key": hashlib.sha1(key.encode()).hexdigest(),
        f"{PREFIX}job-global-index": "2",
        f"{PREFIX}group-name": "shared",
        f"{PREFIX}group-replicas": "2",
        f"{PREFIX}job-group-index": "1",
    }
    assert job["metadata"]["labels"] == job["metadata"]["annotations"] == wanted
    template = job["spec"]["template"]
    assert template["metadata"]["annotations"] == wanted
    assert {k: v for k, v in template["metadata"]["labels"].items() if k in wanted} == wanted
    assert template["spec"]["subdomain"] == bench.name
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["suspend"] is False
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("JobSet", bench.name, True)
    assert owner["blockOwnerDeletion"] is True


def own_labels_of_jobs_and_pods_are_kept(bench: Bench) -> None:
    """What the templates say of themselves stands beside the marks."""
    made = group("a", "true")
    made["template"]["metadata"] = {"labels": {"of": "job"}, "annotations": {"note": "job"}}
    made["template"]["spec"]["template"]["metadata"] = {"labels": {"of": "pod"}}
    bench.start(made)
    bench.wait(lambda: bool(bench.pods()), "the Pod is there")
    (job,), (pod,) = bench.jobs().values(), bench.pods()
    assert job["metadata"]["labels"]["of"] == "job"
    assert job["metadata"]["annotations"]["note"] == "job"
    assert pod["metadata"]["labels"]["of"] == "pod"


def pods_are_numbered_and_named(bench: Bench) -> None:
    """Hostname, index as label, annotation and variable."""
    file = bench.file("indexes")
    script = f"echo $JOB_COMPLETION_INDEX $HOSTNAME >> {file}"
    bench.start(group("node", *shell(script), pods=2))
    bench.wait_for("Completed")
    first, second = bench.pods("node")
    for index, pod in enumerate((first, second)):
        job = f"{bench.name}-node-0"
        assert re.fullmatch(f"{job}-{index}-[a-z0-9]{{5}}", pod["metadata"]["name"])
        assert pod["metadata"]["generateName"] == f"{job}-{index}-"
        assert pod["spec"]["hostname"] == f"{job}-{index}"
        assert pod["spec"]["subdomain"] == bench.name
        assert pod["metadata"]["labels"][INDEX] == str(index)
        assert pod["metadata"]["annotations"][INDEX] == str(index)
        assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == job
        (variable,) = pod["spec"]["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        path = variable["valueFrom"]["fieldRef"]["fieldPath"]
        assert path == f"metadata.labels['{INDEX}']"
    said = sorted(file.read_text().splitlines())
    assert said == [f"{index} {bench.name}-node-0-{index}" for index in range(2)]
    status = bench.jobs()[f"{bench.name}-node-0"]["status"]
    assert (status["completedIndexes"], status["succeeded"]) == ("0,1", 2)


def pods_find_each_other_by_name(bench: Bench) -> None:
    """The second Pod asks the first one, by the name that training runtimes put in place."""
    server = (
        "import os, socket\n"
        "listener = socket.create_server((os.environ['HOSTNAME'], 29500))\n"
        "peer, _ = listener.accept()\n"
        "peer.sendall(peer.recv(100).upper())\n"
    )
    client = (
        "import os, socket, sys, time\n"
        "while True:\n"
        "    try:\n"
        "        peer = socket.create_connection((os.environ['FIRST'], 29500), 5)\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.05)\n"
        "peer.settimeout(None)\n"
        "peer.sendall(b'hello')\n"
        "sys.exit(peer.recv(100) != b'HELLO')\n"
    )
    choice = f'test "$JOB_COMPLETION_INDEX" = 0 && exec python -c "{server}"; '
    made = group("node", *shell(f'{choice}exec python -c "{client}"'), pods=2)
    (container,) = made["template"]["spec"]["template"]["spec"]["containers"]
    first = f"{bench.name}-node-0-0.{bench.name}"
    container["env"] = [{"name": "FIRST", "value": first}]
    container["ports"] = [{"containerPort": 29500}]
    bench.start(made)
    bench.wait_for("Completed")


def a_headless_service_gives_the_names(bench: Bench) -> None:
    """It is called as the subdomain says, and selects all Pods of the JobSet."""
    bench.start(group("a", "true"), network={"subdomain": f"{bench.name}-net"})
    bench.wait_for("Completed")
    service = bench.api.get(SERVICES, f"{bench.name}-net").body
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {f"{PREFIX}jobset-name": bench.name}
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
    assert bench.pods()[0]["spec"]["subdomain"] == f"{bench.name}-net"


def all_pods_are_told_of_the_coordinator(bench: Bench) -> None:
    """Its address is one more mark."""
    coordinator = {"replicatedJob": "b", "jobIndex": 1, "podIndex": 2}
    bench.start(group("a", "true"), group("b", "true", replicas=2, pods=3), coordinator=coordinator)
    bench.wait(lambda: len(bench.jobs()) == 3, "all Jobs are there")
    address = f"{bench.name}-b-1-2.{bench.name}"
    for job in bench.jobs().values():
        assert job["metadata"]["labels"][f"{PREFIX}coordinator"] == address
        annotations = job["spec"]["template"]["metadata"]["annotations"]
        assert annotations[f"{PREFIX}coordinator"] == address


def claims_are_made_and_shared(bench: Bench) -> None:
    """What one Pod leaves in a claim, the next one finds."""
    template = {
        "metadata": {"name": "space"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    writer, reader = (
        group("writer", *shell("echo left > /space/file")),
        group(
            "reader",
            *shell("grep left /space/file"),
            dependsOn=[{"name": "writer", "status": "Complete"}],
        ),
    )
    for made in (writer, reader):
        (container,) = made["template"]["spec"]["template"]["spec"]["containers"]
        container["volumeMounts"] = [{"name": "space", "mountPath": "/space"}]
    bench.start(writer, reader, volumeClaimPolicies=[{"templates": [template]}])
    bench.wait_for("Completed")
    claim = bench.api.get(CLAIMS, f"space-{bench.name}").body
    assert claim["metadata"]["labels"] == {f"{PREFIX}jobset-name": bench.name}
    assert claim["metadata"]["ownerReferences"][0]["name"] == bench.name
    (volume,) = bench.pods("reader")[0]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"] == {"claimName": f"space-{bench.name}"}


def everything_goes_with_the_jobset(bench: Bench) -> None:
    """Jobs, Pods and the Service are collected as garbage."""
    bench.start(group("a", "sleep", "600"))
    bench.wait(lambda: bench.counts("a") == {"active": 1, "ready": 1}, "it runs")
    assert bench.api.delete(JOBSETS, bench.name).code == 200
    bench.wait(lambda: not bench.jobs() and not bench.pods(), "Jobs and Pods have gone")
    bench.wait(
        lambda: bench.api.get(SERVICES, bench.name).code == 404, "the Service has gone as well"
    )


def a_jobset_of_another_manager_is_left_alone(bench: Bench) -> None:
    """Nothing is made of it."""
    other = jobset(f"{bench.name}-x", group("a", "true"), managedBy="kueue.x-k8s.io/multikueue")
    assert bench.api.create(JOBSETS, other).code == 201
    bench.start(
        group("a", *waiting_for(bench.file("gate"))), managedBy=f"{PREFIX}jobset-controller"
    )
    bench.wait(lambda: bool(bench.jobs()), "the one of ours has its Job")
    bench.file("gate").touch()
    bench.wait_for("Completed")
    assert "status" not in bench.api.get(JOBSETS, f"{bench.name}-x").body
    assert (
        bench.api.list("batch/v1/jobs", labelSelector=f"{PREFIX}jobset-name={bench.name}-x").body[
            "items"
        ]
        == []
    )
