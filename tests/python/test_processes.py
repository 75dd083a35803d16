"""Simulations run in processes of their own: they stop, and do not hold each other up."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

from support import ENDLESS, SMALL

import foretrain as ft

HERE = pathlib.Path(__file__).parent


def children():
    """Processes that this one has started and that still run."""
    found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "foretrain" in line]


class Stopped(unittest.TestCase):
    def test_ctrl_c_gives_what_is_finished(self):
        code = ("import support, foretrain as ft\n"
                "answer = ft.predict(support.ENDLESS, jobs=1, progress=lambda done, *_: print(done, flush=True))\n"
                "print('points', len(answer.points), answer.interrupted, answer.status)\n")
        with subprocess.Popen([sys.executable, "-c", code], cwd=HERE, stdout=subprocess.PIPE, text=True) as caller:
            for line in caller.stdout:
                if int(line) >= 3:
                    break
            caller.send_signal(signal.SIGINT)
            rest, _ = caller.communicate(timeout=60)
        last = rest.strip().split("\n")[-1].split()
        self.assertEqual(last[0], "points", rest)
        self.assertGreaterEqual(int(last[1]), 3)
        self.assertLess(int(last[1]), 4000)
        self.assertEqual(last[2:], ["True", "130"])

    def test_an_error_of_the_callers_progress_ends_the_run(self):
        def fail(*_):
            raise ZeroDivisionError("mine")

        start = time.monotonic()
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            ft.predict(ENDLESS, progress=fail)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(children(), [])


class Threads(unittest.TestCase):
    def test_a_long_call_does_not_hold_up_others(self):
        ended = threading.Event()

        def run_long():
            def stop(*_):
                if others.is_set():
                    raise StopIteration
            try:
                ft.predict(ENDLESS, jobs=1, progress=stop)
            except StopIteration:
                ended.set()

        others = threading.Event()
        long = threading.Thread(target=run_long)
        long.start()
        answers = [ft.predict(SMALL, set={"/jobs/0/gpus": gpus}).only().gpus for gpus in (1, 2, 4)]
        self.assertEqual(answers, [1, 2, 4])
        self.assertTrue(long.is_alive(), "the long call ended before the short ones")
        others.set()
        long.join(60)
        self.assertTrue(ended.is_set())

    def test_parallel_calls_answer_as_single_ones(self):
        found = {}

        def ask(gpus):
            found[gpus] = ft.predict(SMALL, set={"/jobs/0/gpus": gpus}).json()

        threads = [threading.Thread(target=ask, args=(gpus,)) for gpus in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found[5], ft.predict(SMALL, set={"/jobs/0/gpus": 5}).json())
        self.assertEqual(sorted(found), list(range(1, 9)))


class Tidy(unittest.TestCase):
    def test_no_descriptor_is_left_open(self):
        ft.predict(SMALL)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            ft.compare(SMALL, SMALL)
            with self.assertRaises(ft.InputError):
                ft.predict({"jobs": 1})
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


if __name__ == "__main__":
    unittest.main()
