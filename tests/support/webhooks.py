"""Upstream's webhook configurations, with an address of this machine in place of a Service."""

import base64
from pathlib import Path
from typing import Any

import yaml

from tests.support.api import Api

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
Document = dict[str, Any]


def put_webhooks(api: Api, file: Path, prefix: str, url: str, certificate: bytes) -> None:
    """Have the API server ask the webhooks of a file at an address.

    Args:
        api: an administrator's client.
        file: upstream's configurations.
        prefix: goes before their names, which upstream's deployments change too.
        url: `https://127.0.0.1:PORT`.
        certificate: what the webhook server shows, in PEM.
    """
    for document in webhooks(file, prefix, url, certificate):
        put(api, document)


def webhooks(file: Path, prefix: str, url: str, certificate: bytes) -> list[Document]:
    """Return the configurations of a file with an address in place of each Service."""
    bundle = base64.b64encode(certificate).decode()
    documents = [one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]
    for document in documents:
        document["metadata"]["name"] = f"{prefix}-{document['metadata']['name']}"
        for webhook in document["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": bundle}
    return documents


def put(api: Api, document: Document) -> None:
    """Create a configuration, or put it in the place of an earlier one."""
    path = f"{ADMISSION}/{document['kind'].lower()}s"
    reply = api.request("POST", path, document)
    if reply.code == 409:  # Conflict
        one = f"{path}/{document['metadata']['name']}"
        document["metadata"]["resourceVersion"] = api.request("GET", one).revision
        reply = api.request("PUT", one, document)
    assert reply.code in (200, 201), reply.message
