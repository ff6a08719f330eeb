"""The list of licences of what is in the image, for people."""

from collections.abc import Iterator

from ops.made.contents import parts

HEAD = """\
<!-- Made by `python -m ops.made` of `requirements/image.txt`. -->

# What is in the image, and under which licences

Jobledger itself is under Apache-2.0. Beside the base (Python and the packages of its Debian, whose
licences are in `/usr/share/doc`) the image has these distributions; the texts of their licences are
in the `.dist-info` folders of `/opt/jobledger`. The same list for scanners is
`/opt/jobledger/sbom.cdx.json` (CycloneDX). An image made with `CONTENTS=parquet` has `pyarrow`
(Apache-2.0) as well, and says so in its list for scanners.

Under the LGPL are `psycopg` and `psycopg-binary`: they are separate files, unchanged, and may be
exchanged for others. The latter brings libpq (PostgreSQL licence), OpenSSL (Apache-2.0), Kerberos
(MIT), OpenLDAP (OLDAP-2.8) and Cyrus SASL (BSD) as libraries of its own.
"""


def licences_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *_rows())) + "\n"


def _rows() -> Iterator[str]:
    yield "| distribution | version | licence |"
    yield "|---|---|---|"
    for part in parts():
        yield f"| {part.name} | {part.version} | {part.licence} |"
