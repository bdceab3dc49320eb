#!/usr/bin/env python3
"""The package as others get it: its types, its wheel, and python -m starling.

    package_test.py

What mypy, pip and wheel are needed for is skipped where they are missing.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "clients" / "python"


def has(*packages):
    return all(importlib.util.find_spec(package) for package in packages)


def run(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @unittest.skipUnless(has("mypy"), "mypy is not installed")
    def test_the_types_fit(self):
        checked = run("-m", "mypy", "--cache-dir", str(self.folder), "starling", cwd=SOURCE)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    @unittest.skipUnless(has("pip", "setuptools", "wheel"), "pip or wheel is not installed")
    def test_the_wheel_holds_the_package_and_nothing_else(self):
        source = self.folder / "source"
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "build"))
        made = run("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w",
                   str(self.folder), str(source))
        self.assertEqual(made.returncode, 0, made.stdout)
        wheel, = self.folder.glob("starling_train-*-py3-none-any.whl")
        with zipfile.ZipFile(wheel) as archive:
            inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        self.assertEqual(inside, {f"starling/{path.name}" for path in (SOURCE / "starling").iterdir()
                                  if path.is_file()})
        imported = run("-c", "import starling; print(starling.__file__)", cwd=self.folder,
                       env={**os.environ, "PYTHONPATH": str(wheel)})
        self.assertIn(wheel.name, imported.stdout)

    def test_a_missing_program_is_told_with_the_way_to_get_it(self):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PATH": str(self.folder),
                       "STARLING_PROGRAM": str(self.folder / "starling")}
        asked = run("-m", "starling", "doctor", env=environment)
        self.assertNotEqual(asked.returncode, 0)
        self.assertRegex(asked.stdout, "(?s)^python .*no program starling at .*make deb")

    def test_the_program_gets_the_arguments(self):
        program = self.folder / "starling"
        program.write_text("#!/bin/sh\necho it says $*\n", encoding="utf-8")
        program.chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "STARLING_PROGRAM": str(program)}
        self.assertIn("it says doctor --json",
                      run("-m", "starling", "doctor", "--json", env=environment).stdout)


if __name__ == "__main__":
    unittest.main()
