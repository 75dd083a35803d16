#!/usr/bin/env python3
"""The models of suite `hardware`, imported anew from the recordings beside this file.

    experiments/validation/hardware/models.py FORETRAIN [--write]    1 where a model differs from what is bundled
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODELS = {  # name: recordings, options
    "resnet50-v100": (["hta-resnet50-1xV100.json.gz"], []),
    "resnet50-v100-workers0": (["kineto-resnet50-1xV100-workers0.json.gz"], []),
    "resnet50-v100-workers4": (["kineto-resnet50-1xV100-workers4.json.gz"], []),
    "resnet-2080ti": (["param-resnet-1x2080Ti.json.gz"], []),
    "recommender-2xv100": (["hta-recsys-2xV100-rank1.json.gz"], []),
    "dlrm-8xv100-rank0": (["param-dlrm-8xV100/rank0.json.gz"], []),
    "dlrm-8xv100": (["param-dlrm-8xV100"], []),
}


def main(foretrain, write):
    differ = []
    for name, (recordings, options) in MODELS.items():
        paths = [HERE / "recordings" / recording for recording in recordings]
        text = subprocess.run([foretrain, "model", "import", *paths, *options, "--name", name], check=True,
                              capture_output=True, text=True).stdout
        file = HERE / f"{name}.json"
        if write:
            file.write_text(text)
        elif json.loads(text) != json.loads(file.read_text()):
            differ.append(name)
    print("\n".join(f"{name} is no longer what is bundled: --write" for name in differ) or "the models are what is bundled")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv))
