"""Log lines: one fact each, with a constant event name in snake_case and fields."""

import logging
import sys
from typing import Literal

import structlog
from structlog.stdlib import BoundLogger
from structlog.typing import EventDict, Processor

from jobledger.core.values.visible_text import visible

LogFormat = Literal["console", "json"]


def configure_logging(log_format: LogFormat, level: str = "info") -> None:
    """Send structured lines to standard error, those of libraries included."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[Processor] = (
        [structlog.processors.JSONRenderer()]
        if log_format == "json"
        else [written_out, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            bounded,
            *renderers,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("apscheduler", "urllib3", "kubernetes", "alembic", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


_TRACEBACK = "exception"

FIELD_CHARACTERS_MAX = 4_000
"""Of a longer text in a field so much is written: node agents cut or drop long lines."""

TRACEBACK_CHARACTERS_MAX = 12_000
"""Of a traceback its end is written, which says what happened where."""


def bounded(_logger: object, _method: str, fields: EventDict) -> EventDict:
    """Cut long texts: messages of others may have megabytes."""
    return {name: _bounded(name, value) for name, value in fields.items()}


def _bounded(name: str, value: object) -> object:
    if name == _TRACEBACK and isinstance(value, str):
        left_out = len(value) - TRACEBACK_CHARACTERS_MAX
        return f"… {value[left_out:]}" if left_out > 0 else value
    shown = value if isinstance(value, str) else repr(value)
    if len(shown) <= FIELD_CHARACTERS_MAX:
        return value
    return f"{shown[:FIELD_CHARACTERS_MAX]}… ({len(shown)} characters)"


def written_out(_logger: object, _method: str, fields: EventDict) -> EventDict:
    """Write out what a terminal would obey, and line ends: a line of the log is one line.

    A traceback keeps its lines. JSON needs none of it: it escapes both.
    """
    return {name: _written_out(name, value) for name, value in fields.items()}


def _written_out(name: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    return visible(value) if name == _TRACEBACK else visible(value).replace("\n", "\\n")


def get_logger(name: str) -> BoundLogger:
    """Return the logger of a module.

    Until `configure_logging` says how, lines go to standard error, also in a process that shares
    the work of another: standard output is the answer of a command.
    """
    if not structlog.is_configured():
        structlog.configure(logger_factory=_to_standard_error)
    logger: BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def _to_standard_error(*_: object) -> structlog.PrintLogger:
    """Return where lines go by default: to what standard error is when one is written."""
    return structlog.PrintLogger(sys.stderr)
