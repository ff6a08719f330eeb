"""How a JobSet starts, waits, is suspended and resumed, and what its status shows meanwhile."""

from tests.support.jobsets import JOBSETS, Bench, Document, group, waiting_for


def a_running_jobset_counts_its_jobs(bench: Bench) -> None:
    """The groups stand in the status by name, the last one first."""
    bench.start(group("a", "sleep", "600", replicas=2), group("b", *waiting_for(bench.file("b"))))
    bench.wait(lambda: bench.counts("a") == {"active": 2, "ready": 2}, "a is ready")
    bench.wait(lambda: bench.counts("b") == {"active": 1, "ready": 1}, "b is ready")
    assert [one["name"] for one in bench.status()["replicatedJobsStatus"]] == ["b", "a"]
    assert "conditions" not in bench.status()
    bench.file("b").touch()
    bench.wait(lambda: bench.counts("b") == {"succeeded": 1}, "b has succeeded")
    assert "conditions" not in bench.status(), "a has not"


def a_suspended_jobset_has_suspended_jobs(bench: Bench) -> None:
    """Its Jobs are there, and no Pod; resumed, they run."""
    bench.start(group("a", "true", replicas=2), suspend=True)
    assert bench.wait_for("Suspended") == ("SuspendedJobs", "jobset is suspended")
    bench.wait(lambda: bench.counts("a") == {"suspended": 2}, "both are suspended")
    assert all(job["spec"]["suspend"] for job in bench.jobs().values())
    assert bench.pods() == []
    assert bench.change(suspend=False).code == 200
    assert bench.wait_for("Suspended", "False") == ("ResumeJobs", "jobset is resumed")
    bench.wait_for("Completed")
    kinds = [one["type"] for one in bench.status()["conditions"]]
    assert kinds == ["Suspended", "Completed"]


def a_running_jobset_is_suspended_and_resumed(bench: Bench) -> None:
    """Its Pods go; the next ones are others, and take what the template was given meanwhile."""
    gate = bench.file("gate")
    bench.start(group("a", *waiting_for(gate)))
    bench.wait(lambda: bench.counts("a") == {"active": 1, "ready": 1}, "it runs")
    (first,) = bench.pods()
    assert bench.change(suspend=True).code == 200
    bench.wait(lambda: bench.pods() == [], "its Pod has gone")
    bench.wait(lambda: bench.counts("a") == {"suspended": 1}, "it counts as suspended")
    assert bench.condition("Suspended")[0] == "True"
    groups = bench.jobset()["spec"]["replicatedJobs"]
    template = groups[0]["template"]["spec"]["template"]
    template["metadata"] = {"labels": {"queue": "fast"}, "annotations": {"note": "resumed"}}
    template["spec"]["nodeSelector"] = {"pool": "gpu"}
    template["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    reply = bench.change(suspend=False, replicatedJobs=groups)
    assert reply.code == 200, reply.message
    bench.wait(lambda: bench.counts("a") == {"active": 1, "ready": 1}, "it runs again")
    gate.touch()
    bench.wait_for("Completed")
    (last,) = bench.pods()
    assert last["metadata"]["uid"] != first["metadata"]["uid"]
    assert last["metadata"]["labels"]["queue"] == "fast"
    assert last["metadata"]["annotations"]["note"] == "resumed"
    assert last["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert {"key": "gpu", "operator": "Exists"} in last["spec"]["tolerations"]
    assert bench.status().get("restarts", 0) == 0, "a resumption is no restart"
    (job,) = bench.jobs().values()
    assert "failed" not in job["status"], "nor is it a failure"


def a_group_waits_for_the_completion_of_another(bench: Bench) -> None:
    """Its Jobs are not there before."""
    needs = [{"name": "a", "status": "Complete"}]
    gate = bench.file("gate")
    bench.start(group("a", *waiting_for(gate)), group("b", "true", dependsOn=needs))
    bench.wait(lambda: bench.counts("a") == {"active": 1, "ready": 1}, "a runs")
    assert list(bench.jobs()) == [f"{bench.name}-a-0"]
    assert bench.counts("b") == {}
    gate.touch()
    bench.wait_for("Completed")
    assert list(bench.jobs()) == [f"{bench.name}-a-0", f"{bench.name}-b-0"]


def a_group_waits_until_another_is_ready(bench: Bench) -> None:
    """Ready is what the readiness probes say."""
    needs = [{"name": "a", "status": "Ready"}]
    first = group("a", *waiting_for(bench.file("never")))
    (container,) = first["template"]["spec"]["template"]["spec"]["containers"]
    probe = {"exec": {"command": ["test", "-e", str(bench.file("ready"))]}, "periodSeconds": 1}
    container["readinessProbe"] = probe
    target = {"operator": "All", "targetReplicatedJobs": ["b"]}
    bench.start(first, group("b", "true", dependsOn=needs), successPolicy=target)
    bench.wait(lambda: bench.counts("a") == {"active": 1}, "a runs")
    assert list(bench.jobs()) == [f"{bench.name}-a-0"]
    bench.file("ready").touch()
    bench.wait_for("Completed")
    bench.wait(lambda: list(bench.jobs()) == [f"{bench.name}-b-0"], "what still ran has gone")


def groups_start_in_order(bench: Bench) -> None:
    """Each waits until the one before it is ready; two conditions say how far it is."""
    gate = bench.file("gate")
    first = group("a", *waiting_for(gate))
    (container,) = first["template"]["spec"]["template"]["spec"]["containers"]
    probe = {"exec": {"command": ["test", "-e", str(bench.file("ready"))]}, "periodSeconds": 1}
    container["readinessProbe"] = probe
    order = {"startupPolicyOrder": "InOrder"}
    bench.start(first, group("b", *waiting_for(gate)), startupPolicy=order)
    said = ("InOrderStartupPolicyInProgress", "in order startup policy is in progress")
    assert bench.wait_for("StartupPolicyInProgress") == said
    bench.wait(lambda: bench.counts("a") == {"active": 1}, "a runs")
    assert list(bench.jobs()) == [f"{bench.name}-a-0"]
    bench.file("ready").touch()
    said = ("InOrderStartupPolicyCompleted", "in order startup policy has completed")
    assert bench.wait_for("StartupPolicyCompleted") == said
    state, reason, _ = bench.condition("StartupPolicyInProgress")
    assert (state, reason) == ("False", "InOrderStartupPolicyInProgress")
    assert list(bench.jobs()) == [f"{bench.name}-a-0", f"{bench.name}-b-0"]
    gate.touch()
    bench.wait_for("Completed")


def a_suspended_jobset_resumes_in_order(bench: Bench) -> None:
    """All Jobs are made, suspended; then one group is resumed after the other."""
    order = {"startupPolicyOrder": "InOrder"}
    gate = bench.file("gate")
    groups = [group(name, *waiting_for(gate)) for name in ("a", "b")]
    bench.start(*groups, startupPolicy=order, suspend=True)
    bench.wait_for("Suspended")
    bench.wait(lambda: len(bench.jobs()) == 2, "both are there")
    bench.change(suspend=False)
    bench.wait_for("Suspended", "False")
    bench.wait_for("StartupPolicyCompleted")
    gate.touch()
    bench.wait_for("Completed")


def what_does_not_change_is_not_written(bench: Bench) -> None:
    """Applying the same again leaves the generation as it is, for all defaults."""
    made: Document = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": bench.name},
        "spec": {
            "suspend": True,
            "replicatedJobs": [group("a", "true", pod={"restartPolicy": None})],
        },
    }
    pod = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    del pod["restartPolicy"]
    pod["containers"][0]["ports"] = [{"containerPort": 29500}]
    first = bench.api.apply(JOBSETS, made, "trainer", force="true")
    assert first.code == 201, first.message
    bench.wait_for("Suspended")
    again = bench.api.apply(JOBSETS, made, "trainer", force="true")
    assert again.code == 200, again.message
    assert again.body["metadata"]["generation"] == first.body["metadata"]["generation"] == 1
