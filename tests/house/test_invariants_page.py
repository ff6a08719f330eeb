"""The page of the invariants and the checks that hold them: neither without the other."""

import ast
import re
from pathlib import Path

import pytest

from jobledger.adapters.postgres.checks.invariants import CHECKS, WHOLE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "invariants.md").read_text()
SECTION = re.compile(r"^## (\d+)\. ", re.MULTILINE)
ROW = re.compile(r"^\* (.+?): (.+)$", re.MULTILINE)
CHECK = re.compile(r"`(tests/[^`:]+)(?:::(\w+))?`")
OF_THE_LEDGER = re.compile(r"`([a-z]+(?:-[a-z]+)*)`")
NUMBERED = re.compile(r"def (test_invariant_(\d)_\w+)")


def sections() -> dict[int, dict[str, str]]:
    """Return number -> who is held -> by what."""
    _, *parts = SECTION.split(PAGE)
    numbers, texts = parts[::2], parts[1::2]
    return {
        int(number): dict(ROW.findall(text)) for number, text in zip(numbers, texts, strict=True)
    }


def functions(file: Path) -> set[str]:
    found = ast.walk(ast.parse(file.read_text()))
    return {node.name for node in found if isinstance(node, ast.FunctionDef)}


def test_there_are_nine_and_each_is_held_for_both_kinds_and_the_whole_service() -> None:
    held = sections()
    assert list(held) == list(range(1, 10))
    for number, rows in held.items():
        for who in ("RayJob", "TrainJob", "service"):
            assert CHECK.search(rows.get(who, "")), f"{number}: nothing holds it for {who}"


@pytest.mark.parametrize(("file", "name"), sorted(set(CHECK.findall(PAGE))))
def test_every_check_that_is_named_is_there(file: str, name: str) -> None:
    assert not name or name in functions(ROOT / file)
    assert (ROOT / file).is_file()


def test_every_property_with_a_number_stands_under_it() -> None:
    for file in sorted((ROOT / "tests" / "properties").glob("test_*.py")):
        for name, number in NUMBERED.findall(file.read_text()):
            reference = f"`{file.relative_to(ROOT)}::{name}`"
            kinds = " ".join(sections()[int(number)].values())
            assert reference in kinds, f"{reference} is missing under {number}"


def test_every_check_of_the_ledger_is_one_of_doctors() -> None:
    ours = {check.name for check in (*CHECKS, *WHOLE)}
    told = " ".join(rows.get("a ledger", "") for rows in sections().values())
    assert set(OF_THE_LEDGER.findall(told)) == ours
