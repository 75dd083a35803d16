"""Charts show the answers' numbers."""
import unittest

from support import SMALL, has

import foretrain as ft


@unittest.skipUnless(has("matplotlib"), "matplotlib is not installed (python3-matplotlib)")
class Charts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prediction = ft.sweep(SMALL, {"/jobs/0/gpus": [1, 4, 8]})

    def tearDown(self):
        from matplotlib import pyplot

        pyplot.close("all")

    def test_scaling(self):
        axes = self.prediction.plot()
        x, y = axes.lines[0].get_data()
        jobs = [point.jobs[0] for point in self.prediction.points]
        self.assertEqual(list(x), [1, 4, 8])
        self.assertEqual(list(y), [job.throughput_samples_per_s.median for job in jobs])
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        self.assertAlmostEqual(band.max(), max(job.throughput_samples_per_s.high for job in jobs))

    def test_step_adds_up(self):
        axes = self.prediction.plot("step")
        job = self.prediction.points[0].jobs[0]
        first = [patch for patch in axes.patches if abs(patch.get_y() + patch.get_height() / 2) < 0.1]
        self.assertAlmostEqual(sum(patch.get_width() for patch in first) / 1000, job.step_time_s.median)

    def test_sensitivity_and_timeline(self):
        contributions = self.prediction.points[-1].jobs[0].uncertainty.contributions
        self.assertEqual(len(self.prediction.plot("sensitivity").patches), len(contributions))
        timeline = self.prediction.plot("timeline", point=0)
        self.assertTrue(timeline.patches)
        ends = max(patch.get_x() + patch.get_width() for patch in timeline.patches)
        self.assertAlmostEqual(ends / 1000, self.prediction.points[0].jobs[0].step_time_s.median, delta=0.05)

    def test_unknown_kind(self):
        with self.assertRaisesRegex(ft.ForetrainError, "known kinds: scaling, step, sensitivity, timeline"):
            self.prediction.plot("scalings")

    def test_others(self):
        comparison = ft.compare(SMALL, {**SMALL, "stack": {"network": "tcp"}})
        self.assertEqual(comparison.plot().lines[0].get_xdata()[0], comparison.pairs[0].ratio.median)
        explanation = ft.explain(SMALL, swaps=False)
        self.assertEqual(explanation.plot().patches[0].get_width(), 100 * explanation.jobs[0].levers[0].gain_if_doubled)

    def test_fleet(self):
        fleet = ft.fleet("c4140-month", seeds=1)
        gantt = fleet.plot()
        boxes = [path.vertices for boxes in gantt.collections for path in boxes.get_paths()]
        area = sum((box[:, 0].max() - box[:, 0].min()) * (box[:, 1].max() - box[:, 1].min()) for box in boxes)
        held = sum(job["gpus"] * (job["end_s"] - job["start_s"]) / 3600 for job in fleet.jobs_table)
        self.assertAlmostEqual(area / held, 1, places=6)
        self.assertAlmostEqual(sum(patch.get_width() for patch in fleet.plot("gpu_hours").patches),
                               sum(hours.median for hours in map(fleet.gpu_hours.__getitem__, fleet.gpu_hours)))
        self.assertEqual(fleet.plot("waits").lines[0].get_ydata()[-1], 1)

    def test_fleets_beside_each_other(self):
        sweep = ft.fleet_sweep("c4140-month", {"/policy": ["fifo", "easy"]}, seeds=2)
        answer = ft.compare("c4140-month", "c4140-month", set_b={"/policy": "fifo"}, seeds=2)
        plan = ft.plan({"fleet": "c4140-month", "goals": [{"wait_p90_at_most": "1000 d"}], "changes": [
            {"name": "policy", "vary": "/policy", "values": ["fifo", "easy"]}]}, seeds=1)
        for one in (sweep, answer, plan):
            self.assertGreater(len(one.plot().get_yticklabels()), 1)


if __name__ == "__main__":
    unittest.main()
