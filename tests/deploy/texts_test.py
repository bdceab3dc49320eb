#!/usr/bin/env python3
"""The completions in the shells themselves, the manual in man, and the help beside the commands.

    texts_test.py STARLING

Bash is asked in a process without a terminal; zsh, fish, man and mandoc are asked where they are
there, and what is missing is said.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = sys.argv[1]
# What stands behind the command line of each; a shell splits words at "=" as bash does.
ASKED = [
    (["starling", "conv"], ["convergence"]),
    (["starling", "run", "--topology.kind", "=", "random"], ["random", "random-regular"]),
    (["starling", "run", "--topology.kind", "tor"], ["torus"]),
    (["starling", "run", "--cluster.preset", "=", ""], ["local", "lan", "wan"]),
    (["starling", "run", "--topology.d"], ["--topology.degree="]),
    (["starling", "plan", "--topology.d"], ["--topology.degree="]),
    (["starling", "plan", "--optim.mom"], ["--optim.momentum="]),
    (["starling", "status", "--optim.mom"], []),
    (["starling", "run", "--topo"], ["--topology."]),
    (["starling", "status", "--w"], ["--watch"]),
    (["starling", "join", "--w"], []),
    (["starling", "export", "--format", ""], ["csv", "jsonl", "tensorboard"]),
    (["starling", "completion", ""], ["bash", "zsh", "fish"]),
    (["starling", "help", "exp"], ["export"]),
    (["starling", "run", "-c", "@/my"], ["@/my.ini"]),
    (["starling", "predict", "@/my"], ["@/my.ini"]),
    (["starling", "manual", "--output", "@"], ["@"]),
]


def out_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60,
                          **options).stdout


def candidates_of(*words):
    return [line.split("\t")[0] for line in out_of(PROGRAM, "complete", *words).splitlines()[1:]]


def bash(folder, commands):
    return out_of("bash", "--norc", "--noprofile", "-c",
                  f"set -u; . {folder}/starling.bash\n{commands}")


def check_bash(folder):
    for words, expected in ASKED:
        words = [word.replace("@", str(folder)) for word in words]
        expected = [word.replace("@", str(folder)) for word in expected]
        quoted = " ".join(f"'{word}'" for word in words)
        found = bash(folder, f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n_starling\n"
                     "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"").split("\n")[:-1]
        assert found == expected, f"bash: {words}: {found}, not {expected}"


def check_options():
    """Every option that is offered is one that its command takes, with a value or without."""
    checked = 0
    for command in candidates_of(""):
        if command == "help":
            continue
        names = [name for name in candidates_of(command, "-") if "." not in name]
        assert "--help" in names, command
        for name in names:
            takes_value = candidates_of(command, name, "-") != candidates_of(command, "-")
            value = ["1"] if takes_value else []
            ended = subprocess.run([PROGRAM, command, name, *value, "--help"], capture_output=True,
                                   text=True, timeout=60)
            assert ended.returncode == 0 and ended.stdout.startswith("Usage:"), \
                f"{command} {name} {value}: {ended.stderr}"
            checked += 1
    assert checked > 60, checked


def check_zsh(folder):
    subprocess.run(["zsh", "-f", "-n", folder / "starling.zsh"], check=True, timeout=60)
    # The line after Tab, of an interactive shell in a terminal of its own.
    script = f"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -U compinit; compinit -u -D; . {folder}/starling.zsh; print re''ady"
zpty -r -m shell text '*ready*'
zpty -w -n shell $'starling plan --topology.kind=toru\\t'
zpty -r -m shell text '*torus*' && print found
zpty -d shell
"""
    assert out_of("zsh", "-f", "-c", script).strip() == "found"


def check_fish(folder):
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "TERM": "dumb"}
    for line, expected in (("starling conv", ["convergence"]),
                           ("starling run --topology.kind=toru", ["--topology.kind=torus"]),
                           ("starling status --wat", ["--watch"]), ("starling join --wat", []),
                           (f"starling run --data.path={folder}/my", [f"--data.path={folder}/my.ini"])):
        found = out_of("fish", "--no-config", "-c", f"source {folder}/starling.fish; complete -C '{line}'",
                       env=env)
        assert [row.split("\t")[0] for row in found.splitlines()] == expected, f"fish: {line}: {found}"


def check_manual(folder):
    subprocess.run([PROGRAM, "manual", "--output", folder], check=True, timeout=60)
    pages = sorted(folder.glob("man*/*"))
    assert sorted(page.stem for page in pages) == sorted(out_of(PROGRAM, "manual").split())
    assert len(pages) > 20
    # What man prints beside its pages, and mandoc instead of them; that there is no date is meant.
    for command, place in ((["man", "--warnings", "-l", "-Tutf8", "-Z"], "stderr"),
                           (["mandoc", "-Tlint", "-Wwarning"], "stdout")):
        if not shutil.which(command[0]):
            print(f"not checked: {command[0]} is not there")
            continue
        for page in pages:
            ended = subprocess.run([*command, page], capture_output=True, text=True, timeout=60)
            said = [line for line in getattr(ended, place).splitlines() if "missing date" not in line]
            assert not said, f"{command[0]} {page.name}: {said[:5]}"


def main():
    # The scripts ask the program.
    os.environ["PATH"] = f"{Path(PROGRAM).resolve().parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "my.ini").write_text("")
        for shell in ("bash", "zsh", "fish"):
            (folder / f"starling.{shell}").write_text(out_of(PROGRAM, "completion", shell))
        check_bash(folder)
        check_options()
        for shell, check in (("zsh", check_zsh), ("fish", check_fish)):
            if shutil.which(shell):
                check(folder)
            else:
                print(f"not checked: {shell} is not there")
        check_manual(folder)


main()
