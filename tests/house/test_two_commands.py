"""`make test` and `make test-faults` are all tests together, and CI runs both."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS_OF_FAULTS = ("crash_points", "failover", "faults")
MARK = re.compile(r"^pytestmark = .*\bpytest\.mark\.faults\b", re.MULTILINE)


def test_every_module_in_the_folders_of_faults_is_marked() -> None:
    unmarked = [
        str(file.relative_to(ROOT))
        for folder in FOLDERS_OF_FAULTS
        for file in sorted((ROOT / "tests" / folder).glob("test_*.py"))
        if not MARK.search(file.read_text(encoding="utf-8"))
    ]
    assert unmarked == []


def test_one_command_has_what_the_other_leaves_out() -> None:
    recipes = re.findall(
        r"^\t@\$\(KEEPING_BYTECODE\) \$\(PYTEST\) -m (.+) \$\(ARGS\)$",
        _text("Makefile"),
        re.MULTILINE,
    )
    assert recipes == ['"not faults"', "faults"]


def test_ci_runs_both() -> None:
    run = re.findall(r"^make (test(?:-faults)?) ARGS=", _text(".ci/run"), re.MULTILINE)
    assert run == ["test", "test-faults"]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
