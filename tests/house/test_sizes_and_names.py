"""Rules of the house that no linter knows: sizes, names, docstrings, completeness of matches."""

import ast
import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "adapters", "sandbox")
FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 400
FOLDER_MODULES_MAX = 12
BANNED_FILES = {"utils", "helpers", "common", "base", "manager", "util", "misc"}


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


SELF = (Path(__file__), Path(__file__).with_name("test_docs.py"))
"""Tests that must name what they look for."""

PRODUCT = sources(*PACKAGES)
FOLDERS = sorted({path.parent for path in PRODUCT})
EVERYTHING = sources(*PACKAGES, "tests", "bench", "migrations")


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", EVERYTHING, ids=shown)
def test_a_function_fits_on_a_screen_and_a_file_answers_one_question(path: Path) -> None:
    text = path.read_text()
    tables = "tests" in path.parts and "rules" in path.parts
    lines = len(text.splitlines())
    if not tables:
        assert lines <= FILE_LINES_MAX, f"{shown(path)} has {lines} lines"
    for function in functions(ast.parse(text)):
        length = (function.end_lineno or 0) - function.lineno + 1
        where = f"{shown(path)}:{function.lineno} {function.name}"
        limit = 110 if _is_one_match(function) else FUNCTION_LINES_MAX
        assert length <= limit, f"{where} has {length} lines"


def _is_one_match(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A function that is nothing but one `match` over a closed union is a table, not a maze."""
    body = [node for node in function.body if not isinstance(node, ast.Expr)]
    return len(body) == 1 and isinstance(body[0], ast.Match)


@pytest.mark.parametrize("path", PRODUCT, ids=shown)
def test_a_file_is_named_after_what_it_answers(path: Path) -> None:
    assert path.stem not in BANNED_FILES


@pytest.mark.parametrize("path", PRODUCT, ids=shown)
def test_every_module_says_which_question_it_answers(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{shown(path)} has no docstring"


RULES = sources("core/rayjob", "core/trainjob", "core/jobs", "core/projections", "core/forensics")


@pytest.mark.parametrize("path", RULES, ids=shown)
def test_a_match_over_a_closed_union_ends_in_assert_never(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Match):
            continue
        last = node.cases[-1]
        catches_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        if catches_all:
            body = ast.unparse(last.body[0])
            assert body.startswith("assert_never("), f"{shown(path)}:{last.pattern.lineno}: {body}"


@pytest.mark.parametrize("path", EVERYTHING, ids=shown)
def test_nothing_is_put_off_in_a_comment(path: Path) -> None:
    if path == Path(__file__):
        return
    found = re.findall(r"#.*\b(?:TODO|FIXME|XXX)\b", path.read_text())
    assert not found


@pytest.mark.parametrize("path", sources("core"), ids=shown)
def test_every_field_of_a_public_dataclass_in_the_event_files_is_explained_or_plain(
    path: Path,
) -> None:
    """A class of events must have a docstring; the reference in the docs is made of them."""
    if path.name != "events.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            assert ast.get_docstring(node), f"{shown(path)}:{node.lineno} {node.name}"


def test_the_distribution_installs_one_package() -> None:
    """What another distribution has at the top of site-packages never touches ours."""
    installed = importlib.metadata.files("jobledger")
    assert installed
    tops = {file.parts[0] for file in installed if file.parts[0] != ".."}
    assert {top for top in tops if not top.startswith(("jobledger", "_jobledger"))} == set()


@pytest.mark.parametrize("folder", FOLDERS, ids=shown)
def test_a_folder_can_be_looked_over(folder: Path) -> None:
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= FOLDER_MODULES_MAX, f"{shown(folder)} has {len(modules)} modules"


@pytest.mark.parametrize("path", sources(*PACKAGES, "tests", "bench"), ids=shown)
def test_no_path_of_a_machine_and_no_registry_stands_in_the_code(path: Path) -> None:
    if path in SELF:
        return
    text = path.read_text()
    for banned in ("/work/", "/root/", "files.pythonhosted", "pypi.org/simple"):
        assert banned not in text, f"{shown(path)} names {banned}"
