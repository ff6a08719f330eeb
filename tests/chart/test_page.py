"""What `docs/howto/run-in-a-cluster.md` and its neighbours tell people to do with the chart."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, rendered, template
from tests.chart.values import IMAGE, together
from tests.support.apiserver import programs

ROOT = CHART.parents[1]
PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
FENCE = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ helm upgrade (?:--install )?jobledger ops/chart (.*)$", re.MULTILINE)
TOP = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")).keys()

COMMANDS = [found for page in PAGES for found in COMMAND.findall(page.read_text("utf-8"))]


def values_of_pages() -> list[dict[str, Any]]:
    """Return each YAML block that has values of the chart, and no object of Kubernetes."""
    blocks = (block for page in PAGES for block in FENCE.findall(page.read_text("utf-8")))
    read = [next(iter(yaml.safe_load_all(block)), None) for block in blocks]
    return [one for one in read if isinstance(one, dict) and one and one.keys() <= TOP]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_of_a_page_is_one_that_helm_takes(words: str) -> None:
    given = [word for word in shlex.split(words) if word != "--reset-then-reuse-values"]
    where = given.index("--namespace")
    del given[where : where + 2]
    assert "kind: Deployment" in template(os.environ, "--set", "image.repository=r", *given)


def test_values_that_a_page_shows_are_values(tmp_path: Path) -> None:
    found = values_of_pages()
    assert len(found) > 1
    for one in found:
        assert rendered(together(IMAGE, one), tmp_path)


def test_the_kustomization_of_the_page_names_an_image_and_a_setting(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "run-in-a-cluster.md").read_text("utf-8")
    [block] = [one for one in FENCE.findall(page) if "kind: Kustomization" in one]
    given = yaml.safe_load(block)
    place = tmp_path / "mine"
    place.mkdir()
    given["resources"] = [os.path.relpath(CHART.parent / "kustomize", place)]
    (place / "kustomization.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    command = [str(programs() / "kubectl"), "kustomize", str(place)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "image: registry.example/jobledger:0.1.0" in said
    assert "image: jobledger:" not in said
    assert "JOBLEDGER_NAMESPACES" in said
