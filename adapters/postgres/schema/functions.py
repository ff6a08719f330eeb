"""Locates the SQL functions, and installs one from a migration."""

from importlib.resources import files

from sqlalchemy import DDL, Connection


def current_schema(connection: Connection) -> str:
    """Return the schema that new tables go to on this connection."""
    name: str = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    return name


def create_function(connection: Connection, name: str, *, or_replace: bool = False) -> DDL:
    """Return the statement that creates the function of `adapters/postgres/sql/<name>.sql`.

    The function names every table with the schema that new tables go to on this connection, because
    it runs under a search path of its own. With `or_replace` it takes the place of one of its name.
    """
    schema = current_schema(connection)
    quoted = connection.dialect.identifier_preparer.quote_identifier(schema)
    literal = "'" + schema.replace("'", "''") + "'"
    body = (files("jobledger.adapters.postgres") / "sql" / f"{name}.sql").read_text(
        encoding="utf-8"
    )
    if or_replace:
        body = body.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
    body = body.replace("{schema_literal}", literal).replace("{schema}", quoted)
    return DDL(body.replace("%", "%%"))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped
