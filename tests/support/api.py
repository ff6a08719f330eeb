"""A plain HTTP client of a Kubernetes API for tests: what is sent and what comes back, no magic.

urllib3 only, so that the sandbox and a real API server are held to the same bytes.
"""

import base64
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
import yaml

from tests.support.waiting import pause

WAIT_SECONDS: Final = 60.0
"""Limit of every wait in these tests."""
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

RAYJOBS: Final = "ray.io/v1/rayjobs"
CONFIGMAPS: Final = "v1/configmaps"
PODS: Final = "v1/pods"
JOBS: Final = "batch/v1/jobs"
SERVICES: Final = "v1/services"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer."""

    code: int
    body: Any
    headers: Mapping[str, str]

    @property
    def reason(self) -> str:
        """Return the reason of a Status."""
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        """Return the message of a Status."""
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> dict[str, str]:
        """Return field -> reason of an Invalid status."""
        causes = self.body.get("details", {}).get("causes") or []
        return {cause.get("field", ""): cause.get("reason", "") for cause in causes}

    @property
    def revision(self) -> str:
        """Return the resourceVersion of an object or list."""
        return str(self.body["metadata"]["resourceVersion"])


@dataclass(slots=True)
class Api:
    """An API server, and a namespace of one's own in it."""

    url: str
    pool: urllib3.PoolManager
    namespace: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        **query: str,
    ) -> Reply:
        """Send one request and return the decoded answer; no retries."""
        headers = self.headers | {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        answer = self.pool.request(
            method,
            self._address(path, query),
            body=None if body is None else json.dumps(body).encode(),
            headers=headers,
            retries=False,
            timeout=WAIT_SECONDS,
        )
        text = answer.data
        is_json = "json" in answer.headers.get("content-type", "")
        return Reply(answer.status, json.loads(text) if is_json else text.decode(), answer.headers)

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """Return the path of a resource (`group/version/plural`) in this test's namespace."""
        group_version, _, plural = resource.rpartition("/")
        root = "/apis" if "/" in group_version else "/api"
        steps = [f"{root}/{group_version}/namespaces/{self.namespace}/{plural}", name, subresource]
        return "/".join(filter(None, steps))

    def create(self, resource: str, document: object, **query: str) -> Reply:
        """POST an object to its collection."""
        return self.request("POST", self.path(resource), document, **query)

    def get(self, resource: str, name: str, **query: str) -> Reply:
        """GET an object."""
        return self.request("GET", self.path(resource, name), **query)

    def list(self, resource: str, **query: str) -> Reply:
        """GET a collection."""
        return self.request("GET", self.path(resource), **query)

    def put(self, resource: str, document: Any, subresource: str = "", **query: str) -> Reply:  # noqa: ANN401 an object of any kind
        """PUT an object in the place of the one of its name."""
        name = document["metadata"]["name"]
        return self.request("PUT", self.path(resource, name, subresource), document, **query)

    def merge(self, resource: str, name: str, patch: object, subresource: str = "") -> Reply:
        """Merge-patch an object."""
        path = self.path(resource, name, subresource)
        return self.request("PATCH", path, patch, content_type=MERGE)

    def apply(self, resource: str, document: Any, manager: str, **query: str) -> Reply:  # noqa: ANN401 an object of any kind
        """Server-side apply; the subresource, if any, is `subresource=`."""
        path = self.path(resource, document["metadata"]["name"], query.pop("subresource", ""))
        return self.request(
            "PATCH", path, document, content_type=APPLY, fieldManager=manager, **query
        )

    def delete(self, resource: str, name: str, body: object = None, **query: str) -> Reply:
        """DELETE an object."""
        return self.request("DELETE", self.path(resource, name), body, **query)

    @contextmanager
    def watch(
        self, resource: str, *, accept: str = "application/json", **query: str
    ) -> Iterator[Iterator[Any]]:
        """Open a watch; yields an iterator over its decoded lines, which ends with the watch."""
        answer = self.pool.request(
            "GET",
            self._address(self.path(resource), {"watch": "true"} | query),
            headers=self.headers | {"Accept": accept},
            preload_content=False,
            retries=False,
            timeout=WAIT_SECONDS,
        )
        try:
            yield _lines(answer)
        finally:
            answer.close()
            answer.release_conn()

    def _address(self, path: str, query: Mapping[str, str]) -> str:
        return f"{self.url}{path}?{urlencode(query)}" if query else f"{self.url}{path}"


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[Any]:
    text = b""
    for piece in answer.stream(65536):
        text += piece
        *whole, text = text.split(b"\n")
        yield from (json.loads(line) for line in whole if line)


def take(events: Iterator[Any], count: int) -> list[tuple[str, str]]:
    """Return type and name of the next events of a watch."""
    found = (next(events) for _ in range(count))
    return [(event["type"], event["object"]["metadata"]["name"]) for event in found]


def eventually(condition: Callable[[], Any], what: str) -> Any:  # noqa: ANN401 whatever the condition returns
    """Return the first true answer of a condition, asked until `WAIT_SECONDS` have passed."""
    begun = time.monotonic()
    while (waited := time.monotonic() - begun) < WAIT_SECONDS:
        found = condition()
        if found:
            return found
        pause(waited)
    raise AssertionError(f"not within {WAIT_SECONDS} s: {what}")


def api_at(url: str) -> Api:
    """Return a client of a server that wants no credentials."""
    return Api(url, urllib3.PoolManager(maxsize=10))


def api_of_kubeconfig(path: Path) -> Api:
    """Return a client of the current context of a kubeconfig (token or client certificate)."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    name = config["current-context"]
    context = next(c["context"] for c in config["contexts"] if c["name"] == name)
    cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
    user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
    options: dict[str, Any] = {"maxsize": 10}
    for key, source, files in (
        ("ca_certs", cluster, "certificate-authority"),
        ("cert_file", user, "client-certificate"),
        ("key_file", user, "client-key"),
    ):
        found = _file(source, files)
        if found:
            options[key] = found
    if cluster.get("insecure-skip-tls-verify"):
        options["cert_reqs"] = "CERT_NONE"
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    headers = {"Authorization": f"Bearer {user['token']}"} if user.get("token") else {}
    return Api(cluster["server"].rstrip("/"), urllib3.PoolManager(**options), headers=headers)


def _file(source: Mapping[str, str], key: str) -> str:
    """Return the file a kubeconfig names, written out if it holds the data itself."""
    data = source.get(f"{key}-data")
    if not data:
        return source.get(key, "")
    with tempfile.NamedTemporaryFile(delete=False, suffix=".pem") as file:
        file.write(base64.b64decode(data))
        return file.name


ACTED_UPON: Final = (
    RAYJOBS,
    "trainer.kubeflow.org/v1alpha1/trainjobs",
    "jobset.x-k8s.io/v1alpha2/jobsets",
    "ray.io/v1/rayclusters",
    JOBS,
    PODS,
)
"""What controllers of the whole API server go on to work on."""


@contextmanager
def own_namespace(api: Api) -> Iterator[Api]:
    """Give a test a namespace of its own, and delete afterwards what others work on.

    The namespace stays, empty or not, as long as the API server. To delete one costs a real API
    server a quarter of a second of CPU: some two hundred requests, for each kind that there is.
    """
    name = f"contract-{uuid.uuid4().hex[:10]}"
    reply = api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert reply.code == 201, reply
    mine = Api(api.url, api.pool, name, api.headers)
    try:
        yield mine
    finally:
        for resource in ACTED_UPON:
            mine.request("DELETE", mine.path(resource), {"propagationPolicy": "Background"})


def rayjob(name: str, **spec: object) -> dict[str, Any]:
    """Return a small valid RayJob."""
    container = {"name": "head", "image": "ray:2"}
    cluster = {"headGroupSpec": {"template": {"spec": {"containers": [container]}}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {"entrypoint": "python work.py", "rayClusterSpec": cluster} | spec,
    }


def configmap(name: str, **metadata: object) -> dict[str, Any]:
    """Return a ConfigMap with one key."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name} | metadata,
        "data": {"key": "value"},
    }


def owner(reply: Reply, **more: object) -> dict[str, Any]:
    """Return the ownerReference to an object."""
    body = reply.body
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": body["metadata"]["name"],
        "uid": body["metadata"]["uid"],
    } | more
