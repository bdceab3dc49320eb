#!/usr/bin/env python3
"""The long form of fuzzing: libFuzzer on every target, some at a time, and a table of what came of it.

    run.py BUILD [--seconds N] [--jobs N] [--targets NAME,...]

Each target begins with its seeds, the kept inputs (tests/fuzz/corpus/TARGET) and what earlier runs found
interesting (BUILD/corpus/TARGET). An input that ends the process is left in BUILD/findings/TARGET, and what
was said of it in BUILD/findings/TARGET.log; the target goes on until its time is over or it has five. The
exit code is 1 where anything was found.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FINDINGS_LIMIT = 5
# Of one process, and of one allocation; a target needs a tenth of it.
RSS_MB, MALLOC_MB = 2048, 512
ONE_INPUT_S = 20


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run_once(program, target, limit, seconds, folders):
    """One process of libFuzzer; returns its output."""
    command = [program, f"--target={target}", f"--seeds={folders['corpus']}",
               f"-max_total_time={seconds}", f"-max_len={limit}", f"-rss_limit_mb={RSS_MB}",
               f"-malloc_limit_mb={MALLOC_MB}", f"-timeout={ONE_INPUT_S}",
               f"-report_slow_units={ONE_INPUT_S}", "-print_final_stats=1",
               "-use_value_profile=1", "-verbosity=1", f"-artifact_prefix={folders['findings']}/",
               str(folders["corpus"])]
    if folders["kept"].is_dir():
        command.append(str(folders["kept"]))
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=0")
    symbolizer = shutil.which("llvm-symbolizer-16") or shutil.which("llvm-symbolizer")
    if symbolizer:  # lines of code in the stacks of findings
        environment["ASAN_SYMBOLIZER_PATH"] = symbolizer
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment,
                          check=False)
    return done.returncode, done.stderr


def fuzz(program, build, target, limit, seconds):
    folders = {"corpus": build / "corpus" / target, "findings": build / "findings" / target,
               "kept": HERE / "corpus" / target}
    for name in ("corpus", "findings"):
        folders[name].mkdir(parents=True, exist_ok=True)
    before = set(folders["findings"].iterdir())
    begun, executions, coverage, log = time.monotonic(), 0, 0, ""
    while True:
        left = round(seconds - (time.monotonic() - begun))
        if left < 1 or len(set(folders["findings"].iterdir()) - before) >= FINDINGS_LIMIT:
            break
        code, text = run_once(program, target, limit, left, folders)
        executions += number(r"stat::number_of_executed_units:\s+(\d+)", text)
        coverage = max(coverage, number(r"cov: (\d+)", text))
        if code != 0:
            log += text[-20000:]
        if code == 2:
            break
    (build / "findings" / f"{target}.log").write_text(log)
    found = sorted(set(folders["findings"].iterdir()) - before)
    return {"target": target, "seconds": round(time.monotonic() - begun), "executions": executions,
            "corpus": len(list(folders["corpus"].iterdir())), "coverage": coverage, "found": found}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--targets", default="")
    options = parser.parse_args()
    build = options.build.resolve()
    program = str(build / "tests" / "test_fuzz")
    lines = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    limits = dict(line.split() for line in lines.splitlines())
    wanted = options.targets.split(",") if options.targets else list(limits)
    for name in wanted:
        if name not in limits:
            sys.exit(f"run.py: there is no target {name}; expected some of {', '.join(limits)}")
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = pool.map(lambda name: fuzz(program, build, name, limits[name], options.seconds), wanted)
        print(f"{'target':<16}{'seconds':>9}{'executions':>12}{'corpus':>8}{'coverage':>10}{'findings':>10}")
        found = []
        for row in rows:
            found += row["found"]
            print(f"{row['target']:<16}{row['seconds']:>9}{row['executions']:>12}{row['corpus']:>8}"
                  f"{row['coverage']:>10}{len(row['found']):>10}", flush=True)
    for path in found:
        print(f"found: {path}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
