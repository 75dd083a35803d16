#!/usr/bin/env python3
"""The page's server (docs/serve.md): who is refused, what is bounded, and that its numbers are the command's.

    tests/check_serve.py PROGRAM [--forms N] [--requests N] [--latency]

--forms N      random forms whose answers are compared with the command's, character by character (default 10)
--requests N   asks so often, and tells how the server's memory grows (default: not)
--latency      tells how long a change takes with one and with five users (default: not)
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--forms", type=int, default=10)
parser.add_argument("--requests", type=int, default=0)
parser.add_argument("--latency", action="store_true")
options = parser.parse_args()
PROGRAM = str(pathlib.Path(options.program).resolve())
problems = []
checks = 0


def check(right, words):
    global checks
    checks += 1
    if not right:
        problems.append(words)


class Server:
    """`foretrain serve` on a free port."""

    def __init__(self, *words, cwd=None):
        self.process = subprocess.Popen([PROGRAM, "serve", "--no-browser", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=cwd)
        self.link = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://([\w.]+):(\d+)/([0-9a-f]{32})/", self.link)
        if not found:
            raise SystemExit(f"no link, but '{self.link}': {self.process.stderr.read()}")
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def ask(self, method, path, body=None, headers=None, token=None, timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        head = {"Content-Type": "application/json"} if method == "POST" else {}
        connection.request(method, f"/{self.token if token is None else token}/{path}", body, {**head, **(headers or {})})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), text

    def run(self, text, command="predict", page="p1", run="r1", hear=lambda key, value: None, **more):
        """What a run tells, as a list of (key, value); the answer's text as it was sent. `hear` is called with each as it comes."""
        body = json.dumps({"command": command, "page": page, "run": run, "text": text, **more})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", f"/{self.token}/run", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return [("status", response.status), *json.loads(response.read()).items()]
        told = []
        for line in response:
            told.append(told_line(line.decode().rstrip("\n")))
            hear(*told[-1])
        connection.close()
        return told

    def children(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "stat").read_text().rsplit(")", 1)[1].split()[1] == str(self.process.pid):
                    found.append(int(entry.name))
            except (OSError, IndexError):
                pass
        return found

    def memory_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def close(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=20)


ANSWER = '{"answer": '


def told_line(line):
    if line.startswith(ANSWER):
        return "answer", line[len(ANSWER):-1].strip()
    return next(iter(json.loads(line).items()))


def experiment(gpus=8, **more):
    job = {"model": "resnet50", "framework": "tensorflow-horovod", "precision": "fp16", "batch_per_gpu": 128, "gpus": gpus}
    return {"cluster": {"platform": "c4140-v100-sxm2", "nodes": 2}, "jobs": [{**job, **more}]}


def many_points(count):
    return {**experiment(), "sweep": {"/jobs/0/batch_per_gpu": list(range(1, count + 1))}}


def random_form(draw):
    platform = draw.choice(["c4140-v100-sxm2", "c4140-k-v100-sxm2", "c4140-v100-pcie", "dgx1-v100", "dgx-a100", "hgx-h100"])
    job = {"model": draw.choice(["resnet50", "vgg16", "bert-base", "inception3", "alexnet"]),
           "framework": draw.choice(["tensorflow-horovod", "mxnet", "pytorch-ddp", "pytorch-horovod"]),
           "precision": draw.choice(["fp32", "fp16"]), "batch_per_gpu": draw.choice([1, 7, 32, 64, 128]),
           "gpus": draw.choice([1, 2, 3, 4, 8]), "input": draw.choice(["synthetic", "tfrecord", "jpeg"])}
    form = {"cluster": {"platform": platform, "nodes": draw.choice([2, 4])}, "jobs": [job]}
    if draw.random() < 0.5:
        form["stack"] = {"host": draw.choice(["bare-metal", "container", "vm"]), "network": draw.choice(["rdma", "tcp", "flannel-vxlan"])}
    if draw.random() < 0.2:
        job["batch_per_gpu"] = draw.choice([0, "many"])  # wrong: messages are compared
    if draw.random() < 0.3:
        form["sweep"] = {"/jobs/0/gpus": [1, 4]}
    return form


def check_refusals(server):
    for path in ("", "main.js", "catalogue", "report.css"):
        check(server.ask("GET", path)[0] == 200, f"GET {path} is refused")
        for wrong in ("0" * 32, "", "x", server.token[:-1], server.token + "0"):
            check(server.ask("GET", path, token=wrong)[0] == 403, f"GET {path} is answered with the token '{wrong}'")
    body = json.dumps({"command": "predict", "page": "p", "run": "r", "text": json.dumps(experiment())})
    check(server.ask("POST", "run", body, token="0" * 32)[0] == 403, "a run without the token is answered")
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "localhost.evil", ""):
        check(server.ask("GET", "", headers={"Host": host})[0] == 421, f"Host '{host}' is taken")
    for host in (f"localhost:{server.port}", f"127.0.0.1:{server.port}", "localhost:9000", "[::1]:80"):
        check(server.ask("GET", "", headers={"Host": host})[0] == 200, f"Host '{host}' is refused")
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}", "http://127.0.0.1:1"):
        check(server.ask("POST", "run", body, headers={"Origin": origin})[0] == 403, f"Origin '{origin}' is taken")
    for site in ("cross-site", "same-site"):
        check(server.ask("GET", "", headers={"Sec-Fetch-Site": site})[0] == 403, f"Sec-Fetch-Site {site} is taken")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        check(server.ask("POST", "run", body, headers={"Content-Type": kind})[0] == 415, f"{kind} is taken")
    check(server.ask("POST", "read", body, headers={"Content-Encoding": "gzip"})[0] == 415, "a packed body is taken")
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        check(server.ask(method, "")[0] in (404, 405), f"{method} is answered")
    head = server.ask("GET", "")[1]
    policy = head.get("Content-Security-Policy", "")
    check("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, f"CSP: {policy}")
    check(head.get("X-Content-Type-Options") == "nosniff" and head.get("Referrer-Policy") == "no-referrer", "headers")
    page = server.ask("GET", "")[2].decode()
    check(not re.search(r"<script>|<script [^>]*>[^<]|<style|\sstyle=|\son\w+=", page), "the page has inline script or style")


def check_paths(server, secret):
    for path in ("../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "page/main.js", "./main.js", "main.js%00.css",
                 "....//main.js", "bundled?kind=experiment&name=../../../etc/passwd", "bundled?kind=../x&name=y",
                 "bundled?kind=suite&name=training", "bundled?kind=experiment&name=/etc/passwd"):
        status, _, text = server.ask("GET", path)
        check(status in (400, 403, 404) and b"root:" not in text, f"GET {path}: {status}")
    values = ("/etc/passwd", "../../../../../../etc/passwd", secret, f"{secret}/../secret.json", "/proc/self/environ",
                  "/etc/shadow.json", "nosuch/../../../x.json")
    for i, value in enumerate(values):
        forms = ({**experiment(), "cluster": {"platform": value}}, {"extends": value}, experiment(model=value),
                     {**experiment(), "profiles": [value]}, {**experiment(), "cluster": {"platform": {"extends": value}}},
                     experiment(framework={"extends": value}), experiment(input={"format": "tfrecord", "dataset": value}))
        for form in forms if i in (0, 2) else forms[i % len(forms):][:1]:
            told = json.dumps(server.run(json.dumps(form)))
            check("Xyzzy" not in told and "root:" not in told, f"{value} is read: {told[:300]}")
            check("outside the folders" in told, f"{value} is not refused: {told[:300]}")
        fleet = {"cluster": {"platform": "c4140-v100-sxm2", "nodes": 2}, "jobs": {"trace": value, "kind": "swf"}}
        told = json.dumps(server.run(json.dumps(fleet), "fleet"))
        check("outside the folders" in told and "Xyzzy" not in told, f"a fleet reads {value}: {told[:300]}")


def check_bounds(server):
    check(server.ask("POST", "read", b'{"text": "' + b"x" * (9 << 20) + b'"}')[0] == 413, "9 MiB are taken")
    check(server.run("x" * (2 << 20))[0] == ("status", 400), "a text of 2 MiB is taken")
    told = json.dumps(server.run(json.dumps(many_points(3000))))
    check("at most 2000" in told, f"3000 points: {told[:200]}")
    deep = server.ask("POST", "read", json.dumps({"text": "[" * 5000}))
    check(deep[0] == 200 and b"messages" in deep[2], "nesting")
    for bad in (b"", b"{", b"[]", b"null", b'{"command": "sql", "page": "p", "run": "r"}',
                b'{"command": "predict", "page": "../p", "run": "r"}', b'{"command": "predict", "page": "p"}',
                b'{"command": "predict", "page": "p", "run": "r", "program": "/bin/sh"}'):
        check(server.ask("POST", "run", bad)[0] == 400, f"{bad} is run")
    check(server.ask("POST", "read", json.dumps({"text": "x" * (2 << 20)}))[0] == 400, "a text of 2 MiB is read")
    for name, bad in (("read", b"{bad"), ("read", b'{"text": 3}'), ("read", b"[]"), ("stop", b'{"page": "p"}')):
        status, _, told = server.ask("POST", name, bad)
        check(status == 400 and b"the request" in told, f"{name} takes {bad}: {status} {told[:200]}")
    for kind, said in (("gpu", b"known kinds: experiment, fleet, plan"), ("plan", b"did you mean")):
        status, _, told = server.ask("GET", f"bundled?kind={kind}&name=c4140-growht")
        check(status == 400 and said in told, f"bundled {kind}: {status} {told[:200]}")
    check(server.ask("GET", "x" * 9000)[0] in (400, 404, 414), "a path of 9000 letters")


def check_messages(server):
    told = dict(server.run('{"cluster": {"platform": "c4140-v100-sxm2"},\n "jobs": [{"model": "resnet5", "framework": "mxnet", "batch_per_gpu": 64}]}'))
    first = told["messages"][0]
    check(first.get("pointer") == "/jobs/0/model" and first.get("line") == 2 and "resnet50" in first.get("hint", ""), f"{first}")
    told = dict(server.run("cluster: {platform: c4140-v100-sxm2}\njobs:\n  - {model: resnet50, framework: mxnet, batch_per_gpu: many}\n"))
    check(told["messages"][0].get("line") == 3, f"YAML: {told['messages']}")
    name = '<img src=x onerror=alert(1)>'
    told = server.run(json.dumps({**experiment(), "name": name, "description": name}))
    drawn = json.dumps([value for key, value in told if key == "drawing"])
    check("samples/s" in drawn and "<img" not in drawn, "a name became markup")
    both = dict(told)["answer"]
    drawings = [v for k, v in server.run(json.dumps(experiment(gpus=4)), before=both) if k == "drawing"]
    check([d["of"] for d in drawings] == ["now", "both"] and "before" in drawings[1]["html"], "the last answer is not drawn beside")
    for drawing in drawings:
        check(not re.search(r"\sstyle=|<script|\son\w+=", drawing["html"]), "a drawing needs what the CSP forbids")


def check_told(server):
    answer = dict(server.run(json.dumps(experiment())))["answer"]
    for form, words in (("csv", b"throughput"), ("table", b"samples/s"), ("html", b"</html>")):
        status, head, text = server.ask("POST", "tell", json.dumps({"answer": answer, "format": form, "page": "p1"}))
        check(status == 200 and words in text and head["Content-Type"].startswith("text/plain"), f"as {form}: {status}")
    for bad in ({"answer": "{}", "format": "csv"}, {"answer": answer, "format": "../x"}, {"format": "csv"}):
        check(server.ask("POST", "tell", json.dumps({**bad, "page": "p1"}))[0] == 400, f"{bad} is told")


def command(text, words):
    done = subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, check=False)
    return done.stdout


def check_forms(server, count):
    draw = random.Random(7)
    answers = 0
    for i in range(count):
        text = json.dumps(random_form(draw))
        told = dict(server.run(text, run=f"f{i}"))
        expected = command(text, ["predict", "-", "--format", "json"])
        check(told.get("answer", "") == expected.replace("\n", " ").strip(), f"form {i} differs from the command: {text}")
        answers += bool(expected)
        if not expected:
            check(told["messages"] and told["messages"][0]["kind"] == "error", f"form {i} has no message: {text}")
    check(answers >= count // 2, f"only {answers} of {count} forms have an answer")


def until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.02)
    return condition()


class LongRun:
    """A sweep of 2,000 points, in a thread of its own, that is known to have a point done."""

    def __init__(self, server, pool, name):
        self.done = threading.Event()
        self.work = pool.submit(server.run, json.dumps(many_points(2000)), run=name, hear=self.hear)
        check(self.done.wait(120), f"no point of '{name}' is done in two minutes")

    def hear(self, key, value):
        if key == "running" and re.match("[1-9]", value["progress"]):
            self.done.set()

    def told(self):
        return dict(self.work.result(timeout=120))


def check_kill_and_stop(server):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        long = LongRun(server, pool, "k")
        for child in server.children():
            os.kill(child, signal.SIGKILL)
        told = long.told()
        check("ended by signal 9" in json.dumps(told.get("messages")), f"killed: {str(told)[:300]}")
        check("answer" not in told, "a killed worker has answered")
        long = LongRun(server, pool, "s")
        server.ask("POST", "stop", json.dumps({"page": "other", "run": "s"}))  # not theirs
        server.ask("POST", "stop", json.dumps({"page": "p1", "run": "s"}))
        answer = json.loads(long.told().get("answer", "{}"))
        check(answer.get("interrupted") is True and 0 < len(answer["points"]) < 2000, "stopped, but not with what it had")
    body = json.dumps({"command": "predict", "page": "gone", "run": "g", "text": json.dumps(many_points(2000))})
    left = http.client.HTTPConnection("127.0.0.1", server.port)
    left.request("POST", f"/{server.token}/run", body, {"Content-Type": "application/json"})
    check(until(server.children), "no worker of one who leaves")
    left.close()
    check(until(lambda: not server.children()), "whoever leaves leaves a worker behind")
    check("answer" in dict(server.run(json.dumps(experiment()))), "after that the server does not answer")


def check_fairness(server):
    """One page asks for long work again and again; the other's changes are answered beside it."""
    text = json.dumps(many_points(2000))
    told = []
    threads = [threading.Thread(target=lambda i=i: told.append(server.run(text, page="flood", run=f"l{i}"))) for i in range(12)]
    for thread in threads:
        thread.start()
    check(until(server.children), "no flood")
    refused = until(lambda: len([1 for t in told if ("refused" in dict(t))]) >= 7)
    check(refused, f"a page may wait with {12 - len(told)} requests")
    for _ in range(3):
        check("answer" in dict(server.run(json.dumps(experiment()), page="calm")), "no answer beside a flood")
        check(any(thread.is_alive() for thread in threads), "a change waits until the flood is over")
    for _ in range(3):
        for i in range(12):
            server.ask("POST", "stop", json.dumps({"page": "flood", "run": f"l{i}"}))
    for thread in threads:
        thread.join(timeout=120)
    check(not any(thread.is_alive() for thread in threads), "stopped work goes on")


class SlowClients:
    """Begin requests that they do not end."""

    def __init__(self, server, count=20):
        begun = f"POST /{server.token}/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        self.sockets = []
        for i in range(count):
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall((begun if i % 2 else begun[:40]).encode())
            self.sockets.append(client)
        self.begin = time.monotonic()

    def check(self):
        for client in self.sockets:
            client.settimeout(max(0.1, self.begin + 15 - time.monotonic()))
            try:
                while client.recv(4096):
                    pass
            except (TimeoutError, socket.timeout):
                check(False, "a slow client is waited for longer than 15 s")
            except OSError:
                pass
            client.close()


def check_many_connections(server, count=200):
    """More connections than the server takes, which say nothing: closed one after another, then it answers as before."""
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(count)]
    check(server.ask("GET", "main.js")[0] == 200, f"beside {count} silent connections nothing is answered")
    for client in clients:
        client.close()


def check_listen():
    server = Server("--listen", "0.0.0.0")
    try:
        check(server.ask("GET", "", token="0" * 32)[0] == 403, "--listen: without the token")
        check(server.ask("GET", "", headers={"Host": "evil.example"})[0] == 421, "--listen: any Host")
        check(server.ask("GET", "")[0] == 200, "--listen: not answered")
    finally:
        check(server.close() == 0, "Ctrl-C does not end it well")
    check("not encrypted" in server.process.stderr.read(), "--listen warns nobody")


def check_port(server):
    done = subprocess.run([PROGRAM, "serve", "--no-browser", "--port", str(server.port)], capture_output=True, text=True, timeout=20, check=False)
    check(done.returncode == 2 and "port" in done.stderr, f"a port that is taken: {done.returncode} {done.stderr}")


def check_given(folder):
    (folder / "own.yaml").write_text("extends: base.json\njobs:\n  - {model: resnet50, framework: mxnet, batch_per_gpu: 64, gpus: 4}\n")
    (folder / "base.json").write_text(json.dumps({"cluster": {"platform": "c4140-v100-sxm2"}}))
    server = Server(str(folder / "own.yaml"))
    try:
        given = json.loads(server.ask("GET", "catalogue")[2])["given"]
        check(given["kind"] == "experiment" and given["name"] == "own.yaml", f"given: {given}")
        check("answer" in dict(server.run(given["text"])), "a file beside the one that was given is not read")
        (folder / "link.json").symlink_to("/etc/passwd")
        (folder / "link").symlink_to("/etc")
        for link in ("link.json", "link/passwd", "./link/../link.json"):
            told = json.dumps(server.run(json.dumps({"extends": link})))
            check("outside the folders" in told and "root:" not in told, f"{link} leads out of the folder: {told[:300]}")
    finally:
        server.close()
    store = folder / "store.db"
    for name, gpus in (("--first", [1]), ("last", [1, 2])):
        subprocess.run([PROGRAM, "sweep", "-", "--db", store], input=json.dumps({**experiment(), "name": name, "sweep": {"/jobs/0/gpus": gpus}}),
                       text=True, check=True, capture_output=True)
    server = Server(str(store))
    try:
        told = dict(server.run("", "stored"))
        check(len(json.loads(told["answer"])["points"]) == 2, "a store is not shown, or not what was swept last")
        check(json.loads(server.ask("GET", "catalogue")[2])["given"]["experiments"] == ["--first", "last"], "experiments of a store")
        told = dict(server.run("", "stored", experiment="--first"))
        check(len(json.loads(told["answer"])["points"]) == 1, "an experiment of a store is not shown")
        told = dict(server.run("", "stored", experiment="--help"))
        check("no sweep of '--help'" in json.dumps(told) and "answer" not in told, f"an experiment that a store has not: {told}")
    finally:
        server.close()
    for word in ("nonsuch", str(folder)):
        done = subprocess.run([PROGRAM, "serve", "--no-browser", word], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and done.stderr, f"serve {word}: {done.returncode}")


def time_of_change(server, page, count):
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for i in range(count):
        body = json.dumps({"command": "predict", "page": page, "run": f"t{i}", "text": json.dumps(experiment(batch_per_gpu=32 + i))})
        begin = time.monotonic()
        connection.request("POST", f"/{server.token}/run", body, {"Content-Type": "application/json"})
        raw = connection.getresponse().read()
        times.append(time.monotonic() - begin)
        check(b'"answer"' in raw and b'"drawing"' in raw, "no answer")
    return times


def tell_latency(server):
    for users in (1, 5):
        with concurrent.futures.ThreadPoolExecutor(users) as pool:
            times = sorted(sum(pool.map(lambda user: time_of_change(server, f"user{user}", 40), range(users)), []))
        print(f"{users} users: p50 {1e3 * times[len(times) // 2]:.0f} ms, p95 {1e3 * times[int(len(times) * 0.95)]:.0f} ms, "
              f"most {1e3 * times[-1]:.0f} ms of {len(times)} changes, answer and drawing")


def tell_memory(server, count):
    text = json.dumps(experiment(gpus=1))
    marks = []
    for i in range(count):
        if i % 5 == 0:
            check("answer" in dict(server.run(text, page=f"p{i}")), "no answer")
        elif i % 5 == 1:
            server.ask("GET", "main.js")
        else:
            server.ask("POST", "read", json.dumps({"text": text}))
        if i % max(1, count // 10) == count // 20:
            marks.append(server.memory_kb())
    print(f"{count} requests: memory {', '.join(f'{kb / 1024:.1f}' for kb in marks)} MB along the way")
    check(marks[-1] < marks[len(marks) // 2] + 4096, "memory grows")


begin = time.monotonic()
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    secret = folder / "secret.json"
    secret.write_text('{"Xyzzy": "Xyzzy"}')
    server = Server()
    try:
        slow = SlowClients(server)
        for part in (lambda: check_refusals(server), lambda: check_paths(server, str(secret)), lambda: check_bounds(server), lambda: check_port(server),
                     lambda: check_messages(server), lambda: check_told(server), lambda: check_forms(server, options.forms),
                     lambda: check_kill_and_stop(server), lambda: check_fairness(server), lambda: check_many_connections(server), slow.check):
            part()
        if options.latency:
            tell_latency(server)
        if options.requests:
            tell_memory(server, options.requests)
        check(not until(server.children, 0), "processes are left")
    finally:
        ended = server.close()
    check(ended == 0, f"Ctrl-C ends it with {ended}")
    check_listen()
    check_given(folder)
print("\n".join(problems) or f"{checks} checks hold, {time.monotonic() - begin:.1f} s")
sys.exit(bool(problems))
