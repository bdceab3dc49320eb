#!/usr/bin/env python3
"""A trainer in C beside a daemon.

    c_test.py TRAINER NM STATIC SHARED

TRAINER is tests/clients/trainer.c, compiled as C99; STATIC and SHARED are the two libraries.
"""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_daemon import DEADLINE_S, FakeDaemon  # noqa: E402

TRAINER, NM, STATIC, SHARED = sys.argv[1:5]
W = 'layer "1"\\w'


class Process:
    """The trainer, its socket named by the environment."""

    def __init__(self, path, *arguments):
        environment = {**os.environ, "STARLING_SOCKET": path}
        self._process = subprocess.Popen([TRAINER, *arguments], env=environment, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def lines(self, code=0):
        """What it printed, once it has ended."""
        try:
            out, errors = self._process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise
        assert errors == "", errors
        assert self._process.returncode == code, (self._process.returncode, out)
        return out.splitlines()


class Trainers(unittest.TestCase):
    def trained(self, script, *arguments, code=0):
        with FakeDaemon() as daemon:
            daemon.run(script)
            return Process(daemon.path, *arguments).lines(code)

    def test_a_loop_exchanges_every_count_steps_until_the_end(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            hello = trainer.hello
            self.assertEqual((hello["client"], hello["mode"], hello["samples"], hello["corrects"]),
                             ("c 0.1", "loop", 12, False))
            self.assertNotIn("gradient", hello)
            self.assertEqual((hello["shifts"], hello["steps"]), (True, "linear"))
            self.assertEqual(hello["learning_rate"], 0.125)
            self.assertEqual([(row["name"], row["shape"], row["dtype"], row["role"])
                              for row in trainer.table],
                             [(W, [2], "f64", "averaged"), ("seen", [], "i64", "donor")])
            self.assertEqual(list(trainer.numbers(W)), [1, 2])
            trainer.welcome()
            trainer.write(W, [10, 20])
            trainer.write("seen", [7])
            trainer.step(2, place=1, nodes=3, learning_rate=1.25e-2,
                         unknown={"kind": "end", "of": [1, "}"]})
            for _ in range(2):
                told.append(trainer.hear("log")["metrics"])
            told.append(trainer.done())
            self.assertEqual(list(trainer.numbers(W)), [12, 22])
            self.assertEqual(trainer.progress, 2)
            trainer.write(W, [3, 4])
            trainer.end('goal "reached" in Z\u00fcrich \U0001f600\n', model=True)
        lines = self.trained(script)
        self.assertEqual(told[:2], [{"accuracy": 0.25}] * 2)
        self.assertEqual(told[2], {"kind": "done", "job": 1, "steps": 2, "left_out": 0, "samples": 16, "loss": 1,
                                   "learning_rate": 0.1})
        self.assertEqual(lines[0], "attach 0: 10 20, 7: ")
        self.assertEqual(lines[1:4], ["place 1 of 3, H 2, steps 1, exchanges 0", "rate 0.0125",
                                      "step 0: 11 21, 7: "])
        self.assertEqual(lines[4:7], ["place 1 of 3, H 2, steps 2, exchanges 1", "rate 0.0125",
                                      'step 1: 3 4, 7: goal "reached" in Zürich 😀'])

    def test_the_end_of_the_run_ends_the_steps_at_hand(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.tell_over()
            trainer.step(1000)
            trainer.hear("log")
            self.assertEqual(trainer.done()["steps"], 1)
            trainer.write(W, [3, 4])
            trainer.end("over", model=True)
        self.assertIn("step 1: 3 4, 0: over", self.trained(script))

    def test_the_correction_is_there_where_the_daemon_asks(self):
        def script(daemon):
            trainer = daemon.accept()
            self.assertTrue(trainer.hello["corrects"])
            trainer.welcome()
            trainer.write(W, [10, -10], "correction")
            for corrects, expected in ((True, [12, -7]), (False, [13, -6])):
                trainer.step(corrects=corrects)
                trainer.hear("log")
                trainer.done()
                self.assertEqual(list(trainer.numbers(W)), expected)
            trainer.end()
        self.trained(script, "corrects")

    def test_a_correction_of_steps_is_added_after_each_step_where_the_daemon_asks(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write(W, [10, -10], "correction")
            for shifts, expected in ((True, [23, -16]), (False, [25, -14])):
                trainer.step(2, shifts=shifts)
                trainer.hear("log")
                trainer.hear("log")
                trainer.done()
                self.assertEqual(list(trainer.numbers(W)), expected)
            trainer.end()
        self.trained(script)

    def test_a_step_that_is_left_out_is_not_corrected(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write(W, [10, -10], "correction")
            trainer.step(2, shifts=True)
            trainer.hear("log")
            trainer.hear("log")
            done = trainer.done()
            self.assertEqual((done["steps"], done["left_out"]), (1, 1))
            self.assertEqual(list(trainer.numbers(W)), [13, -6])
            trainer.end()
        self.trained(script, "leaves-out")

    def test_the_mean_gradient_is_told_where_the_daemon_asks(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write(W, [10, -10], "correction")
            trainer.write(W, [77, 77], "gradient")  # of an earlier round
            trainer.step(2, corrects=True, tracks=True)
            trainer.next_but_log()
            self.assertEqual(list(trainer.numbers(W, "gradient")), [11, -9])
            trainer.end()
        self.trained(script, "corrects")

    def test_what_is_no_number_is_refused(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for refusal in ("tensor 0 is not finite after 1 steps", None):
                trainer.write(W, [1, 2])
                trainer.step()
                trainer.hear("log")
                self.assertEqual(trainer.done().get("refusal"), refusal)
            trainer.end()
        self.trained(script, "nan")

    def test_a_note_goes_to_the_daemon_and_close_says_so(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(2)
            trainer.hear("log")
            self.assertEqual(trainer.hear("note")["text"], 'the "best"\tbatch')
            trainer.hear("close")
            trainer.hear_nothing_more()
        lines = self.trained(script, "close")
        self.assertEqual(lines[-3:], ["note 0: 2 3, 0: ",
                                      "note -1: 2 3, 0: a note has 1 to 1024 bytes",
                                      "closed 1: 2 3, 0: closed by the trainer"])

    def test_a_refusal_gives_the_reason_of_the_daemon(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.say("refused", reason="a trainer is attached already")
            trainer.kill()
        lines = self.trained(script, code=1)
        self.assertRegex(lines[0], "^attach -3: 1 2, 0: the daemon at /.* refuses this trainer: "
                                   "a trainer is attached already$")

    def test_a_daemon_of_another_version_is_refused(self):
        lines = self.trained(lambda daemon: daemon.accept().welcome(version=2), code=1)
        self.assertRegex(lines[0], "^attach -3: .* version 2 .* version 1$")

    def test_nonsense_of_the_daemon_is_told(self):
        for record in (b'{"kind":"step","count":0}', b'{"kind":"gradient"}', b'{"kind":"step"', b"[",
                       b'{"kind', b'{"kind":"\\ud800\\u', b"[" * 1000, b'{"a":' * 1000, b"\0{}"):
            def script(daemon):
                trainer = daemon.accept()
                trainer.welcome()
                trainer.connection.send(record)
            with self.subTest(record[:30]):
                self.assertRegex(self.trained(script, code=1)[0], "^attach -6: .* the daemon sent ")

    def test_a_daemon_that_is_killed_is_told(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(1)
            trainer.hear("log")
            trainer.done()
            trainer.kill()
        lines = self.trained(script, code=1)
        self.assertRegex(lines[3], "^step -4: .* closed the connection; it was killed or lost$")

    def test_with_waits_the_loop_goes_on_from_the_next_daemon(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.hear("log")
            trainer.done()
            daemon.stop_listening()
            trainer.kill()
            daemon.listen()
            trainer = daemon.accept()
            self.assertEqual(list(trainer.numbers(W)), [2, 3])
            trainer.welcome()
            trainer.write(W, [10, 20])
            trainer.step()
            trainer.hear("log")
            trainer.done()
            trainer.end()
        lines = self.trained(script, "waits")
        self.assertEqual(lines[-1], "closed 1: 11 21, 0: enough rounds")

    def test_nobody_listening_is_told(self):
        lines = Process("/nowhere/a.sock").lines(1)
        self.assertRegex(lines[0], "^attach -2: 1 2, 0: nobody listens at /nowhere/a.sock: No such")
        lines = Process("/" + "x" * 200).lines(1)
        self.assertRegex(lines[0], "^attach -2: .* longer than the 107 bytes")

    def test_wrong_tensors_are_told(self):
        lines = Process("", "refusals").lines()
        self.assertEqual(lines[:2], ["create -1: 0 tensors; from 1 to 65536 are allowed",
                                     "create -1: tensor 0 has no name"])
        self.assertRegex(lines[2], "^create -1: tensor w: size 0 is 0; ")
        self.assertRegex(lines[3], "^create -1: tensor w: size 0 is 4611686018427387903; ")
        self.assertRegex(lines[4], "^create -1: tensor w has rank 17; at most 16 ")
        self.assertRegex(lines[5], "^create -1: tensor w holds integers")
        self.assertEqual(lines[6], "create -1: tensor w: no type has the number 5")


class Libraries(unittest.TestCase):
    def symbols(self, *arguments):
        return subprocess.run([NM, *arguments], check=True, text=True, timeout=DEADLINE_S,
                              stdout=subprocess.PIPE).stdout

    def declared(self):
        header = Path(__file__).resolve().parents[2] / "clients" / "c" / "starling.h"
        code = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        return set(re.findall(r"\b(starling_\w+)\(", code))

    def test_the_shared_library_gives_what_the_header_declares_with_a_version(self):
        out = self.symbols("-D", "--defined-only", SHARED)
        given = set(re.findall(r" T (\w+)@@STARLING_1$", out, flags=re.M))
        self.assertEqual(given, self.declared())
        self.assertEqual(len(re.findall(r" [TDBR] \w+(?!\w|@@STARLING_1)", out)), 0, out)

    def test_the_static_library_takes_no_name_of_the_caller(self):
        names = re.findall(r" [TDBR] (\w+)$", self.symbols("-g", "--defined-only", STATIC), flags=re.M)
        self.assertLessEqual(self.declared(), set(names))
        self.assertEqual([name for name in names if not name.startswith(("starling_", "sl_"))], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
