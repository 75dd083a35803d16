#!/usr/bin/env python3
"""cmake --install into an empty folder: the program finds its data there, what it prints about itself is in place,
and another program links with the library (docs/examples/cpp).

    tests/check_install.py BUILD SOURCE
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {str(detail)[-800:]}")


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=280, **more)


with tempfile.TemporaryDirectory() as name:
    prefix = pathlib.Path(name) / "usr"
    installed = run("cmake", "--install", BUILD, "--prefix", prefix)
    expect("install", installed.returncode == 0, installed.stdout + installed.stderr)
    program = prefix / "bin/foretrain"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FORETRAIN")}
    predicted = run(program, "predict", "c4140-resnet50", "--format", "json", env=environment, cwd=name)
    expect("predict", predicted.returncode == 0 and json.loads(predicted.stdout)["points"], predicted.stderr)
    expect("its own data", str(prefix) in json.dumps(json.loads(predicted.stdout)["points"][0].get("parameters", "")) or
           (prefix / "share/foretrain/platforms/data").is_dir())
    for file in ("share/man/man1/foretrain.1", "share/man/man1/foretrain-sweep.1", "share/foretrain/schemas/experiment.json",
                 "share/bash-completion/completions/foretrain", "share/zsh/vendor-completions/_foretrain",
                 "share/fish/vendor_completions.d/foretrain.fish", "share/man/man1/foretrain-serve.1",
                 "share/foretrain/experiments/page/index.html", "share/foretrain/experiments/page/main.js", "include/foretrain/foretrain.hpp"):
        expect(file, (prefix / file).is_file())
    complete = run("bash", "-c", f"source {prefix}/share/bash-completion/completions/foretrain; COMP_WORDS=(foretrain swe); "
                   "COMP_CWORD=1; _foretrain; echo ${COMPREPLY[@]}")
    expect("completion", complete.stdout.strip() == "sweep", complete.stdout + complete.stderr)
    version = run(program, "--version").stdout
    expect("version", version.startswith("foretrain 0."), version)

    python = prefix / "lib/python3/dist-packages"
    asked = run("python3", "-c", "import foretrain as ft; print(ft.predict('c4140-resnet50')._finished.command[0])",
                env={**environment, "PYTHONPATH": str(python)}, cwd=name)
    expect("Python module", asked.stdout.strip() == str(program), asked.stdout + asked.stderr)
    expect("what of it is installed", {file.suffix for file in (python / "foretrain").iterdir()} <= {".py", ".typed", ""},
           list((python / "foretrain").iterdir()))

    example = pathlib.Path(name) / "example"
    for step in (["cmake", "-S", SOURCE / "docs/examples/cpp", "-B", example, f"-DCMAKE_PREFIX_PATH={prefix}"],
                 ["cmake", "--build", example], [example / "ask"]):
        done = run(*step, env=environment)
        expect(str(step[-1]), done.returncode == 0, done.stdout + done.stderr)
        if done.returncode != 0:
            break
    expect("the example answers", done.stdout.count("samples/s") == 3, done.stdout)
    # What the library answers is what the command prints, to the digit.
    large, sharded = (pathlib.Path(name) / f"zero-{level}.json" for level in (0, 1))
    for level, file in enumerate((large, sharded)):
        file.write_text(json.dumps({"cluster": {"platform": "dgx-a100", "nodes": 1}, "jobs": [
            {"model": "llama-3.2-1b", "framework": "megatron", "precision": "bf16", "sequence": 4096, "global_batch": 64, "gpus": 8,
             "parallel": {"zero": level}}]}))
    for words in (["predict", "c4140-containers"], ["explain", "c4140-containers"], ["compare", large, sharded],
                  ["tune", large], ["plan", "c4140-growth"], ["fleet", "c4140-month"]):
        asked = run(example / "answers", *words, env=environment, cwd=name)
        printed = run(program, *words, "--format", "json", env=environment, cwd=name)
        expect(f"the library's {words[0]}", asked.returncode == 0 and asked.stdout == printed.stdout,
               asked.stderr + asked.stdout[:300] + printed.stderr + printed.stdout[:300])
    # The story of a C++ program: its files, its commands and what they print.
    story = (SOURCE / "docs/stories/embedder.md").read_text()
    folder = pathlib.Path(name) / "story"
    folder.mkdir()
    for file, block in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", story, re.DOTALL):
        (folder / file).write_text(block)
    session = re.search(r"```console\n(.*?)```", story, re.DOTALL)[1]
    for command, told in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", session, re.MULTILINE):
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=280,
                              env={**environment, "CMAKE_PREFIX_PATH": str(prefix)})
        wanted = re.search(r"# exit (\d+)", command)
        expect(f"story: exit code of {command}", done.returncode == int(wanted[1] if wanted else 0), done.stdout + done.stderr)
        expect(f"story: what {command} prints", not told or done.stdout + done.stderr == told, done.stdout + done.stderr)
    (prefix / "share/foretrain/models/data/networks/resnet50.json").unlink()
    done = run(example / "ask", env=environment)
    expect("the example reads the data of the prefix it was found in", done.returncode == 2 and "resnet50" in done.stderr, done.stdout + done.stderr)
    done = run(example / "ask", env={**environment, "FORETRAIN_DATA": str(SOURCE)})
    expect("FORETRAIN_DATA comes first", done.stdout.count("samples/s") == 3, done.stdout + done.stderr)

print("\n".join(failures) if failures else "install ok")
sys.exit(1 if failures else 0)
