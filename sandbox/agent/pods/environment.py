"""What a container's process is started with: environment, command and arguments."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.sandbox.agent import python_hook
from jobledger.sandbox.agent.pods.fields import field_text
from jobledger.sandbox.agent.pods.volumes import mounts_of, values_of
from jobledger.sandbox.ray.paths import MOUNTS_VARIABLE, with_places

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Searched after the toolbox; the agent's own environment is not handed on."""

NO_PROXY = "127.0.0.1,localhost,127.0.0.0/8"
"""Reached without the service proxy."""

PYTHON_HOOK = Path(python_hook.__file__).resolve().parent
"""First on the path of Python programs: it lets them look up names of Pods."""

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.-][\w.-]*)\)")


class ConfigMissing(Exception):
    """A ConfigMap, Secret or key that the environment needs is not there (yet)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSandbox:
    """What all containers of a Pod share, as the container runtime interface names it."""

    root: Path
    """The Pod's own directory."""
    ip: str
    toolbox: Path
    proxy_url: str
    """The service proxy; empty for none."""
    names: Path | None = None
    """The directory of the names that programs can look up (`sandbox.pod_names`)."""


def environment_of(
    cluster: Cluster, pod: Manifest, container: Json, around: PodSandbox
) -> dict[str, str]:
    """Return the environment of the container.

    Raises:
        ConfigMissing: something it refers to is not there and not optional.
    """
    mounts = mounts_of(container, around.root)
    found = _given(pod, container, around)
    namespace = text(pod, "metadata", "namespace")
    wanted: dict[str, str] = {}
    for source in items(container, "envFrom"):
        wanted.update(_all_of(cluster, namespace, source))
    for entry in items(container, "env"):
        name = text(entry, "name")
        value = _value(cluster, pod, entry, around.ip)
        if name and value is not None:
            wanted[name] = expanded(value, {**found, **wanted})
    rewrite = rewriting(pod, mounts, around.ip)
    found.update({name: rewrite(value) for name, value in wanted.items()})
    if "PATH" in wanted:
        found["PATH"] = f"{around.toolbox}:{wanted['PATH']}"
    if "PYTHONPATH" in wanted and around.names is not None:
        found["PYTHONPATH"] = f"{PYTHON_HOOK}:{wanted['PYTHONPATH']}"
    return found


def argv_of(
    pod: Manifest, container: Json, environment: Mapping[str, str], around: PodSandbox
) -> list[str]:
    """Return command and arguments, expanded and rewritten; empty if the container names none."""
    rewrite = rewriting(pod, mounts_of(container, around.root), around.ip)
    words = [*items(container, "command"), *items(container, "args")]
    return [rewrite(expanded(str(word), environment)) for word in words]


def rewriting(pod: Manifest, mounts: dict[str, str], ip: str) -> Callable[[str], str]:
    """Return what replaces mount paths and the Pod's own `localhost` ports in a text."""
    known = "|".join(_declared_ports(pod))
    own = re.compile(rf"(?<![\w.])(?:localhost|127\.0\.0\.1):({known})(?!\d)") if known else None

    def rewrite(value: str) -> str:
        value = with_places(value, mounts)
        return own.sub(rf"{ip}:\1", value) if own is not None else value

    return rewrite


def _declared_ports(pod: Manifest) -> list[str]:
    """Return the ports that are the Pod's own on `localhost`."""
    ports = {
        str(number(port, "containerPort") or "")
        for container in items(pod, "spec", "containers")
        for port in items(container, "ports")
    }
    if text(pod, "metadata", "labels", "ray.io/node-type") == "head":
        ports.add("8265")
    return sorted(port for port in ports if port)


def expanded(value: str, environment: Mapping[str, str]) -> str:
    """Return `value` with `$(NAME)` replaced; `$$` stands for `$`, unknown names stay.

    Source: Kubernetes, core/v1 Container.command and EnvVar.value.
    """

    def replacement(found: re.Match[str]) -> str:
        if found.group(0) == "$$":
            return "$"
        return environment.get(found.group(1), found.group(0))

    return _REFERENCE.sub(replacement, value)


def _given(pod: Manifest, container: Json, around: PodSandbox) -> dict[str, str]:
    temporary = around.root / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    found = {
        "PATH": f"{around.toolbox}:{os.environ.get('PATH') or SYSTEM_PATH}",
        "HOME": str(around.root),
        "HOSTNAME": text(pod, "spec", "hostname") or text(pod, "metadata", "name"),
        "LANG": "C.UTF-8",
        "TMPDIR": str(temporary),
        "POD_IP": around.ip,
        "JOBLEDGER_SANDBOX_ROOT": str(around.root),
        MOUNTS_VARIABLE: json.dumps(mounts_of(container, around.root)),
    }
    if around.proxy_url:
        found.update({"http_proxy": around.proxy_url, "HTTP_PROXY": around.proxy_url})
        found.update({"no_proxy": NO_PROXY, "NO_PROXY": NO_PROXY})
    if around.names is not None:
        found["PYTHONPATH"] = str(PYTHON_HOOK)
        found["JOBLEDGER_SANDBOX_NAMES"] = str(around.names)
        found["JOBLEDGER_SANDBOX_NAMESPACE"] = text(pod, "metadata", "namespace")
        found["JOBLEDGER_SANDBOX_PORTS"] = ",".join(_declared_ports(pod))
    return found


def _value(cluster: Cluster, pod: Manifest, entry: Json, ip: str) -> str | None:
    source = child(entry, "valueFrom")
    if not source:
        literal = child(entry).get("value")
        return "" if literal is None else str(literal)
    if child(source, "fieldRef"):
        return field_text(pod, text(source, "fieldRef", "fieldPath"), ip)
    for kind, field in (("configMap", "configMapKeyRef"), ("secret", "secretKeyRef")):
        part = child(source, field)
        if part:
            return _of_key(cluster, kind, text(pod, "metadata", "namespace"), part)
    return ""  # resourceFieldRef and what may come: the sandbox limits nothing


def _of_key(cluster: Cluster, kind: str, namespace: str, part: Manifest) -> str | None:
    name, key = text(part, "name"), text(part, "key")
    values = values_of(cluster, kind, namespace, name)
    if values is not None and key in values:
        return values[key].decode(errors="replace")
    if part.get("optional") is True:
        return None
    if values is None:
        raise ConfigMissing(f'{kind.lower()} "{name}" not found')
    raise ConfigMissing(f"couldn't find key {key} in {kind} {namespace}/{name}")


def _all_of(cluster: Cluster, namespace: str, source: Json) -> dict[str, str]:
    for kind in ("configMap", "secret"):
        part = child(source, f"{kind}Ref")
        if not part:
            continue
        values = values_of(cluster, kind, namespace, text(part, "name"))
        if values is None:
            if part.get("optional") is True:
                return {}
            raise ConfigMissing(f'{kind.lower()} "{text(part, "name")}" not found')
        prefix = text(source, "prefix")
        return {prefix + key: value.decode(errors="replace") for key, value in values.items()}
    return {}
