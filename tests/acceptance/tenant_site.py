"""A namespace of a real API server with a tenant who may create jobs there and look at them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.acceptance.real_site import leave_nothing
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import RUNTIMES
from tests.support.api import Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

Document = dict[str, Any]

RUNTIME: Document = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "metadata": {"name": "plain", "labels": {"trainer.kubeflow.org/framework": "plainml"}},
    "spec": {
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {
                                "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
                            },
                            "spec": {
                                "template": {
                                    "spec": {"containers": [{"name": "node", "image": "python"}]}
                                }
                            },
                        },
                    }
                ]
            }
        }
    },
}


@contextmanager
def tenant_site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """Give a namespace without a node, in which the runtime `plain` is."""
    admin, user = api_server.api(), api_server.api("user")
    with own_namespace(admin) as api:
        assert api.create(RUNTIMES, RUNTIME).code == 201  # Created
        try:
            yield Site(
                api=Api(user.url, user.pool, api.namespace, user.headers),
                terminal=terminal.with_environment(
                    DATABASE_URL=ledger_url,
                    JOBLEDGER_DATA_DIR=str(terminal.directory / "data"),
                    KUBECONFIG=str(api_server.kubeconfig("controller")),
                    JOBLEDGER_NAMESPACES=json.dumps([api.namespace]),
                ),
                database_url=ledger_url,
                proxy_url="",
            )
        finally:
            leave_nothing(api)
    for client in (admin, user):
        client.pool.clear()
