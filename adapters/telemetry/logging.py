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
    """Return the logger of a module."""
    logger: BoundLogger = structlog.stdlib.get_logger(name)
    return logger
