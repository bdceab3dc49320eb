#!/usr/bin/env bash
# What other people wrote, and the page of a node brings along, is byte for byte what it was when it
# was taken in: SHA256SUMS names every file of the folder, each with its hash.
# Usage: vendored_test.sh REPOSITORY. Prints what differs; exit 1 if anything does.
set -euo pipefail
cd "$1/daemon/rest/page/third_party"

sha256sum --check --strict --quiet SHA256SUMS
diff <(find . -type f -not -name SHA256SUMS -printf '%P\n' | sort) \
  <(sed -E 's/^[0-9a-f]{64} [ *]//' SHA256SUMS | sort)
