"""What a container finds: environment, volumes, its own path, rewritten mount paths."""

import base64
import sys

from jobledger.core.ports.cluster import CONFIGMAPS, PODS, SECRETS
from jobledger.sandbox.ray.paths import with_places
from tests.adapters.sandbox_data_plane.world import World, pod, shell
from tests.support.waiting import wait_until


def _config(world: World) -> None:
    metadata = {"name": "config", "namespace": "default"}
    world.create(CONFIGMAPS, {"metadata": metadata, "data": {"a": "1", "b.py": "print('from b')"}})
    secret = {"password": base64.b64encode(b"hunter2").decode()}
    world.create(SECRETS, {"metadata": metadata, "data": secret})


def test_the_environment_comes_from_every_source(world: World) -> None:
    _config(world)
    env = [
        {"name": "PLAIN", "value": "x"},
        {"name": "TWICE", "value": "$(PLAIN)$(PLAIN) $$(PLAIN) $(NOBODY)"},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['team']"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "config", "key": "a"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "config", "key": "password"}}},
        {
            "name": "NONE",
            "valueFrom": {"secretKeyRef": {"name": "no", "key": "no", "optional": True}},
        },
    ]
    script = (
        'echo "$PLAIN|$TWICE|$NAME|$TEAM|$A|$SECRET|${NONE-unset}|$P_a"; test "$IP" = "$POD_IP"'
    )
    envs = [{"prefix": "P_", "configMapRef": {"name": "config"}}]
    document = pod("p", shell(script, env=env, envFrom=envs))
    document["metadata"]["labels"] = {"team": "blue"}
    world.create(PODS, document)
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "x|xx $(PLAIN) $(NOBODY)|p|blue|1|hunter2|unset|1\n"


def test_the_agents_own_environment_is_not_handed_on(world: World) -> None:
    world.create(PODS, pod("p", shell("env")))
    world.wait_for_phase("p", "Succeeded")
    names = {line.partition("=")[0] for line in world.log("p").splitlines()}
    assert "PYTEST_CURRENT_TEST" not in names
    assert {"http_proxy", "HTTP_PROXY", "NO_PROXY", "POD_IP", "JOBLEDGER_SANDBOX_ROOT"} <= names


def test_python_is_the_running_interpreter_and_ray_is_there(world: World) -> None:
    script = "python -c 'import sys; print(sys.prefix)'; python3 -c 'print(2)'; ray --version"
    world.create(PODS, pod("p", shell(script)))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == f"{sys.prefix}\n2\nray, version 2.60.0\n"


def test_a_mounted_config_map_is_found_at_its_mount_path(world: World) -> None:
    _config(world)
    volumes = [
        {
            "name": "code",
            "configMap": {"name": "config", "items": [{"key": "b.py", "path": "d/b.py"}]},
        },
        {"name": "keys", "secret": {"secretName": "config"}},
        {"name": "scratch", "emptyDir": {}},
        {
            "name": "me",
            "downwardAPI": {
                "items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
            },
        },
    ]
    mounts = [
        {"name": "code", "mountPath": "/home/ray/samples"},
        {"name": "keys", "mountPath": "/keys"},
        {"name": "scratch", "mountPath": "/scratch"},
        {"name": "me", "mountPath": "/etc/podinfo"},
    ]
    script = (
        "python /home/ray/samples/d/b.py; cat /keys/password; echo; echo kept > /scratch/f;"
        " cat /scratch/f $HERE/name"
    )
    env = [{"name": "HERE", "value": "/etc/podinfo"}]
    world.create(PODS, pod("p", shell(script, volumeMounts=mounts, env=env), volumes=volumes))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "from b\nhunter2\nkept\np"


def test_a_pod_waits_for_a_config_map_that_comes_later(world: World) -> None:
    volumes = [{"name": "code", "configMap": {"name": "config"}}]
    mounts = [{"name": "code", "mountPath": "/code"}]
    world.create(PODS, pod("p", shell("cat /code/a", volumeMounts=mounts), volumes=volumes))
    wait_until(
        lambda: (
            "not found"
            in world.container("p").get("state", {}).get("waiting", {}).get("message", "")
        ),
        "the Pod says what it waits for",
    )
    _config(world)
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "1"


def test_nothing_is_written_outside_of_the_pods_directory(world: World) -> None:
    metadata = {"name": "config", "namespace": "default"}
    world.create(CONFIGMAPS, {"metadata": metadata, "data": {"../../escaped": "x", "ok": "y"}})
    volumes = [{"name": "v", "configMap": {"name": "config"}}]
    mounts = [{"name": "v", "mountPath": "/v"}]
    world.create(PODS, pod("p", shell("ls /v", volumeMounts=mounts), volumes=volumes))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "ok\n"
    assert not list(world.work_dir.rglob("escaped"))


def test_a_mount_path_is_rewritten_only_where_it_is_a_path() -> None:
    mounts = {"/data": "/box/data", "/data/deep": "/box/deep"}
    assert with_places("cat /data/x '/data' /data/deep/y", mounts) == (
        "cat /box/data/x '/box/data' /box/deep/y"
    )
    assert with_places("/database /my/data /data.bak x/data", mounts) == (
        "/database /my/data /data.bak x/data"
    )
