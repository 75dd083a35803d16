#!/usr/bin/env python3
"""A file includes only from its own room and from floors below (docs/house.md), and no two files give
one name to different types (nothing but a sanitizer notices, when memory is overwritten)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAY_INCLUDE = {
    "sim/base": {"sim/base"},
    "sim/cost": {"sim/base", "sim/cost"},
    "sim/engine": {"sim/base", "sim/cost", "sim/engine"},
    "platforms": {"sim", "platforms"},
    "models": {"sim", "models"},
    "calibration": {"sim", "calibration"},
    "realrun": {"sim/base", "realrun"},
    "experiments": {"sim", "platforms", "models", "calibration", "experiments"},
}
DOORS = {  # libraries that only these files may include
    r"simgrid/": r"sim/engine/simgrid_adapter\.cpp",
    r"boost/graph/": r"platforms/.*",
    r"boost/uuid/": r"experiments/fingerprint\.cpp",
    r"sqlite3": r"experiments/result_store\.cpp",
    r"Eigen/": r"(calibration|realrun)/.*",
    r"CLI/": r"experiments/cli/.*|realrun/.*",
}

problems = []
types = {}  # (namespace, name) -> where it is defined
for path in sorted(p for room in ("sim", "platforms", "models", "calibration", "realrun", "experiments")
                   for p in (ROOT / room).rglob("*") if p.suffix in {".cpp", ".hpp", ".cu", ".cuh"}):
    name = path.relative_to(ROOT).as_posix()
    room = next(r for r in MAY_INCLUDE if name.startswith(r + "/"))
    namespace = outer = ""  # an empty one: what is in it belongs to the file
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if opened := re.match(r"namespace ([\w:]*) *{", line):
            namespace = opened[1]
        elif closed := re.match(r"} // namespace$", line):
            namespace = outer
        if namespace:
            outer = namespace
            if defined := re.match(r"(?:struct|class|enum class) (\w+)(?!::)\b[^;]*$", line):
                key = f"{namespace}::{defined[1]}"
                if key in types:
                    problems.append(f"{name}:{number}: {key} is {types[key]}, too")
                types[key] = f"{name}:{number}"
        own = re.match(r'\s*#include "([^"]+)"', line)
        if own and "/" in own[1] and not any(own[1].startswith(r + "/") for r in MAY_INCLUDE[room]):
            problems.append(f"{name}:{number}: {room} must not include {own[1]}")
        library = re.match(r"\s*#include <([^>]+)>", line)
        for prefix, owners in DOORS.items():
            if library and library[1].startswith(prefix) and not re.fullmatch(owners, name):
                problems.append(f"{name}:{number}: {library[1]} has one door: {owners}")
print("\n".join(problems) or "the layers are in order")
sys.exit(bool(problems))
