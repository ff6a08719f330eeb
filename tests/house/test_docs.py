"""The documents: links lead somewhere, the reference is what the code says, nothing is left out."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from docs.reference.from_code.cli import commands, environments
from docs.reference.from_code.settings import environment
from docs.reference.generate import PAGES, page_of
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.jobs import decisions, get
from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.adapters.postgres.schema.version import head
from jobledger.adapters.settings import Settings
from jobledger.core.catalogue import TYPES
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.phases import Phase

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
ON_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
DOCUMENTS = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ON_TOP)])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w+)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SHOWN = re.compile(r"\$ jobledger ((?:(?:db|seal|archive|backup|notify) )?[\w-]+)([^#|;]*)")
PARTS_OF_A_RECORD = ("Status", "Context", "Decision", "Consequences", "Alternatives", "Evidence")


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    """The text without its code blocks."""
    return FENCE.sub("", path.read_text())


def anchors(path: Path) -> set[str]:
    """The anchors that a Markdown renderer makes of the headings."""
    found = HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def fences(language: str) -> list[tuple[Path, str]]:
    return [
        (path, content)
        for path in DOCUMENTS
        for found, content in FENCE.findall(path.read_text())
        if found == language
    ]


def names(language: str) -> list[str]:
    """One name per block, so that two of one page differ."""
    return [f"{shown(path)}-{number}" for number, (path, _) in enumerate(fences(language), 1)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=shown)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(path: Path) -> None:
    for target in LINK.findall(prose(path)):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), f"{shown(path)} links to {target}"
        if anchor:
            assert anchor in anchors(place), f"{shown(path)} links to {target}"


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    path = REFERENCE / name
    assert path.read_text() == page_of(name), "run `python -m docs.reference.generate`"


def test_no_page_of_the_reference_is_left_over() -> None:
    assert {path.name for path in REFERENCE.glob("*.md")} == set(PAGES)


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


@pytest.mark.parametrize("name", TYPES)
def test_every_event_is_in_the_reference(name: str) -> None:
    assert f"### {name}\n" in page("events.md")


def test_every_command_setting_and_exit_code_is_in_the_reference() -> None:
    for name in commands():
        assert f"## {name}\n" in page("cli.md")
    for name, field in Settings.model_fields.items():
        assert environment(name, field) in page("settings.md")
    options = [option for command in commands().values() for option in command.params]
    for option in options:
        for named in environments(option.envvar):
            assert f"`{named}`" in page("settings.md")
    for code in ExitCode:
        assert f"| {code.value} | {code.name} | " in page("exit-codes.md")


def test_an_option_that_stands_for_a_setting_shows_the_default_of_that_setting() -> None:
    settings = {f"JOBLEDGER_{name.upper()}": one for name, one in Settings.model_fields.items()}
    options = [option for command in commands().values() for option in command.params]
    shown = [one.show_default for one in options if isinstance(one.show_default, str)]
    told = [text.split(", or ", 1) for text in shown if text.startswith("JOBLEDGER_")]
    assert {"JOBLEDGER_HOST", "JOBLEDGER_PORT", "JOBLEDGER_CLUSTER"} <= {name for name, _ in told}
    for name, default in told:
        field = settings[name]
        if isinstance(field.default, str | int) and not isinstance(field.default, bool):
            assert default == str(field.default), name


def test_every_decision_effect_phase_and_column_is_in_the_reference() -> None:
    for kind in DecisionKind:
        assert f"| `{kind.value}` | " in page("decisions.md")
    for effect in EffectKind:
        assert f"| `{effect.value}` | " in page("effects.md")
    for phase in Phase:
        assert f"| {phase.value or 'New'} | " in page("phases.md")
    for table in metadata.tables.values():
        assert f"## {table.name}\n" in page("tables.md")
        assert all(f"| `{column.name}` | " in page("tables.md") for column in table.columns)


@pytest.mark.parametrize("name", ["settings.md", "metrics.md", "tables.md", "cli.md"])
def test_every_row_of_the_reference_has_a_meaning(name: str) -> None:
    rows = [line for line in page(name).splitlines() if line.startswith("| `")]
    assert not [line for line in rows if line.endswith("|  |")]


def test_every_option_of_a_command_that_a_document_shows_is_there() -> None:
    known = {name.removeprefix("jobledger "): command for name, command in commands().items()}
    for path, content in [*fences("console"), *fences("bash")]:
        for line in content.splitlines():
            found = SHOWN.match(line)
            if found is None:
                continue
            name, rest = found.groups()
            assert name in known, f"{shown(path)}: {line}"
            options = {option for item in known[name].params for option in item.opts}
            for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", rest):
                assert option in options, f"{shown(path)}: {line}"


def test_what_a_document_shows_of_jobs_and_of_the_schema_is_what_is_printed() -> None:
    """They had columns and a schema of earlier versions."""
    tables = get.COLUMNS, decisions.COLUMNS
    printed = [" ".join(columns).upper().replace("_", " ") for columns in tables]
    for path, content in fences("console"):
        for line in content.splitlines():
            columns = " ".join(line.removesuffix("…").split())
            if line.startswith(("NAMESPACE  ", "JOB  ")):
                assert any(one.startswith(columns) for one in printed), f"{shown(path)}: {line}"
            if line.startswith("schema "):
                assert line == f"schema {head()}", shown(path)


@pytest.mark.parametrize(("path", "content"), fences("python"), ids=names("python"))
def test_python_in_the_documents_runs(path: Path, content: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(content, shown(path), "exec"), {})


@pytest.mark.parametrize(("path", "content"), fences("yaml"), ids=names("yaml"))
def test_yaml_in_the_documents_can_be_read(path: Path, content: str) -> None:
    readable = content.replace("{…}", "{}")
    assert list(yaml.safe_load_all(readable)), shown(path)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/decisions").glob("[0-9]*.md")), ids=lambda path: path.stem
)
def test_a_decision_record_has_all_its_parts_and_is_listed(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(f"# {path.stem[:4]}: ")
    for part in PARTS_OF_A_RECORD:
        assert f"**{part}**" in text or f"**{part}.**" in text, f"{shown(path)} has no {part}"
    assert path.name in (path.parent / "README.md").read_text()


README_WORDS_MAX = 500


def test_the_readme_is_short_and_begins_with_the_demonstration_and_the_tests() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= README_WORDS_MAX
    assert text.index("make demo") < text.index("make test") < text.index("jobledger explain")


def test_the_query_in_the_documents_is_the_one_that_the_demonstration_runs() -> None:
    query = (ROOT / "sandbox/demo/afterwards.py").read_text().split('QUERY = """\\\n')[1]
    shown_query = query.split('"""')[0]
    assert any(content.strip() == shown_query.strip() for _, content in fences("sql"))


def test_the_change_log_tells_of_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("path", [*DOCUMENTS, *(ROOT / "docs").rglob("*.svg")], ids=shown)
def test_no_path_of_a_machine_and_no_registry_stands_in_the_documents(path: Path) -> None:
    text = path.read_text()
    for banned in ("/work/", "/root/", "pythonhosted", "pypi.org", "cdnjs"):
        assert banned not in text, f"{shown(path)} names {banned}"


def test_no_document_keeps_a_ledger_where_a_sample_keeps_its_files() -> None:
    """Whoever cleared up after the tutorial removed the ledger of the cookbook."""
    samples = "".join(path.read_text() for path in (ROOT / "ops" / "samples").glob("*.yaml"))
    told = [path.read_text() for path in DOCUMENTS]
    kept = {one for text in told for one in re.findall(r"JOBLEDGER_DATA_DIR=(/tmp/\S+)", text)}
    assert kept
    assert not kept & set(re.findall(r"path: (\S+)", samples))
