#!/usr/bin/env python3
"""Do the tests notice? Each line of mutations.json breaks the program in one place; some test must then fail.

All mutations are compiled at once, each asleep until FORETRAIN_MUTANT holds its number (mutant schemata:
Untch, Offutt, Harrold, "Mutation analysis using mutant schemata", ISSTA 1993): one build serves all of them.
The product's own tree is left alone: the build stands on a copy of it.

With --random, mutations are not those of the list but made mechanically (random_mutations.py), so that the share
caught says something about lines nobody thought of. Only test cases under a second judge them, and of these only such as
reach the mutated line: each case is run once with all mutations asleep, which note that they were asked.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import random_mutations

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/mutations.json"
LEAST_CAUGHT = 0.95
QUICK = 0.5  # seconds of a test case: these go first
PIECE = 2.0  # of CPU, in one process: what never ends is noticed soon
SHORT = 1.0  # of CPU: only cases below this judge random mutations
HEADER = """#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// Which mutation is awake, and a byte for each in a file that all processes of a test write to: was it asked?
struct ForetrainMutants {
  int awake = 0;
  unsigned char* asked = nullptr;
  ForetrainMutants()
  {
    if (const char* const text = std::getenv("FORETRAIN_MUTANT"))
      awake = std::atoi(text);
    const char* const path = std::getenv("FORETRAIN_ASKED");
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR);
    if (file < 0)
      return;
    const ::off_t size = ::lseek(file, 0, SEEK_END);
    void* const bytes = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    asked = bytes == MAP_FAILED ? nullptr : static_cast<unsigned char*>(bytes);
    ::close(file);
  }
};

inline bool foretrain_mutant(int number)
{
  static const ForetrainMutants mutants;
  if (mutants.asked != nullptr)
    mutants.asked[number] = 1;
  return mutants.awake == number;
}
"""
# Binaries from the ground floor up, as tests/CMakeLists.txt names them, with the folder of their tests.
BINARIES = re.findall(r"^foretrain_test\((\S+)", (ROOT / "tests/CMakeLists.txt").read_text(), re.MULTILINE)
ROOMS = ["sim", "platforms", "calibration", "models", "experiments"]


def within(rooms, path):
    return any((path + "/").startswith(room + "/") for room in rooms)


def target(folder):
    return "test_" + folder.replace("/", "_")


STATEMENT = re.compile(r"(if|for|while|return|case|else)\b")  # no expression begins so


class Broken(Exception):
    pass


def whole(code):
    """Whether brackets put around it change nothing but the order of evaluation: no comma, bracket or operator is cut, no
    choice between two is halved, and it is no list in braces."""
    told = re.sub(r'"(\\.|[^"\\])*"|::', "", code)
    if code.lstrip().startswith("{") or told.count("?") > told.count(":"):
        return False
    depth, text, previous = 0, "", ""
    for it in code:
        if text:
            text = "" if it == text and previous != "\\" else text
        elif it in "\"'" and not (it == "'" and previous.isdigit()):
            text = it
        else:
            depth += (it in "([{") - (it in ")]}")
            if depth < 0 or (it == "," and depth == 0):
                return False
        previous = "" if previous == "\\" else it
    return depth == 0 and not text and not re.search(r"(^\s*(&&|\|\||[=<>/%?:])|(&&|\|\||(?<!\+)\+|(?<!-)-|[*/%=<>?:,])\s*$)", code)


LEVELS = [re.compile(it) for it in (r",", r"\?|(?<!:):(?!:)|(?<![=<>!])=(?!=)", r"\|\|", r"&&", r"[=!<>]=|(?<![-<])[<>](?![<>])",
                                    r"(?<![-+])[-+](?![-+>])", r"[*/%]")]


def lowest(code):
    """How tightly the loosest operator outside brackets binds; len(LEVELS) where there is none."""
    flat, depth = "", 0
    for it in re.sub(r"\"[^\"]*\"", "x", code):
        depth -= it in ")]}"
        flat += it if depth == 0 and it not in ")]}" else ""
        depth += it in "([{"
    flat = re.sub(r"(?<=[\w)])<[\w:, ]+>(?=[({])", "", flat)       # of templates
    flat = re.sub(r"(^|[-+*/%(,=<>&|?:!])\s*[-+*&](?=[\w(:])", r"\1", flat)  # of one operand
    return next((level for level, operator in enumerate(LEVELS) if operator.search(flat)), len(LEVELS))


def binds_as_before(text, begin, end):
    """Whether brackets around text[begin:end] leave to its neighbours what they had."""
    level = lowest(text[begin:end])
    before, after = re.search(r"(\S\S?)\s*$", text[:begin]), re.match(r"\s*(\S\S?)", text[end:])
    left = re.search(r"(?<![-+])([-+*/%]|[<>=!]=)$", before[1]) if before else None
    right = re.match(r"([*/%]|[-+](?![-+>]))", after[1]) if after else None
    tight = {**dict.fromkeys("*/%", 6), **dict.fromkeys("+-", 5)}
    if right and tight[right[1]] > level:
        return False
    return not left or tight.get(left[1], 4) < level or (tight.get(left[1]) == level and left[1] in "+*")


def read_list():
    document = json.loads(LIST.read_text())
    for number, it in enumerate(document["mutations"], 1):
        it["number"] = number
        it["room"] = it["file"].split("/")[0]
        if it["room"] not in ROOMS:
            raise Broken(f"mutation {number}: no room '{it['room']}'")
        broken = [] if it["from"].endswith(";") else [part for part in (it["from"], it["to"])
                                                      if not whole(part) or STATEMENT.match(part)]
        if broken:
            raise Broken(f"mutation {number} ({it['file']}) cuts an expression: {broken[0]!r}")
    return document["mutations"], document["left_out"]


def make_random(count, seed, rooms):
    files = subprocess.run(["git", "ls-files", *rooms], cwd=ROOT, check=True, text=True, capture_output=True).stdout
    texts = {it: (ROOT / it).read_text() for it in files.splitlines() if it.endswith((".cpp", ".hpp"))}
    return random_mutations.sample(texts, count, seed)


def mutated(text, mutations):
    """The file with all its mutations, asleep."""
    edits = []
    for it in mutations:
        line, old, new = it.get("line", it["from"]), it["from"], it["to"]
        if "at" in it:
            line = old = text[slice(*it["at"])]
        for what, inside in ((line, text), (old, line)):
            if "at" not in it and inside.count(what) != 1:
                raise Broken(f"mutation {it['number']} ({it['file']}): {what!r} is there {inside.count(what)} times")
        at = it["at"][0] if "at" in it else text.index(line) + line.index(old)
        if "at" not in it and not old.endswith(";") and not binds_as_before(text, at, at + len(old)):
            raise Broken(f"mutation {it['number']} ({it['file']}): brackets around {old!r} change what its neighbours take")
        asleep = f"::foretrain_mutant({it['number']})"
        if old.endswith(";"):
            # What stays away, or is done instead.
            made = f"{{ if (!{asleep}) {{ {old} }}" + (f" else {{ {new} }}" if new else "") + " }"
        else:
            made = f"({asleep} ? ({new}) : ({old}))"
        edits.append((at, at + len(old), made))
    edits.sort(reverse=True)
    for (begin, end, made), (_, before, _) in zip(edits, edits[1:] + [(0, 0, "")]):
        if before > begin:
            raise Broken(f"two mutations of one place: {text[begin:end]!r}")
        text = text[:begin] + made + text[end:]
    return '#include "foretrain_mutant.hpp"\n#line 1\n' + text


def put(path, content):
    """Only what changed is written: the next build compiles no more than that."""
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def copy_tree(tree, mutations):
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.splitlines()
    files = [file for file in files if (ROOT / file).is_file()]
    by_file = collections.defaultdict(list)
    for it in mutations:
        by_file[it["file"]].append(it)
    for file in by_file:
        if file not in files:
            raise Broken(f"there is no {file}")
    known = set(files) | {"foretrain_mutant.hpp"}
    for old in tree.rglob("*"):
        if old.is_file() and old.relative_to(tree).parts[0] != "build" and str(old.relative_to(tree)) not in known:
            old.unlink()
    for file in files:
        source = ROOT / file
        content = source.read_bytes()
        if file in by_file:
            content = mutated(content.decode(), by_file[file]).encode()
        put(tree / file, content)
        if os.access(source, os.X_OK):
            (tree / file).chmod(0o755)
    put(tree / "foretrain_mutant.hpp", HEADER.encode())


def build(tree, folders, jobs):
    """The release build with its warnings, so that a compiler cache knows whatever no mutation is in."""
    out = tree / "build/release"
    subprocess.run(["cmake", "--preset", "release", "-DFORETRAIN_WERROR=ON", "-DBUILD_TESTING=ON"], cwd=tree,
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(out), "-j", str(jobs), "--target", *map(target, folders)], check=True,
                   stdout=sys.stderr)
    return out


def build_random(tree, mutations, targets, jobs):
    """Those of the mutations that compile: the others are found by their lines in the compiler's errors."""
    while True:
        copy_tree(tree, mutations)
        subprocess.run(["cmake", "--preset", "release", "-DFORETRAIN_WERROR=OFF", "-DBUILD_TESTING=ON"], cwd=tree,
                       check=True, stdout=subprocess.DEVNULL)
        made = subprocess.run(["cmake", "--build", tree / "build/release", "-j", str(jobs), "--target", *targets, "--",
                               "-k", "0"], text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode == 0:
            return mutations
        for what in ("(?:fatal )?error:", ""): # in a template the error is elsewhere, and mentions the mutation's line
            wrong = {(os.path.relpath(file, tree), int(line))
                     for file, line in re.findall(rf"^(/[^:\n]+):(\d+):\d+: {what}", made.stdout, re.MULTILINE)}
            kept = [it for it in mutations
                    if not any(file == it["file"] and it["lines"][0] <= line <= it["lines"][1] for file, line in wrong)]
            if len(kept) < len(mutations):
                break
        if len(kept) == len(mutations): # told at another line still: none of the file's
            with_errors = {os.path.relpath(file, tree) for file in re.findall(r"^(/[^:\n]+):\d+:\d+: error:", made.stdout, re.MULTILINE)}
            kept = [it for it in mutations if it["file"] not in with_errors]
        print(f"{len(mutations) - len(kept)} of {len(mutations)} mutations do not compile", file=sys.stderr, flush=True)
        if len(kept) == len(mutations):
            raise Broken(made.stdout[-3000:])
        mutations = kept


def as_filter(cases):
    """Names as Catch2 reads them from a file: whole lines, in which a comma would end the name."""
    return "".join(re.sub(r'([\\\\,\\["])', r"\\\1", case) + "\n" for case in cases)


class Part:
    """Some test cases of one binary."""

    def __init__(self, binary, folder, cases, seconds):
        self.binary, self.folder, self.cases, self.seconds = binary, folder, cases, seconds

    def run(self, number, scratch):
        """The first test case that fails, '' for none."""
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            names = pathlib.Path(folder) / "cases.txt"
            names.write_text(as_filter(self.cases))
            environment = dict(os.environ, FORETRAIN_MUTANT=str(number), TMPDIR=folder)
            process = subprocess.Popen([self.binary, "--abort", "--input-file", names], cwd=folder, env=environment,
                                       text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       start_new_session=True)
            try:
                output = process.communicate(timeout=20 + 10 * self.seconds)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return f"{self.folder}: out of time"
            if process.returncode == 0:
                return ""
            # Of a failed case the report shows its name between two rules, its sections indented below.
            names = [case for case in self.cases if f"\n{case[:70]}" in output]
            return f"{self.folder}: " + (names[0] if names else f"ended with {process.returncode}")


def parts_of(out, folder, left_out, scratch):
    """The binary's quick test cases and its others, after a run in which all of them passed."""
    binary = str(out / target(folder))
    listed = subprocess.run([binary, "--list-test-names-only"], text=True, capture_output=True).stdout.splitlines()
    whole = Part(binary, folder, [case.strip() for case in listed if case.strip() and case.strip() not in left_out], 1e3)
    process = subprocess.run([binary, "-d", "yes", "--input-file", "/dev/stdin"], input=as_filter(whole.cases),
                             text=True, capture_output=True, cwd=scratch, env=dict(os.environ, TMPDIR=scratch))
    if process.returncode != 0:
        raise Broken(f"{folder} fails without any mutation:\n{process.stdout[-3000:]}")
    if f" {len(whole.cases)} test case" not in process.stdout:
        raise Broken(f"{folder} has {len(whole.cases)} tests, but ran others:\n{process.stdout[-300:]}")
    seconds = collections.Counter()
    for time_, name in re.findall(r"^([0-9.]+) s: (.*)$", process.stdout, re.MULTILINE):
        seconds[name.strip()] = max(seconds[name.strip()], float(time_))
    parts = []
    for quick in (True, False):
        cases = [case for case in whole.cases if (seconds[case] < QUICK) == quick]
        if cases:
            parts.append(Part(binary, folder, cases, sum(seconds[case] for case in cases)))
    return parts


def order_for(mutation, parts):
    """The tests of the file's own folder first, then the others of its room, then what stands above it."""
    folder = str(pathlib.PurePath(mutation["file"]).parent)

    def distance(part):
        own = part.folder == folder or (part.folder == "experiments" and folder.startswith("experiments/"))
        same_room = part.folder.split("/")[0] == mutation["room"]
        return (0 if own else 1 if same_room else 2 if part.seconds < 3 else 3, part.seconds)

    above = ROOMS.index(mutation["room"])
    return sorted((it for it in parts if ROOMS.index(it.folder.split("/")[0]) >= above), key=distance)


def judge(mutation, parts, scratch):
    begin = time.monotonic()
    caught = ""
    for part in order_for(mutation, parts):
        caught = part.run(mutation["number"], scratch)
        if caught:
            break
    return caught, time.monotonic() - begin


def passes_goldens(tree, number):
    try:
        return subprocess.run([sys.executable, tree / "tests/check_golden.py", tree / "build/release/foretrain"], cwd=tree, timeout=300,
                              env=dict(os.environ, FORETRAIN_MUTANT=str(number)), capture_output=True).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Case:
    """A test case that passes with all mutations asleep: its seconds of CPU, and the numbers of those that it asks."""

    def __init__(self, binary, folder, name, golden, many, scratch):
        self.binary, self.folder, self.name, self.golden = binary, folder, name, golden
        with tempfile.TemporaryDirectory(dir=scratch) as own:
            asked, names = pathlib.Path(own) / "asked", pathlib.Path(own) / "cases.txt"
            asked.write_bytes(bytes(many + 1))
            names.write_text(as_filter([name]))
            begin = time.monotonic()
            process = subprocess.Popen([binary, "--input-file", names], cwd=own, start_new_session=True, text=True,
                                       env=dict(os.environ, FORETRAIN_ASKED=str(asked), TMPDIR=own),
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0 or "1 test case" not in output:
                raise Broken(f"{folder}: '{name}' fails without any mutation:\n{output[-3000:]}")
            # What waits is as slow as what computes, but for the load of others: of a case that sleeps CPU tells nothing.
            self.seconds = usage.ru_utime + usage.ru_stime
            self.asleep = time.monotonic() - begin > 4 and self.seconds < 0.2
            self.reaches = {number for number, was in enumerate(asked.read_bytes()) if was}


def cases_of(out, folder, left_out):
    """Names of the binary's test cases with whether they compare with stored answers, without what is long."""
    binary = str(out / target(folder))

    def named(*spec):
        listed = subprocess.run([binary, "--list-test-names-only", *spec], text=True, capture_output=True).stdout
        return [it.strip() for it in listed.splitlines() if it.strip()]

    golden, long = set(named("[golden]")), {*named("[many]"), *left_out}
    return [(binary, folder, it, it in golden) for it in named() if it not in long]


def judge_by(cases, mutation, scratch):
    """The first test case that fails of those that reach the mutation, '' for none."""
    pieces = collections.defaultdict(lambda: [[]])
    for it in sorted(cases, key=lambda it: it.seconds):
        if mutation["number"] in it.reaches:
            own = pieces[it.binary, it.folder]
            if sum(other.seconds for other in own[-1]) > PIECE:
                own.append([])
            own[-1].append(it)
    parts = [Part(binary, folder, [it.name for it in piece], sum(it.seconds for it in piece))
             for (binary, folder), own in pieces.items() for piece in own if piece]
    return judge(mutation, parts, scratch)[0]


def told(what, mutations, alive, begin):
    share = 100 * (1 - len(alive) / max(1, len(mutations)))
    print(f"{what} {len(mutations) - len(alive)} of {len(mutations)} ({share:.1f} %), {time.monotonic() - begin:.0f} s", flush=True)


def judge_random(tree, mutations, rooms, options, left_out):
    """Prints the share that tests notice, and each mutation that none does."""
    begin = time.monotonic()
    folders = [it for it in BINARIES if within(rooms, it) or it in options.by]
    made = len(mutations)
    mutations = build_random(tree, mutations, [*map(target, folders), *["foretrain"] * options.goldens], options.jobs)
    print(f"{len(mutations)} of {made} mutations compile, built in {time.monotonic() - begin:.0f} s", flush=True)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        named = [it for folder in folders for it in cases_of(tree / "build/release", folder, left_out)]
        cases = list(pool.map(lambda it: Case(*it, made, scratch), named))
        cases = [it for it in cases if it.seconds < SHORT and not it.asleep]
        reached = set().union(*(it.reaches for it in cases))
        print(f"{len(cases)} of {len(named)} test cases are short, {sum(it.seconds for it in cases):.0f} s of CPU; they reach "
              f"{sum(it['number'] in reached for it in mutations)} mutations, {time.monotonic() - begin:.0f} s", flush=True)
        survivors = mutations
        for what, golden in (("unit tests catch", False), ("with stored texts", True)):
            chosen = [it for it in cases if it.golden == golden]
            caught = list(pool.map(lambda it: judge_by(chosen, it, scratch), survivors))
            survivors = [it for it, by in zip(survivors, caught) if not by]
            told(what, mutations, survivors, begin)
        if options.goldens:
            passed = list(pool.map(lambda it: passes_goldens(tree, it["number"]), survivors))
            survivors = [it for it, alive in zip(survivors, passed) if alive]
            told("with goldens", mutations, survivors, begin)
    for it in survivors:
        print(f"{it['file']}:{it['lines'][0]}: {random_mutations.flat(it['from'])} -> {it['to'] or '(nothing)'}"
              + ("" if it["number"] in reached else " (not reached)"))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rooms", default=",".join(ROOMS), help="mutations of these rooms (models, models/fleet), by their own tests alone")
    parser.add_argument("--only", type=int, action="append", help="the mutation of this number; may be repeated")
    parser.add_argument("--random", type=int, metavar="N", help="N mutations made mechanically instead of the list's")
    parser.add_argument("--seed", type=int, default=1, help="of --random")
    parser.add_argument("--by", action="append", default=[], metavar="FOLDER", help="with --random: tests of this folder judge, too, "
                        "beside those of the rooms; experiments/cli has the stored texts")
    parser.add_argument("--goldens", action="store_true", help="with --random: golden answers too, for what unit tests miss")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="to compile and to test at a time")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build/mutants/tree", help="where the copy stands")
    options = parser.parse_args()
    begin = time.monotonic()
    try:
        rooms = options.rooms.split(",")
        if not set(rooms) <= {*ROOMS, *BINARIES}:
            raise Broken(f"rooms are {', '.join(sorted({*ROOMS, *BINARIES}))}")
        mutations, left_out = read_list()
        tree = options.tree.resolve()
        if options.random:
            return judge_random(tree, make_random(options.random, options.seed, rooms), rooms, options, set(left_out))
        copy_tree(tree, mutations)
        out = build(tree, [it for it in BINARIES if within(rooms, it)], options.jobs)
        built = time.monotonic()
        chosen = [it for it in mutations if within(rooms, it["file"]) and (not options.only or it["number"] in options.only)]
        with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            parts = [part for folder in BINARIES if within(rooms, folder)
                     for part in parts_of(out, folder, set(left_out), scratch)]
            print(f"built in {built - begin:.0f} s, {sum(len(it.cases) for it in parts)} tests pass "
                  f"in {sum(it.seconds for it in parts):.0f} s", flush=True)
            judged = {pool.submit(judge, it, parts, scratch): it for it in chosen}
            survivors = 0
            bad = 0
            for future in concurrent.futures.as_completed(judged):
                it = judged[future]
                caught, seconds = future.result()
                survivors += not caught
                accepted = it.get("survives")
                bad += not caught and not accepted
                how = caught or ("survives: " + accepted if accepted else "SURVIVED")
                print(f"{it['number']:3} {it['file']}: {it['why']}: {how} ({seconds:.1f} s)", flush=True)
    except (Broken, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    share = 1 - survivors / max(1, len(chosen))
    print(f"{len(chosen)} mutations, {len(chosen) - survivors} caught ({100 * share:.1f} %), {bad} survive unaccepted; "
          f"{time.monotonic() - begin:.0f} s, {time.monotonic() - built:.0f} s of them without the build")
    return 1 if bad or share < LEAST_CAUGHT else 0


if __name__ == "__main__":
    sys.exit(main())
