#!/usr/bin/env bash
# A layer includes only layers to its left, and each heavy header stays in its one place:
#   base < topology < optim < models < gossip < { sim , daemon }
# Usage: layers_test.sh REPOSITORY. Prints every include that breaks the table; exit 1 if any.
set -euo pipefail
cd "$1"

layers='base|topology|optim|models|gossip|sim|daemon'
broken=0

# What a layer may include: a pattern for the path between the quotes.
declare -A allowed=(
  [base]='base/'
  [topology]='(base|topology)/'
  [optim]='(base|topology|optim)/'
  [models]='(base|topology|optim|models)/'
  [gossip]='((base|topology|gossip)/|optim/job\.h$)'
  [sim]='(base|topology|optim|models|gossip|sim)/'
  [daemon]='(base|topology|optim|models|gossip|daemon)/'
)
composition_root='^daemon/main(_[a-z]+)?\.cpp$' # those that may see everything

# Header pattern, then the files that may include it.
heavy=(
  'msgpack'               '^gossip/wire\.cpp$'
  'boost/program_options' '^base/settings\.cpp$'
  'zmq'                   '^daemon/(transport|loop|inbound|outbound)\.(cpp|h)$'
  'boost/(beast|asio)'    '^daemon/http[a-z_]*\.cpp$'
  'Eigen/'                '^((optim|models|sim)/|topology/([a-z_]+\.cpp|matrix\.h)$)'
)

refuse() { # FILE INCLUDED REASON
  echo "$1: includes $2; $3"
  broken=1
}

check() { # FILE INCLUDED: one include of one file
  local file=$1 included=$2 layer=${1%%/*}
  if [[ $included =~ ^\"|^.($layers)/ && ! $file =~ $composition_root ]]; then
    [[ ${included:1:-1} =~ ^${allowed[$layer]} ]] ||
      refuse "$file" "$included" "$layer/ may include ${allowed[$layer]}"
  fi
  for ((i = 0; i < ${#heavy[@]}; i += 2)); do
    if [[ ${included:1} =~ ^${heavy[i]} && ! $file =~ ${heavy[i + 1]} ]]; then
      refuse "$file" "$included" "confined to ${heavy[i + 1]}"
    fi
  done
}

while IFS=: read -r file line; do
  [[ $line =~ ^[[:space:]]*\#[[:space:]]*include[[:space:]]*([\"\<][^\"\>]+[\"\>]) ]]
  check "$file" "${BASH_REMATCH[1]}"
done < <(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' --include='*.h' \
  --include='*.cpp' ${layers//|/ })

exit $broken
