"""The submitter's script against a simulated cluster, as KubeRay writes it."""

from jobledger.core.ports.cluster import BATCH_JOBS, CONFIGMAPS, PODS, RAYCLUSTERS
from tests.adapters.sandbox_data_plane.world import (
    World,
    fetch,
    head_address,
    raycluster,
    submitter,
)
from tests.support.waiting import wait_until

HEALTHY = "/api/gcs_healthz"


def _pod_of(world: World, job: str) -> str:
    found = world.pods(f"job-name={job}")
    return str(found[0]["metadata"]["name"]) if found else ""


def test_the_submitter_runs_to_the_end_and_shows_the_log(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c", workers=0))
    world.wait_until_ready("c")
    options = r'--runtime-env-json "{\"env_vars\":{\"COUNTER\":\"seven\"}}"'
    entrypoint = "python -c 'import os; print(os.environ[\"COUNTER\"])'"
    world.create(BATCH_JOBS, submitter("j", head_address("c"), "job-1", entrypoint, options))
    world.wait_for_condition(BATCH_JOBS, "j", "Complete")
    log = world.log(_pod_of(world, "j"))
    assert "\nseven\n" in log
    assert "Job 'job-1' succeeded" in log


def test_the_submitter_succeeds_even_if_the_ray_job_fails(world: World) -> None:
    """`ray job logs --follow` ends with 0 whatever became of the job (KubeRay #3216)."""
    world.create(RAYCLUSTERS, raycluster("c", workers=0))
    world.wait_until_ready("c")
    world.create(BATCH_JOBS, submitter("j", head_address("c"), "job-1", "sh -c 'exit 3'"))
    world.wait_for_condition(BATCH_JOBS, "j", "Complete")
    assert "Job 'job-1' failed" in world.log(_pod_of(world, "j"))


def test_a_second_submitter_follows_the_job_of_the_first(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c", workers=0))
    world.wait_until_ready("c")
    for name in ("one", "two"):
        entrypoint = "sh -c 'echo ran'"
        world.create(BATCH_JOBS, submitter(name, head_address("c"), "job-1", entrypoint))
        world.wait_for_condition(BATCH_JOBS, name, "Complete")
        assert world.log(_pod_of(world, name)).count("ran\n") == 1
    assert "submitted" not in world.log(_pod_of(world, "two"))


def test_the_submitter_waits_for_a_head_that_comes_later(world: World) -> None:
    world.create(BATCH_JOBS, submitter("j", head_address("c"), "job-1", "true"))
    wait_until(lambda: bool(_pod_of(world, "j")), "the submitter has a Pod")
    world.wait_for_condition(PODS, _pod_of(world, "j"), "Ready")
    wait_until(lambda: "Waiting for Ray" in world.log(_pod_of(world, "j")), "it waits")
    world.create(RAYCLUSTERS, raycluster("c", workers=0))
    world.wait_for_condition(BATCH_JOBS, "j", "Complete")


def test_the_entrypoint_finds_what_is_mounted_in_the_head(world: World) -> None:
    metadata = {"name": "code", "namespace": "default"}
    world.create(CONFIGMAPS, {"metadata": metadata, "data": {"sample_code.py": "print('sample')"}})
    document = raycluster("c", workers=0)
    template = document["spec"]["headGroupSpec"]["template"]["spec"]
    template["volumes"] = [{"name": "v", "configMap": {"name": "code"}}]
    template["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/home/ray/samples"}]
    world.create(RAYCLUSTERS, document)
    world.wait_until_ready("c")
    entrypoint = "python /home/ray/samples/sample_code.py"
    world.create(BATCH_JOBS, submitter("j", head_address("c"), "job-1", entrypoint))
    world.wait_for_condition(BATCH_JOBS, "j", "Complete")
    assert "\nsample\n" in world.log(_pod_of(world, "j"))


def test_with_a_killed_head_its_job_api_and_its_jobs_are_gone(world: World) -> None:
    document = raycluster("c", workers=0)
    document["spec"]["headGroupSpec"]["template"]["spec"]["restartPolicy"] = "Never"
    document["metadata"]["annotations"] = {"ray.io/disable-provisioned-head-restart": "true"}
    world.create(RAYCLUSTERS, document)
    address = f"http://{world.wait_until_ready('c')['head']['podIP']}:8265"
    body = {"entrypoint": "sleep 600", "submission_id": "a"}
    assert fetch(f"{address}/api/jobs/", method="POST", body=body)[0] == 200
    world.plane.agent.kill_pod("default", world.pods()[0]["metadata"]["name"])
    wait_until(lambda: world.processes() == [], "head and entrypoint have gone")
    proxy = world.plane.proxy_url
    wait_until(lambda: fetch(head_address("c") + HEALTHY, proxy=proxy)[0] == 502, "nobody answers")


def test_a_sidecar_submitter_reaches_its_head_as_localhost(world: World) -> None:
    """Source: semantics/rayjob.md, section 4.4."""
    address = "http://127.0.0.1:8265"
    health = "import urllib.request as u; u.urlopen('http://localhost:8265/api/gcs_healthz')"
    script = (
        f'until python -c "{health}" >/dev/null 2>&1 ; do sleep 0.2 ; done ; '
        f"ray job submit --address {address} --submission-id job-1 -- sh -c 'echo ran; exit 1' ;"
    )
    document = raycluster("c", workers=0)
    template = document["spec"]["headGroupSpec"]["template"]["spec"]
    template["restartPolicy"] = "Never"
    template["containers"].append(
        {
            "name": "ray-job-submitter",
            "image": "x",
            "command": ["/bin/bash", "-ce", "--"],
            "args": [script],
        }
    )
    document["metadata"]["annotations"] = {"ray.io/disable-provisioned-head-restart": "true"}
    world.create(RAYCLUSTERS, document)
    wait_until(lambda: bool(world.pods()), "there is a head")
    name = world.pods()[0]["metadata"]["name"]
    wait_until(
        lambda: "terminated" in world.container(name, 1).get("state", {}), "the submitter has ended"
    )
    assert world.container(name, 1)["state"]["terminated"]["exitCode"] == 1
    assert "ran\n" in world.log(name, container="ray-job-submitter")
