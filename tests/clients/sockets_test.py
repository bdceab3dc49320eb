#!/usr/bin/env python3
"""How a trainer finds the socket of its daemon.

    sockets_test.py

Exit code 77, and a word, where there is no python3-numpy.
"""
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from session_test import FakeDaemon, starling, vector


class Sockets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "starling"
        self.folder.mkdir()
        environment = {"XDG_RUNTIME_DIR": folder.name}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)
        os.environ.pop("STARLING_SOCKET", None)
        # The folder in /tmp may hold sockets of this machine's daemons.
        from starling import find
        first_only = mock.patch.object(find, "folders", lambda: [self.folder])
        first_only.start()
        self.addCleanup(first_only.stop)

    def found(self):
        from starling.find import find_socket
        return find_socket()

    def test_the_only_socket_is_taken_and_of_several_none(self):
        with self.assertRaisesRegex(starling.NotFound, f"no socket of a daemon in {self.folder}"):
            self.found()
        with FakeDaemon(str(self.folder / "a.sock")):
            self.assertEqual(self.found(), str(self.folder / "a.sock"))
            with FakeDaemon(str(self.folder / "b.sock")):
                with self.assertRaisesRegex(starling.NotFound, r"2 daemons .*a\.sock, .*b\.sock"):
                    self.found()
            with FakeDaemon(str(self.folder / "dead.sock")) as dead:
                dead._listener.close()
                self.assertEqual(self.found(), str(self.folder / "a.sock"))

    def test_the_environment_goes_before_the_folder(self):
        os.environ["STARLING_SOCKET"] = "/other.sock"
        with FakeDaemon(str(self.folder / "a.sock")):
            self.assertEqual(self.found(), "/other.sock")

    def test_a_folder_of_another_user_is_passed_over(self):
        with FakeDaemon(str(self.folder / "a.sock")):
            with mock.patch("os.getuid", lambda: 1 + self.folder.stat().st_uid):
                with self.assertRaisesRegex(starling.NotFound, "no socket"):
                    self.found()

    def test_a_socket_that_nobody_listens_at_is_told(self):
        path = self.folder / "a.sock"
        daemon = FakeDaemon(str(path))
        daemon._listener.close()
        with self.assertRaisesRegex(starling.NotFound, f"nobody listens at {path}"):
            starling.attach(tensors=vector(1))
        with self.assertRaisesRegex(starling.NotFound, "longer than the 107 bytes"):
            starling.attach(tensors=vector(1), socket="/" + "x" * 107)


if __name__ == "__main__":
    unittest.main()
