"""What the Dockerfile says, held against what is there; `python -m tests.image` runs its steps."""

import json
import tomllib
from pathlib import Path

import pytest
from cyclonedx.model.bom import Bom

from ops.made.__main__ import OPS, stale
from ops.made.contents import CONTENTS, parts
from tests.image.dockerfile import (
    DOCKERFILE,
    ROOT,
    container_settings,
    copied,
    copy_context,
    instructions,
    ran,
)


def test_what_is_copied_is_there_and_is_no_more_than_the_context_has() -> None:
    allowed = Path(f"{DOCKERFILE}.dockerignore").read_text(encoding="utf-8").splitlines()
    assert allowed[0] == "*"
    for sources, _ in copied():
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in allowed, source


def test_what_the_steps_read_is_copied(tmp_path: Path) -> None:
    copy_context(tmp_path)
    for step in ran():
        assert (tmp_path / step.split()[1]).is_file(), step
    script = (tmp_path / "ops/image/install.sh").read_text(encoding="utf-8")
    named = ("requirements/build.txt", "LICENSE", "ops/image/licences.md")
    for name in named:
        assert name in script
        assert (tmp_path / name).is_file(), name


def test_the_program_of_the_image_is_nobody_in_particular_and_no_root() -> None:
    stage = instructions()[[word for word, _ in instructions()].index("USER") :]
    assert stage[0] == ("USER", "65532:65532")
    assert ("ENTRYPOINT", '["jobledger"]') in stage
    chart = (OPS / "chart/templates/_pods.tpl").read_text(encoding="utf-8")
    assert "runAsUser: 65532" in chart


def test_a_container_is_told_what_the_last_stage_says_with_the_arguments_filled_in() -> None:
    made = container_settings(ROOT, {"REVISION": "c0ffee"}, "/usr/bin:/bin")
    assert made["User"] == "65532:65532"
    assert (made["Entrypoint"], made["Cmd"]) == (["jobledger"], ["run"])
    environment = made["Env"]
    assert isinstance(environment, list)
    assert "PATH=/opt/jobledger/bin:/usr/bin:/bin" in environment
    assert "SOURCE_DATE_EPOCH=0" not in environment, "that is of the stage before"
    labels = made["Labels"]
    assert isinstance(labels, dict)
    assert labels["org.opencontainers.image.revision"] == "c0ffee"
    assert labels["org.opencontainers.image.version"]


def test_the_labels_say_the_version_of_the_program() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert ("ARG", f"VERSION={version}") in instructions()
    chart = (OPS / "chart/Chart.yaml").read_text(encoding="utf-8")
    assert f"appVersion: {version}\n" in chart


@pytest.mark.parametrize(
    "name", ["image/licences.md", *(f"image/sbom-{contents}.cdx.json" for contents in CONTENTS)]
)
def test_the_lists_of_what_is_in_it_are_made_of_its_requirements(name: str) -> None:
    assert not stale(name), "run `python -m ops.made`"


@pytest.mark.parametrize("contents", CONTENTS)
def test_the_bill_can_be_read_and_has_all_parts_with_their_licences(contents: str) -> None:
    written = json.loads((OPS / f"image/sbom-{contents}.cdx.json").read_text(encoding="utf-8"))
    read: Bom = Bom.from_json(written)  # type: ignore[attr-defined]  # its decorator makes it
    assert {one.name for one in read.components} == {part.name for part in parts(contents)}
    assert all(one.licenses for one in read.components)
    copyleft = {part.name for part in parts(contents) if "GPL" in part.licence}
    page = (OPS / "image/licences.md").read_text(encoding="utf-8")
    assert copyleft == {"psycopg", "psycopg-binary"}, "name it in the page's head"
    assert all(f"`{name}`" in page for name in copyleft)


def test_an_image_can_have_what_writes_parquet_and_nothing_else_besides() -> None:
    """A chart's CronJob needs it, and neither a private Postgres nor plots."""
    assert {p.name for p in parts("parquet")} - {p.name for p in parts()} == {"pyarrow"}
    assert {p.name for p in parts()} <= {p.name for p in parts("parquet")}
