#!/usr/bin/env python3
"""Runs what README.md and the pages of docs/ tell a reader to type.

    tests/check_readme.py PROGRAM [PAGE]... [--verbose] [--write]

Each page gets a folder of its own that looks like the source tree (links to its folders, with the program at
build/release/foretrain and, as `foretrain`, in PATH). In it run, in order, all blocks fenced as sh, bash or console in
which a command begins with foretrain; in a console block, what stands after "$ ". A command must end with exit code 0
unless the line ends in a comment such as `# exit 1`.

In a page, right before a block:
    <!-- not run: REASON -->   why it is not run: a GPU, Slurm, long (more than 5 s), synopsis ...
    <!-- file: NAME -->        the block is this file, for the commands after it
    <!-- output of: COMMAND -->  the block is an excerpt of what this prints

A block without a language after commands is an excerpt of their output: each of its lines must be one of theirs, but for
white space and lines with "...", which stand for what is left out or differs from run to run. --write puts the nearest
lines of today's output in their place.

A block with such a command that is neither fenced as a shell's nor marked is a mistake, so that none is forgotten.
"""
import concurrent.futures
import difflib
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMAND = re.compile(r"^(\$ )?(build/release/)?foretrain ")
SHELLS = ("sh", "bash", "console")
SLOW = 5  # seconds of CPU, from which on a command is to be marked as long
LIMIT = 120  # seconds


def blocks(text):
    """Line number, language ("" without; None when indented) and text of all code blocks, with the comment before each."""
    lines = text.splitlines()
    i, remark = 0, ""
    while i < len(lines):
        line = lines[i]
        start = i
        fence = re.match(r"^```+ *(\w*)", line)
        if fence:
            i += 1
            while i < len(lines) and not lines[i].startswith("```"):
                i += 1
            yield start + 1, fence[1], "\n".join(lines[start + 1:i]), remark
        elif line.startswith("    ") and (i == 0 or not lines[i - 1].strip() or lines[i - 1].startswith("#")):
            while i + 1 < len(lines) and (lines[i + 1].startswith("    ") or not lines[i + 1].strip()):
                i += 1
            yield start, None, "\n".join(x[4:] for x in lines[start:i + 1]), remark
        if line.strip():
            found = re.fullmatch(r"<!-- ((?:not run|file|output of): .+) -->", line.strip())
            remark = found[1] if found else ""
        i += 1


def commands(block, language):
    """Commands of a block with their line in it; a command goes on after a backslash and inside quotes."""
    whole, begun = "", 0
    for number, line in enumerate(block.splitlines()):
        if language == "console" and not whole:
            if not line.startswith("$ "):
                continue
            line = line[2:]
        begun = number if not whole else begun
        whole += ("\n" if whole else "") + line
        try:
            words = shlex.split(whole, comments=True)
        except ValueError:
            continue
        if line.rstrip().endswith("\\"):
            continue
        if words:
            yield begun, whole
        whole = ""


def expected(command):
    told = re.search(r"#.*\bexit (\d+)", command)
    return int(told[1]) if told else 0


def tree(folder, program):
    """What the commands see: the source tree's folders, but new files stay here."""
    for entry in ROOT.iterdir():
        if entry.name not in ("build", "out", "docs", ".git", "shared"):
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "build/release").mkdir(parents=True)
    (folder / "build/release/foretrain").symlink_to(program)
    (folder / ".bin").mkdir()
    (folder / ".bin/foretrain").symlink_to(program)


def run(command, folder, environment):
    """Exit code, output and seconds of CPU; -9 for one that does not end."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        watch = threading.Timer(LIMIT, lambda: os.killpg(process.pid, signal.SIGKILL))
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace"), used.ru_utime + used.ru_stime


def unsaid(block, printed):
    """Lines of a page's excerpt that the commands before it did not print; dots stand for what was left out."""
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    excerpt = [" ".join(line.split()) for line in block.splitlines()]
    return [line for line in excerpt if line and "..." not in line and line not in lines]


def nearest(told, left):
    """The first of the lines that are most like one, whatever their numbers; None when none is."""
    def shape(line):
        return re.sub(r"[0-9][0-9.,]*", "0", line)
    likeness = [difflib.SequenceMatcher(None, shape(told), shape(line)).ratio() for line in left]
    best = max(likeness, default=0)
    return left[likeness.index(best)] if best > 0.6 else None


def renewed(block, printed):
    """The excerpt with the lines that the commands print today, in their order."""
    lines = printed.splitlines()
    plain = [" ".join(line.split()) for line in lines]
    now, at = [], 0
    for line in block.splitlines():
        told = " ".join(line.split())
        if told and "..." not in told:
            left = plain[at:]
            near = told if told in left else nearest(told, left)
            if near:
                at += left.index(near)
                line = lines[at].rstrip()
                at += 1
        now.append(line)
    return "\n".join(now)


def check(page, program, verbose, write):
    failures, ran, marked, told, printed = [], 0, [], [], ""
    text = (ROOT / page).read_text()
    pages_lines = text.splitlines()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FORETRAIN")}
    environment["FORETRAIN"] = environment["FORETRAIN_DATA"] = str(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tree(folder, program)
        environment["PATH"] = f"{folder / '.bin'}:{environment['PATH']}"
        for at, language, block, remark in blocks(text):
            if remark.startswith("file: "):
                (folder / remark[6:]).unlink(missing_ok=True)  # not through a link into the source tree
                (folder / remark[6:]).write_text(block + "\n")
                continue
            if remark.startswith("output of: "):
                printed = run(remark[11:], folder, environment)[1]
            if not any(COMMAND.match(line) for line in block.splitlines()):
                if language == "" and printed:
                    if write:
                        block = renewed(block, printed)
                        pages_lines[at:at + len(block.splitlines())] = block.splitlines()
                    failures += [f"{page}:{at}: not printed any more: {line}" for line in unsaid(block, printed)]
                    printed = ""
                continue
            printed = ""
            if remark:
                marked.append(f"{page}:{at}: {remark}")
                continue
            if language not in SHELLS:
                failures.append(f"{page}:{at}: commands in a block that is not fenced as sh; fence it, or mark it as not run")
                continue
            for number, command in commands(block, language):
                where = f"{page}:{at + 1 + number}"
                code, said, used = run(command, folder, environment)
                printed += said
                ran += 1
                if verbose:
                    print(f"{used:6.2f} s  {where}: {command}\n{said}")
                elif used > SLOW:
                    told.append(f"{where}: takes {used:.1f} s of CPU: {command}")
                if code != expected(command):
                    failures.append(f"{where}: `{command}` ended with exit code {code}, expected {expected(command)}:\n"
                                    f"    {said.strip()[-600:]}")
    if write and "\n".join(pages_lines) + "\n" != text:
        (ROOT / page).write_text("\n".join(pages_lines) + "\n")
    return failures, ran, marked, told


def main():
    verbose, write = "--verbose" in sys.argv, "--write" in sys.argv
    words = [w for w in sys.argv[1:] if w not in ("--verbose", "--write")]
    program = pathlib.Path(words[0]).resolve()
    pages = words[1:] or ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
    failures, ran, marked, notes = [], 0, [], []
    with concurrent.futures.ThreadPoolExecutor(1 if verbose else 2) as pool:
        for told in pool.map(lambda page: check(page, program, verbose, write), pages):
            failures += told[0]
            ran += told[1]
            marked += told[2]
            notes += told[3]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("\n".join(marked + notes + failures))
    print(f"{ran} commands run with {used.ru_utime + used.ru_stime:.0f} s of CPU, {len(marked)} blocks marked as not run, "
          f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
