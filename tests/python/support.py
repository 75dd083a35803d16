"""What the tests of the Python module share: the program beside it, and a small experiment."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments/python"))
os.environ.setdefault("FORETRAIN", str(ROOT / "build/release/foretrain"))
os.environ.setdefault("MPLBACKEND", "Agg")

SMALL = {
    "name": "small",
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"name": "train", "model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 64, "gpus": 8}],
}
# A sweep of which a whole run takes minutes: for what is stopped.
ENDLESS = {**SMALL, "sweep": {"/jobs/0/batch_per_gpu": list(range(1, 2001)), "/jobs/0/gpus": [7, 8]}}


def program(*words, stdin=None, cwd=None, binary=False):
    """What the command itself did; `binary`: what it printed, with its line ends."""
    if binary:
        return subprocess.run([os.environ["FORETRAIN"], *map(str, words)], capture_output=True, timeout=300).stdout.decode()
    return subprocess.run([os.environ["FORETRAIN"], *map(str, words)], input=stdin, cwd=cwd, capture_output=True, text=True,
                          timeout=300)


def command_json(*words, stdin=None):
    """What the command prints with --format json."""
    return json.loads(program(*words, "--format", "json", stdin=stdin).stdout)


def has(module):
    """Whether a module that is only used where it is there, is there."""
    return importlib.util.find_spec(module) is not None
