#include "daemon/setup/key_file.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "daemon/process/private_file.h"
#include "daemon/setup/armor.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kKeyFileBytesLimit = 256;

std::string_view label_for(KeyKind kind) {
  return kind == KeyKind::cluster ? kClusterKeyLabel : kNodeKeyLabel;
}

}  // namespace

Secret random_key() {
  Secret seed(kKeyBytes);
  ssize_t count = 0;
  do count = ::getrandom(seed.bytes().data(), seed.size(), 0);
  while (count < 0 && errno == EINTR);
  ENSURE(count == kKeyBytes, "the system has random bytes");
  return seed;
}

KeyPair new_key() {
  return KeyPair(random_key());
}

Result<void> save_key_file(const std::string& path, KeyKind kind, const KeyPair& key) {
  const Secret line = armor(label_for(kind), key.seed().bytes());
  Secret text(line.size() + 1);
  std::ranges::copy(line.bytes(), text.bytes().begin());
  text.bytes().back() = std::byte{'\n'};
  return write_private_file(path, text.bytes());
}

Result<KeyPair> load_key_file(const std::string& path, KeyKind kind) {
  TRY(const Secret text, read_private_file(path, kKeyFileBytesLimit));
  auto seed = unarmor(label_for(kind), text.text());
  if (!seed) return fail("{}: {}", path, seed.error().text);
  if (seed->size() != kKeyBytes)
    return fail("{}: a key of {} bytes; expected {}", path, seed->size(), kKeyBytes);
  return KeyPair(*seed);
}

}  // namespace starling::daemon
