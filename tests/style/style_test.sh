#!/usr/bin/env bash
# What of the style a machine can see: the size of files and lines, names of tests, sleeps in tests.
# Usage: style_test.sh REPOSITORY. Prints every breach; exit 1 if any.
set -euo pipefail
export LC_ALL=C.UTF-8 # columns are characters, not bytes
cd "$1"

lines_limit=500
columns_limit=100
broken=0

report() { # WHAT: prints the breaches on standard input, if any, under what they are
  local found
  found=$(cat)
  [[ -z $found ]] && return
  echo "$1:"
  echo "$found"
  broken=1
}

mapfile -t files < <(find base topology optim models gossip sim daemon clients tests bench \
  -name '*.h' -o -name '*.cpp' -o -name '*.c' -o -name '*.sh' -o -path 'clients/*.py' \
  2>/dev/null | sort)
mapfile -t tests < <(find tests -type f \
  -not -path 'tests/system/*' -not -path 'tests/acceptance/*' -not -path 'tests/style/*')

report "files of more than $lines_limit lines" \
  < <(wc -l "${files[@]}" | awk -v limit=$lines_limit '$2 != "total" && $1 > limit')

report "lines of more than $columns_limit columns" \
  < <(grep -HnE "^.{$((columns_limit + 1)),}$" "${files[@]}" || true)

# The test runner loses the label of a test whose name holds a comma.
comma='TEST_CASE\w*\(\s*("[^"]*"\s*)*"[^",]*,[^"]*"'
report 'test names with a comma' \
  < <(grep -PzoH "$comma" "${tests[@]}" | tr '\0' '\n' || true)

# A test waits on a condition with a deadline, never for a time.
pause='(sleep_for|sleep_until|nanosleep|\bu?sleep\(|^ *sleep [0-9])'
report 'sleeps outside the tests of real processes' \
  < <(grep -HnE "$pause" "${tests[@]}" || true)

# Texts of other nodes reach the page: none becomes markup or a program.
sinks='(inner|outer)HTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|DOMParser'
report 'markup or programs from texts in the page' \
  < <(grep -HnE "$sinks" daemon/rest/page/*.js daemon/rest/page/*.html || true)

exit $broken
