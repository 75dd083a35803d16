"""What the classes in builders.py have in common."""

from __future__ import annotations

import dataclasses
import json
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from .values import Record, nearest_of


def plain(value: Any) -> Any:
    """JSON of a value: builders and answers become dicts, paths texts, NumPy's numbers and arrays Python's."""
    if isinstance(value, (Builder, Record)):
        return value.json()
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(entry) for entry in value]
    if isinstance(value, PathLike):
        return fspath(value)
    if hasattr(value, "tolist"):  # NumPy, pandas
        return plain(value.tolist())
    return value


@dataclasses.dataclass(kw_only=True)
class Builder:
    """A file as an object: what is None is left out."""

    if not TYPE_CHECKING:  # a type checker that sees this takes any name for right

        def __setattr__(self, name: str, value: Any) -> None:
            """Set a member; a name that is none would be left out in silence."""
            known = [field.name for field in dataclasses.fields(self)]
            if name not in known:
                raise AttributeError(f"no '{name}' in {type(self).__name__}; {nearest_of(name, known)}")
            super().__setattr__(name, value)

    def json(self) -> dict[str, Any]:
        """The object that the file would hold."""
        members = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name.rstrip("_"): plain(value) for name, value in members.items() if value is not None}

    def __str__(self) -> str:
        """The text of the file."""
        return json.dumps(self.json(), indent=2)
