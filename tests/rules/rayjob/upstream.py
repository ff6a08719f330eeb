"""KubeRay's own samples and definitions."""

from functools import cache
from typing import Any

import yaml

from tests.support.upstream_data import CRDS, SAMPLES

RAYJOB_CRD = CRDS / "ray.io_rayjobs.yaml"


def sample_names() -> list[str]:
    """Return the names of upstream's sample files."""
    return sorted(path.name for path in SAMPLES.glob("*.yaml"))


def sample(name: str) -> dict[str, Any]:
    """Return the RayJob of a sample file as an API server with upstream's CRD would serve it."""
    for document in yaml.safe_load_all((SAMPLES / name).read_text()):
        if document and document["kind"] == "RayJob":
            job: dict[str, Any] = document
            metadata = job["metadata"]
            if "generateName" in metadata:
                metadata["name"] = f"{metadata['generateName']}x7k2q"
            metadata |= {"namespace": "default", "uid": "uid-of-a-sample"}
            _fill_in_defaults(job["spec"], spec_schema())
            return job
    raise AssertionError(f"{name} holds no RayJob")


@cache
def spec_schema() -> dict[str, Any]:
    """Return the schema of `.spec` in upstream's definition of RayJobs, version v1."""
    definition = yaml.load(RAYJOB_CRD.read_text(), Loader=_LOADER)
    versions = {version["name"]: version for version in definition["spec"]["versions"]}
    schema: dict[str, Any] = versions["v1"]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _fill_in_defaults(value: Any, schema: dict[str, Any]) -> None:  # noqa: ANN401 any JSON
    if isinstance(value, dict):
        for key, field in schema.get("properties", {}).items():
            if "default" in field:
                value.setdefault(key, field["default"])
            if key in value:
                _fill_in_defaults(value[key], field)
    for item in value if isinstance(value, list) else ():
        _fill_in_defaults(item, schema["items"])


def field_schema(path: str) -> dict[str, Any]:
    """Return the schema of the field of `.spec` at `path` (`[]`: of a list's items)."""
    schema = spec_schema()
    for segment in path.split("."):
        schema = schema["properties"][segment.removesuffix("[]")]
        if segment.endswith("[]"):
            schema = schema["items"]
    return schema
