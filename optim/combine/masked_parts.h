// MaskedParts: masks the parts of its vector that a node sends to hubs (slices.h), so that a hub
// learns only the sum of all other members' numbers. Numbers are sent in fixed point,
//   u = round(2^32 s) + m  mod 2^64 ,   m the mask (base/masks.h) ,  |s| < 2^31 / n ,
// so that their sum over the members of the group is exact, and only that sum can be read. The last
// number of a part is 0 before masking: if the sum of these is not 0, the masks have not cancelled,
// and there is no mean.
//
// The n members of the round's group take part. A hub that lacks one member's part has no mean, and
// no second set of parts is made for the round: a sum with a member minus a sum without it is that
// member's vector.
//
// Masked flows (flows.h) add up to zero only over the whole group, so they are counted by era. A
// node begins a new era when its group changes or a pair never completes (slices.h), sends its era
// in its parts, and adopts a later era that it receives. Flows of an earlier era are deleted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/masks.h"
#include "base/payload.h"

namespace starling::optim {

// The value of 1 in fixed point, and the bound on the sum of all members' numbers.
inline constexpr double kFixedOne = 0x1p32, kFixedLimit = 0x1p31;

// The bytes of a part before its numbers, and those of each number.
inline constexpr std::size_t kMaskedHead = 8, kMaskedWidth = 8;

// What a node contributes to one round.
template <class S>
struct MaskedRound {
  std::shared_ptr<const MaskGroup> group;
  std::uint64_t era = 0;
  std::vector<S> numbers;  // s, rounded to fixed point as it is sent
};

template <class S>
class MaskedParts {
 public:
  explicit MaskedParts(std::shared_ptr<Masks> masks) : masks_(std::move(masks)) {}

  // Sets the group; null: none. Begins a new era if the group has changed.
  void follow(std::shared_ptr<const MaskGroup> group);
  // Begins a new era, because a pair was lost that only one end may have counted.
  void lose() { ++era_; }
  // Adopts the era of a part received, if it is later.
  void hear(std::uint64_t era);
  std::uint64_t era() const { return era_; }
  const std::shared_ptr<const MaskGroup>& group() const { return group_; }

  // Begins the round with the numbers s. Null: this node contributes nothing to it.
  std::shared_ptr<const MaskedRound<S>> begin(std::uint64_t round, std::span<const S> s);
  // Why the last begin() gave null, if a person can change that; else empty.
  const std::string& problem() const { return problem_; }
  // The bytes of a part of `count` numbers, without the word that slices.cpp writes before it. One
  // more number shows whether the masks have cancelled.
  static constexpr std::size_t bytes(std::size_t count) {
    return kMaskedHead + kMaskedWidth * count + kMaskedWidth;
  }
  // Writes `count` numbers from `first` on, masked for the hub `to`, once a round for each hub.
  // `wire`: bytes(count) bytes, aligned to 8.
  void write(const MaskedRound<S>& round, NodeId to, std::size_t first, std::size_t count,
             std::byte* wire);

 private:
  std::shared_ptr<Masks> masks_;
  std::shared_ptr<const MaskGroup> group_;
  std::uint64_t era_ = 0;
  std::string problem_;
};

// The era in a part, after `head` bytes. REQUIRES a part of the right size.
std::uint64_t era_of(const Payload& part, std::size_t head);
// The sums over the parts, each of `count` numbers after `head` bytes and the era; nothing if the
// masks have not cancelled. REQUIRES parts of the right size.
std::optional<std::vector<double>> sum_of_parts(std::span<const Payload* const> parts,
                                                std::size_t head, std::size_t count);

}  // namespace starling::optim
