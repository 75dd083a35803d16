"""What callers give - files, names, texts, dicts, builders, options - as words and files of the program."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from os import PathLike, fspath
from typing import Any, Union, cast

from .builder import Builder, plain
from .process import TextFile
from .values import Record

Given = Union[str, "PathLike[str]", Mapping[str, Any], Builder, Record]
"""A file: the name of a bundled one, a path, its text (JSON or YAML), a dict, a builder, or a profile as `calibrate` gave it."""
SETTINGS = frozenset({"set", "set_a", "set_b", "where_a", "where_b"})
"""Options whose values are JSON pointers with values."""


def text_of(given: Given) -> str | None:
    """Text of what is no file; None for a path or a name."""
    if not isinstance(given, (str, PathLike, Mapping, Builder, Record)):
        raise TypeError(f"must be a name, a path, a text, a dict or an object of foretrain, got {type(given).__name__}")
    if isinstance(given, (Builder, Mapping, Record)):
        return json.dumps(plain(dict(given) if isinstance(given, Mapping) else given))
    if isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{")):
        return given
    return None


def word_of(given: str | PathLike[str]) -> str:
    """The program's word for a name or a path; a path without a folder is no name."""
    if isinstance(given, str):
        return given
    path = fspath(given)
    return path if "/" in path else "./" + path


class Input:
    """A given file for a command: the word on its line, and the text behind it, if there is one."""

    def __init__(self, given: Given, alone: bool = True) -> None:
        """`alone`: the command's only file, which may be its standard input."""
        text = text_of(given)
        self.text = TextFile(text) if text is not None else None
        self.standard = self.text is not None and alone
        self.word = "-" if self.standard else self.text.path if self.text is not None else ""
        if isinstance(given, (str, PathLike)) and self.text is None:
            self.word = word_of(given)

    def __enter__(self) -> Input:
        """Keep it for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget the text."""
        if self.text is not None:
            self.text.close()


def listed(given: Given | Iterable[Given]) -> list[Given]:
    """One file, or several."""
    if isinstance(given, (str, PathLike, Mapping, Builder, Record)) or not isinstance(given, Iterable):
        return [given]
    return list(given)


class FileOption:
    """An option whose value is a given file, which has a name once its command runs."""

    def __init__(self, flag: str, given: Given) -> None:
        """Keep both."""
        self.flag = flag
        self.given = given

    @property
    def name(self) -> str:
        """What people call the file: the name that its object has, else the option."""
        if isinstance(self.given, (Mapping, Record)) and "name" in self.given:
            return str(self.given["name"])
        return self.flag.removeprefix("--")


Word = Union[str, FileOption]


def inline(given: Given | None) -> str | None:
    """The word of an option that takes a name, a path, or the text of an object itself."""
    if given is None:
        return None
    text = text_of(given)
    return word_of(cast("str | PathLike[str]", given)) if text is None else text


def options(values: Mapping[str, Any], files: Collection[str] = ("profile",)) -> list[Word]:
    """Words for options, among them `files`, whose values are given files."""
    words: list[Word] = []
    for name, value in values.items():
        if name in files and value is not None:
            words += [FileOption("--" + name, entry) for entry in listed(value)]
        else:
            words += plain_options({name: value})
    return words


def plain_options(values: Mapping[str, Any]) -> list[str]:
    """Words for options: None is left out, True a flag, lists repeat, settings are POINTER=VALUE."""
    words: list[str] = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping) and name in SETTINGS:
            for pointer, entry in value.items():
                words += [flag, f"{pointer}={json.dumps(plain(entry))}"]
        else:
            if isinstance(value, (Mapping, Builder, Record)):
                raise TypeError(f"{name} must be a name, a path or a number, got {type(value).__name__}")
            several = isinstance(value, Iterable) and not isinstance(value, (str, PathLike))
            for entry in value if several else [value]:
                words.append(f"{flag}={fspath(entry) if isinstance(entry, PathLike) else entry}")
    return words
