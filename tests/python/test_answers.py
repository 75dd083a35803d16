"""Answers are the command's, to the digit, whatever form the experiment is given in."""
import concurrent.futures
import contextlib
import copy
import json
import multiprocessing
import os
import pathlib
import pickle
import tempfile
import unittest

from support import ROOT, SMALL, command_json, has, program

import foretrain as ft

SWEEP = {"/jobs/0/gpus": [1, 4, 8], "/jobs/0/batch_per_gpu": [32, 64]}


class Predicted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prediction = ft.predict("c4140-resnet50")
        cls.printed = command_json("predict", "c4140-resnet50")

    def test_equals_the_command(self):
        self.assertEqual(self.prediction.json(), self.printed)
        self.assertEqual(self.prediction.status, 0)

    def test_attributes_carry_the_keys_of_the_json(self):
        job = self.prediction.points[3].jobs[0]
        printed = self.printed["points"][3]["jobs"][0]
        self.assertEqual(job.throughput_samples_per_s.low, printed["throughput_samples_per_s"]["low"])
        self.assertEqual(float(job.step_time_s), printed["step_time_s"]["median"])
        self.assertEqual(job.time_s.compute, printed["time_s"]["compute"])
        self.assertIsNone(job.cost)
        self.assertEqual(self.prediction.points[3].settings["/jobs/0/gpus"], 4)

    def test_a_misspelt_attribute_names_the_nearest(self):
        with self.assertRaisesRegex(AttributeError, "did you mean 'throughput_samples_per_s'"):
            self.prediction.points[0].jobs[0].throughput_sample_per_s
        with self.assertRaisesRegex(AttributeError, "read-only"):
            self.prediction.points[0].settings = {}

    def test_rows_are_those_of_the_csv(self):
        lines = program("predict", "c4140-resnet50", "--format", "csv").stdout.splitlines()
        rows = self.prediction.rows()
        self.assertEqual(",".join(rows[0]), lines[0])
        self.assertEqual(len(rows), len(lines) - 1)
        self.assertEqual([row["throughput_samples_per_s"] for row in rows],
                         [point["jobs"][0]["throughput_samples_per_s"]["median"] for point in self.printed["points"]])

    def test_text_is_the_table(self):
        self.assertEqual(str(self.prediction), program("predict", "c4140-resnet50").stdout)

    def test_the_report_is_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            program("predict", "c4140-resnet50", "--out", folder + "/command")
            written = self.prediction.report(folder + "/module")
            for name in ("report.html", "result.csv", "result.json"):
                self.assertEqual((written / name).read_text(), pathlib.Path(folder, "command", name).read_text(), name)

    @unittest.skipUnless(has("pandas"), "pandas is not installed (python3-pandas)")
    def test_a_frame_holds_the_rows(self):
        frame = self.prediction.frame()
        self.assertEqual(list(frame["throughput_samples_per_s"]),
                         [row["throughput_samples_per_s"] for row in self.prediction.rows()])

    def test_names_never_become_markup(self):
        answer = ft.predict({**SMALL, "name": "<script>alert(1)</script>"})
        self.assertIn("&lt;script&gt;", answer._repr_html_())
        self.assertNotIn("<script", answer._repr_html_())
        self.assertNotIn("<script", ft.Record({"a": "<script>"})._repr_html_())


class ReadOnly(unittest.TestCase):
    """An answer stays what the program printed, whatever is done with what it gives."""

    @classmethod
    def setUpClass(cls):
        cls.prediction = ft.sweep(SMALL, {"/jobs/0/gpus": [4, 8]})

    def unchanged_by(self, change, answer):
        before = answer.json()
        change(answer)
        self.assertEqual(answer.json(), before)

    def test_json_is_the_callers_own(self):
        self.unchanged_by(lambda answer: answer.json()["points"][0]["jobs"].clear(), self.prediction)
        self.unchanged_by(lambda answer: answer.json().clear(), self.prediction.points[0].jobs[0].time_s)
        record = ft.Record({"a": [[1, 2], {"b": [3]}]})
        self.unchanged_by(lambda answer: answer.json()["a"][0].append(3), record)
        self.unchanged_by(lambda answer: answer.json()["a"][1]["b"].append(3), record)

    def test_lists_are_tuples(self):
        points = self.prediction.points
        with self.assertRaises(AttributeError):
            points.append(1)
        with self.assertRaises(TypeError):
            points[0] = 1
        self.assertEqual((len(points), points[-1], points[1:]), (2, points[1], (points[1],)))
        self.assertEqual([point.jobs[0].gpus for point in points], [4, 8])
        self.assertEqual(points, ft.sweep(SMALL, {"/jobs/0/gpus": [4, 8]}).points)
        self.assertEqual(ft.Record({"a": [[1, 2], 3]}).a, ((1, 2), 3))
        self.assertIn("points=[2 entries]", repr(self.prediction))

    def test_rows_are_the_callers_own(self):
        explanation = ft.explain(SMALL, swaps=False)
        self.unchanged_by(lambda answer: [row.clear() for row in answer.rows()], explanation)
        fleet = ft.fleet("c4140-month", seeds=1)
        fleet.rows()[0].clear()
        self.assertEqual(fleet.rows()[0], fleet.jobs_table[0])
        self.assertIn("wait_s", fleet.jobs_table[0])
        perf = ft.nccl_tests("all_reduce_perf", platform="dgx1-v100", ngpus=8, minbytes=8, maxbytes=8)
        perf.rows()[0].clear()
        self.assertEqual(perf.rows()[0]["size_byte"], 8)

    @unittest.skipUnless(has("pandas"), "pandas is not installed (python3-pandas)")
    def test_tuples_become_columns(self):
        import pandas

        gpus = pandas.Series(tuple(point.jobs[0].gpus for point in self.prediction.points))
        self.assertEqual(list(pandas.DataFrame({"gpus": gpus, "point": self.prediction.points})["gpus"]), [4, 8])


def rate_of(gpus):
    """What a process of a pool is asked for."""
    return ft.predict(SMALL, set={"/jobs/0/gpus": gpus})


class Copied(unittest.TestCase):
    def same(self, answer):
        for again in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
            self.assertIs(type(again), type(answer))
            self.assertEqual(again, answer)
            self.assertEqual(str(again), str(answer))
            with self.assertRaisesRegex(AttributeError, "read-only"):
                again.name = "changed"

    def test_answers(self):
        prediction = ft.predict(SMALL)
        self.same(prediction)
        self.same(prediction.points[0].jobs[0].throughput_samples_per_s)
        self.same(ft.explain(ft.Experiment(**SMALL), swaps=False))
        self.same(ft.compare(SMALL, prediction))
        self.same(ft.nccl_tests("all_reduce_perf", platform="dgx1-v100", ngpus=8, minbytes=8, maxbytes=8))
        fleet = ft.fleet("c4140-month", seeds=1, policy=lambda state: ())
        self.same(fleet)
        self.assertEqual(pickle.loads(pickle.dumps(fleet)).rows(), fleet.rows())

    def test_a_pickled_answer_runs_its_command_again(self):
        prediction = ft.predict(SMALL)
        self.assertEqual(pickle.loads(pickle.dumps(prediction)).trace(), prediction.trace())

    def test_a_pool_of_processes(self):
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            self.assertEqual([answer.only().gpus for answer in pool.map(rate_of, (2, 4))], [2, 4])
            with self.assertRaises(ft.InputError) as caught:
                pool.submit(rate_of, -3).result()
        self.assertEqual((caught.exception.pointer, caught.exception.found), ("/jobs/0/gpus", "-3"))


class Given(unittest.TestCase):
    """One experiment, given in many ways."""

    def setUp(self):
        self.printed = command_json("predict", "-", stdin=json.dumps(SMALL))["points"]

    def same(self, given):
        self.assertEqual(ft.predict(given).json()["points"], self.printed)

    def test_dict_text_path_and_builder(self):
        self.same(SMALL)
        self.same(json.dumps(SMALL, indent=2))
        self.same(ft.Experiment(
            cluster=ft.Cluster(platform="c4140-v100-sxm2", nodes=2),
            jobs=[ft.Job(model="resnet50", framework="tensorflow-horovod", batch_per_gpu=64, gpus=8)]))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.json"
            path.write_text(json.dumps(SMALL))
            self.same(path)
            self.same(str(path))

    def test_a_path_without_a_folder_is_no_name(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                pathlib.Path("mine.json").write_text(json.dumps(SMALL))
                pathlib.Path("platform.json").write_text((ROOT / "platforms/data/platforms/c4140-m-v100-sxm2.json").read_text())
                self.same(pathlib.Path("mine.json"))
                here = {**SMALL, "cluster": {"platform": "platform.json", "nodes": 2}}  # beside the folder one is in
                medians = [ft.predict(here).only().throughput_samples_per_s.median,
                           ft.compare(here, here).pairs[0].a.throughput_samples_per_s.median]
            finally:
                os.chdir(before)
        self.assertEqual(medians, 2 * [self.printed[0]["jobs"][0]["throughput_samples_per_s"]["median"]])

    def test_settings(self):
        half = ft.predict(SMALL, set={"/jobs/0/gpus": 4, "/stack": {"network": "tcp"}})
        self.assertEqual(half.json()["points"], command_json("predict", "-", "--set", "/jobs/0/gpus=4", "--set",
                                                             '/stack={"network":"tcp"}', stdin=json.dumps(SMALL))["points"])

    @unittest.skipUnless(has("numpy"), "numpy is not installed")
    def test_numbers_of_numpy(self):
        import numpy

        swept = ft.sweep(SMALL, {"/jobs/0/gpus": numpy.array([1, 2])}, set={"/jobs/0/batch_per_gpu": numpy.int64(64)})
        self.assertEqual([point.settings["/jobs/0/gpus"] for point in swept.points], [1, 2])


class Swept(unittest.TestCase):
    def test_a_store_keeps_points(self):
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "results.db"
            first = ft.sweep(SMALL, SWEEP, db=store)
            self.assertEqual(len(first.points), 6)
            again = ft.sweep(SMALL, SWEEP, db=store)
            self.assertEqual(again.json()["points"], first.json()["points"])
            self.assertTrue(any("6 of 6 points are in" in line for line in again.messages), again.messages)
            self.assertEqual(ft.sweep(SMALL, SWEEP).json()["points"], first.json()["points"])

    def test_progress_is_told(self):
        seen = []
        ft.sweep(SMALL, SWEEP, progress=lambda *told: seen.append(told))
        self.assertEqual(seen[-1], (6, 6, "points"))
        self.assertEqual(seen, sorted(seen))

    def test_points_fail_alone(self):
        answer = ft.sweep(SMALL, {"/jobs/0/gpus": [8, 9]})
        self.assertIsNone(answer.points[0].error)
        self.assertIn("only 8 GPUs are free", answer.points[1].error)
        self.assertEqual(answer.status, 2)


class OtherCommands(unittest.TestCase):
    def test_compare(self):
        tcp = {**SMALL, "stack": {"network": "tcp"}}
        answer = ft.compare(SMALL, tcp, fail_below=0.9)
        self.assertTrue(answer.broken)
        self.assertEqual(answer.status, 1)
        self.assertEqual((answer.a.name, answer.pairs[0].differs[0].pointer), ("small", "/stack"))
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, experiment in (("a", SMALL), ("b", tcp)):
                paths.append(pathlib.Path(folder) / f"{name}.json")
                paths[-1].write_text(json.dumps(experiment))
            printed = command_json("compare", *paths)
            written = answer.report(folder + "/report")
            self.assertEqual((written / "compare.csv").read_bytes().decode(),
                             program("compare", *paths, "--format", "csv", binary=True))
        self.assertEqual(answer.pairs[0].json()["ratio"], printed["pairs"][0]["ratio"])
        a, b = ft.predict(SMALL), ft.predict(tcp)
        self.assertEqual(ft.compare(a, b).pairs[0].a.throughput_samples_per_s, a.only().throughput_samples_per_s)

    def test_explain(self):
        answer = ft.explain(SMALL, swaps=False)
        self.assertEqual(answer.json(), command_json("explain", "-", "--no-swaps", stdin=json.dumps(SMALL)))
        self.assertEqual(answer.rows()[0]["lever"], answer.jobs[0].levers[0].lever)
        self.assertIn(answer.jobs[0].limited_by.name, answer.text())
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("</html>", (answer.report(folder) / "explain.html").read_text())

    def test_plan(self):
        answer = ft.plan("c4140-growth")
        self.assertEqual(answer.json(), command_json("plan", "c4140-growth"))
        self.assertEqual(len(answer.rows()), sum(len(candidate["jobs"]) for candidate in answer.json()["candidates"]))
        self.assertIn(answer.candidates[answer.recommended].options["nodes"] + " ", answer.text())
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("</html>", (answer.report(folder) / "report.html").read_text())

    def test_tune(self):
        large = {"cluster": {"platform": "hgx-h100", "nodes": 1}, "jobs": [{
            "model": "llama-3-8b", "framework": "megatron", "precision": "bf16", "gpus": 8, "sequence": 8192,
            "global_batch": 8, "micro_batch": 1}]}
        answer = ft.tune(large, top=3)
        self.assertEqual(len(answer.plans), 3)
        medians = [plan.tokens_per_s.median for plan in answer.plans]
        self.assertEqual(medians, sorted(medians, reverse=True))
        best = ft.predict(answer.best())
        self.assertEqual(best.only().tokens_per_s.median, medians[0])
        self.assertEqual(answer.rows()[0]["tokens_per_s"], medians[0])

    def test_fleets_beside_each_other(self):
        sweep = ft.fleet_sweep("c4140-month", {"/policy": ["fifo", "easy"]}, seeds=2)
        self.assertEqual([point.settings["/policy"] for point in sweep.points], ["fifo", "easy"])
        self.assertEqual(sweep.rows()[1]["wait_s_mean"], sweep.points[1].wait_s.mean.median)
        self.assertIn("2 points", str(sweep))
        answer = ft.compare("c4140-month", "c4140-month", set_b={"/policy": "fifo"}, seeds=2)
        wait = next(it for it in answer.pairs[0].quantities if it.quantity == "/wait_s/mean")
        self.assertEqual((wait.b_more, wait.b_less), (2, 0))
        self.assertEqual(len(answer.rows()), len(answer.pairs[0].quantities))
        plan = ft.plan({"fleet": "c4140-month", "goals": [{"wait_p90_at_most": "1000 d"}], "changes": [
            {"name": "policy", "vary": "/policy", "values": ["fifo", "easy"]}]}, seeds=1)
        self.assertEqual(plan.candidates[plan.recommended].options["policy"], "easy")
        self.assertEqual(plan.status, 0)
        with self.assertRaisesRegex(ft.ForetrainError, "fleet_sweep"):
            ft.fleet("c4140-month", set={"/sweep": {"/policy": ["fifo", "easy"]}}, seeds=1)
        when = ft.fleet_when("c4140-month", 48213, seeds=2)
        self.assertEqual((when.job, when.gpus, when.starts), ("48213", 1, 2))
        self.assertIn("starts at", str(when))
        with self.assertRaisesRegex(ft.ForetrainError, "no sweep"):
            ft.fleet_sweep("c4140-month", seeds=1)

    def test_seeds_that_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            first = ft.fleet("c4140-month", seeds=2, keep=folder)
            self.assertEqual(len(list(pathlib.Path(folder).glob("*.seed"))), 2)
            self.assertEqual(ft.fleet("c4140-month", seeds=2, keep=folder).json(), first.json())
            self.assertEqual(len(list(pathlib.Path(folder).glob("*.seed"))), 2)

    def test_fleet(self):
        answer = ft.fleet("c4140-month", policy="fifo", seeds=1)
        self.assertEqual(answer.json(), command_json("fleet", "c4140-month", "--policy", "fifo", "--seeds", "1"))
        self.assertEqual(len(answer.jobs_table), answer.jobs.submitted)
        waits = [job["wait_s"] for job in answer.jobs_table]
        self.assertAlmostEqual(sum(waits) / len(waits), answer.wait_s.mean.median, delta=1)
        self.assertEqual(answer.by_queue["gpu"].jobs, sum(job["queue"] == "gpu" for job in answer.jobs_table))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(sorted(file.name for file in answer.report(folder).iterdir()),
                             ["fleet.json", "jobs.csv", "jobs.swf", "report.html", "timeline.json"])

    def test_a_policy_of_ones_own(self):
        jobs = "".join(f"{i} {submit} 0 {run} {gpus} -1 -1 {gpus} {run} -1 1 1 0 -1 0 -1 -1 -1\n"
                       for i, (submit, run, gpus) in enumerate([(0, 100, 2), (0, 50, 4), (0, 30, 2)], 1))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "jobs.swf").write_text(jobs)
            cluster = {"cluster": {"nodes": 2, "gpus_per_node": 2}, "jobs": {"kind": "swf", "trace": folder + "/jobs.swf"}}
            seen = []

            def last_that_fits(state):
                seen.append(state)
                return [job for job in state.waiting if job.gpus <= sum(state.free)][-1:]

            with contextlib.ExitStack() as many:  # a shell knows descriptors of one digit only
                for _ in range(20):
                    many.enter_context(open(os.devnull, encoding="utf-8"))
                answer = ft.fleet(cluster, policy=last_that_fits)
            self.assertEqual([row["start_s"] for row in answer.rows()], [80, 30, 0])
            self.assertEqual(seen[0].free, (2, 2))
            self.assertEqual([job.id for job in seen[0].waiting], ["1", "2", "3"])
            on_node_1 = ft.fleet(cluster, policy=lambda state: [
                (job.job, [1]) for job in state.waiting if job.gpus == 2 and state.free[1] == 2][:1])
            self.assertEqual((on_node_1.jobs.completed, on_node_1.jobs.waiting), (2, 1))
            self.assertEqual([row["start_s"] for row in on_node_1.rows()], [0, None, 100])

    def test_a_policy_that_does_what_one_does(self):
        fleet = ft.Fleet(
            cluster=ft.FleetCluster(nodes=16, gpus_per_node=1), policy="fifo",
            arrivals=ft.Arrivals(per_hour=4, until="10 d", mix=[
                ft.Mix(gpus=gpus, run_time="2 h", law="exponential", share=4 / gpus) for gpus in (1, 2, 4, 8)]))

        def in_order(state):
            free = sum(state.free)
            for job in state.waiting:
                if job.gpus > free:
                    return
                free -= job.gpus
                yield job

        mine, fifo = ft.fleet(fleet, policy=in_order), ft.fleet(fleet)
        self.assertEqual([row["start_s"] for row in mine.rows()], [row["start_s"] for row in fifo.rows()])
        self.assertGreater(fifo.wait_s.mean.median, 0)

    def test_a_policy_that_stops_jobs(self):
        fleet = {"cluster": {"nodes": 1, "gpus_per_node": 1}, "arrivals": {"process": "even", "per_hour": 60, "until": "150 s",
                                                                          "mix": [{"gpus": 1, "run_time": "1 h"}]}}

        def last_come_first_served(state):
            newest = max(state.waiting, key=lambda job: job.submit_s)
            oldest = [job for job in state.running if job.submit_s < newest.submit_s]
            start = [newest] if oldest or not state.running else []
            return {"stop": oldest, "start": start, "when_full": True}

        answer = ft.fleet(fleet, policy=last_come_first_served)
        self.assertEqual(answer.policy, "last_come_first_served")
        self.assertEqual([(row["start_s"], row["end_s"]) for row in answer.rows()], [(60, 7260), (120, 3720)])

    def test_what_a_policy_raises_is_raised(self):
        with self.assertRaises(ZeroDivisionError):
            ft.fleet("c4140-month", policy=lambda state: [1 / 0])
        with self.assertRaisesRegex(ft.InputError, "does not wait"):
            ft.fleet("c4140-month", policy=lambda state: [10**6])

    def test_a_policy_that_gives_no_jobs(self):
        def forgets(state):
            state.waiting[0]

        for policy, said in ((forgets, "policy function 'forgets' must give the jobs that start now, .*, got NoneType"),
                             (lambda state: 3, "policy function '<lambda>' .*, got int"),
                             (lambda state: state.waiting[0], "policy function .*, got Record"),
                             (lambda state: {"start": None}, "'start' of policy function .* must be jobs .*, got NoneType")):
            with self.assertRaisesRegex(TypeError, said):
                ft.fleet("c4140-month", seeds=1, policy=policy)

    def test_check_validate_and_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.json"
            path.write_text(json.dumps({**SMALL, "expect": [{"quantity": "/speedup", "at_least": 9}]}))
            checked = ft.check(path)
            self.assertEqual((checked.failed, checked.status), (1, 1))
            self.assertIn("failed", [row["state"] for row in checked.rows()])
        wrong = {**SMALL, "expect": [{"quantity": "/speedup", "at_least": 9}]}
        self.assertEqual((ft.check(wrong).failed, ft.check([wrong, SMALL, wrong]).failed), (1, 2))
        validation = ft.validate("twin", only="*")
        self.assertEqual(validation.json(), command_json("validate", "twin", "--only", "*"))
        counted = [row for row in validation.rows() if row["role"] == "validation"]
        self.assertEqual(len(counted), sum(regime["rows"] for regime in validation.json()["regimes"]))
        self.assertEqual(ft.program(SMALL), json.loads(program("program", "show", "-", "--format", "json",
                                                               stdin=json.dumps(SMALL)).stdout))

    def test_nccl_tests_and_calibrate(self):
        answer = ft.nccl_tests("all_reduce_perf", platform="dgx1-v100", ngpus=8, minbytes=8, maxbytes="64M", stepfactor=2)
        self.assertEqual([row["size_byte"] for row in answer.rows()][:3], [8, 16, 32])
        self.assertIn(f"{answer.rows()[-1]['busbw_GB_per_s']:.2f}", str(answer))
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.txt"
            log.write_text(str(answer))
            learnt = ft.calibrate(log, platform="dgx1-v100", program="all_reduce_perf", force=True)
            self.assertTrue(learnt.written)
            self.assertTrue(learnt.parameters)
            profile = pathlib.Path(folder) / "profile.json"
            profile.write_text(json.dumps(learnt.json()))
            rate = ft.predict(SMALL, profiles=profile).only().throughput_samples_per_s.median
            self.assertGreater(rate, 0)
            for given in (learnt, [learnt], learnt.json(), [str(profile)]):
                self.assertEqual(ft.predict(SMALL, profiles=given).only().throughput_samples_per_s.median, rate)
            self.assertEqual(ft.predict({**SMALL, "profiles": [learnt]}).only().throughput_samples_per_s.median, rate)
            words = dict(platform="dgx1-v100", ngpus=8, minbytes="64M", maxbytes="64M")
            self.assertEqual(ft.nccl_tests("all_reduce_perf", profiles=learnt, **words).rows(),
                             ft.nccl_tests("all_reduce_perf", profiles=profile, **words).rows())


class NcclTests(unittest.TestCase):
    """Machine and software of nccl_tests are given as in experiments."""

    WORDS = ("--nodes", "2", "--ngpus", "4", "--minbytes", "1M", "--maxbytes", "1M")

    def rows(self, **given):
        return self.answer(**given).rows()

    def answer(self, platform="c4140-k-v100-sxm2", **given):
        return ft.nccl_tests("all_reduce_perf", platform=platform, nodes=2, ngpus=4, minbytes="1M", maxbytes="1M", **given)

    def printed(self, *words):
        return program("nccl-tests", "all_reduce_perf", "--platform=c4140-k-v100-sxm2", *self.WORDS, *words).stdout

    def test_a_stack(self):
        printed = self.printed("--stack", "container+flannel-vxlan")
        stack = {"host": "container", "network": "flannel-vxlan"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "stack.json"
            path.write_text(json.dumps(stack))
            for given in ("container+flannel-vxlan", stack, ft.Stack(**stack), path, str(path)):
                self.assertEqual(str(self.answer(stack=given)), printed)
        self.assertNotEqual(printed, self.printed())
        with self.assertRaisesRegex(TypeError, "got int"):
            self.answer(stack=5)

    def test_objects(self):
        slow = self.rows(stack="container+flannel-vxlan")
        self.assertEqual(self.rows(host={"extends": "container"}, network={"extends": "flannel-vxlan"}), slow)
        answer = self.answer(platform={"extends": "c4140-k-v100-sxm2", "name": "mine"}, stack="container+flannel-vxlan")
        self.assertEqual(answer.rows(), slow)
        self.assertIn("simulated on mine, 2 node(s)", str(answer))
        with self.assertRaises(ft.InputError) as caught:
            self.answer(platform={"extends": "c4140-k-v100-sxm2", "nodess": 2})
        self.assertEqual((caught.exception.file, caught.exception.pointer), ("platform", "/nodess"))

    def test_an_imported_platform(self):
        imported = ft.import_platform(ROOT / "tests/platforms/data/hgx-h100-paste.txt", name="pasted", gpu="h100-sxm5-80gb",
                                      cpu="xeon-platinum-8480c", nic="connectx7-ndr", memory="2 TB")
        answer = ft.nccl_tests("all_reduce_perf", platform=imported, ngpus=8, minbytes="1M", maxbytes="1M")
        self.assertEqual(len(answer.rows()), 1)
        self.assertIn("simulated on pasted", str(answer))

    def test_options_that_take_no_object(self):
        for call in (lambda: ft.calibrate("log.txt", platform={"extends": "dgx1-v100"}),
                     lambda: ft.calibrate("log.txt", network=ft.Stack(network="tcp")),
                     lambda: ft.import_platform("topology.txt", gpu={"extends": "v100-sxm2-16gb"})):
            with self.assertRaisesRegex(TypeError, "(platform|network|gpu) must be a name, a path or a number, got (dict|Stack)"):
                call()


class Catalog(unittest.TestCase):
    def test_what_is_bundled(self):
        names = {path.stem for path in (ROOT / "platforms/data/platforms").glob("*.json")}
        self.assertEqual(set(ft.platforms()), names)
        self.assertEqual(set(ft.presets("platform")), names)
        self.assertEqual(ft.frameworks(), sorted(path.stem for path in (ROOT / "models/data/frameworks").glob("*.json")))
        self.assertEqual(ft.experiments(), sorted(path.stem for path in (ROOT / "experiments/data").glob("*.json")))
        self.assertIn("resnet50", [model.name for model in ft.models()])
        self.assertEqual(ft.model("resnet50").name, "resnet50")
        self.assertTrue(all(entry.preset == "v100-sxm2-16gb" for entry in ft.parameters("gpu", "v100-sxm2-16gb")))
        self.assertEqual(ft.schema("experiment")["title"], "experiment")
        self.assertTrue(ft.version().startswith("foretrain " + ft.__version__))

    def test_imports(self):
        imported = ft.import_model(ROOT / "docs/stories/llama-3-8b-config.json", name="mine")
        self.assertEqual(imported["name"], "mine")
        large = {"cluster": {"platform": "hgx-h100", "nodes": 1}, "jobs": [{
            "model": imported, "framework": "pytorch-fsdp", "precision": "bf16", "gpus": 8, "sequence": 4096,
            "global_batch": 8, "micro_batch": 1, "parallel": {"zero": 3}}]}
        self.assertGreater(ft.predict(large).only().tokens_per_s.median, 0)


if __name__ == "__main__":
    unittest.main()
