"""Verifies the certificates of servers as kubectl, and any program in Go, does.

From Python 3.13 on urllib3 asks for every extension of RFC 5280 (`VERIFY_X509_STRICT`). Authorities
of clusters lack some of them, those that EKS makes among them, which kubectl takes; Python would
reach none of these API servers. Source: kubernetes-client/python issue 2394.
"""

import ssl
from typing import TypeVar

from urllib3 import HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPSConnection
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs

Manager = TypeVar("Manager", bound=PoolManager)


class _Connection(HTTPSConnection):
    """Takes whatever is trusted for an end of the chain, and no extension for necessary."""

    def connect(self) -> None:
        self.ssl_context = create_urllib3_context(
            cert_reqs=resolve_cert_reqs(self.cert_reqs), verify_flags=ssl.VERIFY_X509_PARTIAL_CHAIN
        )
        if not (self.ca_certs or self.ca_cert_dir or self.ca_cert_data):
            self.ssl_context.load_default_certs()
        super().connect()


def verifying_as_go_does(manager: Manager) -> Manager:
    """Return the pools of connections, of which those to come verify certificates as Go does."""
    pool = manager.pool_classes_by_scheme["https"]  # through a proxy, where the manager has one
    assert issubclass(pool, HTTPSConnectionPool), "it is that of https"
    connection = type("Connection", (_Connection, pool.ConnectionCls), {})
    verifying = type("Pool", (pool,), {"ConnectionCls": connection})
    manager.pool_classes_by_scheme = {**manager.pool_classes_by_scheme, "https": verifying}
    return manager
