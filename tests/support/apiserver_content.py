"""What a real API server is given before any test: users with their roles, and the definitions.

The definitions are upstream's, as a RayJob that only our own definitions accept proves nothing;
with `JOBLEDGER_TEST_CRDS=own` they are those of `ops/crds`.
"""

import os
from pathlib import Path
from typing import Any

import yaml

from tests.support.api import Api, api_of_kubeconfig
from tests.support.upstream_data import CRDS
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
OWN_CRDS = ROOT / "ops" / "crds"
OTHERS = Path(__file__).with_name("definitions")
"""Definitions of schedulers, whose objects Jobledger makes and does not bring the kinds of."""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"

DISCOVERY_SECONDS = 120.0
"""Limit until the kinds are served: a busy machine takes its time for so many large schemas."""

USERS = {
    "admin": "system:masters",
    "controller": "",
    "rayjobs-only": "",
    "both-kinds": "",
    "user": "",
    "read-only": "",
    "recorder": "",
}
"""Users and their groups.

`controller` may do what all parts of `ops/rbac.yaml` allow, `rayjobs-only` and `both-kinds` what
the parts for these kinds do; `recorder` what `ops/rbac-recorder.yaml` does.
"""

Document = dict[str, Any]


def definitions() -> list[Document]:
    """Return the definitions of RayJob and RayCluster to install."""
    return _definitions(_folder())


def training_definitions() -> list[Document]:
    """Return the definitions that TrainJobs need: their own, those of runtimes and of JobSets.

    PodGroups, of two groups, are not among upstream's data; theirs are ours in any case.
    """
    groups = _definitions(OWN_CRDS, "scheduling.x-k8s.io_*")
    groups += volcano_definitions()
    return [*_definitions(_folder(), "trainer.*"), *_definitions(_folder(), "jobset.x-*"), *groups]


def volcano_definitions() -> list[Document]:
    """Return the definition of Volcano's PodGroups."""
    return _definitions(OTHERS, "scheduling.volcano.sh_*")


def _folder() -> Path:
    return OWN_CRDS if os.environ.get("JOBLEDGER_TEST_CRDS") == "own" else CRDS


def own_definitions() -> list[Document]:
    """Return the definitions that Jobledger brings."""
    return _definitions(OWN_CRDS, "*")


def _definitions(folder: Path, files: str = "ray.io_ray*") -> list[Document]:
    return [parsed(path.read_text())[0] for path in sorted(folder.glob(f"{files}.yaml"))]


def parsed(text: str) -> list[Document]:
    # the C parser: upstream's definitions are 2 MB
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text, loader) if document]


def install(kubeconfig: Path) -> None:
    """Install what RayJobs need, as an administrator; return once the kinds are served."""
    _install(kubeconfig, definitions(), {"rayjobs", "rayclusters"})


def install_with_volcano(kubeconfig: Path) -> None:
    """Install what RayJobs need where Volcano places their Pods."""
    wanted = [*definitions(), *volcano_definitions()]
    _install(kubeconfig, wanted, {"rayjobs", "rayclusters", "podgroups"})


def install_everything(kubeconfig: Path) -> None:
    """Install what RayJobs and TrainJobs need; return once the kinds are served."""
    kinds = {"rayjobs", "rayclusters", "trainjobs", "trainingruntimes", "jobsets", "podgroups"}
    _install(kubeconfig, [*definitions(), *training_definitions()], kinds)


def _install(kubeconfig: Path, wanted: list[Document], kinds: set[str]) -> None:
    api = api_of_kubeconfig(kubeconfig)
    for definition in wanted:
        _create(api, DEFINITIONS, definition)
    for file in ("rbac.yaml", "rbac-recorder.yaml"):
        for role in _roles_of(file):
            _create(api, f"{RBAC}/clusterroles", role)
    _create(api, f"{RBAC}/clusterroles", _user_role())
    _create(api, f"{RBAC}/clusterroles", _reader_role())
    for user, roles in _bound().items():
        for name in roles:
            _create(api, f"{RBAC}/clusterrolebindings", _binding(user, name))
    wait_until(
        lambda: kinds <= _discovered(api), "discovery tells of the definitions", DISCOVERY_SECONDS
    )
    api.pool.clear()


def _discovered(api: Api) -> set[str]:
    """Return the kinds that discovery names, in the form that the controller manager reads.

    It does so seconds after they are served; a controller manager that is started earlier looks
    again half a minute later, and collects no garbage of RayJobs until then.
    """
    form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = api.request("GET", "/apis", accept=form).body["items"]
    return {kind["resource"] for group in groups for kind in group["versions"][0]["resources"]}


def _create(api: Api, path: str, document: Document) -> None:
    reply = api.request("POST", path, document)
    assert reply.code in (201, 409), reply.message


def _bound() -> dict[str, list[str]]:
    """Return what each user may do: the names of ClusterRoles."""
    return {
        "controller": [role["metadata"]["name"] for role in _roles_of("rbac.yaml")],
        "rayjobs-only": ["jobledger"],
        "both-kinds": ["jobledger", "jobledger-trainjobs"],
        "recorder": [role["metadata"]["name"] for role in _roles_of("rbac-recorder.yaml")],
        "user": ["user"],
        "read-only": ["reader"],
    }


def _roles_of(file: str) -> list[Document]:
    documents = parsed((ROOT / "ops" / file).read_text())
    return [document for document in documents if document["kind"] == "ClusterRole"]


def _user_role() -> Document:
    """Return the role of somebody who submits jobs and looks at what becomes of them."""
    return _role(
        "user",
        {"apiGroups": ["ray.io"], "resources": ["rayjobs"], "verbs": ["*"]},
        {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainjobs"], "verbs": ["*"]},
        *_reader_role()["rules"],
    )


def _reader_role() -> Document:
    """Return the role of somebody who may look at everything that a job has, and no more."""
    verbs = ["get", "list", "watch"]
    return _role(
        "reader",
        {"apiGroups": ["ray.io"], "resources": ["rayjobs", "rayclusters"], "verbs": verbs},
        {"apiGroups": ["trainer.kubeflow.org"], "resources": ["*"], "verbs": verbs},
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": verbs},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["pods", "pods/log", "events"], "verbs": verbs},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": verbs},
    )


def _role(name: str, *rules: Document) -> Document:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**head, "metadata": {"name": name}, "rules": list(rules)}


def _binding(user: str, role: str) -> Document:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"tests-{user}-{role}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
