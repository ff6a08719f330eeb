"""`jobledger apply`: creates or changes the objects of a manifest file, like `kubectl apply`."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import Kubeconfig, OutputOption, settings_from
from jobledger.adapters.cli.output import Output, console, errors, fail, show
from jobledger.adapters.cluster_wiring import kubernetes_cluster
from jobledger.adapters.files.yaml_documents import NotReadable, documents
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.core.errors import ClusterError, ClusterUnreachable, RequestThrottled
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import CONFIGMAPS, CRDS, NAMESPACES, SECRETS, SERVICES, Resource
from jobledger.core.values.documents import Json, Manifest, child, text

KNOWN = {
    (resource.api_version, resource.kind): resource
    for resource in (
        *(one for kind in KINDS.values() for one in (*kind.api.served, *kind.api.admitted)),
        *(CONFIGMAPS, SECRETS, SERVICES, NAMESPACES, CRDS),
    )
}
CLUSTER_WIDE = frozenset({"Namespace", "CustomResourceDefinition", "ClusterTrainingRuntime"})
FIELD_MANAGER = "jobledger-apply"

BYTES_MAX = 32 << 20
"""No file of manifests has more; a device has."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one object."""

    kind: str
    namespace: str
    name: str
    result: str


def apply(
    files: Annotated[
        list[Path], typer.Option("--filename", "-f", help="Manifest files; - for standard input.")
    ],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="For objects that name none.")
    ] = "default",
    output: OutputOption = Output.TABLE,
    kubeconfig: Kubeconfig = "",
    context: Annotated[str, typer.Option(help="Context of the kubeconfig.")] = "",
) -> None:
    """Read all files, then create or change objects; what is refused is told, the others go on."""
    cluster = kubernetes_cluster(settings_from(kubeconfig=kubeconfig, context=context))
    results = []
    for manifests in [list(_read(path)) for path in files]:
        for manifest in manifests:
            results.append(item := _apply_one(cluster, manifest, namespace))
            if output is Output.TABLE and item.result == "applied":
                console.print(f"{item.kind.lower()}/{item.name} applied", highlight=False)
    if output is not Output.TABLE:
        show(output, [asdict(item) for item in results], ())
    if any(item.result.startswith("refused") for item in results):
        raise typer.Exit(ExitCode.REFUSED)


def _read(path: Path) -> Iterator[Manifest]:
    try:
        found = documents(_content(path))
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}", ExitCode.USAGE)
    except NotReadable as error:
        fail(f"{path} {error}", ExitCode.USAGE)
    if not any(document is not None for document in found):
        fail(f"{path} holds no object", ExitCode.USAGE)
    for document in found:
        if document is None:
            continue
        if not isinstance(document, dict) or not text(document, "metadata", "name"):
            fail(f"{path} holds something without kind and metadata.name", ExitCode.USAGE)
        _resource(document)
        yield document


def _content(path: Path) -> bytes:
    """Return what is in a file, also of a pipe; end with a message for one without end."""
    if str(path) == "-":
        content = sys.stdin.buffer.read(BYTES_MAX + 1)
    else:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        fail(f"{path} cannot be read: it has more than {BYTES_MAX >> 20} MiB", ExitCode.USAGE)
    return content


def _apply_one(cluster: KubernetesCluster, manifest: Manifest, namespace: str) -> Applied:
    kind, name = text(manifest, "kind"), text(manifest, "metadata", "name")
    resource = _resource(manifest)
    place = "" if kind in CLUSTER_WIDE else text(manifest, "metadata", "namespace") or namespace
    metadata = dict(child(manifest, "metadata"))
    if place:
        metadata["namespace"] = place
    try:
        named: dict[str, Json] = {**manifest, "metadata": metadata}
        cluster.apply(resource, named, field_manager=FIELD_MANAGER, force=True)
    except (ClusterUnreachable, RequestThrottled):
        raise  # the others would fare no better
    except ClusterError as error:
        errors.print(f"{kind.lower()}/{name} refused: {error}", soft_wrap=True, highlight=False)
        return Applied(kind, place, name, f"refused: {error}")
    return Applied(kind, place, name, "applied")


def _resource(manifest: Manifest) -> Resource:
    key = text(manifest, "apiVersion"), text(manifest, "kind")
    if key not in KNOWN:
        fail(f"{' '.join(key)} is not handled here ({_handled(key[1])})", ExitCode.USAGE)
    return KNOWN[key]


def _handled(kind: str) -> str:
    """Say which kind was meant: as it is written, and in the version that is handled."""
    for version, known in KNOWN:
        if known.lower() == kind.lower():
            return f"only {version} {known}; correct apiVersion and kind"
    return f"only {', '.join(sorted(known for _, known in KNOWN))}; use kubectl"
