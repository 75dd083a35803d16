#!/usr/bin/env python3
"""Executes docs/notebooks with the program and the Python module of the source tree.

    tests/check_notebooks.py PROGRAM [--out DIR]      DIR: keeps what was executed, with its pictures, as notebooks

A notebook must run to its end, without warnings, and draw as many pictures as it has cells that plot. Exit
code 77 and the reason where nbconvert, ipykernel, pandas or matplotlib is missing.
"""
import importlib.util
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = {"nbconvert": "python3-nbconvert", "ipykernel": "python3-ipykernel", "pandas": "python3-pandas",
            "matplotlib": "python3-matplotlib"}

missing = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]
if missing:
    print("skipped: not installed:", ", ".join(missing))
    sys.exit(77)

import nbformat  # noqa: E402
from nbconvert.preprocessors import CellExecutionError, ExecutePreprocessor  # noqa: E402

os.environ["FORETRAIN"] = str(pathlib.Path(sys.argv[1]).resolve())
os.environ["PYTHONPATH"] = str(ROOT / "experiments/python")
keep = pathlib.Path(sys.argv[3]) if sys.argv[2:3] == ["--out"] else None
problems = []
for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    begin = time.monotonic()
    if any(cell.get("outputs") for cell in notebook.cells):
        problems.append(f"{path.name}: holds outputs: they are not kept in the tree")
    try:
        ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(path.parent)}})
    except CellExecutionError as error:
        problems.append(f"{path.name}: {error}")
        continue
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    said = [output.text for output in outputs if output.output_type == "stream" and "Warning" in output.text]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    plots = sum(".plot(" in cell.source for cell in notebook.cells if cell.cell_type == "code")
    if said:
        problems.append(f"{path.name}: warned: {said}")
    if pictures != plots:
        problems.append(f"{path.name}: {pictures} pictures of {plots} cells that plot")
    print(f"{path.name}: {len(notebook.cells)} cells, {pictures} pictures, {time.monotonic() - begin:.1f} s", flush=True)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, keep / path.name)
print("\n".join(problems) if problems else "notebooks ok")
sys.exit(1 if problems else 0)
