"""Excerpts: what is left of a long text still says what happened."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.core.values.excerpts import around, cut, gist, telling_line

TRACEBACK = """\
Traceback (most recent call last):
  File "/app/train.py", line 88, in <module>
    main()
  File "/app/train.py", line 40, in main
    import flash_attn
ModuleNotFoundError: No module named 'flash_attn'
"""

RAY_MESSAGE = (
    "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 "
    f"chars):\n{TRACEBACK}"
)

LOGS: tuple[tuple[str, str, str], ...] = (
    ("nothing", "", ""),
    ("blank lines only", "\n \n", ""),
    ("the last line, where nothing speaks of trouble", "epoch 1\nepoch 2\n", "epoch 2"),
    ("the exception", TRACEBACK, "ModuleNotFoundError: No module named 'flash_attn'"),
    (
        "the last of two exceptions: the first was its cause",
        "KeyError: 'a'\nDuring handling of the above exception\nmlflow.MlflowException: no run\n",
        "mlflow.MlflowException: no run",
    ),
    (
        "what is behind the name of a rank or a worker",
        "(train pid=7, ip=10.0.0.3) [rank1]: ValueError: 3 != 4\nexiting\n",
        "ValueError: 3 != 4",
    ),
    (
        "not what only says that another process failed",
        "ValueError: 3\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:\nend\n",
        "ValueError: 3",
    ),
    (
        "even that, before a line without a word of trouble",
        "subprocess.CalledProcessError: Command 'x' returned 3\nbye\n",
        "subprocess.CalledProcessError: Command 'x' returned 3",
    ),
    ("what a shell says", "sh: torchrunn: not found\nbye\n", "sh: torchrunn: not found"),
    ("a panic", "thread 'main' panicked at src/lib.rs\nnote: run with …\n", "thread 'main' pan"),
)


@pytest.mark.parametrize(
    ("log", "expected"), [case[1:] for case in LOGS], ids=[name for name, *_ in LOGS]
)
def test_the_line_that_tells_most(log: str, expected: str) -> None:
    told = telling_line(log.splitlines())
    assert told.startswith(expected)
    assert bool(told) == bool(expected)


def test_a_text_that_fits_is_whole() -> None:
    assert gist(" one\n two ", 10) == "one two"


def test_a_message_with_a_log_keeps_its_beginning_and_the_exception() -> None:
    said = gist(RAY_MESSAGE, 160)
    assert said.startswith("Job entrypoint command failed with exit code 1")
    assert said.endswith("ModuleNotFoundError: No module named 'flash_attn'")


def test_a_message_whose_log_tells_of_no_trouble_keeps_its_beginning_and_the_last_line() -> None:
    header, *_ = RAY_MESSAGE.splitlines()
    log = "2026-11-28 14:09:27,220\tINFO job_manager.py:581 -- Runtime env is setting up.\nstep 7\n"
    said = gist(f"{header}\n{log}", 160)
    assert said == "Job entrypoint command failed with exit code 1 … step 7"


def test_that_the_submitter_says_so_too_tells_less_than_the_program() -> None:
    ends = ["step 7: cannot read shard 3", "14:34:47,863\tERR cli.py:75 -- Job 'ray-13-x' failed"]
    assert telling_line(ends) == "step 7: cannot read shard 3"


def test_of_one_long_line_both_ends_are_kept() -> None:
    said = gist("begin " + "x" * 1000 + " end", 60)
    assert said.startswith("begin x")
    assert said.endswith("x end")


def test_a_match_is_shown_with_what_stands_around_it() -> None:
    line = "a" * 500 + " CUDA out of memory. Tried to allocate 2 GiB"
    found = re.search("CUDA out of memory", f"first\n{line}\nlast")
    assert found is not None
    said = around(f"first\n{line}\nlast", found, 120)
    assert "CUDA out of memory. Tried to allocate 2 GiB" in said
    assert said.startswith("…")
    assert "last" not in said


CHAIN = """
Traceback (most recent call last):
  File "/app/a.py", line 1, in a
    raise ValueError("not this line of code")
lab.store.Missing: table users

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/b.py", line 2, in b
    a()
RuntimeError: could not rank
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (CHAIN, "lab.store.Missing: table users"),
        (CHAIN.replace("direct cause of", "reason for"), "RuntimeError: could not rank"),
        ("KeyError: 'a'\nray.exceptions.RayTaskError(KeyError): ray::f()", "KeyError: 'a'"),
        ("[1,2]<stderr>:ValueError: 7\nlast", "ValueError: 7"),
        (
            "Error(s) follow\nRuntimeError: these:\n\tsize mismatch",
            "RuntimeError: these: size mismatch",
        ),
        ("  | ExceptionGroup: two (2 sub-exceptions)\n    | KeyError: 'b'", "KeyError: 'b'"),
        (
            'Exception in thread "main" a.b.CError: 1\nCaused by: d.EException: 2',
            "Caused by: d.EException: 2",
        ),
        ("panic: nil map\n\ngoroutine 1 [running]:", "panic: nil map"),
        ("ERROR no table\nINFO failed jobs: 0\nretry was refused", "ERROR no table"),
        (
            "Command returned 1\nx.SubprocessCalledProcessError: cmd\nERROR: No match",
            "ERROR: No match",
        ),
        ("jobset failed due to one or more job failures\nbye\n-----", "bye"),
        ("step 1\nstep 2\n", "step 2"),
        ("\n---\n", ""),
    ],
)
def test_what_wraps_or_sums_up_tells_less(log: str, expected: str) -> None:
    assert telling_line(log.splitlines()) == expected


TEXTS = st.text(st.sampled_from("ab :.…\n\t'E") | st.characters(), max_size=400)


@given(TEXTS, st.integers(20, 300))
def test_no_excerpt_is_longer_than_asked_for_or_has_line_ends(text: str, limit: int) -> None:
    said = gist(text, limit)
    assert len(said) <= limit
    assert "\n" not in said
    assert bool(said) == bool(text.split())
    assert len(cut(text, limit)) <= limit


@given(TEXTS, TEXTS, st.integers(60, 300))
def test_what_matched_is_always_seen(before: str, after: str, limit: int) -> None:
    text = f"{before}NEEDLE{after}"
    found = re.search("NEEDLE", text)
    assert found is not None
    said = around(text, found, limit)
    assert "NEEDLE" in said
    assert len(said) <= limit
