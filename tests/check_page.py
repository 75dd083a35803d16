#!/usr/bin/env python3
"""The page of `foretrain serve` in a real browser: its controls, mistakes, stop, reload, two tabs.

    tests/check_page.py PROGRAM [--pictures DIR]      DIR: keeps pictures, light, dark and of a telephone's width

Exit code 77 and the reason where chromium, its driver or selenium is missing.
"""
import argparse
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--pictures", type=pathlib.Path)
options = parser.parse_args()
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
missing = [name for name, there in (("chromium", BROWSER), ("chromium-driver", DRIVER),
                                    ("python3-selenium", importlib.util.find_spec("selenium"))) if not there]
if missing:
    print("skipped: not installed:", ", ".join(missing))
    sys.exit(77)

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

problems = []
checks = 0


def check(right, words):
    global checks
    checks += 1
    if not right:
        problems.append(words)


def browser_of(profile):
    chosen = webdriver.ChromeOptions()
    chosen.binary_location = BROWSER
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1300,1000",
                 f"--user-data-dir={profile}"):
        chosen.add_argument(word)
    chosen.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    from selenium.webdriver.chrome.service import Service
    return webdriver.Chrome(service=Service(DRIVER), options=chosen)


class Page:
    """What a reader does."""

    def __init__(self, browser):
        self.browser = browser

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def until(self, condition, words, seconds=240):
        try:
            WebDriverWait(self.browser, seconds, 0.05, [StaleElementReferenceException]).until(lambda _: condition())
            check(True, words)
        except Exception:  # noqa: BLE001 - whatever it was, it was not there in time
            check(False, f"{words}: status '{self.status()}', messages '{self.find('#messages').text}'")

    def status(self):
        return self.find("#status").text

    def answered(self, words):
        self.until(lambda: "drawn in" in self.status() and not self.all(".stale"), words)

    def field(self, pointer):
        return self.find(f'[data-pointer="{pointer}"]')

    def change(self, act, words):
        """Does something that changes the file, and waits for its answer."""
        self.browser.execute_script("document.getElementById('status').textContent = ''")
        act()
        self.answered(words)

    def press(self, text):
        """Clicks a button, which an answer that is drawn meanwhile may replace."""
        WebDriverWait(self.browser, 20, 0.05, [StaleElementReferenceException]).until(lambda _: self.click(text))

    def click(self, text):
        button = self.browser.execute_script("return [...document.querySelectorAll('button')].find(b => b.innerText === arguments[0])", text)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()
        return True

    def text(self):
        return self.find("#text").get_property("value")

    def write(self, text):
        self.browser.execute_script("const t = document.getElementById('text'); t.value = arguments[0]; t.dispatchEvent(new Event('input'))", text)

    def picture(self, name, width, dark):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        time.sleep(0.3)
        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
        check(wide <= width, f"{name}: {wide} pixels of {width}: it must be scrolled sideways")
        if options.pictures:
            whole = self.browser.execute_script("return document.documentElement.scrollHeight")
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                         {"width": width, "height": min(whole, 6000), "deviceScaleFactor": 1, "mobile": width < 500})
            time.sleep(0.2)
            self.browser.save_screenshot(str(options.pictures / f"{name}.png"))
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def pictures(page, name):
    for look, width, dark in (("light", 1300, False), ("dark", 1300, True), ("narrow", 375, False)):
        page.picture(f"{name}-{look}", width, dark)


def check_answer(page):
    page.answered("the first answer")
    check(len(page.all("#drawing svg.chart")) >= 1, "no chart")
    check("samples/s" in page.find("#drawing .lead").text, "no headline")
    pictures(page, "answer")
    page.change(lambda: Select(page.field("/stack/network")).select_by_value("tcp"), "another network")
    check("against the last answer" in page.find("#change").text, "the change is not told")
    check("before" in page.find("#throughput").text, "the last answer is not drawn behind")
    check(json.loads(page.text())["stack"]["network"] == "tcp", "the text does not follow the form")
    pictures(page, "compared")
    slider = page.find('[data-pointer="/jobs/0/batch_per_gpu"] ~ input[type=range]')
    page.change(lambda: slider.send_keys(Keys.ARROW_LEFT), "a slider moved by a key")
    check(json.loads(page.text())["jobs"][0]["batch_per_gpu"] == 64, "the slider's value is not in the text")
    page.change(lambda: page.press("Add a neighbour"), "a neighbour")
    check(len(json.loads(page.text())["jobs"]) == 2, "no neighbour")
    page.change(lambda: page.press("Remove this neighbour"), "the neighbour gone")
    page.change(lambda: page.press("Stacks"), "a matrix of stacks")
    check(len(page.all("#throughput .row")) == 9, "no matrix of stacks")
    pictures(page, "stacks")
    page.change(lambda: page.press("GPUs"), "GPUs varied again")
    page.press("Hold this answer for comparison")
    page.press("Compare with the last answer")


def check_mistakes(page):
    page.write('{\n  "cluster": {"platform": "c4140-v100-sxm2"},\n  "jobs": [{"model": "resnet5",\n    "framework": "mxnet", "batch_per_gpu": 64}]\n}')
    page.until(lambda: "resnet50" in page.find("#messages").text, "a wrong name tells the nearest")
    check(page.all("#drawing.stale svg") and "before" not in page.find("#drawing .answer").text, "the last answer does not stay, pale")
    check(page.find("#lines .bad").text == "3", "the line is not marked")
    check(page.field("/jobs/0/model").get_attribute("aria-invalid") == "true", "the field is not marked")
    page.press("line 3")
    check(page.browser.switch_to.active_element.get_attribute("id") == "text", "the message does not lead to the text")
    pictures(page, "mistake")
    page.write('{ "cluster": ')
    page.until(lambda: "JSON" in page.find("#messages").text, "broken JSON is told")
    page.change(lambda: page.write("cluster: {platform: c4140-v100-sxm2}\njobs:\n  - {model: resnet50, framework: mxnet, precision: fp16, "
                                   "batch_per_gpu: 64, gpus: 4}\n"), "YAML is answered")
    check(page.field("/jobs/0/precision").get_attribute("value") == "fp16", "the form does not follow the text")
    page.change(lambda: page.write('{"name": "<img src=x onerror=window.bad=1>", "cluster": {"platform": "c4140-v100-sxm2"},'
               '"jobs": [{"name": "<b>x</b>", "model": "resnet50", "framework": "mxnet", "batch_per_gpu": 64}]}'), "a name like markup")
    check(not page.all("#drawing img, #drawing b") and not page.browser.execute_script("return window.bad"), "a name became markup")


# Where a caret at the end stands; None: in a comment, or where nothing can be completed.
PLACES = [
    ("", "/"), ("clus", "/"), ("cluster:\n  ", "/cluster"), ("cluster:\n  platform: c", "/cluster/platform"), ("cluster:\n  nodes: 1\n", "/"),
    ("cluster:\n  nodes: 1\n  # ", None), ("cluster:", None), ("cluster: {platform: c4140-v100-sxm2, ", "/cluster"),
    ("cluster: {platform: ", "/cluster/platform"), ("cluster: {nodes: 1}\nstack:\n  host: ", "/stack/host"),
    ("jobs:\n  - model: vgg16\n  - model: ", "/jobs/1/model"), ("jobs:\n- model: vgg16\nstack:\n  ho", "/stack"), ("jobs:\n- model: vgg16\nst", "/"),
    ("jobs:\n  - {model: vgg16,\n     gpus: 1}\n  - {framework: 'mx", "/jobs/1/framework"), ("jobs:\n  - ", "/jobs/0"),
    ("name: a#b\nsta", "/"), ("name: >\n  stack: ", None), ("name: >\n  stack:\nsta", "/"), ('{"jobs": [{"gpus": 1}, {"model": "', "/jobs/1/model"),
    ('{"cluster": {"nodes": 1}, ', "/"), ('{"cluster": {"nodes": 1}, // x', None), ('{"cluster": {"nodes": /* one */ 1, "pl', "/cluster"),
]


def caret(page):
    """Puts the caret at the end."""
    page.browser.execute_script("const t = document.getElementById('text'); t.focus(); t.setSelectionRange(t.value.length, t.value.length); t.dispatchEvent(new Event('click'))")


def check_completion(page):
    page.write('{\n  "cluster": {"platform": "c4140-v100-sxm2"},\n  "jobs": [{"model": "resnet50", "framework": "mx", "batch_per_gpu": 64}]\n}')
    page.browser.execute_script("const t = document.getElementById('text'); const at = t.value.indexOf('mx') + 2; t.focus(); t.setSelectionRange(at, at); t.dispatchEvent(new Event('click'))")
    page.until(lambda: any(b.text == "mxnet" for b in page.all("#here button")), "no completion of a name")
    page.change(lambda: page.press("mxnet"), "a completed name is answered")
    check('"framework": "mxnet"' in page.text(), "the completion is not in the text")
    check("now and before" not in page.find("#drawing").text, "after a mistake an answer of other jobs is drawn behind")
    yaml = "cluster:\n  platform: c4140-v100-sxm2\njobs:\n  - model: resnet50\n    framework: mxnet\n    batch_per_gpu: 64\n"
    page.write(yaml + "    prec")
    caret(page)
    page.until(lambda: page.all("#here button") and page.find("#here").text.endswith("precision"), "no completion of a key in YAML")
    page.press("precision")
    check(page.text() == yaml + "    precision: ", f"a key in YAML is completed as {page.text()[len(yaml):]!r}")
    page.until(lambda: "fp16" in page.find("#here").text, "no names in YAML")
    page.until(lambda: "null" in page.find("#messages").text, "a key without a value is told")
    check(page.field("/jobs/0/precision").get_property("value") == "", "a key without a value is shown as one")
    pictures(page, "completion")
    page.change(lambda: page.press("fp16"), "a name completed in YAML is answered")
    check(page.text() == yaml + "    precision: fp16", f"a name in YAML is completed as {page.text()[len(yaml):]!r}")
    for begun, pointer in PLACES:
        page.write(begun)
        caret(page)
        told = page.find("#here code").text if page.all("#here code") else None
        check(told == pointer, f"after {begun!r} the page tells of {told}, not of {pointer}")
    page.change(lambda: page.write('{"cluster": {"platform": "c4140-v100-sxm2"}, "jobs": [{"model": "resnet50", "framework": "mxnet", "batch_per_gpu": 64}]}'),
                "a whole file again")


def check_take(page):
    page.press("Python")
    check("ft.predict({" in page.find("#shown").text, "no Python")
    page.press("Command line")
    check(page.find("#shown").text.startswith("foretrain predict"), "no command line")
    page.press("Table")
    page.until(lambda: "samples/s" in page.find("#shown").text, "no table")
    link = page.browser.current_url
    check("#" in link, "no link")
    text = page.text()
    page.browser.refresh()
    page.answered("after a reload")
    check(page.text() == text, "a reload shows another file")
    page.browser.switch_to.new_window("tab")
    page.browser.get(link)
    page.answered("a second tab")
    check(page.text() == text, "the link shows another file")
    page.browser.close()
    page.browser.switch_to.window(page.browser.window_handles[0])


def check_long(page):
    sweep = {"/jobs/0/batch_per_gpu": list(range(1, 1501))}
    file = {"cluster": {"platform": "c4140-v100-sxm2"}, "jobs": [{"model": "resnet50", "framework": "mxnet", "batch_per_gpu": 64, "gpus": 8}]}
    page.write(json.dumps({**file, "sweep": sweep}))
    page.until(lambda: page.find("#work").is_displayed() and "/1500" in page.find("#done").text, "progress of a long sweep")
    pictures(page, "long")
    page.change(lambda: page.press("Stop"), "a stopped sweep shows what it has")
    page.change(lambda: page.write(json.dumps(file)), "after a stop")
    page.press("What would make it faster?")
    page.until(lambda: page.all("#more .result svg, #more .result section"), "explain")
    pictures(page, "explain")
    check_sliders(page, file)
    page.press("What would it take?")
    check([o.text for o in page.all("#more .goal label:first-child option")] == ["samples/s, at least", "ms a step, at most"], "goals of a convolutional network")
    network = Select(page.find("#more .goal label:nth-of-type(5) select"))
    check(network.first_selected_option.text == "none" and "tcp" in [o.text for o in network.options], "another network")
    network.select_by_value("tcp")
    page.press("Find the cheapest way")
    page.until(lambda: page.all("#more .result section"), "plan")
    pictures(page, "plan")


def check_sliders(page, file):
    sliders = page.all("#levers input[type=range]")
    check(sliders and page.all("#levers h2"), "no sliders for what explain names")
    gpu = page.find("#better-gpu")
    page.change(lambda: gpu.send_keys(Keys.ARROW_RIGHT * 4), "a slider")
    page.until(lambda: json.loads(page.text()).get("better") == {"gpu": 2}, "a slider writes the file")
    page.until(lambda: "not there, with GPUs 2 times as good" in page.find("#drawing").text, "the answer says what is better")
    check(page.find("#better-gpu + output").text == "2 times as good", "a slider does not say how much")
    page.change(lambda: page.write(json.dumps({**file, "better": {"pcie": 0.5}})), "the file")
    check(page.find("#better-gpu + output").text == "as it is", "a slider does not follow the file")
    check(page.find("#better-pcie").get_attribute("value") == "-1", "a key of the file has no slider")
    page.change(lambda: page.write(json.dumps(file)), "as it was")


def check_others(page):
    Select(page.find("#begin")).select_by_value("fleet/two-queues")
    page.until(lambda: any(b.text == "Simulate the fleet" for b in page.all("button")), "a fleet")
    page.press("Simulate the fleet")
    page.until(lambda: page.all("#gantt svg"), "a Gantt chart")
    colours = [page.find(f"#{part} text").value_of_css_property("fill") for part in ("time", "gantt")]
    check(colours[0] == colours[1], f"labels of the Gantt chart have a colour of their own: {colours}")
    check("Against the last answer" not in page.find("#drawing").text, "a first answer is compared")
    fleet = json.loads(page.text())
    fleet["cluster"]["nodes"] *= 2
    page.write(json.dumps(fleet))
    page.until(lambda: json.loads(page.text())["cluster"]["nodes"] == fleet["cluster"]["nodes"], "the file")
    page.press("Simulate the fleet")
    page.until(lambda: "Against the last answer" in page.find("#drawing").text, "a fleet beside the last one")
    moved = {row.find_element("tag name", "th").text: [cell.text for cell in row.find_elements("tag name", "td")] for row in page.all("#drawing > table tbody tr")}
    check("mean wait" in moved and "cost" in moved and "energy, kWh" not in moved, f"quantities that moved: {moved}")
    share = lambda text: float(text.removesuffix(" %"))
    check(share(moved["utilisation"][0]) < share(moved["utilisation"][1]) and moved["utilisation"][2] == "apart", f"twice the nodes: {moved}")
    pictures(page, "fleet-against")
    check_fleet_sweep(page, fleet)
    Select(page.find("#begin")).select_by_value("plan/c4140-growth")
    page.until(lambda: any(b.text == "Find the cheapest way" for b in page.all("button")), "a plan")
    page.press("Find the cheapest way")
    page.until(lambda: "The cheapest" in page.find("#drawing").text or page.all("#drawing table"), "its answer")
    check("last answer" not in page.find("#drawing").text, "a plan is compared with a fleet")
    page.until(lambda: not page.find("#work").is_displayed(), "the plan's end")
    plan = json.loads(page.text())
    plan["goals"] = [{"throughput_at_least": 1}]
    page.write(json.dumps(plan))
    page.until(lambda: json.loads(page.text())["goals"] == plan["goals"], "the plan's file")
    page.press("Find the cheapest way")
    page.until(lambda: "in the last answer" in page.find("#drawing").text, "a plan beside the last one")
    check("RDMA, 4" in page.find("#drawing .change").text, f"what was recommended: {page.find('#drawing .change').text}")


def check_fleet_sweep(page, fleet):
    fleet = {**fleet, "seeds": 1, "sweep": {"/policy": ["fifo", "easy"]}}
    for times in (1, 2):
        fleet["cluster"]["nodes"] *= times
        page.write(json.dumps(fleet))
        page.until(lambda: json.loads(page.text()).get("sweep") and json.loads(page.text())["cluster"] == fleet["cluster"], "a sweep over fleets")
        page.press("Simulate the fleet")
        page.until(lambda: not page.find("#work").is_displayed() and page.status() == "done", "its answer")
        if times == 1:
            check("gainst the last answer" not in page.find("#drawing").text, "a sweep is compared with a fleet")
    page.until(lambda: "Against the last answer" in page.find("#drawing").text, "a sweep beside the last one")
    points = {cell.text for cell in page.all("#drawing > table tbody td:first-of-type")}
    check(points == {"policy fifo", "policy easy"}, f"points that moved: {points}")
    pictures(page, "fleet-sweep-against")


def check_store(page):
    """A page of stored points of two experiments."""
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "store.db"
        for name, gpus in (("first", [1, 2]), ("second", [1, 2, 4])):
            experiment = {"name": name, "cluster": {"platform": "c4140-v100-sxm2"}, "sweep": {"/jobs/0/gpus": gpus},
                          "jobs": [{"model": "resnet50", "framework": "mxnet", "batch_per_gpu": 64}]}
            subprocess.run([options.program, "sweep", "-", "--db", str(store)], input=json.dumps(experiment), text=True, check=True, capture_output=True)
        own = subprocess.Popen([options.program, "serve", "--no-browser", str(store)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            page.browser.get(own.stdout.readline().strip())
            page.until(lambda: page.all("#form select option") and page.all("#drawing svg"), "stored points")
            select = Select(page.find("#form select"))
            check([o.text for o in select.options] == ["first", "second"], "experiments of a store")
            check(select.first_selected_option.text == "second" and json.loads(page.text())["sweep"] == {"/jobs/0/gpus": [1, 2, 4]}, "not the last one first")
            select.select_by_value("first")
            page.until(lambda: json.loads(page.text())["name"] == "first" and page.all("#drawing svg"), "the other experiment")
            check(Select(page.find("#form select")).first_selected_option.text == "first", "the choice does not stay")
            pictures(page, "store")
        finally:
            own.terminate()
            own.wait(timeout=20)


def check_large(page):
    job = {"model": "llama-3-8b", "framework": "megatron", "precision": "bf16", "gpus": 16, "sequence": 8192, "global_batch": 128,
           "micro_batch": 1, "parallel": {"tensor": 2}}
    Select(page.find("#begin")).select_by_value("experiment/c4140-resnet50")
    page.answered("an experiment again")
    page.change(lambda: page.write(json.dumps({"cluster": {"platform": "hgx-h100", "nodes": 2}, "jobs": [job]})), "a large model")
    check(page.field("/jobs/0/parallel/tensor").get_property("value") == "2", "the form is another file's")
    check("now and before" not in page.find("#drawing").text and not page.find("#change").text, "another model is compared with")
    check("GB" in page.find("#drawing").text and page.all("#memory"), "no memory of a large model")
    page.press("Which parallel plan is best?")
    page.until(lambda: len(page.all("#more tbody tr")) == 10, "tune")
    pictures(page, "tune")
    page.press("What would it take?")
    check([o.text for o in page.all("#more .goal label:first-child option")] == ["tokens/s, at least", "samples/s, at least", "ms a step, at most"], "goals of a large model")
    page.press("Find the cheapest way")
    page.until(lambda: "at least" in page.find("#more .result").text and page.all("#more .result section"), "a plan for tokens", 60)
    pictures(page, "goal-tokens")
    page.press("Which parallel plan is best?")
    page.until(lambda: len(page.all("#more tbody tr")) == 10, "tune again")
    page.change(lambda: page.press("Take 1"), "the best plan is taken")
    check(json.loads(page.text())["jobs"][0]["parallel"]["pipeline"] == 2, f"not the best plan: {page.text()}")


def check_names(page):
    bare = page.browser.execute_script("""
      return [...document.querySelectorAll('input, select, textarea, button, progress, svg[role=img]')]
        .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.querySelector?.('title')))
        .map(e => e.outerHTML.slice(0, 120))""")
    check(not bare, f"without a name for a screen reader: {bare[:3]}")


if options.pictures:
    options.pictures.mkdir(parents=True, exist_ok=True)
server = subprocess.Popen([options.program, "serve", "--no-browser", "c4140-resnet50"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
begin = time.monotonic()
with tempfile.TemporaryDirectory() as profile:
    try:
        browser = browser_of(profile)
    except WebDriverException as error:
        server.terminate()
        print("skipped: the browser does not start here:", str(error).splitlines()[0])
        sys.exit(77)
    try:
        page = Page(browser)
        browser.get(server.stdout.readline().strip())
        for part in (check_answer, check_names, check_mistakes, check_completion, check_take, check_long, check_others, check_large, check_store):
            part(page)
        bad = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        check(not bad, f"the browser complains: {bad[:5]}")
    finally:
        browser.quit()
        server.terminate()
        server.wait(timeout=20)
print("\n".join(problems) or f"{checks} checks hold, {time.monotonic() - begin:.1f} s")
sys.exit(bool(problems))
