"""The sample data in a Postgres of its own: what the page and the pictures are made on."""  # noqa: INP001 see recipe.py

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from bench.sample import load_sample
from jobledger.adapters.postgres.connection.engine import REPORT_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import temporary_directory


@contextmanager
def sample() -> Iterator[Engine]:
    """Yield connections, with the rights of reports, to the sample data; nothing of it stays."""
    directory = temporary_directory("jobledger-sample-")
    try:
        with EmbeddedPostgres(directory / "data", durable=False) as server:
            upgrade(server.url)
            load_sample(server.url)
            engine = open_engine(server.url, EngineOptions(role=REPORT_ROLE))
            try:
                yield engine
            finally:
                engine.dispose()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
