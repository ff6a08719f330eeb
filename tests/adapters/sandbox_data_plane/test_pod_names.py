"""Which names Pods have, and how programs in Pods look them up."""

import json
from pathlib import Path

from jobledger.core.ports.cluster import PODS, SERVICES
from tests.adapters.sandbox_data_plane.world import Document, World, fetch, pod, shell
from tests.support.waiting import wait_until

FULL = "one.net.default.svc.cluster.local"

LOOKUP = """
import json, socket, sys
def found(name):
    try:
        return socket.gethostbyname(name)
    except OSError:
        return ""
print(json.dumps({name: found(name) for name in sys.argv[1:]}))
print(socket.gethostname())
"""

SERVER = """
import http.server
class Here(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"here")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("", 29500), Here).serve_forever()
"""


def _service(world: World, **spec: object) -> None:
    document = {
        "metadata": {"name": "net", "namespace": "default"},
        "spec": {"clusterIP": "None", "selector": {"app": "x"}, **spec},
    }
    world.create(SERVICES, document)


def _pod(world: World, name: str, container: Document, **spec: object) -> Document:
    document = pod(name, container, hostname=name, subdomain="net", **spec)
    document["metadata"]["labels"] = {"app": "x"}
    return world.create(PODS, document)


def _address(world: World, name: str) -> str:
    file: Path = world.work_dir / "names" / name
    try:
        return file.read_text().strip()
    except FileNotFoundError:  # it comes and goes with the Pod
        return ""


def test_a_pod_has_a_name_while_it_is_there(world: World) -> None:
    _service(world, publishNotReadyAddresses=True)
    _pod(world, "one", shell("sleep 600"))
    address = world.wait_for_condition(PODS, "one", "Ready")["podIP"]
    wait_until(lambda: _address(world, FULL) == address, "it has its name")
    assert _address(world, "net.default.svc.cluster.local") == address
    world.api.delete(PODS, "default", "one")
    wait_until(lambda: _address(world, FULL) == "", "the name has gone")
    world.api.delete(SERVICES, "default", "net")
    wait_until(lambda: list((world.work_dir / "names").iterdir()) == [], "nothing is left")


def test_a_name_comes_with_the_service_and_readiness(world: World) -> None:
    probe = {"exec": {"command": ["/bin/sh", "-c", "test -e $JOBLEDGER_SANDBOX_ROOT/ready"]}}
    _pod(world, "one", shell("sleep 600", readinessProbe={**probe, "periodSeconds": 1}))
    world.wait_for_phase("one", "Running")
    assert _address(world, FULL) == ""
    _service(world)
    uid = world.get(PODS, "one") or {}
    (world.work_dir / "pods" / uid["metadata"]["uid"] / "ready").touch()
    wait_until(lambda: _address(world, FULL) != "", "it is ready, and has its name")


def test_a_pod_that_a_service_does_not_select_has_no_name(world: World) -> None:
    _service(world, publishNotReadyAddresses=True, selector={"app": "y"})
    _pod(world, "one", shell("sleep 600"))
    world.wait_for_condition(PODS, "one", "Ready")
    assert _address(world, FULL) == ""


def test_python_programs_look_names_up_as_in_a_cluster(world: World) -> None:
    _service(world, publishNotReadyAddresses=True)
    _pod(world, "one", shell("sleep 600"))
    address = world.wait_for_condition(PODS, "one", "Ready")["podIP"]
    wait_until(lambda: _address(world, FULL) == address, "it has its name")
    names = [
        "one.net",
        "one.net.default.svc",
        FULL,
        f"{FULL}.",
        "two.net",
        "x.default.svc",
        "asker",
    ]
    asker = {"name": "main", "image": "x", "command": ["python", "-c", LOOKUP, *names]}
    _pod(world, "asker", asker)
    world.wait_for_phase("asker", "Succeeded")
    said, hostname = world.log("asker").splitlines()
    own = world.status(PODS, "asker")["podIP"]
    assert json.loads(said) == dict(zip(names, [address] * 4 + ["", "", own], strict=True)), (
        "the search list of the namespace, and the Pod's own name"
    )
    assert hostname == "asker"


def test_declared_ports_are_the_pods_own(world: World) -> None:
    """Two Pods listen at the same port of all addresses, and each asks localhost for its own."""
    _service(world, publishNotReadyAddresses=True)
    server = {"name": "main", "image": "x", "command": ["python", "-c", SERVER]}
    for name in ("one", "two"):
        probe = {"tcpSocket": {"port": 29500}}
        ports = [{"containerPort": 29500}]
        _pod(world, name, {**server, "ports": ports, "readinessProbe": probe})
    for name in ("one", "two"):
        address = world.wait_for_condition(PODS, name, "Ready")["podIP"]
        for url in (f"http://{name}.net:29500/", f"http://{address}:29500/"):
            assert fetch(url, proxy=world.plane.proxy_url) == (200, "here")
    script = "import socket; socket.create_connection(('localhost', 29500), 5)"
    asker = {
        "name": "main",
        "image": "x",
        "command": ["python", "-c", script],
        "ports": [{"containerPort": 29500}],
    }
    _pod(world, "asker", asker)
    world.wait_for_phase("asker", "Failed")


def test_a_programs_own_path_and_customization_are_kept(world: World) -> None:
    script = (
        'mkdir own; echo \'import os; os.environ["MARK"] = "kept"\' > own/sitecustomize.py; '
        "PYTHONPATH=$PYTHONPATH:$PWD/own python -c 'import os; print(os.environ[\"MARK\"])'"
    )
    container = shell(script)
    container["env"] = [{"name": "PYTHONPATH", "value": "/somewhere"}]
    world.create(PODS, pod("p", container))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "kept\n"


def test_a_claim_is_shared_by_the_pods_that_name_it(world: World) -> None:
    volume = {"name": "space", "persistentVolumeClaim": {"claimName": "claim"}}
    mount = [{"name": "space", "mountPath": "/space"}]
    world.create(PODS, pod("w", shell("echo x > /space/f", volumeMounts=mount), volumes=[volume]))
    world.wait_for_phase("w", "Succeeded")
    world.create(PODS, pod("r", shell("cat /space/f", volumeMounts=mount), volumes=[volume]))
    world.wait_for_phase("r", "Succeeded")
    assert world.log("r") == "x\n"


def test_a_program_that_wants_ray_is_told_where_there_is_one(world: World) -> None:
    _pod(world, "one", shell("python -c 'import ray'"), restartPolicy="Never")
    world.wait_for_phase("one", "Failed")
    *_, last = world.log("one").splitlines()
    assert last.startswith("ModuleNotFoundError: No module named 'ray' (the sandbox has no Ray")


def test_a_program_that_can_do_without_ray_is_told_nothing(world: World) -> None:
    asks = 'import importlib.util\nprint(importlib.util.find_spec("ray"))'
    _pod(world, "one", shell(f"python -c '{asks}'"), restartPolicy="Never")
    world.wait_for_phase("one", "Succeeded")
    assert world.log("one") == "None\n"
