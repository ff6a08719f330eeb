"""Writes rows into Parquet files that are finished or not there, a few rows at a time."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from jobledger.adapters.files.written_once import beside, make_directory, take_place
from jobledger.adapters.postgres.reports.by_month import DELIMITER, QUOTE
from jobledger.core.errors import LedgerMisconfigured


def write(
    path: Path,
    columns: Mapping[str, str],
    meanings: Mapping[str, str],
    batches: Iterable[bytes],
) -> int:
    """Write a file in place of whatever is there; return how many rows it has, 0 if none is made.

    Args:
        path: The file; the folders above it are made.
        columns: Name -> type as Postgres prints it.
        meanings: Name -> what it means, for the metadata of the columns.
        batches: The rows as lines of CSV, as `by_month.batches` yields them; each batch is a row
            group. No object is made of a value on its way into the columns.

    Raises:
        LedgerMisconfigured: pyarrow is not installed.
        OSError: it cannot be written.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # 0.3 s and 100 MB that few need
        import pyarrow.csv  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        advice = "Parquet needs pyarrow; install it with: pip install 'jobledger[parquet]'"
        raise LedgerMisconfigured(advice) from error
    schema = pa.schema(
        [
            pa.field(name, _type(kind, pa), metadata={"meaning": meanings.get(name, "")})
            for name, kind in columns.items()
        ]
    )
    rows, batches = 0, iter(batches)
    first = next(batches, None)
    if first is None:
        path.unlink(missing_ok=True)  # what there was has left
        return 0
    make_directory(path.parent)
    with beside(path) as fresh:
        with pq.ParquetWriter(fresh, schema, compression="zstd") as writer:
            for batch in chain((first,), batches):
                table = _table(batch, schema, pa)
                writer.write_table(table)
                rows += table.num_rows
        take_place(fresh, path)
    return rows


def _table(batch: bytes, schema: Any, pa: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
    names = [field.name for field in schema]
    one_block = pa.csv.ReadOptions(column_names=names, block_size=len(batch) + 1, use_threads=False)
    signs = pa.csv.ParseOptions(delimiter=DELIMITER, quote_char=QUOTE, newlines_in_values=True)
    values = pa.csv.ConvertOptions(
        column_types={field.name: field.type for field in schema},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["t"],
        false_values=["f"],
    )
    read = pa.csv.read_csv(pa.BufferReader(batch), one_block, signs, values)
    return read.cast(schema)  # names it did know, meanings it did not


def _type(kind: str, pa: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
    types = {
        "integer": pa.int32(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "double precision": pa.float64(),
        "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    }
    return types.get(kind, pa.string())
