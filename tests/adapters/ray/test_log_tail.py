"""Of a log, however long, its end is read."""

import json

import pytest

from jobledger.adapters.ray.job_api import LOG_KEPT_BYTES, TAIL_BYTES, RayJobApi, log_tail_of
from jobledger.core.errors import RayApiUnreachable, RayJobNotFound
from tests.adapters.ray.scripted_head import Script, ScriptedHead, Then, answer


def log_of(api: RayJobApi, script: Script) -> str:
    with ScriptedHead(script) as head:
        return api.log_tail(head.address, "job")


def test_a_short_log_is_read_whole(api: RayJobApi) -> None:
    log = 'epoch 1\n"loss": 0.5 \\ é \U0001f600\r\nlast line'
    assert log_of(api, answer({"logs": log})) == log
    assert log_of(api, answer({"logs": ""})) == ""
    assert log_of(api, answer({"logs": None})) == ""


@pytest.mark.parametrize("lines", [5_000, 200_000], ids=["longer than a tail", "than we keep"])
def test_of_a_long_log_the_last_whole_lines_are_read(api: RayJobApi, lines: int) -> None:
    log = "".join(
        f'{number} "quoted" \\ é \U0001f600 ' + "x" * 40 + "\n" for number in range(lines)
    )
    tail = log_of(api, answer({"logs": log}))
    assert log.endswith("\n" + tail)
    assert TAIL_BYTES - 200 < len(tail.encode()) <= TAIL_BYTES


def test_the_end_is_found_wherever_the_cut_falls() -> None:
    log = 'a\\b"c\td\né\U0001f600\x01' * 3 + "\nthe last line"
    whole = json.dumps({"logs": log}).encode() + b"\n"
    for kept in range(len("the last line") + 20, len(whole) - len('{"logs": "')):
        end = log_tail_of("head:1", whole[-kept:], beginning_lost=True)
        assert end.endswith("the last line")


@pytest.mark.parametrize("length", [TAIL_BYTES + 1, LOG_KEPT_BYTES * 2])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n \n"])
def test_a_line_longer_than_a_tail_is_cut(api: RayJobApi, length: int, end: str) -> None:
    """Of one with a line feed at its end nothing was left, and the log was called empty."""
    kept = log_of(api, answer({"logs": "x" * length + end}))
    assert kept == "x" * (TAIL_BYTES - len(end)) + end


@pytest.mark.parametrize(
    ("log", "kept"),
    [
        ("x" * TAIL_BYTES, "x" * TAIL_BYTES),
        ("a\n" + "x" * (TAIL_BYTES - 2), "a\n" + "x" * (TAIL_BYTES - 2)),
        ("\u20ac" * TAIL_BYTES, "\u20ac" * (TAIL_BYTES // 3)),
        ("a" + "\u20ac" * TAIL_BYTES, "\u20ac" * (TAIL_BYTES // 3)),
    ],
    ids=["just a tail", "just a tail of two lines", "three bytes each", "the same, shifted"],
)
def test_at_the_edge_of_a_tail(api: RayJobApi, log: str, kept: str) -> None:
    assert log_of(api, answer({"logs": log})) == kept


@pytest.mark.parametrize(
    "script",
    [
        answer(b"plain text"),
        answer(b"x" * (LOG_KEPT_BYTES + 1)),
        answer(b'{"logs": "' + b"x" * LOG_KEPT_BYTES),
        answer(b'{"logs": ["' + b'x","' * LOG_KEPT_BYTES + b'"]}'),
        Script(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"logs": "x', Then.CLOSE),
        answer(b"", "500 Internal Server Error"),
    ],
    ids=["text", "long text", "no end", "list", "broken off", "500"],
)
def test_a_log_that_makes_no_sense_is_none(api: RayJobApi, script: Script) -> None:
    with pytest.raises(RayApiUnreachable):
        log_of(api, script)


def test_the_log_of_an_unknown_job_is_not_found(api: RayJobApi) -> None:
    with pytest.raises(RayJobNotFound):
        log_of(api, answer(b"Job job does not exist", "404 Not Found"))


def test_what_postgres_cannot_hold_is_replaced(api: RayJobApi) -> None:
    assert log_of(api, answer(rb'{"logs": "a\u0000b\udfffc"}')) == "a\ufffdb\ufffdc"
