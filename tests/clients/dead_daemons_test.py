#!/usr/bin/env python3
"""A session with a daemon that is killed, or starts later.

    dead_daemons_test.py

Exit code 77, and a word, where there is no python3-numpy.
"""
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from session_test import FakeDaemon, attached, starling, vector


class DeadDaemons(unittest.TestCase):
    def test_a_daemon_that_is_killed_raises(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.done()
            trainer.kill()
        daemon, swarm = attached(script)
        with daemon:
            for _ in range(2):
                with self.assertRaisesRegex(starling.DaemonGone, "attach again"):
                    swarm.step()
            self.assertTrue(swarm.is_running)
            swarm.close()

    def test_a_daemon_that_is_killed_within_the_steps_raises(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(2)
            trainer.kill()
        daemon, swarm = attached(script)
        with daemon:
            daemon.finish()
            swarm.log(loss=1)  # not noticed here
            self.assertTrue(swarm.step())
            with self.assertRaises(starling.DaemonGone):
                swarm.step()

    def test_a_daemon_that_is_killed_while_the_trainer_joins_raises(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.kill()
        with FakeDaemon() as daemon:
            daemon.run(script)
            with self.assertRaises(starling.DaemonGone):
                starling.attach(tensors=vector(1), socket=daemon.path)

    def test_with_wait_the_loop_goes_on_from_the_next_daemon(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(1)
            trainer.done()
            daemon.stop_listening()
            trainer.kill()
            daemon.listen()
            trainer = daemon.accept()
            self.assertEqual(list(trainer.numbers("w")), [2, 3])
            trainer.welcome()
            trainer.write("w", [10, 20])
            trainer.step(2)
            self.assertEqual(trainer.done()["steps"], 2)
            self.assertEqual(list(trainer.numbers("w")), [12, 22])
            trainer.end()
        daemon, swarm = attached(script, wait=True)
        with daemon:
            while swarm.is_running:
                swarm.tensors["w"] += 1
                swarm.step()
        self.assertEqual(swarm.status.steps, 3)

    def test_with_wait_a_daemon_may_start_later(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "trainer.sock")
            found = threading.Event()
            daemons = []

            def start(seconds):
                """In place of the pause between two looks."""
                found.set()
                daemons.append(FakeDaemon(path))

                def script(daemon):
                    trainer = daemon.accept()
                    trainer.welcome()
                    trainer.end()
                daemons[0].run(script)
            with mock.patch("starling.session.pause", start):
                swarm = starling.attach(tensors=vector(1), socket=path, wait=True)
            with daemons[0]:
                self.assertTrue(found.is_set())
                self.assertEqual(swarm.end_reason, "enough rounds")

    def test_an_attach_without_an_answer_times_out(self):
        with FakeDaemon() as daemon:
            with self.assertRaisesRegex(starling.TimedOut, "did not answer in time"):
                starling.attach(tensors=vector(1), socket=daemon.path, timeout=0.01)
        with self.assertRaisesRegex(starling.TimedOut, "there is no socket /nowhere"):
            starling.attach(tensors=vector(1), socket="/nowhere", wait=True, timeout=0)


if __name__ == "__main__":
    unittest.main()
