"""Data frames stand for logs and suites."""
import unittest

from support import SMALL, has

import foretrain as ft
from foretrain.frames import suite_of


@unittest.skipUnless(has("pandas"), "pandas is not installed (python3-pandas)")
class Frames(unittest.TestCase):
    def test_measurements(self):
        import pandas

        predicted = ft.sweep(SMALL, {"/jobs/0/gpus": [4, 8]})
        rates = [point.jobs[0].throughput_samples_per_s.median for point in predicted.points]
        measured = pandas.DataFrame({
            "id": ["four", "eight"], "/jobs/0/gpus": [4, 8], "quantity": "/throughput_samples_per_s",
            "measured": [rates[0], rates[1] / 1.1], "unit": "samples/s", "regime": "compute", "spread": [1.0, None]})
        rows = {row["id"]: row for row in ft.validate(measured, experiment=SMALL).rows()}
        self.assertAlmostEqual(rows["four"]["predicted"], rates[0])
        self.assertAlmostEqual(rows["eight"]["predicted"] / rows["eight"]["measured"], 1.1)

    def test_integers_of_a_column_in_which_a_row_is_empty(self):
        import pandas

        rates = [ft.predict(SMALL, set=settings).only().throughput_samples_per_s.median
                 for settings in ({"/jobs/0/gpus": 4}, {"/jobs/0/batch_per_gpu": 32})]
        common = {"quantity": "/throughput_samples_per_s", "measured": 1390.0, "unit": "samples/s", "regime": "compute"}
        for column in ([4, None], pandas.array([4, None], dtype="Int64")):
            settings = pandas.DataFrame({"/jobs/0/gpus": column, "/jobs/0/batch_per_gpu": [None, 32]})
            measured = settings.assign(id=["four", "small"], **common)
            rows = {row["id"]: row for row in ft.validate(measured, experiment=SMALL).rows()}
            self.assertEqual([rows["four"]["predicted"], rows["small"]["predicted"]], rates)

    def test_numbers_stay_what_they_are(self):
        import pandas

        cells = {"a": 4.0, "b": 4.5, "c": 1e300, "d": float("inf"), "e": "4.0", "f": True}
        row = suite_of(pandas.DataFrame([cells]).assign(regime="", quantity="", measured=0.5, unit=""), SMALL)["rows"][0]
        self.assertEqual([repr(row[key]) for key in cells], ["4", "4.5", "1e+300", "inf", "'4.0'", "True"])

    def test_a_column_that_is_missing_is_named(self):
        import pandas

        with self.assertRaisesRegex(ft.ForetrainError, "needs a value of 'regime'"):
            ft.validate(pandas.DataFrame({"measured": [1.0]}), experiment=SMALL)
        with self.assertRaisesRegex(ft.ForetrainError, "needs a value of 'count'"):
            ft.calibrate(pandas.DataFrame({"size_byte": [8]}))

    def test_a_log(self):
        frame = ft.nccl_tests("all_reduce_perf", platform="dgx1-v100", ngpus=8, minbytes=8, maxbytes="64M",
                              stepfactor=2).frame()
        learnt = ft.calibrate(frame, platform="dgx1-v100", program="all_reduce_perf", gpus=8, force=True)
        self.assertTrue(learnt.written, learnt.text)


if __name__ == "__main__":
    unittest.main()
