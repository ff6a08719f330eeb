"""Rules of the house that no linter knows: sizes, names, docstrings, completeness of matches."""

import ast
import importlib.metadata
import re
from collections.abc import Callable, Iterator
from pathlib import Path

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
RULES = sources("core/rayjob", "core/trainjob", "core/jobs", "core/projections", "core/forensics")
EVENTS = [path for path in sources("core") if "events" in (path.stem, *path.parts)]
PUT_OFF = re.compile(r"#.*\b(?:TODO|FIXME|XXX)\b")
BANNED_PLACES = ("/work/", "/root/", "files.pythonhosted", "pypi.org/simple")


def text(path: Path) -> str:
    return path.read_text()


def tree(path: Path) -> ast.Module:
    """Parse a file; kept, the trees of all files would make every collection of garbage slow."""
    return ast.parse(text(path))


def broken(rule: Callable[[Path], Iterator[str]], paths: list[Path]) -> list[str]:
    """Tell whatever breaks a rule in any of the files; one test asks all of them."""
    assert len(paths) > 1, "a rule that looks at nothing says nothing"
    return [f"{shown(path)}{what}" for path in paths for what in rule(path)]


def _too_long(path: Path) -> Iterator[str]:
    tables = "tests" in path.parts and "rules" in path.parts
    lines = len(text(path).splitlines())
    if not tables and lines > FILE_LINES_MAX:
        yield f" has {lines} lines"
    for function in ast.walk(tree(path)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (function.end_lineno or 0) - function.lineno + 1
            if length > (110 if _is_one_match(function) else FUNCTION_LINES_MAX):
                yield f":{function.lineno} {function.name} has {length} lines"


def _is_one_match(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A function that is nothing but one `match` over a closed union is a table, not a maze."""
    body = [node for node in function.body if not isinstance(node, ast.Expr)]
    return len(body) == 1 and isinstance(body[0], ast.Match)


def test_a_function_fits_on_a_screen_and_a_file_answers_one_question() -> None:
    assert broken(_too_long, EVERYTHING) == []


def test_a_file_is_named_after_what_it_answers() -> None:
    assert [shown(path) for path in PRODUCT if path.stem in BANNED_FILES] == []


def _without_docstring(path: Path) -> Iterator[str]:
    if not ast.get_docstring(tree(path)):
        yield " has no docstring"


def test_every_module_says_which_question_it_answers() -> None:
    assert broken(_without_docstring, PRODUCT) == []


def _open_matches(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Match):
            continue
        last = node.cases[-1]
        catches_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        body = ast.unparse(last.body[0])
        if catches_all and not body.startswith("assert_never("):
            yield f":{last.pattern.lineno}: {body}"


def test_a_match_over_a_closed_union_ends_in_assert_never() -> None:
    assert broken(_open_matches, RULES) == []


def _put_off(path: Path) -> Iterator[str]:
    for found in PUT_OFF.findall(text(path)):
        yield f": {found}"


def test_nothing_is_put_off_in_a_comment() -> None:
    assert broken(_put_off, [path for path in EVERYTHING if path != Path(__file__)]) == []


def _unexplained_classes(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef) and not ast.get_docstring(node):
            yield f":{node.lineno} {node.name}"


def test_every_class_of_the_event_files_is_explained() -> None:
    """The reference in the docs is made of their docstrings."""
    assert broken(_unexplained_classes, EVENTS) == []


def test_the_distribution_installs_one_package() -> None:
    """What another distribution has at the top of site-packages never touches ours."""
    installed = importlib.metadata.files("jobledger")
    assert installed
    tops = {file.parts[0] for file in installed if file.parts[0] != ".."}
    assert {top for top in tops if not top.startswith(("jobledger", "_jobledger"))} == set()


def _crowded(folder: Path) -> Iterator[str]:
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    if len(modules) > FOLDER_MODULES_MAX:
        yield f" has {len(modules)} modules"


def test_a_folder_can_be_looked_over() -> None:
    assert broken(_crowded, FOLDERS) == []


def _places(path: Path) -> Iterator[str]:
    for banned in BANNED_PLACES:
        if banned in text(path):
            yield f" names {banned}"


def test_no_path_of_a_machine_and_no_registry_stands_in_the_code() -> None:
    looked_at = [path for path in sources(*PACKAGES, "tests", "bench") if path not in SELF]
    assert broken(_places, looked_at) == []
