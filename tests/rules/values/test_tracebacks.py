"""Frames of tracebacks and the code below them are told from what is said."""

from hypothesis import given
from hypothesis import strategies as st

from jobledger.core.values.tracebacks import blanked_frames, said

LOG = """[rank1]: Traceback (most recent call last):
[rank1]:   File "/app/train.py", line 3, in <module>
[rank1]:     raise ValueError("a guess")
[rank1]: ValueError: 3
  File "/app/x.py", line 14
    rows = list(fetch(day)
               ^
SyntaxError: '(' was never closed
    indented without a frame"""


def test_frames_and_code_are_left_out() -> None:
    bodies = [(one.body, one.after_frames) for one in said(LOG.splitlines())]
    assert bodies == [
        ("Traceback (most recent call last):", False),
        ("ValueError: 3", True),
        ("SyntaxError: '(' was never closed", True),
        ("indented without a frame", False),
    ]


@given(st.lists(st.text(st.sampled_from('ab [](:)|\t"1') | st.characters(), max_size=60)))
def test_blanks_are_as_long_as_what_they_stand_for(lines: list[str]) -> None:
    lines.append('  File "/app/x.py", line 1')
    assert [len(line) for line in blanked_frames(lines)] == [len(line) for line in lines]
