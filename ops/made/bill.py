"""The bill of materials of an image, in the form of CycloneDX 1.6.

It has no instant and no number of its own: the same inputs make the same bytes.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from ops.made.contents import Part, parts

ROOT = Path(__file__).resolve().parents[2]


def bill(contents: str) -> str:
    """Return the bill as JSON.

    Args:
        contents: One of `ops.made.contents.CONTENTS`.
    """
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    program = _component(
        Part("jobledger", ours["version"], ours["license"]), ComponentType.APPLICATION
    )
    bom = Bom(components=list(_components(contents)))
    bom.metadata.component = program
    bom.register_dependency(program, bom.components)
    written = json.loads(JsonV1Dot6(bom).output_as_string())
    written["metadata"].pop("timestamp")
    written.pop("serialNumber")
    return json.dumps(written, indent=2, ensure_ascii=False) + "\n"


def _components(contents: str) -> Iterator[Component]:
    for part in parts(contents):
        yield _component(part, ComponentType.LIBRARY)


def _component(part: Part, kind: ComponentType) -> Component:
    url = PackageURL("pypi", name=part.name, version=part.version)
    return Component(
        type=kind,
        name=part.name,
        version=part.version,
        purl=url,
        bom_ref=url.to_string(),
        licenses=[LicenseFactory().make_from_string(part.licence)],
    )
