"""JSON of the program as objects: keys are attributes, ranges know their ends."""

from __future__ import annotations

import difflib
import html
import keyword
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar, TypeVar, cast


def attribute_of(key: str) -> str:
    """The attribute under which a key is found: keys that Python keeps for itself end in "_"."""
    return key + "_" if keyword.iskeyword(key) else key


def nearest_of(name: str, known: Collection[str]) -> str:
    """Advice for a name that is none of those known."""
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{near[0]}'?" if near else f"it has: {', '.join(known)}"


class Record:
    """An object of an answer: its keys are attributes, read-only; lists are tuples.

    Keys that are no names, like the pointers of `settings`, are asked for by `record["/jobs/0/gpus"]`.
    A key that answers of this kind may have and this one has not is None.
    """

    _kinds: ClassVar[Mapping[str, type[Record]]] = {}
    _known: ClassVar[tuple[str, ...]] = ()

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Wrap what json.loads() gave."""
        self.__dict__["_data"] = data

    def json(self) -> dict[str, Any]:
        """What the program printed, as dicts and lists that are the caller's own."""
        return cast("dict[str, Any]", deepcopy(self._data))

    def __getattr__(self, name: str) -> Any:
        """Value of a key."""
        data = self.__dict__.get("_data", {})  # copy and pickle ask before there is any
        key = name[:-1] if name.endswith("_") and name not in data else name
        if key not in data:
            if key in self._known:
                return None
            known = dict.fromkeys([*data, *self._known])
            raise AttributeError(f"no '{name}' in this {type(self).__name__}; {nearest_of(name, known)}")
        value = wrapped(data[key], self._kinds.get(key))
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Answers can't be changed."""
        raise AttributeError(f"'{name}' can't be set: answers are read-only; json() gives a copy to change")

    def __getitem__(self, key: str) -> Any:
        """Value of a key, whatever characters it has."""
        return wrapped(self._data[key], self._kinds.get(key))

    def __contains__(self, key: object) -> bool:
        """Whether the key is there."""
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        """Keys in the program's order."""
        return iter(self._data)

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._data)

    def keys(self) -> list[str]:
        """Keys in the program's order: dict(record) works."""
        return list(self._data)

    def __dir__(self) -> list[str]:
        """Keys, for completion."""
        return sorted({*super().__dir__(), *map(attribute_of, self._data), *map(attribute_of, self._known)})

    def __eq__(self, other: object) -> bool:
        """By what the program printed."""
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the keys with short values."""
        shown = ", ".join(f"{key}={_short(self[key])}" for key in list(self._data)[:8])
        return f"{type(self).__name__}({shown}{', ...' if len(self._data) > 8 else ''})"

    def _repr_html_(self) -> str:
        return html_table(["", ""], [[key, _short(self[key])] for key in self._data])


class Range(Record):
    """A number that is known within limits: `low` to `high` with probability `interval`."""

    median: float
    low: float
    high: float
    interval: float
    _known = ("median", "low", "high", "interval")

    def __float__(self) -> float:
        """The median."""
        return float(self._data["median"])

    def __repr__(self) -> str:
        """Show median and ends."""
        return f"{self.median:.6g} [{self.low:.6g}, {self.high:.6g}]"


_R = TypeVar("_R", bound=Record)


def wrapped(value: Any, kind: type[Record] | None = None) -> Any:
    """What attributes give: records for objects, tuples of these for lists, the rest as it is."""
    if isinstance(value, list):
        return tuple(wrapped(entry, kind) for entry in value)
    if not isinstance(value, dict):
        return value
    if kind is None:
        kind = Range if value.keys() == {"median", "low", "high", "interval"} else Record
    return kind(value)


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{len(value)} entries]" if len(value) != 1 else "[1 entry]"
    if isinstance(value, Record) and not isinstance(value, Range):
        return "{...}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value) if isinstance(value, Range) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def html_table(columns: list[str], rows: list[list[Any]]) -> str:
    """Make a table in which no text of the answer can be markup."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell_text(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell_text(cell: Any) -> str:
    """Show a value in a table: few digits, nothing for what is not there."""
    if cell is None:
        return ""
    if isinstance(cell, dict):
        return ", ".join(str(value) for value in cell.values())
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
