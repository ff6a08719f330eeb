"""Chooses the API server and the account: an address, a kubeconfig, or the Pod's own.

In this order, as controller-runtime looks for it: an address given outright, a kubeconfig given
outright, `$KUBECONFIG`, the service account of the pod we run in, `~/.kube/config`. Bearer tokens,
token files, client certificates, exec plug-ins, `proxy-url` and TLS names are the official
client's business; in-cluster tokens are read anew every minute by it.

The standard variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` count, and as in Go
(so as with kubectl) they never lead away from the loopback.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, load_kube_config
from kubernetes.config.incluster_config import InClusterConfigLoader
from yaml import YAMLError

from jobledger.adapters.kube.transport import (
    CONNECT_TIMEOUT_SECONDS,
    CREDENTIALS_SECONDS,
    READ_TIMEOUT_SECONDS,
    Transport,
)
from jobledger.core.errors import NoWayToCluster

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts a pod's token and the cluster's certificate authority."""

DEFAULT_KUBECONFIG = "~/.kube/config"

_LOOPBACK = "localhost,127.0.0.0/8,::1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """What is said about the API server; nothing said means: find out."""

    host: str = ""
    """An address outright, such as `http://127.0.0.1:8001`."""
    token: str = ""
    """A bearer token, for `host`."""
    ca_file: Path | None = None
    """Certificate authorities in PEM, for `host`; without it the system's."""
    client_certificate: tuple[Path, Path] | None = None
    """Certificate and key in PEM, for `host`."""
    kubeconfig: str = ""
    """One or more files, separated as in `$KUBECONFIG`."""
    context: str = ""
    """Context of the kubeconfig; without it the current one."""
    service_account: Path = SERVICE_ACCOUNT
    connections: int = 32
    """Connections kept open: one for each thread that asks, and one for each watch."""
    connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS
    read_timeout_seconds: float = READ_TIMEOUT_SECONDS
    credentials_seconds: float = CREDENTIALS_SECONDS
    """How long a token is used before its file or plug-in is asked again."""
    user_agent: str = "jobledger"


def connect(settings: ConnectionSettings, environment: Mapping[str, str] = os.environ) -> Transport:
    """Return what sends requests to the API server; nothing is sent yet.

    Raises `NoWayToCluster` if no address or no usable credentials are found.
    """
    configuration = configure(settings, environment)
    if not configuration.verify_ssl:
        # Whoever wrote insecure-skip-tls-verify knows it; a warning per connection helps nobody.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    api = ApiClient(configuration)
    api.user_agent = settings.user_agent
    return Transport(
        api,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=settings.read_timeout_seconds,
        credentials_seconds=settings.credentials_seconds,
    )


def configure(
    settings: ConnectionSettings, environment: Mapping[str, str] = os.environ
) -> Configuration:
    """Return the client's configuration for the API server; raises as `connect`."""
    configuration = Configuration()
    configuration.retries = False  # else urllib3 sends GET, PUT and DELETE up to four times
    configuration.connection_pool_maxsize = settings.connections
    # A watch that an idle load balancer forgot is found out by the kernel, too.
    configuration.keep_alive = True
    try:
        _address(configuration, settings, environment)
    except (ConfigException, OSError, ValueError, YAMLError) as failure:
        problem = " ".join(str(failure).split())
        raise NoWayToCluster(f"no way to an API server: {problem}") from failure
    except (AttributeError, KeyError, TypeError) as failure:
        # What the client stumbles on in a kubeconfig that is YAML and no kubeconfig.
        raise NoWayToCluster("no way to an API server: the kubeconfig is not one") from failure
    configuration.no_proxy = _exempt_from_proxy(configuration)
    return configuration


def _exempt_from_proxy(configuration: Configuration) -> str:
    """Return the hosts that are reached directly: none where a kubeconfig names the proxy."""
    variables = getproxies()
    scheme = urlsplit(configuration.host).scheme
    if configuration.proxy != (variables.get(scheme) or variables.get("all")):
        return ""
    return ",".join(filter(None, (variables.get("no"), _LOOPBACK)))


def _address(
    configuration: Configuration, settings: ConnectionSettings, environment: Mapping[str, str]
) -> None:
    """Fill in host, credentials and TLS from the first source there is."""
    account = settings.service_account
    kubeconfig = settings.kubeconfig or environment.get("KUBECONFIG", "")
    if settings.host:
        _outright(configuration, settings)
    elif not kubeconfig and (account / "token").is_file():
        loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]  # none in the client
            token_filename=str(account / "token"),
            cert_filename=str(account / "ca.crt"),
            environ=environment,
        )
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # none in the client
    else:
        load_kube_config(  # type: ignore[no-untyped-call]  # none in the client
            config_file=kubeconfig or DEFAULT_KUBECONFIG,
            context=settings.context or None,
            client_configuration=configuration,
        )


def _outright(configuration: Configuration, settings: ConnectionSettings) -> None:
    configuration.host = settings.host.rstrip("/")
    if settings.token:
        configuration.api_key["BearerToken"] = f"Bearer {settings.token}"
    if settings.ca_file is not None:
        configuration.ssl_ca_cert = str(settings.ca_file)
    if settings.client_certificate is not None:
        certificate, key = settings.client_certificate
        configuration.cert_file, configuration.key_file = str(certificate), str(key)
