#!/usr/bin/env python3
"""The house rules (docs/house.md): a file includes only from its own room and from floors below, no two
modules (a .cpp with its .hpp, and what of it is private, _impl.hpp) need each other in a circle, each library has its doors, and no two files give
one name to different types (nothing but a sanitizer notices, when memory is overwritten), and what the files of a
room keep to themselves has different names (they may be compiled as one, CMAKE_UNITY_BUILD).

    tests/check_layers.py [ROOT]    ROOT: another tree, for the test of this check
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
GROUND = {"sim/base", "sim/cost", "sim/engine", "sim/workload"}
TRAINING = GROUND | {"models/collectives", "models/networks", "models/input", "models/training"}
MODELS = TRAINING | {f"models/{room}" for room in ("servers", "transformer", "plans", "traces", "graphs", "fleet")}
FIRST_FLOOR = GROUND | MODELS | {"platforms", "calibration"}
SPEC = FIRST_FLOOR | {"experiments/spec"}
KEEP = SPEC | {"experiments/run/keep"}
SIMULATE = KEEP | {"experiments/run/simulate"}
LIMITS = SIMULATE | {"experiments/run/limits"}
UNCERTAINTY = LIMITS | {"experiments/run/uncertainty"}
RUN = UNCERTAINTY | {"experiments/run"}
ANSWERS = RUN | {"experiments/answers"}
REPORT = ANSWERS | {"experiments/report"}
LEARN = RUN | {"experiments/learn"}
FLEET = REPORT | {"experiments/fleet"}
VALIDATE = FLEET | {"experiments/validate"}
API = VALIDATE | LEARN | {"experiments/api"}
MAY_INCLUDE = {
    "sim/base": {"sim/base"},
    "sim/cost": {"sim/base", "sim/cost"},
    "sim/engine": {"sim/base", "sim/cost", "sim/engine"},
    "sim/workload": {"sim/base", "sim/cost", "sim/engine", "sim/workload"},
    "platforms": GROUND | {"platforms"},
    "models/collectives": GROUND | {"models/collectives"},
    "models/networks": GROUND | {"models/networks"},
    "models/input": GROUND | {"models/input"},
    "models/training": TRAINING,
    "models/servers": TRAINING | {"models/servers"},
    "models/transformer": TRAINING | {"models/transformer"},
    "models/plans": TRAINING | {"models/transformer", "models/plans"},
    "models/traces": TRAINING | {"models/traces"},
    "models/graphs": TRAINING | {"models/traces", "models/graphs"},
    "models/fleet": GROUND | {"models/fleet"},
    "calibration": GROUND | {"calibration"},
    "realrun": {"sim/base", "realrun"},
    "experiments/spec": SPEC,
    "experiments/run/keep": KEEP,
    "experiments/run/simulate": SIMULATE,
    "experiments/run/limits": LIMITS,
    "experiments/run/uncertainty": UNCERTAINTY,
    "experiments/run": RUN,
    "experiments/answers": ANSWERS,
    "experiments/report": REPORT,
    "experiments/fleet": FLEET,
    "experiments/learn": LEARN,
    "experiments/validate": VALIDATE,
    "experiments/api": API,
    "experiments/serve": API | {"experiments/serve"},
    "experiments/cli": API | {"experiments/serve", "experiments/cli"},
}
DOORS = {  # libraries that only these files may include
    r"simgrid/": r"sim/engine/simgrid_adapter\.cpp",
    r"boost/graph/": r"platforms/.*",
    r"boost/uuid/": r"experiments/run/keep/fingerprint\.cpp",
    r"sqlite3": r"experiments/run/keep/(sqlite_file|sql_question)\.cpp|models/traces/nsys\.cpp",
    r"pugixml": r"platforms/.*",
    r"yaml-cpp/": r"sim/base/yaml\.cpp",
    r"Eigen/": r"(calibration|realrun)/.*",
    r"httplib": r"experiments/serve/server\.cpp",
    r"CLI/": r"experiments/cli/.*|realrun/.*",
}


def room_of(name):
    return max((r for r in MAY_INCLUDE if name.startswith(r + "/")), key=len, default=None)


def module_of(name):
    return re.sub(r"(_impl)?\.(cpp|hpp|cu|cuh)$", "", name)


def private_name(line):
    """What a line in the first column of an unnamed namespace defines: a name, or a function with its parameters."""
    if line[:1] in " #}/{":
        return None
    if named := re.match(r"(?:struct|class|enum class) (\w+)|using (\w+) =|"
                         r"(?:(?:inline|static|constexpr|const) )*[\w:<>,*& ]+?[ *&](\w+)(?:\[\w*\])?(?: =|{|;)", line):
        return next(filter(None, named.groups())) if not line.startswith("using namespace") else None
    if function := re.match(r"[\w:<>,*& ]+?[ *&](\w+)\((.*)", line):
        return function[1] + "(" + re.sub(r" ?[a-z]\w*(?=[,)])", "", function[2])
    return None


problems = []
types = {}  # (namespace, name) -> where it is defined
needs = {}  # module -> modules it includes
private = {}  # (room, name or signature) -> the file that has it in a namespace without a name
ALONE = {"experiments/report/svg_scatter.cpp"}  # SKIP_UNITY_BUILD_INCLUSION
for path in sorted(p for room in ("sim", "platforms", "models", "calibration", "realrun", "experiments")
                   for p in (ROOT / room).rglob("*") if p.suffix in {".cpp", ".hpp", ".cu", ".cuh"}):
    name = path.relative_to(ROOT).as_posix()
    room = room_of(name)
    if room is None:
        problems.append(f"{name}:1: stands in no room")
        continue
    namespace = outer = ""  # an empty one: what is in it belongs to the file
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if opened := re.match(r"namespace ([\w:]*) *{", line):
            namespace = opened[1]
        elif re.match(r"} // namespace$", line):
            namespace = outer
        if namespace:
            outer = namespace
            if defined := re.match(r"(?:struct|class|enum class) (\w+)(?!::)\b[^;]*$", line):
                key = f"{namespace}::{defined[1]}"
                if key in types:
                    problems.append(f"{name}:{number}: {key} is {types[key]}, too")
                types[key] = f"{name}:{number}"
        elif path.suffix == ".cpp" and room != "realrun" and name not in ALONE and (what := private_name(line)):
            if outer and private.setdefault((room, what), name) != name and not line.startswith("using"):
                problems.append(f"{name}:{number}: {what} stands in {private[room, what]}, too: give it a name of its own")
        if (own := re.match(r'\s*#include "([^"]+)"', line)) and "/" in own[1]:
            if room_of(own[1]) not in MAY_INCLUDE[room]:
                problems.append(f"{name}:{number}: {room} must not include {own[1]}")
            if module_of(own[1]) != module_of(name):
                needs.setdefault(module_of(name), {}).setdefault(module_of(own[1]), f"{name}:{number}")
        if library := re.match(r"\s*#include <([^>]+)>", line):
            for prefix, owners in DOORS.items():
                if library[1].startswith(prefix) and not re.fullmatch(owners, name):
                    problems.append(f"{name}:{number}: {library[1]} has one door: {owners}")


def find_cycle():
    """A list of modules of which each needs the next and the last the first, or None."""
    state = {}
    for root in sorted(needs):
        stack = [(root, iter(sorted(needs.get(root, ()))))]
        trail = [root]
        if state.get(root):
            continue
        state[root] = "open"
        while stack:
            module, rest = stack[-1]
            for following in rest:
                if state.get(following) == "open":
                    return trail[trail.index(following):]
                if following not in state:
                    state[following] = "open"
                    trail.append(following)
                    stack.append((following, iter(sorted(needs.get(following, ())))))
                    break
            else:
                state[module] = "done"
                trail.pop()
                stack.pop()
    return None


def sources_of_realrun():
    """What realrun needs of sim/base when it is built by itself: each header that it reaches, with its source."""
    reached, left = set(), [*ROOT.glob("realrun/**/*.?pp")]
    while left:
        for own in re.findall(r'#include "(sim/base/[^"]+)\.hpp"', left.pop().read_text()):
            if own not in reached:
                reached.add(own)
                left += [path for end in (".hpp", ".cpp") if (path := ROOT / (own + end)).exists()]
    return {own.split("/")[-1] for own in reached if (ROOT / (own + ".cpp")).exists()}


alone = ROOT / "realrun/CMakeLists.txt"
if alone.exists():
    listed = set(re.search(r"set\(house_files_needed ([^)]+)\)", alone.read_text())[1].split())
    for missing in sorted(sources_of_realrun() - listed):
        problems.append(f"realrun/CMakeLists.txt: house_files_needed lacks {missing}: realrun does not link by itself")
if cycle := find_cycle():
    problems.append(f"{needs[cycle[0]][cycle[1 % len(cycle)]]}: modules need each other: " +
                    " -> ".join(cycle + cycle[:1]))
for path in sorted((ROOT / "tests").rglob("*_test.cpp")):  # compiled several as one
    name = path.relative_to(ROOT).as_posix()
    if not name.startswith("tests/realrun/") and not re.search(rf"^namespace foretrain[\w:]*::{path.stem} {{$", path.read_text(), re.MULTILINE):
        problems.append(f"{name}: its tests do not stand in a namespace foretrain::{path.stem}")
print("\n".join(problems) or "the layers are in order")
sys.exit(bool(problems))
