"""Own measurements in data frames as the files that the program reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from .builder import plain
from .errors import ForetrainError

_EXACT = 2**53  # below it a float is the only one that its integer stands for
_NCCL = ("size_byte", "count", "type", "redop", "root", "time_us", "algbw_GB_per_s", "busbw_GB_per_s")
_NCCL_HEADER = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas, or what can give its rows likewise."""

    def to_dict(self, orient: str) -> Any:
        """Rows, for "records"."""


def _records(frame: Frame) -> list[dict[str, Any]]:
    """Rows without what is empty."""
    rows: Sequence[Mapping[Any, Any]] = frame.to_dict("records")
    return [{str(key): _cell(value) for key, value in row.items() if not _empty(value)} for row in rows]


def _empty(value: Any) -> bool:
    """Whether a cell is None, NaN, or pandas.NA, which has no truth."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _cell(value: Any) -> Any:
    """JSON of a cell: a column of integers in which a row is empty holds floats, which are integers again."""
    value = plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def _needed(rows: list[dict[str, Any]], columns: Sequence[str], what: str) -> None:
    for column in columns:
        if not rows or any(column not in row for row in rows):
            raise ForetrainError(f"a frame of {what} needs a value of '{column}' in each row; columns: {', '.join(columns)}")


def suite_of(frame: Frame, experiment: Any) -> dict[str, Any]:
    """Make a suite of a frame: a row for each measurement, columns as the keys of docs/formats.md#suite.

    Columns that begin with "/" are settings of the experiment; `experiment` is what rows are about that have no such
    column of their own.
    """
    rows = _records(frame)
    for i, row in enumerate(rows):
        row["settings"] = {key: row.pop(key) for key in list(row) if key.startswith("/")}
        row.setdefault("id", f"row-{i}")
        if experiment is not None:
            row.setdefault("experiment", "measured")
    _needed(rows, ("id", "experiment", "regime", "quantity", "measured", "unit"), "measurements")
    suite: dict[str, Any] = {"name": "measured", "rows": rows}
    if experiment is not None:
        suite["experiments"] = {"measured": plain(experiment)}
    return suite


def nccl_log_of(frame: Frame) -> str:
    """Make a log of nccl-tests of a frame with its columns: those that `NcclTests.frame()` has, out of place."""
    rows = _records(frame)
    _needed(rows, _NCCL, "nccl-tests")
    lines = ["# " + " ".join(_NCCL_HEADER), "# (B) (elements) (us) (GB/s) (GB/s)"]
    return "\n".join(lines + [" ".join(str(row[column]) for column in _NCCL) + " N/A" for row in rows]) + "\n"
