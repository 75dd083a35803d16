"""Data frames stand for logs and suites."""
import unittest

from support import SMALL, has

import foretrain as ft


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
