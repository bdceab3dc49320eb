#!/usr/bin/env python3
"""What `make install` installs, in a folder of its own.

    install_test.py CMAKE BUILD
"""
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CMAKE, BUILD = sys.argv[1:3]
EXPECTED = """bin/starling
include/starling.h
lib/systemd/system/starling.service
lib/systemd/system/starling@.service
share/bash-completion/completions/starling
share/doc/starling/LICENSE
share/doc/starling/README.md
share/doc/starling/SECURITY.md
share/doc/starling/docs/deploy.md
share/doc/starling/examples/configs/ring.ini
share/doc/starling/examples/python/char_gpt.py
share/fish/vendor_completions.d/starling.fish
share/man/man1/starling-run.1.gz
share/man/man5/starling.ini.5.gz
share/starling/grafana/starling.json
share/starling/prometheus/alerts.yml
share/starling/python/starling/__init__.py
share/starling/python/starling/py.typed
share/zsh/site-functions/_starling""".split()


def out_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60,
                          **options).stdout


def cached(variable):
    """What CMake was configured with."""
    for line in (Path(BUILD) / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{variable}:"):
            return line.split("=", 1)[1]
    raise AssertionError(f"{variable} is not in the cache")


def check_unit(stage, prefix):
    """systemd itself reads the unit, where it is there."""
    path = f"/{prefix.relative_to(stage)}"
    unit = (prefix / "lib/systemd/system/starling.service").read_text()
    started = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    program, configuration = started.split()[0].split("=")[1], started.split()[3]
    assert program == f"{path}/bin/starling", started
    assert (stage / configuration[1:]).is_file(), started
    assert "@STARLING_" not in unit and "DynamicUser=yes" in unit
    if not shutil.which("systemd-analyze"):
        print("not checked: systemd-analyze is not there")
        return
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={stage}",
                            f"{path}/lib/systemd/system/starling.service"],
                           capture_output=True, text=True, timeout=60)
    # The folder has no units of a system that this one could be started after.
    said = [line for line in ended.stderr.splitlines()
            if "starling" in line and "sysinit.target not found" not in line]
    assert not said, said


def main():
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        out_of(CMAKE, "--install", BUILD, env={**os.environ, "DESTDIR": name})
        prefix = stage / cached("CMAKE_INSTALL_PREFIX")[1:]
        missing = [path for path in EXPECTED if not (prefix / path).is_file()]
        assert not missing, missing
        assert list(prefix.glob("lib/**/libstarling.so.0")) and list(prefix.glob("lib/**/libstarling.a"))
        assert not list(prefix.glob("**/__pycache__"))
        program = prefix / "bin/starling"
        version = out_of(program, "--version").split()[-1]
        imported = out_of(sys.executable, "-c", "import starling; print(starling.__version__)",
                          env={"PYTHONPATH": str(prefix / "share/starling/python")})
        assert imported.strip() == version
        page = gzip.open(prefix / "share/man/man1/starling-run.1.gz", "rt").read()
        assert page == out_of(program, "manual", "starling-run")
        check_unit(stage, prefix)


main()
