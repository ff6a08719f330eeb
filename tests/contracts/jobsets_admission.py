"""What is filled in and refused when a JobSet is created or changed."""

from tests.support.api import Reply
from tests.support.jobsets import JOBSETS, Bench, group, jobset, waiting_for

DENIED = 'admission webhook "vjobset.kb.io" denied the request: '


def defaults_are_filled_in(bench: Bench) -> None:
    """Those of the definition and those of the webhook."""
    made = group("a", "true")
    del made["template"]["spec"]["template"]["spec"]["restartPolicy"], made["replicas"]
    rules = [{"name": "", "action": "FailJobSet"}]
    bench.start(made, suspend=True, failurePolicy={"rules": rules})
    spec = bench.jobset()["spec"]
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["startupPolicy"] == {"startupPolicyOrder": "AnyOrder"}
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert spec["failurePolicy"]["restartStrategy"] == "Recreate"
    assert spec["failurePolicy"]["rules"][0]["name"] == "failurePolicyRule0"
    (only,) = spec["replicatedJobs"]
    assert (only["replicas"], only["groupName"]) == (1, "default")
    assert only["template"]["spec"]["completionMode"] == "Indexed"
    assert only["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def a_running_template_may_not_change(bench: Bench) -> None:
    """Nor may that of a JobSet that is resumed, but for what a queue changes."""
    bench.start(group("a", *waiting_for(bench.file("gate"))))
    groups = bench.jobset()["spec"]["replicatedJobs"]
    pod = groups[0]["template"]["spec"]["template"]
    pod["metadata"] = {"labels": {"x": "y"}}
    _assert_immutable(bench.change(replicatedJobs=groups), bench.name)
    bench.file("gate").touch()
    bench.wait_for("Completed")


def a_suspended_template_may_change_in_part(bench: Bench) -> None:
    """Labels, annotations, node selector, tolerations and gates; not the image."""
    bench.start(group("a", "true"), suspend=True)
    groups = bench.jobset()["spec"]["replicatedJobs"]
    pod = groups[0]["template"]["spec"]["template"]
    pod["metadata"] = {"labels": {"x": "y"}, "annotations": {"x": "y"}}
    pod["spec"]["nodeSelector"] = {"x": "y"}
    pod["spec"]["tolerations"] = [{"key": "x", "operator": "Exists"}]
    pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    reply = bench.change(replicatedJobs=groups)
    assert reply.code == 200, reply.message
    pod["spec"]["containers"][0]["image"] = "other"
    _assert_immutable(bench.change(replicatedJobs=groups), bench.name)


def _assert_immutable(reply: Reply, name: str) -> None:
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    head = f'{DENIED}JobSet.jobset.x-k8s.io "{name}" is invalid: spec.replicatedJobs: Invalid value'
    assert reply.message.startswith(head)
    assert reply.message.endswith("field is immutable")


def the_first_group_depends_on_nothing(bench: Bench) -> None:
    """The webhook says so."""
    needs = [{"name": "b", "status": "Ready"}]
    reply = bench.create(group("a", "true", dependsOn=needs), group("b", "true"))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    assert reply.message.startswith(DENIED)
    assert "DependsOn can't be set for the first ReplicatedJob" in reply.message


def a_group_depends_on_earlier_ones_only(bench: Bench) -> None:
    """Any other name is refused."""
    needs = [{"name": "c", "status": "Ready"}]
    reply = bench.create(group("a", "true"), group("b", "true", dependsOn=needs))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    assert "replicatedJob: b cannot depend on replicatedJob: c" in reply.message


def policies_name_groups_that_are_there(bench: Bench) -> None:
    """Success policy and failure policy."""
    nobody = {"targetReplicatedJobs": ["nobody"]}
    reply = bench.create(group("a", "true"), successPolicy={"operator": "All", **nobody})
    assert reply.code == 422
    said = "invalid replicatedJob name 'nobody' does not appear in .spec.ReplicatedJobs"
    assert said in reply.message
    rule = {"name": "r", "action": "FailJobSet", "onJobFailureReasons": ["Odd"], **nobody}
    reply = bench.create(group("a", "true"), failurePolicy={"rules": [rule]})
    assert reply.code == 422
    assert "'nobody' in failure policy does not appear in" in reply.message
    assert "invalid job failure reason 'Odd' in failure policy is not a recognized" in reply.message


def names_of_jobs_and_pods_are_limited(bench: Bench) -> None:
    """A JobSet's name that is short enough for itself may be too long for its Jobs."""
    name = "n" * 60
    reply = bench.api.create(JOBSETS, jobset(name, group("group", "true")))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    said = "JobSet name is too long, job names generated for this JobSet will exceed 63 characters"
    assert said in reply.message


def order_and_dependencies_exclude_each_other(bench: Bench) -> None:
    """A rule of the definition."""
    needs = [{"name": "a", "status": "Ready"}]
    reply = bench.create(
        group("a", "true"),
        group("b", "true", dependsOn=needs),
        startupPolicy={"startupPolicyOrder": "InOrder"},
    )
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    assert "StartupPolicy and DependsOn APIs are mutually exclusive" in reply.message


def policies_may_not_change(bench: Bench) -> None:
    """Rules of the definition."""
    bench.start(group("a", "true"), suspend=True, failurePolicy={"maxRestarts": 1})
    reply = bench.change(failurePolicy={"maxRestarts": 2})
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    assert "Value is immutable" in reply.message
