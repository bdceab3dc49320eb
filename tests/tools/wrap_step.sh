#!/usr/bin/env bash
# wrap_step.sh NM LIBRARY HEADER OPTIONS: for liar.cpp, writes a header with the names that the
# linker knows Node::step by once it is wrapped, and the linker's options that wrap it.
set -euo pipefail
step=_ZN8starling6gossip4Node4stepE
symbol=$("$1" --defined-only "$2" 2>/dev/null | sed -n "s/.* T \\($step.*\\)/\\1/p")
[[ -n $symbol && $symbol != *$'\n'* ]] || { echo "$2: Node::step is not found once" >&2; exit 1; }
cat >"$3" <<END
#define REAL_STEP "__real_$symbol"
#define WRAPPED_STEP "__wrap_$symbol"
END
echo "--wrap=$symbol" >"$4"
