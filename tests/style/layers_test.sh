#!/usr/bin/env bash
# Rooms in their order: a folder, or some files of one. A file includes its own room and rooms that
# stand above its room in the table, and of these only those that its row names. Each heavy header
# stays in its one place.
# Usage: layers_test.sh REPOSITORY. Prints every include that breaks the table; exit 1 if any.
set -euof pipefail
cd "$1"

# ROOM: the rooms that it may include; a name ending in * stands for all below it.
table='
base:
topology: base
optim/vector: base
optim/job: base
optim/codec: base optim/vector optim/job
optim/registry: base optim/vector optim/job
optim/options: base optim/codec optim/job optim/registry
optim/privacy: base optim/job optim/options
optim/local: base optim/vector optim/job optim/options optim/privacy
optim/combine: base optim/vector optim/codec optim/job
optim/algorithms: base optim/vector optim/job optim/registry optim/options optim/local optim/combine
optim/trainer: base optim/*
models/data: base optim/job
models/linear: base optim/local models/data
models/nets: base optim/local models/data models/linear
models/dual: base optim/local optim/job models/data models/linear models/nets
models: base optim/local optim/trainer models/*
gossip/wire: base
gossip/trust: base gossip/wire
gossip: base topology optim/job gossip/wire gossip/trust
gossip/members: base gossip gossip/wire gossip/trust
gossip/edges: base topology gossip gossip/wire gossip/members
gossip/transport: base gossip gossip/wire gossip/trust
gossip/node: base topology gossip gossip/*
gossip/report: base gossip
sim: base topology optim/codec optim/options optim/trainer gossip gossip/*
daemon/process: base optim/local optim/trainer models models/* gossip gossip/wire gossip/trust \
  gossip/transport gossip/node
daemon/setup: base topology optim/options models models/data gossip gossip/wire gossip/trust \
  daemon/process
daemon/attach: base optim/* daemon/process daemon/setup
daemon/rest: base gossip/report gossip/trust topology models models/data models/nets \
  daemon/process daemon/setup
daemon/cli/terminal: base gossip gossip/report daemon/process
daemon/cli/help: base daemon/process daemon/cli/terminal
daemon/cli/ask: base models daemon/process daemon/setup daemon/rest daemon/cli/terminal \
  daemon/cli/help
daemon/cli/up: base topology models/data gossip/report daemon/process daemon/setup daemon/attach \
  daemon/rest daemon/cli/terminal daemon/cli/help
daemon/cli/offline: base topology optim/codec optim/registry optim/privacy optim/combine models \
  models/data gossip daemon/process daemon/setup daemon/rest daemon/cli/terminal daemon/cli/help \
  daemon/cli/ask
daemon/cli/keys: base gossip/wire gossip/trust daemon/process daemon/setup daemon/rest \
  daemon/cli/terminal daemon/cli/help daemon/cli/ask
daemon/cli/sweep: base daemon/process daemon/setup daemon/rest daemon/cli/terminal \
  daemon/cli/help
daemon/cli/simulate: base optim/options optim/trainer models/data gossip/report sim daemon/process \
  daemon/setup daemon/rest daemon/cli/terminal daemon/cli/help daemon/cli/sweep
daemon/cli: base models models/data daemon/*
clients/c:
'
# The files of a room that is not a folder; `models` is not `models/data`.
declare -A files=(
  [optim/job]='optim/(job|needs|edge_vectors|evaluation|workload|aggregation)\.'
  [optim/registry]='optim/algorithms/registry\.h'
  [optim/options]='optim/(options|learning_rate|state)\.'
  [optim/trainer]='optim/(trainer|relay|kept_models|saved_state)\.'
  [models]='models/[a-z_]+\.'
  [gossip]='gossip/[a-z_]+\.'
  [daemon/cli]='daemon/cli/[a-z_]+\.'
)

# Header pattern, then the files that may include it.
heavy=(
  'msgpack'               '^gossip/wire/(archives\.h|wire\.cpp)$'
  'sodium'                '^base/(secret|keys|key_stream|masks|base64url|salted_hash)\.cpp$'
  'boost/program_options' '^base/(ini|command_line)\.cpp$'
  'spdlog'                '^daemon/process/log\.cpp$'
  'zmq'                   '^daemon/process/(zmq_transport|zmq_wire|zap_handler|lock_test)\.(cpp|h)$'
  'boost/crc'             '^daemon/cli/ask/event_file\.cpp$'
  'boost/(beast|asio)'    '^daemon/rest/http([a-z_]*\.cpp|_reading\.h)$'
  'prometheus/'           '^daemon/rest/metrics_text\.cpp$'
  'systemd/'              '^daemon/process/service_notice\.cpp$'
  'Eigen/'                '^((optim|models|sim)/|topology/[a-z_]+\.cpp$)'
)

broken=0
refuse() { # FILE INCLUDED REASON
  echo "$1: includes $2; $3"
  broken=1
}

names=() patterns=()
declare -A allowed
# shellcheck disable=SC2162
while IFS= read row; do # a backslash joins the next line
  [[ -z $row ]] && continue
  name=${row%%:*}
  names+=("$name") patterns+=("^${files[$name]-$name/}")
  allowed[$name]=''
  for room in ${row#*:}; do # with the star, those that stand above
    for above in "${names[@]}"; do
      # shellcheck disable=SC2053
      [[ $above != "$name" && $above == $room ]] && allowed[$name]+=" $above "
    done
    [[ $room == *'*' || ${allowed[$name]} == *" $room "* ]] ||
      refuse 'the table' "$room" "it does not stand above $name"
  done
done <<<"$table"

declare -A room_of_path
room_of() { # PATH: sets `room`; empty where no row has it
  room=${room_of_path[$1]-}
  [[ -n $room ]] && return
  for ((i = 0; i < ${#names[@]}; ++i)); do
    [[ $1 =~ ${patterns[i]} ]] && room=${names[i]} && break
  done
  room_of_path[$1]=$room
}

check() { # FILE INCLUDED: one include of one file
  local file=$1 path=${2:1:-1} own
  room_of "$file" && own=$room
  [[ -n $own ]] || refuse "$file" "$2" 'no row of the table has this file'
  if [[ $2 == \"* ]]; then
    room_of "$path"
    [[ -n $room && ($room == "$own" || ${allowed[$own]} == *" $room "*) ]] ||
      refuse "$file" "$2" "$own may include${allowed[$own]}"
  fi
  for ((i = 0; i < ${#heavy[@]}; i += 2)); do
    if [[ $path =~ ^${heavy[i]} && ! $file =~ ${heavy[i + 1]} ]]; then
      refuse "$file" "$2" "confined to ${heavy[i + 1]}"
    fi
  done
}

while IFS=: read -r file line; do
  [[ $line =~ ^[[:space:]]*\#[[:space:]]*include[[:space:]]*([\"\<][^\"\>]+[\"\>]) ]]
  check "$file" "${BASH_REMATCH[1]}"
done < <(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' --include='*.h' \
  --include='*.cpp' --include='*.c' base topology optim models gossip sim daemon clients/c)

exit $broken
