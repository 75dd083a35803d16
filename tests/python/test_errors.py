"""Mistakes are exceptions that know file, place, pointer, what was found, what is allowed, and the nearest name."""
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import SMALL

import foretrain as ft


def changed(**members):
    return {**SMALL, **members}


def job(**members):
    return changed(jobs=[{**SMALL["jobs"][0], **members}])


class Mistakes(unittest.TestCase):
    def error(self, given, **more):
        with self.assertRaises(ft.InputError) as caught:
            ft.predict(given, **more)
        return caught.exception

    def test_unknown_key(self):
        error = self.error(job(batchpergpu=4))
        self.assertEqual((error.file, error.pointer, error.found, error.nearest),
                         ("standard input", "/jobs/0/batchpergpu", "batchpergpu", "batch_per_gpu"))
        self.assertIn("is not a known key", str(error))

    def test_a_word_that_is_not_allowed(self):
        error = self.error(job(precision="fp61"))
        self.assertEqual((error.pointer, error.found, error.nearest), ("/jobs/0/precision", "fp61", "fp16"))
        self.assertIn("bf16", error.allowed)

    def test_a_number_that_does_not_fit(self):
        large = {"model": "llama-3-8b", "framework": "megatron", "precision": "bf16", "gpus": 8, "global_batch": 8}
        given = {"cluster": {"platform": "hgx-h100"}, "jobs": [{**large, "parallel": {"tensor": 3}}]}
        error = self.error(given)
        self.assertEqual((error.pointer, error.found, error.nearest), ("/jobs/0/parallel/tensor", "3", "2"))
        self.assertEqual(error.allowed, ["2", "4"])
        given["jobs"][0] = {**large, "global_batch": 9}
        error = self.error(given)
        self.assertEqual((error.pointer, error.found, error.nearest), ("/jobs/0/global_batch", "9", "8"))

    def test_unknown_preset(self):
        error = self.error(job(model="resnet5"))
        self.assertEqual((error.pointer, error.found, error.nearest), ("/jobs/0/model", "resnet5", "resnet50"))

    def test_place_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.json"
            path.write_text(json.dumps(job(gpus=-3), indent=1))
            error = self.error(path)
        line = json.dumps(job(gpus=-3), indent=1).split("\n").index('   "gpus": -3') + 1
        self.assertEqual((error.file, error.line, error.pointer, error.found), (str(path), line, "/jobs/0/gpus", "-3"))
        self.assertIsInstance(error.column, int)

    def test_malformed_text(self):
        error = self.error('{\n "jobs": [ }')
        self.assertEqual((error.file, error.line), ("standard input", 2))

    def test_setting(self):
        error = self.error(SMALL, set={"/jobs/0/gpu": 4})
        self.assertEqual(error.nearest, "gpus")
        self.assertIn("--set", error.file)

    def test_unknown_name_lists_what_is_known(self):
        error = self.error("zzzzzzzz")
        self.assertEqual(error.found, "zzzzzzzz")
        self.assertIn("c4140-resnet50", error.allowed)

    def test_option(self):
        error = self.error(SMALL, seed=-1)
        self.assertIsNone(error.file)
        self.assertIn("--seed", str(error))

    def test_side_of_a_comparison(self):
        with self.assertRaises(ft.InputError) as caught:
            ft.compare(SMALL, job(model="resnet5"))
        self.assertEqual(caught.exception.file, "B")

    def test_anew_needs_a_store(self):
        with self.assertRaises(ft.ForetrainError):
            ft.sweep(SMALL, anew=True)


class WrongTypes(unittest.TestCase):
    def test_what_is_no_file_is_told_by_its_type(self):
        for given, name in ((None, "NoneType"), (5, "int"), ([1], "list"), (b"{}", "bytes")):
            with self.assertRaisesRegex(TypeError, f"must be a name, a path, .*, got {name}"):
                ft.predict(given)
        with self.assertRaisesRegex(TypeError, "got int"):
            ft.predict("c4140-resnet50", profiles=5)


class NoProgram(unittest.TestCase):
    def test_named_program_is_not_there(self):
        with mock.patch.dict(os.environ, FORETRAIN="/nonsuch/foretrain"), self.assertRaises(ft.ProgramNotFound) as caught:
            ft.version()
        self.assertIn("/nonsuch/foretrain", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
