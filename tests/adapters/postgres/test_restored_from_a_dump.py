"""A ledger restored from a dump on another server has its roles and rights again after an upgrade.

Roles are the server's, so every grant of a dump is refused there, and `--no-privileges` leaves all
of them out.
"""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.connection.engine import (
    APP_ROLE,
    REPORT_ROLE,
    EngineOptions,
    open_engine,
)
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.schema.guards import guards_of
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.adapters.postgres.verifying.condition import condition
from jobledger.core.errors import LedgerMisconfigured
from tests.support.postgres import plain_url, running_server
from tests.support.records import NOON

pytestmark = pytest.mark.postgres

WITHOUT_ROLES = """
    DROP OWNED BY jobledger_app, jobledger_report;
    DROP ROLE jobledger_app;
    DROP ROLE jobledger_report;
"""
WITHOUT_PRIVILEGES = """
    REVOKE ALL ON ALL TABLES IN SCHEMA public, report_v1 FROM jobledger_app, jobledger_report;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM jobledger_app;
    REVOKE ALL ON SCHEMA report_v1 FROM jobledger_app, jobledger_report;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC;
"""


@pytest.fixture(scope="module")
def own_url() -> Iterator[str]:
    """A ledger on a server of its own: the roles are all databases'."""
    with running_server() as server:
        upgrade(server.url)
        yield server.url


def position_by(url: str) -> int:
    """Ask as the service does."""
    engine = open_engine(url, EngineOptions(role=APP_ROLE))
    try:
        return PostgresEventStore(engine, lambda: NOON).last_position()
    finally:
        engine.dispose()


def require_rights(engine: Engine) -> None:
    """Raise unless all may do what the migrations let them."""
    found = guards_of(engine)
    assert found.there.grants == found.wanted.grants
    assert not condition(engine).rights_lacking
    reader = open_engine(str(engine.url.render_as_string(False)), EngineOptions(role=REPORT_ROLE))
    with reader.connect() as connection:
        assert not connection.exec_driver_sql("SELECT * FROM report_v1.jobs").all()
        assert not connection.exec_driver_sql("SELECT * FROM event").all()
    reader.dispose()


@pytest.mark.parametrize("dumped", [WITHOUT_ROLES, WITHOUT_PRIVILEGES])
def test_an_upgrade_gives_roles_and_rights_back(own_url: str, dumped: str) -> None:
    engine = open_engine(own_url)
    require_rights(engine)
    with psycopg.connect(plain_url(own_url), autocommit=True) as admin:
        admin.execute(dumped)
    with pytest.raises(LedgerMisconfigured, match="run `jobledger db upgrade`"):
        position_by(own_url)
    upgrade(own_url)
    require_rights(engine)
    assert position_by(own_url) == 0
    engine.dispose()


def test_what_others_were_given_stays(own_url: str) -> None:
    with psycopg.connect(plain_url(own_url), autocommit=True) as admin:
        admin.execute("CREATE ROLE boards; GRANT SELECT ON job TO boards")
    upgrade(own_url)
    engine = open_engine(own_url)
    assert "SELECT ON job TO boards" in guards_of(engine).there.grants
    engine.dispose()


def test_what_an_administrator_took_stays_taken(own_url: str) -> None:
    """Each upgrade of the chart would give analysts the log again, beside the views."""
    with psycopg.connect(plain_url(own_url), autocommit=True) as admin:
        admin.execute("REVOKE SELECT ON event FROM jobledger_report")
        upgrade(own_url)
        engine = open_engine(own_url)
        assert "SELECT ON event TO jobledger_report" not in guards_of(engine).there.grants
        engine.dispose()
        admin.execute("GRANT SELECT ON event TO jobledger_report")


def test_a_role_that_the_server_lacks_is_named(own_url: str) -> None:
    with psycopg.connect(plain_url(own_url), autocommit=True) as admin:
        admin.execute(WITHOUT_ROLES)
    with pytest.raises(LedgerMisconfigured, match="has no role jobledger_app, which no dump"):
        position_by(own_url)
    upgrade(own_url)
