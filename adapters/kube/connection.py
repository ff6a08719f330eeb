"""Chooses the API server and the account: an address, a kubeconfig, or the Pod's own.

In this order, as controller-runtime looks for it: an address given outright, a kubeconfig given
outright, `$KUBECONFIG`, the service account of the pod we run in, `~/.kube/config`. Bearer tokens,
client certificates, `proxy-url` and TLS names are the official client's business; what is renewed,
token files and exec plug-ins, is that of `credentials` and `exec_plugin`.

The standard variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` count, and as in Go
(so as with kubectl) they never lead away from the loopback.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger
from yaml import YAMLError

from jobledger.adapters.http_client.certificate_verification import verifying_as_go_does
from jobledger.adapters.kube.credentials import (
    Credentials,
    LastingCredentials,
    TokenFile,
    check_token,
)
from jobledger.adapters.kube.exec_plugin import LIMIT_SECONDS, ExecPlugin
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
    plugin_seconds: float = LIMIT_SECONDS
    """How long a plug-in of the kubeconfig may take."""
    user_agent: str = "jobledger"


def connect(settings: ConnectionSettings, environment: Mapping[str, str] = os.environ) -> Transport:
    """Return what sends requests to the API server; nothing is sent yet.

    Raises `NoWayToCluster` if no address or no usable credentials are found.
    """
    configuration, credentials = _configured(settings, environment)
    if not configuration.verify_ssl:
        # Whoever wrote insecure-skip-tls-verify knows it; a warning per connection helps nobody.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    api = ApiClient(configuration)
    verifying_as_go_does(api.rest_client.pool_manager)
    api.user_agent = settings.user_agent
    return Transport(
        api,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=settings.read_timeout_seconds,
        credentials_seconds=settings.credentials_seconds,
        credentials=credentials,
    )


def configure(
    settings: ConnectionSettings, environment: Mapping[str, str] = os.environ
) -> Configuration:
    """Return the client's configuration for the API server; raises as `connect`."""
    return _configured(settings, environment)[0]


def _configured(
    settings: ConnectionSettings, environment: Mapping[str, str]
) -> tuple[Configuration, Credentials]:
    configuration = Configuration()
    configuration.retries = False  # else urllib3 sends GET, PUT and DELETE up to four times
    configuration.connection_pool_maxsize = settings.connections
    # A watch that an idle load balancer forgot is found out by the kernel, too.
    configuration.keep_alive = True
    try:
        credentials = _address(configuration, settings, environment)
        credentials.renew(configuration)
        check_token(configuration)
        _check_address(configuration.host, "the API server's address")
        if configuration.proxy:
            _check_address(configuration.proxy, "the proxy's address")
    except (ConfigException, OSError, ValueError) as failure:
        problem = " ".join(_told(failure).split())
        raise NoWayToCluster(f"no way to an API server: {problem}") from failure
    except (AttributeError, KeyError, TypeError) as failure:
        # What the client stumbles on in a kubeconfig that is YAML and no kubeconfig.
        raise NoWayToCluster("no way to an API server: the kubeconfig is not one") from failure
    configuration.no_proxy = _exempt_from_proxy(configuration)
    return configuration, credentials


def _told(failure: Exception) -> str:
    if isinstance(failure, OSError) and failure.filename:
        return f"{failure.filename}: {failure.strerror}"
    return str(failure)


def _check_address(address: str, whose: str) -> None:
    """Raise `ValueError` for what nothing can be sent to; a proxy's may hold a password."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{whose} must look like https://host:port")


def _exempt_from_proxy(configuration: Configuration) -> str:
    """Return the hosts that are reached directly: none where a kubeconfig names the proxy."""
    variables = getproxies()
    scheme = urlsplit(configuration.host).scheme
    if configuration.proxy != (variables.get(scheme) or variables.get("all")):
        return ""
    return ",".join(filter(None, (variables.get("no"), _LOOPBACK)))


def _address(
    configuration: Configuration, settings: ConnectionSettings, environment: Mapping[str, str]
) -> Credentials:
    """Fill in host and TLS from the first source there is; return its credentials."""
    account = settings.service_account
    kubeconfig = settings.kubeconfig or environment.get("KUBECONFIG", "")
    if settings.host:
        _outright(configuration, settings)
        return LastingCredentials()
    if not kubeconfig and (account / "token").is_file():
        loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]  # none in the client
            token_filename=str(account / "token"),
            cert_filename=str(account / "ca.crt"),
            environ=environment,
            try_refresh_token=False,
        )
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # none in the client
        return TokenFile(account / "token")
    return _from_kubeconfig(configuration, kubeconfig or DEFAULT_KUBECONFIG, settings)


def _from_kubeconfig(
    configuration: Configuration, files: str, settings: ConnectionSettings
) -> Credentials:
    """Fill in what a kubeconfig says, but for the credentials that are renewed."""
    for file in filter(None, files.split(os.pathsep)):
        _look_at(file)
    try:
        merged = KubeConfigMerger(files).config  # type: ignore[no-untyped-call]  # none in the client
    except YAMLError as error:
        raise ConfigException(f"the kubeconfig {files} is not YAML: {error}") from error
    except (ValueError, OverflowError, RecursionError) as error:
        what = "is no text, is nested too deeply, or has a date or a number that is none"
        raise ConfigException(f"the kubeconfig {files} {what}") from error
    if merged is None:
        raise ConfigException(f"there is no kubeconfig {files}")
    # No base path: files that it names are looked for beside it, as kubectl does.
    loader = KubeConfigLoader(merged, settings.context or None, config_base_path=None)  # type: ignore[no-untyped-call]
    credentials = _renewed(merged, loader, settings)
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # none in the client
    return credentials


def _look_at(file: str) -> None:
    """Raise `OSError` for a file that this user cannot get to: the client takes it for absent.

    Of several it would go on with the others, to another cluster maybe.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(os.path.expanduser(file))  # noqa: PTH111, PTH116  # pathlib raises without a home


def _renewed(merged: Any, loader: Any, settings: ConnectionSettings) -> Credentials:  # noqa: ANN401  # no types in the client
    """Return the credentials of the user that are renewed, and take them out of the kubeconfig."""
    context = loader.current_context["context"]
    found = (
        merged["users"].get_with_name(context.get("user"), safe=True) if "users" in merged else None
    )
    if found is None or not isinstance(user := found.value.get("user"), dict):
        return LastingCredentials()
    folder = Path(found.path).absolute().parent
    if path := user.pop("tokenFile", None):
        user.pop("token", None)  # as in client-go the file counts
        user.pop("exec", None)
        return TokenFile(folder / path)
    if not user.get("token") and isinstance(plugin := user.pop("exec", None), dict):
        cluster = merged["clusters"].get_with_name(context["cluster"])["cluster"]
        node = ConfigNode("exec", plugin, found.path)  # type: ignore[no-untyped-call]
        provider = ExecProvider(node, str(folder), cluster)  # type: ignore[no-untyped-call]
        return ExecPlugin(provider, settings.plugin_seconds)
    return LastingCredentials()


def _outright(configuration: Configuration, settings: ConnectionSettings) -> None:
    configuration.host = settings.host.rstrip("/")
    if settings.token:
        configuration.api_key["BearerToken"] = f"Bearer {settings.token}"
    if settings.ca_file is not None:
        configuration.ssl_ca_cert = str(settings.ca_file)
    if settings.client_certificate is not None:
        certificate, key = settings.client_certificate
        configuration.cert_file, configuration.key_file = str(certificate), str(key)
