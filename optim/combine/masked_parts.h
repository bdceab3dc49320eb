// MaskedParts: what a node gives of its vector to those who sum slices (slices.h), such that a hub
// learns the sum of all others' numbers and nothing else of them. Numbers travel in fixed point,
//   u = round(2^32 s) + m  mod 2^64 ,   m the mask (base/masks.h) ,  |s| < 2^31 / n ,
// so that their sum over the members of the group is exact, and only that sum can be read. The last
// number of a part is 0 before it is masked: where the sum of these is not 0, masks have not
// cancelled, and there is no mean.
//
// Who takes part: the group of the round, of n members. A hub that lacks a part of one of them has
// no mean, and nothing is given again of the same round: two sums of the same numbers, with and
// without a member, would show that member's.
//
// The era orders what members count together (flows.h), which adds up to nothing only over all of
// them: a node begins a new one where its group has changed or something it gave was lost, tells it
// in its parts, and takes over a later one that it hears. What was counted in an earlier era is
// forgotten.
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
#include "optim/codec/wire_form.h"

namespace starling::optim {

// Of fixed point.
inline constexpr double kFixedOne = 0x1p32, kFixedLimit = 0x1p31;

// What a node gives in one round.
template <class S>
struct MaskedRound {
  std::shared_ptr<const MaskGroup> group;
  std::uint64_t era = 0;
  std::vector<S> numbers;  // s as its members count it, in fixed point
};

template <class S>
class MaskedParts {
 public:
  explicit MaskedParts(std::shared_ptr<Masks> masks) : masks_(std::move(masks)) {}

  // The group from now on; null: none.
  void follow(std::shared_ptr<const MaskGroup> group);
  // Something was lost that only one end may have counted.
  void lose() { ++era_; }
  void hear(std::uint64_t era);
  std::uint64_t era() const { return era_; }
  const std::shared_ptr<const MaskGroup>& group() const { return group_; }

  // The round begins with these numbers. Null: this node gives nothing in it, and problem() says
  // why where that is for a person.
  std::shared_ptr<const MaskedRound<S>> begin(std::uint64_t round, std::span<const S> s);
  // Empty: there is none.
  const std::string& problem() const { return problem_; }
  // The bytes of a part of so many numbers, without its word.
  static constexpr std::size_t bytes(std::size_t count) {
    return kMaskedHead + kMaskedWidth * count + kMaskedWidth;
  }
  // Writes the numbers from `first` on for the member `to`; bytes(count) bytes, aligned to 8.
  void write(const MaskedRound<S>& round, NodeId to, std::size_t first, std::size_t count,
             std::byte* wire);

 private:
  std::shared_ptr<Masks> masks_;
  std::shared_ptr<const MaskGroup> group_;
  std::uint64_t era_ = 0;
  std::string problem_;
};

// The era that a part tells. REQUIRES a part of the right size, after its word.
std::uint64_t era_of(const Payload& part, std::size_t head);
// The sums of the numbers of parts, each of `count` numbers after a head of that size and the era;
// nothing where their masks have not cancelled. REQUIRES parts of the right size.
std::optional<std::vector<double>> sum_of_parts(std::span<const Payload* const> parts,
                                                std::size_t head, std::size_t count);

}  // namespace starling::optim
