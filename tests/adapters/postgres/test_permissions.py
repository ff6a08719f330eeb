"""A user who is no superuser: what it may do, and what it is told if it may not."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.errors import LedgerMisconfigured
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import plain_url
from tests.support.records import StreamWriter, a_stream

pytestmark = pytest.mark.postgres

PASSWORD = "s3cret-and-long"


@contextmanager
def user(url: str, name: str, *rights: str) -> Iterator[str]:
    """Make a user who owns the database of `url`; give its URL; drop both rights and user."""
    quoted = sql.Identifier(name)
    database = sql.Identifier(make_url(url).database or "")
    with psycopg.connect(plain_url(url), autocommit=True) as admin:
        create = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(quoted, sql.Literal(PASSWORD))
        admin.execute(create)
        admin.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(quoted))
        for right in rights:
            admin.execute(sql.SQL("ALTER ROLE {} " + right).format(quoted))
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, quoted))
    try:
        yield (
            make_url(url)
            .set(username=name, password=PASSWORD)
            .render_as_string(hide_password=False)
        )
    finally:
        with psycopg.connect(plain_url(url), autocommit=True) as admin:
            admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(database))
            admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(quoted))
            admin.execute(sql.SQL("DROP ROLE {}").format(quoted))


@contextmanager
def granted(url: str, name: str) -> Iterator[None]:
    """Do what the message tells the administrator to do."""
    with psycopg.connect(plain_url(url), autocommit=True) as admin:
        admin.execute(sql.SQL("GRANT jobledger_app TO {}").format(sql.Identifier(name)))
    yield


def test_an_owner_without_the_role_is_told_what_an_administrator_must_run(
    database_url: str, ledger_template: str
) -> None:
    assert ledger_template, "its migration has made the roles on this server"
    with user(database_url, "poor_owner") as url, pytest.raises(LedgerMisconfigured) as refused:
        upgrade(url)
    assert "GRANT jobledger_app TO poor_owner;" in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_an_owner_with_the_role_migrates_and_writes(
    database_url: str, ledger_template: str
) -> None:
    assert ledger_template, "its migration has made the roles on this server"
    with user(database_url, "plain_owner") as url, granted(database_url, "plain_owner"):
        # The privileges that others have given to the roles stay as they are.
        upgrade(url)
        with app_engine(url) as engine:
            ledger = postgres_ledger(engine)
            ledger.take_all_shards()
            (result,) = ledger.store.append([StreamWriter(a_stream()).next()])
        assert result.version == 1


def test_the_service_has_its_rights_where_nothing_is_everybodys(
    database_url: str, ledger_template: str
) -> None:
    assert ledger_template, "its migration has made the roles on this server"
    with user(database_url, "strict_owner") as url, granted(database_url, "strict_owner"):
        with psycopg.connect(plain_url(url), autocommit=True) as owner:
            owner.execute("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
        upgrade(url)
        with app_engine(url) as engine:
            ledger = postgres_ledger(engine)
            ledger.take_all_shards()
            ledger.store.append([StreamWriter(a_stream()).next()])
            assert verify(engine, lambda _done, _of: None).faults == ()


def test_a_user_who_may_not_create_tables_is_told_so(database_url: str) -> None:
    with user(database_url, "guest") as url:
        with psycopg.connect(plain_url(database_url), autocommit=True) as admin:
            admin.execute(
                "ALTER DATABASE " + (make_url(url).database or "") + " OWNER TO CURRENT_USER"
            )
            admin.execute("REVOKE CREATE ON SCHEMA public FROM guest")
        with pytest.raises(LedgerMisconfigured, match="may not do that"):
            upgrade(url)


def test_a_service_that_may_not_take_its_role_on_is_told_so(ledger_url: str) -> None:
    with (
        user(ledger_url, "stranger") as url,
        app_engine(url) as engine,
        pytest.raises(LedgerMisconfigured, match=r"may not do that.*jobledger_app"),
    ):
        postgres_ledger(engine).store.last_position()
