#!/usr/bin/env python3
"""Writes experiments/python/foretrain/builders.py and results.py from the schemas that the program prints.

    tests/make_python_classes.py build/release/foretrain --write | --check
"""
import difflib
import json
import keyword
import pathlib
import subprocess
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "experiments/python/foretrain"
RANGE = {"median", "low", "high", "interval"}
FREE_TEXT = ("source", "notes", "spread")  # that any object may have
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
BUILT = ("experiment", "plan", "fleet")
ANSWERED = ("result", "fleet-result")


def schema_of(program, name):
    done = subprocess.run([program, "schema", name], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def camel(key):
    return "".join(part.capitalize() for part in key.replace("-", "_").split("_"))


def singular(key):
    return key[:-3] + "y" if key.endswith("ies") else key[:-1] if key.endswith("s") and not key.endswith("ss") else key


def identifier(key):
    return key + "_" if keyword.iskeyword(key) else key


class Classes:
    """Classes for the objects of schemas: equal ones share a class, others of a key get their parent's name before."""

    def __init__(self, names, write, sequence):
        self.names = dict(names)  # class -> its schema
        self.write = write
        self.sequence = sequence  # annotation of arrays
        self.text = []

    def name_for(self, key, parent, schema):
        content = json.dumps(schema["properties"], sort_keys=True)
        for name in (camel(key), parent + camel(key)):
            known = self.names.get(name)
            if known is None:
                self.names[name] = content
                self.text.append(self.write(self, name, schema))
                return name
            if known == content:
                return name
        raise SystemExit(f"two kinds of objects are called {parent}{camel(key)}")

    def type_of(self, key, parent, schema):
        """Annotation of a value, and the class of the objects in it, if there is one."""
        kind = schema.get("type")
        if kind == "array":
            inner, name = self.type_of(singular(key), parent, schema["items"])
            return self.sequence.format(inner), name
        if kind == "object" and "properties" in schema:
            name = "Range" if schema["properties"].keys() - set(FREE_TEXT) == RANGE else self.name_for(key, parent, schema)
            return name, name
        if "enum" in schema:
            return "Literal[" + ", ".join(json.dumps(word) for word in schema["enum"]) + "]", None
        return (SCALARS[kind] if isinstance(kind, str) and kind in SCALARS else "Any"), None


def documented(schema, first):
    """Docstring of a class: what it is, then its members with units and limits."""
    lines = [first, "", "Attributes:"]
    for key, member in members(schema):
        text = member.get("description", "")
        if "x-quantity" in member:
            text += f'; a {member["x-quantity"]} with its unit, like "{member["examples"][0]}"'
        if "default" in member and member["default"] not in ("", 0, False):
            text += f"; default {json.dumps(member['default'])}"
        lines += textwrap.wrap(f"{identifier(key)}: {text or 'see docs/formats.md'}", 110, subsequent_indent="        ",
                               initial_indent="    ", break_long_words=False)
    quoted = textwrap.indent("\n".join(lines).replace("\\", "\\\\"), "    ")
    return '    """' + "\n".join(line.rstrip() for line in quoted.lstrip().split("\n")) + '\n    """\n'


def members(schema):
    return [(key, member) for key, member in schema["properties"].items()
            if key not in FREE_TEXT or member.get("type", "object") != "object"]


def sentence(schema, name):
    text = schema.get("description", name)
    return text[0].upper() + text[1:].rstrip(".") + "."


def builder(classes, name, schema):
    """A dataclass: what must be there first, the rest None."""
    required, others = [], []
    for key, member in members(schema):
        if key == "format":
            continue
        annotation, inner = classes.type_of(key, name, member)
        if inner:
            annotation = annotation.replace(inner, f"{inner} | dict[str, Any]")
        if member.get("type") != "array" and "x-preset" in member:
            annotation = "str | Path | dict[str, Any]"
        if key in schema.get("required", ()) and schema.get("title") not in BUILT:
            required.append(f"    {identifier(key)}: {annotation}\n")
        else:
            others.append(f"    {identifier(key)}: {annotation if annotation == 'Any' else annotation + ' | None'} = None\n")
    return (f"\n\n@dataclass(kw_only=True)\nclass {name}(Builder):\n" + documented(schema, sentence(schema, name)) + "\n" +
            "".join(required + others))


def result(classes, name, schema):
    """A record with annotations, and what its objects are."""
    lines, kinds, known = [], [], []
    for key, member in members(schema):
        annotation, inner = classes.type_of(key, name, member)
        known.append(json.dumps(key))
        optional = key not in schema.get("required", ()) and annotation != "Any"
        lines.append(f"    {identifier(key)}: {annotation}{' | None' if optional else ''}\n")
        if inner:
            kinds.append(f'{json.dumps(key)}: {inner}')
    def assigned(name, opening, entries, closing):
        text = f"    {name} = {opening}{', '.join(entries)}{closing}\n"
        if len(text) <= 120:
            return text
        return f"    {name} = {opening}\n" + "".join(f"        {entry},\n" for entry in entries) + f"    {closing}\n"
    constants = assigned("_known", "(", known if len(known) > 1 else [known[0] + ","], ")")
    if kinds:
        constants += assigned("_kinds", "{", kinds, "}")
    return (f"\n\nclass {name}(Record):\n" + documented(schema, sentence(schema, name)) + "\n" + "".join(lines) + constants)


def module(doc, imports, program, schemas, write, sequence):
    roots = {camel(name): "" for name in schemas}
    classes = Classes(roots, write, sequence)
    for name in schemas:
        schema = schema_of(program, name)
        classes.text.append(write(classes, camel(name), schema))
    text = f'"""{doc}\n\nMade from the program\'s schemas by tests/make_python_classes.py: change these.\n"""\n\n{imports}'
    return text + "".join(classes.text)


def main():
    program, what = sys.argv[1:3]
    written = {
        "builders.py": module(
            "Files that foretrain reads, as classes that an editor completes.",
            "from __future__ import annotations\n\nfrom collections.abc import Sequence\nfrom dataclasses import dataclass\n"
            "from pathlib import Path\nfrom typing import Any, Literal\n\nfrom .builder import Builder\n",
            program, BUILT, builder, "Sequence[{}]"),
        "results.py": module(
            "Answers of foretrain that have a schema, as classes that an editor completes.",
            "from __future__ import annotations\n\nfrom typing import Any, Literal\n\nfrom .values import Range, Record\n",
            program, ANSWERED, result, "tuple[{}, ...]"),
    }
    status = 0
    for name, text in written.items():
        path = PACKAGE / name
        found = path.read_text() if path.exists() else ""
        if what == "--write":
            path.write_text(text)
        elif found != text:
            status = 1
            sys.stderr.writelines(difflib.unified_diff(found.splitlines(True), text.splitlines(True), name, "from schemas"))
            print(f"{name} is not what the schemas say: tests/make_python_classes.py PROGRAM --write", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
