"""Writes rows into Parquet files that are finished or not there, a few rows at a time."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jobledger.adapters.forensics.written_once import flush_directory
from jobledger.core.errors import LedgerMisconfigured


def write(
    path: Path,
    columns: Mapping[str, str],
    meanings: Mapping[str, str],
    batches: Iterable[Sequence[Sequence[Any]]],
) -> int:
    """Write a file in place of whatever is there; return how many rows it has, 0 if none is made.

    Args:
        path: The file; the folders above it are made.
        columns: Name -> type as Postgres prints it.
        meanings: Name -> what it means, for the metadata of the columns.
        batches: The rows; each batch is a row group.

    Raises:
        LedgerMisconfigured: pyarrow is not installed.
        OSError: it cannot be written.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # 0.3 s and 100 MB that few need
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        advice = "Parquet needs pyarrow; install it with: pip install 'jobledger[report]'"
        raise LedgerMisconfigured(advice) from error
    schema = pa.schema(
        [
            pa.field(name, _type(kind, pa), metadata={"meaning": meanings.get(name, "")})
            for name, kind in columns.items()
        ]
    )
    fresh, rows = path.with_name(f".{path.name}.{os.getpid()}"), 0
    writer = None
    try:
        for batch in batches:
            if writer is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(fresh, schema, compression="zstd")
            arrays = [
                pa.array(values, field.type)
                for values, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            rows += len(batch)
        if writer is None:
            path.unlink(missing_ok=True)  # what there was has left
            return 0
        writer.close()
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(path)
        flush_directory(path.parent)
    finally:
        if writer is not None:
            writer.close()
        fresh.unlink(missing_ok=True)
    return rows


def _type(kind: str, pa: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
    types = {
        "integer": pa.int32(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "double precision": pa.float64(),
        "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    }
    return types.get(kind, pa.string())
