// Masks: numbers that hide what each member of a group adds to a sum, and that cancel in the sum of
// all (Bonawitz et al., Practical secure aggregation for privacy-preserving machine learning, 2017,
// without its recovery where a member drops out: then there is no sum). In round t member i adds
// for h, who sums,
//   m_i = sum_{j > i} s_ij - sum_{j < i} s_ij  mod 2^64 ,  j over the group without i and h ,
//   s_ij = ChaCha20 under BLAKE2b(K_ij; group, t, h) ,  K_ij = BLAKE2b(X25519 of i and j; their
//   keys).
// A stream that masked two different numbers would show their difference. So every round has
// streams of its own, and the group holds the incarnations of its members, which differ in every
// life of a node. By libsodium; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/keys.h"
#include "base/secret.h"

namespace starling {

struct MaskMember {
  NodeId id;
  std::uint64_t incarnation = 0;
  CurveKey key = {};

  bool operator==(const MaskMember&) const = default;
};

// Immutable.
class MaskGroup {
 public:
  static constexpr std::size_t kDigestBytes = 32;
  // Fewer have nothing to hide: the mean of two shows each what the other has.
  static constexpr std::size_t kLeast = 3;

  // `cluster` tells groups of like names apart. REQUIRES that each id is there once, `self` too.
  MaskGroup(std::uint64_t cluster, NodeId self, std::vector<MaskMember> members);

  NodeId self() const { return self_; }
  // Ascending by id.
  std::span<const MaskMember> members() const { return members_; }
  const MaskMember* find(NodeId id) const;
  // Equal for groups of the same cluster and members, also where their `self` differs.
  std::span<const std::byte> digest() const { return digest_; }
  // The first bytes of the digest.
  std::uint64_t word() const;

 private:
  NodeId self_;
  std::vector<MaskMember> members_;
  std::array<std::byte, kDigestBytes> digest_{};
};

// The masks of one member. One thread at a time.
class Masks {
 public:
  // The X25519 secret of the node; copied. REQUIRES kKeyBytes bytes.
  explicit Masks(const Secret& secret);

  // Begins a round of the group, of which this node is `self`. False: it may give nothing in that
  // round, because the round is not later than the last one, the group has fewer than
  // MaskGroup::kLeast members, or a key of it is no key. REQUIRES a group.
  bool begin(std::shared_ptr<const MaskGroup> group, std::uint64_t round);
  // Adds m_i for the member `to` who sums. REQUIRES that begin() was true, and each `to` once a
  // round.
  void add(NodeId to, std::span<std::uint64_t> numbers);
  // Adds what m_i holds for one other member: s_ij or -s_ij, at j with the other sign. REQUIRES
  // that begin() was true, and a member that is neither this node nor `to`.
  void add_stream(NodeId peer, NodeId to, std::span<std::uint64_t> numbers);

 private:
  bool share_secrets();

  Secret secret_;
  std::shared_ptr<const MaskGroup> group_;  // of the secrets
  Secret shared_;                           // K_ij of each member, in order
  Secret stream_;                           // the key of one stream
  std::uint64_t round_ = 0;
  std::vector<NodeId> masked_;  // for whom in this round
};

}  // namespace starling
