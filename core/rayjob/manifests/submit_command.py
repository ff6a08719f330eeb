"""Builds the shell command that submits the entrypoint, byte for byte as upstream does.

It first waits until the head answers. In K8sJobMode the submitter may be started again, so the
command submits only what the head does not know yet, and then follows the log; in SidecarMode
`ray job submit` itself stays until the end.

`$` and backticks inside the quoted options are expanded by the shell, and the entrypoint is shell
text: upstream's contract, on which users rely.

Source: KubeRay's BuildJobSubmitCommand.
"""

from collections.abc import Iterator

from jobledger.core.rayjob.names import DASHBOARD_PORT, DASHBOARD_PORT_NAME
from jobledger.core.rayjob.spec.go_text import SPACES, go_json, quote, six_decimals
from jobledger.core.rayjob.spec.go_values import ray_container, texts
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.float32 import float32

HEALTH_PATH = "api/gcs_healthz"
HEALTH_TIMEOUT_SECONDS = 10


def submit_command(
    job: Manifest, *, address: str, job_id: str, runtime_env: Manifest | None
) -> str:
    """Return the command of a submitter in K8sJobMode; `address` is the head's `host:port`.

    `runtime_env` is the parsed `spec.runtimeEnvYAML`, None where it holds nothing.
    """
    url = address if address.startswith("http://") else f"http://{address}"
    return " ".join(
        (
            *_wait(f"{url}/{HEALTH_PATH}", url),
            *_guarded(job, url, job_id, runtime_env),
        )
    )


def sidecar_command(
    job: Manifest, *, job_id: str, runtime_env: Manifest | None, restarts: bool = False
) -> str:
    """Return the command of the submitter beside the head (SidecarMode).

    `restarts`: whether it is started again when it fails; then it must not submit twice.
    """
    port = _dashboard_port(ray_container(child(job, "spec", "rayClusterSpec", "headGroupSpec")))
    url = f"http://127.0.0.1:{port}"
    return " ".join(
        (
            *_wait(f"http://localhost:{port}/{HEALTH_PATH}", url),
            *(
                _guarded(job, url, job_id, runtime_env)
                if restarts
                else (
                    *("ray", "job", "submit", "--address", url),
                    *_options(job, job_id, runtime_env),
                    *("--", _entrypoint(job), ";"),
                )
            ),
        )
    )


def _guarded(job: Manifest, url: str, job_id: str, runtime_env: Manifest | None) -> Iterator[str]:
    """Yield what submits only what the head does not know yet, and follows the log."""
    yield from ("if", "!", "ray", "job", "status", "--address", url, job_id, ">/dev/null", "2>&1")
    yield from (";", "then", "ray", "job", "submit", "--address", url, "--no-wait")
    yield from _options(job, job_id, runtime_env)
    yield from ("--", _entrypoint(job), ";", "fi", ";")
    yield from ("ray", "job", "logs", "--address", url, "--follow", job_id)


def _wait(health_url: str, url: str) -> Iterator[str]:
    probe = (
        "import urllib.request; "
        f"r=urllib.request.urlopen('{health_url}', timeout={HEALTH_TIMEOUT_SECONDS}); "
        "exit(0 if b'success' in r.read() else 1)"
    )
    yield from ("until", f'python -c "{probe}"', ">/dev/null", "2>&1", ";")
    told = quote(f"Waiting for Ray Dashboard GCS to become healthy at {url} ...")
    yield from ("do", "echo", told, ";", "sleep", "2", ";", "done", ";")


def _options(job: Manifest, job_id: str, runtime_env: Manifest | None) -> Iterator[str]:
    spec = child(job, "spec")
    if text(spec, "runtimeEnvYAML"):
        yield from ("--runtime-env-json", quote(go_json(runtime_env)))
    if metadata := texts(child(spec, "metadata")):
        yield from ("--metadata-json", quote(go_json(metadata)))
    if job_id:
        yield from ("--submission-id", job_id)
    if (cpus := entrypoint_amount(spec, "entrypointNumCpus")) > 0:
        yield from ("--entrypoint-num-cpus", six_decimals(cpus))
    if (gpus := entrypoint_amount(spec, "entrypointNumGpus")) > 0:
        yield from ("--entrypoint-num-gpus", six_decimals(gpus))
    if resources := text(spec, "entrypointResources"):
        yield from ("--entrypoint-resources", quote(resources))


def entrypoint_amount(spec: Manifest, field: str) -> float:
    """Return how much of something the entrypoint asks for; 0 where nothing is said."""
    found = spec.get(field)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return 0.0
    return float32(found)


def _entrypoint(job: Manifest) -> str:
    return text(job, "spec", "entrypoint").strip(SPACES)


def _dashboard_port(container: Json) -> int:
    for port in items(container, "ports"):
        if text(port, "name") == DASHBOARD_PORT_NAME:
            return number(port, "containerPort") or 0
    return DASHBOARD_PORT
