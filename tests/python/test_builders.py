"""Builders make the files that dicts make, and types and docstrings hold."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, SMALL, has

import foretrain as ft

PACKAGE = ROOT / "experiments/python"


class Builders(unittest.TestCase):
    def test_what_is_none_is_left_out(self):
        experiment = ft.Experiment(name="small", cluster=ft.Cluster(platform="c4140-v100-sxm2", nodes=2), jobs=[
            ft.Job(name="train", model="resnet50", framework="tensorflow-horovod", batch_per_gpu=64, gpus=8)])
        self.assertEqual(experiment.json(), SMALL)

    def test_keys_that_python_keeps(self):
        self.assertEqual(ft.Expect(quantity="/fits", is_=False).json(), {"quantity": "/fits", "is": False})

    def test_paths_and_nested_dicts(self):
        cluster = ft.Cluster(platform=pathlib.Path("mine.json"), storage={"extends": "nvme"})
        self.assertEqual(cluster.json(), {"platform": "mine.json", "storage": {"extends": "nvme"}})

    def test_a_misspelt_member_is_refused(self):
        with self.assertRaises(TypeError):
            ft.Cluster(platforms="c4140-v100-sxm2")
        with self.assertRaises(TypeError):
            ft.Cluster(nodes=2)

    def test_a_misspelt_attribute_is_refused(self):
        job = ft.Job(model="resnet50", framework="tensorflow-horovod", batch_per_gpu=64)
        job.batch_per_gpu = 128
        job.gpus = 8
        self.assertEqual((job.json()["batch_per_gpu"], job.json()["gpus"]), (128, 8))
        with self.assertRaisesRegex(AttributeError, "no 'batch_per_gpus' in Job; did you mean 'batch_per_gpu'?"):
            job.batch_per_gpus = 256
        with self.assertRaisesRegex(AttributeError, "did you mean 'stack'?"):
            ft.Experiment().stak = ft.Stack(network="tcp")
        with self.assertRaisesRegex(AttributeError, "it has: host, network"):
            ft.Stack().zzzzzz = 1

    def test_a_fleet(self):
        fleet = ft.Fleet(
            cluster=ft.FleetCluster(nodes=1, gpus_per_node=1),
            arrivals=ft.Arrivals(per_hour=1, until="5 d", mix=[ft.Mix(gpus=1, run_time="30 min", law="exponential")]),
            policy="fifo", seeds=2)
        self.assertEqual(ft.fleet(fleet).seeds, 2)


class Style(unittest.TestCase):
    def check(self, module, *words):
        if not has(module):
            self.skipTest(f"{module} is not installed")
        done = subprocess.run([sys.executable, "-m", module, *words], cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_charts_are_asked_where_matplotlib_may_be_missing(self):
        asked = [file.name for file in (ROOT / "tests/python").glob("*.py") if ".plot" + "(" in file.read_text()]
        self.assertEqual(asked, ["test_plots.py"])

    def test_types(self):
        self.check("mypy", "--strict", "--cache-dir=/dev/null", "foretrain")

    def test_types_of_a_user(self):
        user = ("import foretrain as ft\n"
                "job = ft.predict('c4140-resnet50').points[0].jobs\n"
                "if job: reveal_type(job[0].throughput_samples_per_s.median)\n"
                "waits = ft.fleet('c4140-month').wait_s\n"
                "if waits: reveal_type(waits.mean)\n"
                "if job: reveal_type(job[1:])\n"
                "ft.Job(framework='megatron', precision='fp61')\n"
                "ft.Stack().netwrok = 'tcp'\n")
        if not has("mypy"):
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "user.py"
            path.write_text(user)
            done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir=/dev/null", path], cwd=PACKAGE,
                                  capture_output=True, text=True)
        self.assertIn('Revealed type is "builtins.float"', done.stdout)
        self.assertIn('Revealed type is "foretrain.values.Range"', done.stdout)
        self.assertIn('incompatible type "Literal[\'fp61\']"', done.stdout)
        self.assertIn('Revealed type is "builtins.tuple[foretrain.results.Job, ...]"', done.stdout)
        self.assertIn('"Stack" has no attribute "netwrok"', done.stdout)
        self.assertIn("Found 2 errors", done.stdout)

    def test_docstrings(self):
        self.check("pydocstyle", "--convention=google", "foretrain")


if __name__ == "__main__":
    unittest.main()
