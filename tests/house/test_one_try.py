"""No test has a second try, in CI neither: what fails once in a while is mended at its root."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECOND_TRY = re.compile(
    r"pytest[-_]rerunfailures|pytest[-_]retry|--(?:reruns|force-flaky|max-runs|last-failed|lf|flake-finder)\b"
    r"|\bmark\.flaky|@flaky|pytest[^\n|]*\|\|",
)
RUNS_TESTS = (
    *(ROOT / ".ci").iterdir(),
    *(ROOT / ".github").rglob("*.yaml"),
    *(ROOT / ".github").rglob("*.yml"),
    *(ROOT / "requirements").iterdir(),
    ROOT / "Makefile",
    ROOT / "pyproject.toml",
)


def test_nothing_runs_a_test_twice() -> None:
    files = (*RUNS_TESTS, *(ROOT / "tests").rglob("*.py"))
    found = {
        str(file.relative_to(ROOT)): match[0]
        for file in files
        if file.is_file()
        and file != Path(__file__)
        and (match := SECOND_TRY.search(file.read_text(encoding="utf-8"))) is not None
    }
    assert found == {}


def test_a_second_try_would_be_seen() -> None:
    for said in (
        "pytest-rerunfailures==16.0",
        "python -m pytest --reruns 2",
        "pytest -q || pytest -q",
        "@pytest.mark.flaky",
    ):
        assert SECOND_TRY.search(said) is not None
    assert SECOND_TRY.search("python -m pytest -n 2 | tee log; make check || exit 1") is None
