"""`make explore` draws fresh examples, and what it prints shows the same failure again."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROPERTY = """
from hypothesis import given, strategies
seen = []
@given(strategies.integers(0, 10**9))
def test_no_number_is_large(number):
    seen.append(number)
    if number > 1000:
        print("\\nfirst found:", next(each for each in seen if each > 1000))
    assert number <= 1000
"""


def explored(place: Path, command: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return ended.stdout


def first_found(said: str) -> str:
    found = re.search(r"^first found: .*", said, re.MULTILINE)
    assert found is not None, said
    return found[0]


def test_a_failure_comes_with_the_command_that_shows_it_again(tmp_path: Path) -> None:
    (tmp_path / "test_numbers.py").write_text(PROPERTY)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")  # as ours
    explore = [sys.executable, "-m", "tests.explore"]
    said = explored(tmp_path, [*explore, "."])
    (told,) = re.findall(r"^python (-m tests.explore --seed .*)$", said, re.MULTILINE)
    again = explored(tmp_path, [sys.executable, *shlex.split(told)])
    assert first_found(again) == first_found(said)
    other = explored(tmp_path, [*explore, "--seed", "1", "."])
    assert first_found(other) != first_found(said)
