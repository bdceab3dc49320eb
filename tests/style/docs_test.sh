#!/usr/bin/env bash
# Every path that the documentation names exists. A path is what stands between backticks or in the
# parentheses of a link and begins with a folder of this repository; * stands for any name. A link
# to a heading finds that heading. Lines of prose have at most 120 characters.
# The version of the protocol is that of gossip/wire/wire.h, and the table of constants is true.
# Usage: docs_test.sh REPOSITORY. Prints every path that is not there; exit 1 if any.
set -euo pipefail
export LC_ALL=C.UTF-8 # columns are characters, not bytes
cd "$1"

folders='(base|topology|optim|models|gossip|sim|daemon|tests|bench|configs|deploy|docs|clients)'
broken=0
checked=0
anchors=0

check() { # FILE PATH
  ((++checked))
  # shellcheck disable=SC2086
  compgen -G "$2" >/dev/null && return
  echo "$1: $2 is not there"
  broken=1
}

headings() { # FILE: as links name them
  sed -nE 's/^#+ //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^[:alnum:]_-]//g'
}

# All but tables, headings, code, and lines that are one link or picture.
long_prose() { # FILE
  awk '/^```/ { is_code = !is_code }
       { is_prose = !is_code && !/^(    |[|#])/ && !/^ *([-*] )?!?\[[^]]*\]\([^)]*\)$/
         print is_prose ? $0 : "" }' "$1" | grep -nE '^.{121,}$'
}

pages=(README.md CONTRIBUTING.md SECURITY.md docs/*.md)
for file in "${pages[@]}"; do
  while IFS= read -r path; do
    check "$file" "$path"
  done < <(grep -oE "\`$folders/[A-Za-z0-9_./*-]*\`" "$file" | tr -d '`' | sort -u)
  while IFS= read -r link; do
    [[ $file == docs/* ]] && link="docs/$link"
    check "$file" "$link"
  done < <(grep -oE '\]\([A-Za-z0-9_./-]+[)#]' "$file" | tr -d '](#)' | sort -u)
  while IFS='#' read -r page heading; do
    ((++anchors))
    headings "$(dirname "$file")/${page:-$(basename "$file")}" | grep -qxF "$heading" && continue
    echo "$file: no heading for $page#$heading"
    broken=1
  done < <(grep -oE '\]\([A-Za-z0-9_./-]*#[^)]+\)' "$file" | tr -d ']()' | sort -u)
  if long=$(long_prose "$file"); then
    echo "$file: lines of more than 120 characters:"
    echo "$long"
    broken=1
  fi
done
version=$(sed -nE 's/.*kProtocolVersion = ([0-9]+);.*/\1/p' gossip/wire/wire.h)
if [[ -z $version ]] || ! grep -q "^Version $version\." docs/wire.md; then
  echo "docs/wire.md: does not begin with Version $version."
  broken=1
fi
other=$(grep -nE '[Vv]ersion [0-9]+ of the protocol' docs/wire.md docs/protocol.md || true)
if [[ -n $other ]]; then
  echo "$other: the first lines of docs/wire.md alone name the version"
  broken=1
fi
# Rows of constants: | `NAME` | `VALUE` | `FILE` |, as in the code.
constants=0
while IFS='|' read -r _ name value path _; do
  name=$(tr -d ' `' <<<"$name") path=$(tr -d ' `' <<<"$path")
  value=$(sed -E 's/^ *`//; s/` *$//' <<<"$value")
  ((++constants))
  grep -qF "$name = $value;" "$path" && continue
  echo "docs/wire.md: $name = $value is not in $path"
  broken=1
done < <(grep -E '^\| `k[A-Z][A-Za-z_]*` \|' docs/wire.md)
if ((constants < 15)); then
  echo "only $constants constants were found"
  broken=1
fi
# A pattern that finds nothing checks nothing.
if ((checked < 100 || anchors < 30)); then
  echo "only $checked paths and $anchors links to headings were found"
  broken=1
fi
exit $broken
