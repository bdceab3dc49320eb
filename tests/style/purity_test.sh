#!/usr/bin/env bash
# The pure layers ask the system for nothing: no clock, file, socket, thread, environment or chance.
# Their libraries must not need a symbol that does.
# Usage: purity_test.sh NM LIBRARY... Prints every such symbol; exit 1 if any.
set -euo pipefail
nm=$1
shift

# Names of C are whole symbols, with the suffixes of glibc; names of C++ start with their scope.
c='(clock|clock_gettime|gettimeofday|time|localtime(_r)?|gmtime(_r)?|nanosleep|clock_nanosleep'
c+='|u?sleep|poll|select|epoll_[a-z_0-9]+|socket|connect|bind|listen|accept4?|send(to|msg)?'
c+='|recv(from|msg)?|open(at)?|creat|fopen|freopen|fdopen|read|write|mmap|unlink|rename'
c+='|pthread_create|thrd_create|fork|execv[a-z]*|system|getenv|setenv|s?rand(_r)?|s?random'
c+='|getrandom|getentropy|arc4random|randombytes[a-z_]*|crypto_[a-z0-9]+_(keypair|keygen)'
c+=')(64)?(_2|@.*)?'
cpp='(std::chrono::.*::now\(|std::random_device|std::basic_[io]?f(stream|ilebuf)|std::(j)?thread'
cpp+='|std::this_thread|std::filesystem::|std::(cout|cerr|clog|cin)\b)'

broken=0
for library in "$@"; do
  symbols=$("$nm" -C -u "$library") # on its own, so that a missing library fails
  # Of a C++ symbol the list holds vtables and guards too: "vtable for std::ifstream".
  found=$(sed -E 's/^ *[UwWvV] //; s/^(vtable|VTT|typeinfo|guard variable) for //' <<<"$symbols" |
    grep -E "^(_*$c|$cpp.*)$" | sort -u || true)
  [[ -z $found ]] && continue
  echo "$(basename "$library") needs from the system:"
  echo "$found"
  broken=1
done
exit $broken
