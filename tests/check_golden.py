#!/usr/bin/env python3
"""Whole answers, key by key: every tests/golden/NAME.json holds a command and the JSON that it printed when the file was
made; FILE in a command stands for a file with the case's `experiment`. Numbers must agree to 1e-9; a difference belongs into docs/CHANGELOG.md under "Results changed".

    tests/check_golden.py PROGRAM [--update]    --update writes the files anew and shows what differs
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = {"version", "source", "parameters", "node"}  # texts that say where numbers are from; the last two have tests of their own
SHOWN = 12


def differences(old, new, at=""):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key in SKIPPED:
                continue
            if key not in new:
                yield f"{at}/{key} is gone"
            elif key not in old:
                yield f"{at}/{key} is new: {json.dumps(new[key])[:80]}"
            else:
                yield from differences(old[key], new[key], f"{at}/{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{at} has {len(new)} entries, had {len(old)}"
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{at}/{i}")
    elif isinstance(old, (int, float)) and isinstance(new, (int, float)) and not isinstance(old, bool):
        if not math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-15):
            yield f"{at}: {old} became {new}" + (f" ({100 * (new / old - 1):+.3g} %)" if old else "")
    elif old != new:
        yield f"{at}: {json.dumps(old)[:100]} became {json.dumps(new)[:100]}"


def kept(answer):
    """The answer without what is not compared."""
    if isinstance(answer, dict):
        return {key: kept(value) for key, value in answer.items() if key not in SKIPPED}
    return [kept(value) for value in answer] if isinstance(answer, list) else answer


def answered(program, case):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "golden.json").write_text(json.dumps(case.get("experiment")))
        command = ["golden.json" if word == "FILE" else word for word in case["command"]]
        return subprocess.run([program, *command], capture_output=True, text=True, cwd=folder, check=False)


def main():
    program, update = pathlib.Path(sys.argv[1]).resolve(), "--update" in sys.argv[2:]
    failed = 0
    cases = sorted((HERE / "golden").glob("*.json"))
    for path in cases:
        case = json.loads(path.read_text())
        run = answered(program, case)
        if run.returncode != case.get("exit", 0):
            print(f"{path.name}: exit code {run.returncode}\n{run.stderr[:600]}")
            failed += 1
            continue
        answer = kept(json.loads(run.stdout))
        found = list(differences(case.get("answer"), answer))
        print(f"{path.name}: " + ("as before" if not found else f"{len(found)} differences"))
        for line in found[:SHOWN]:
            print("   ", line)
        if update and found:
            case["answer"] = answer
            path.write_text(json.dumps(case, indent=1) + "\n")
        failed += bool(found) and not update
    if not cases:
        print("there is nothing to compare")
    return failed > 0 or not cases


sys.exit(main())
