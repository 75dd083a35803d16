"""What docs/python.md shows runs, in its order."""
import contextlib
import io
import os
import re
import tempfile
import unittest

from support import ROOT

import foretrain as ft


class Page(unittest.TestCase):
    def test_python_md(self):
        text = (ROOT / "docs/python.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 5)
        names, printed, before = {}, io.StringIO(), os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            os.chdir(folder)
            try:
                for block in blocks:
                    exec(compile(block, "docs/python.md", "exec"), names)
                self.assertTrue(os.path.exists("report/report.html"))
            finally:
                os.chdir(before)
        for promised in re.findall(r"# (/jobs\S+ .+)$", text, re.MULTILINE):
            self.assertIn(promised, printed.getvalue())

    def test_every_function_is_told(self):
        text = (ROOT / "docs/python.md").read_text()
        functions = [name for name in ft.__all__ if callable(getattr(ft, name)) and not isinstance(getattr(ft, name), type)]
        self.assertEqual([name for name in functions if f"`{name}" not in text], [])


if __name__ == "__main__":
    unittest.main()
