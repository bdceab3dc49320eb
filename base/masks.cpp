#include "base/masks.h"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace starling {
namespace {

static_assert(MaskGroup::kDigestBytes == crypto_generichash_BYTES &&
              kKeyBytes == crypto_stream_chacha20_KEYBYTES &&
              kKeyBytes == crypto_scalarmult_curve25519_BYTES);
static_assert(std::endian::native == std::endian::little, "the bytes of a stream are its numbers");

constexpr std::string_view kGroupTitle = "starling mask group 1",
                           kPairTitle = "starling mask pair 1",
                           kStreamTitle = "starling mask stream 1";

// Bytes of a stream that are worked on at a time: whole blocks of the cipher.
constexpr std::size_t kCipherBytes = 64, kTileNumbers = 1024;

const unsigned char* plain(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* room(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

// BLAKE2b of what is added, with 32 bytes; a null key: without one.
class Hash {
 public:
  explicit Hash(std::string_view title, std::span<const std::byte> key = {}) {
    crypto_generichash_init(&state_, key.empty() ? nullptr : plain(key), key.size(),
                            crypto_generichash_BYTES);
    add(std::as_bytes(std::span(title)));
  }
  void add(std::span<const std::byte> bytes) {
    crypto_generichash_update(&state_, plain(bytes), bytes.size());
  }
  void add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  void end(std::span<std::byte> hash) {
    crypto_generichash_final(&state_, room(hash), hash.size());
    sodium_memzero(&state_, sizeof state_);
  }

 private:
  crypto_generichash_state state_;
};

}  // namespace

// ---------------------------------------------------------------- the group

MaskGroup::MaskGroup(std::uint64_t cluster, NodeId self, std::vector<MaskMember> members)
    : self_(self), members_(std::move(members)) {
  std::ranges::sort(members_, {}, &MaskMember::id);
  const auto twice = std::ranges::adjacent_find(members_, {}, &MaskMember::id);
  ENSURE(twice == members_.end(), "a member is in a group once");
  ENSURE(find(self) != nullptr, "a node is in its own group");
  Hash hash(kGroupTitle);
  hash.add(cluster);
  hash.add(members_.size());
  for (const MaskMember& member : members_) {
    hash.add(member.id.value);
    hash.add(member.incarnation);
    hash.add(member.key.bytes);
  }
  hash.end(digest_);
}

const MaskMember* MaskGroup::find(NodeId id) const {
  const auto found = std::ranges::lower_bound(members_, id, {}, &MaskMember::id);
  return found != members_.end() && found->id == id ? &*found : nullptr;
}

std::uint64_t MaskGroup::word() const {
  std::uint64_t word;
  std::memcpy(&word, digest_.data(), sizeof word);
  return word;
}

// ---------------------------------------------------------------- the masks

Masks::Masks(const Secret& secret) : secret_(copy_secret(secret.bytes())), stream_(kKeyBytes) {
  ENSURE(secret.size() == kKeyBytes, "a secret of X25519 has its size");
}

bool Masks::begin(std::shared_ptr<const MaskGroup> group, std::uint64_t round) {
  if (round <= round_ || group->members().size() < MaskGroup::kLeast) return false;
  const bool is_known = group_ && std::ranges::equal(group_->digest(), group->digest());
  group_ = std::move(group);
  if (!is_known && !share_secrets()) {
    group_ = nullptr;
    return false;
  }
  round_ = round;
  masked_.clear();
  return true;
}

// K_ij, at both ends the same.
bool Masks::share_secrets() {
  const std::span<const MaskMember> members = group_->members();
  const CurveKey own = group_->find(group_->self())->key;
  Secret product(kKeyBytes);
  shared_ = Secret(members.size() * kKeyBytes);
  for (std::size_t place = 0; place < members.size(); ++place) {
    const MaskMember& member = members[place];
    if (member.id == group_->self()) continue;
    if (crypto_scalarmult_curve25519(room(product.bytes()), plain(secret_.bytes()),
                                     plain(member.key.bytes)) != 0)
      return false;
    Hash hash(kPairTitle, product.bytes());
    hash.add(std::min(own, member.key).bytes);
    hash.add(std::max(own, member.key).bytes);
    hash.end(shared_.bytes().subspan(place * kKeyBytes, kKeyBytes));
  }
  return true;
}

void Masks::add(NodeId to, std::span<std::uint64_t> numbers) {
  ENSURE(group_ && std::ranges::find(masked_, to) == masked_.end(), "a stream is used once");
  masked_.push_back(to);
  for (const MaskMember& member : group_->members())
    if (member.id != group_->self() && member.id != to) add_stream(member.id, to, numbers);
}

// The cipher of zeros is the stream itself.
void Masks::add_stream(NodeId peer, NodeId to, std::span<std::uint64_t> numbers) {
  const MaskMember* const member = group_->find(peer);
  ENSURE(member && peer != group_->self() && peer != to, "two others share a stream");
  const auto place = static_cast<std::size_t>(member - group_->members().data());
  Hash hash(kStreamTitle, shared_.bytes().subspan(place * kKeyBytes, kKeyBytes));
  hash.add(group_->digest());
  hash.add(round_);
  hash.add(to.value);
  hash.end(stream_.bytes());
  constexpr std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> kNonce{};
  std::array<std::uint64_t, kTileNumbers> tile;
  auto* const bytes = reinterpret_cast<unsigned char*>(tile.data());
  for (std::size_t start = 0; start < numbers.size(); start += kTileNumbers) {
    const std::span<std::uint64_t> part =
        numbers.subspan(start, std::min(kTileNumbers, numbers.size() - start));
    std::memset(bytes, 0, part.size_bytes());
    crypto_stream_chacha20_xor_ic(bytes, bytes, part.size_bytes(), kNonce.data(),
                                  start * sizeof(std::uint64_t) / kCipherBytes,
                                  plain(stream_.bytes()));
    if (group_->self() < peer)
      for (std::size_t k = 0; k < part.size(); ++k) part[k] += tile[k];
    else
      for (std::size_t k = 0; k < part.size(); ++k) part[k] -= tile[k];
  }
  sodium_memzero(tile.data(), sizeof tile);
}

}  // namespace starling
