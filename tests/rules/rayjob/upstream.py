"""KubeRay's own samples and definitions, where they are at hand."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

_BESIDE = Path(__file__).resolve().parents[4] / "shared" / "upstream"
UPSTREAM = Path(os.environ.get("JOBLEDGER_UPSTREAM", _BESIDE))

SAMPLES = UPSTREAM / "samples" / "rayjob"
RAYJOB_CRD = UPSTREAM / "crds" / "ray.io_rayjobs.yaml"


def need(path: Path) -> Path:
    """Return `path`; skip the test if upstream's files are not here, which in CI is an error."""
    if not path.exists():
        where = f"{path} is missing; set JOBLEDGER_UPSTREAM to the folder of upstream's files"
        if os.environ.get("CI") == "true":
            pytest.fail(where)
        pytest.skip(where)
    return path


def sample_names() -> list[str]:
    """Return the names of upstream's sample files; one stand-in if they are not here."""
    return sorted(path.name for path in SAMPLES.glob("*.yaml")) or ["missing"]


def sample(name: str) -> dict[str, Any]:
    """Return the RayJob of a sample file as an API server with upstream's CRD would serve it."""
    for document in yaml.safe_load_all(need(SAMPLES / name).read_text()):
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
    definition = yaml.load(need(RAYJOB_CRD).read_text(), Loader=_LOADER)
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
