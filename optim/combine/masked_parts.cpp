#include "optim/combine/masked_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "optim/codec/byte_reader.h"

namespace starling::optim {
namespace {

static_assert(kMaskedHead == sizeof(std::uint64_t) && kMaskedWidth == sizeof(std::uint64_t));

// More changes than an honest member can have seen; a later era is ignored.
constexpr std::uint64_t kErasMost = std::uint64_t{1} << 48;

constexpr std::size_t kSumTile = 1024;

std::int64_t fixed(double x) {
  return std::llrint(x * kFixedOne);
}

}  // namespace

template <class S>
void MaskedParts<S>::follow(std::shared_ptr<const MaskGroup> group) {
  const bool is_same = group && group_ && std::ranges::equal(group->digest(), group_->digest());
  if (!is_same && (group || group_)) ++era_;
  group_ = std::move(group);
}

template <class S>
void MaskedParts<S>::hear(std::uint64_t era) {
  if (era <= kErasMost) era_ = std::max(era_, era);
}

template <class S>
std::shared_ptr<const MaskedRound<S>> MaskedParts<S>::begin(std::uint64_t round,
                                                            std::span<const S> s) {
  problem_.clear();
  if (!group_ || !masks_) return nullptr;
  const double limit = kFixedLimit / static_cast<double>(group_->members().size());
  const auto is_large = [limit](S x) { return !(std::abs(static_cast<double>(x)) < limit); };
  if (const auto large = std::ranges::find_if(s, is_large); large != s.end()) {
    problem_ = fmt::format(
        "exchange.masks: a number of the model is {}, and with {} members masks hide numbers below "
        "{:.3g}: gives nothing in round {}",
        static_cast<double>(*large), group_->members().size(), limit, round);
    return nullptr;
  }
  if (!masks_->begin(group_, round)) return nullptr;
  auto given = std::make_shared<MaskedRound<S>>();
  given->group = group_;
  given->era = era_;
  given->numbers.resize(s.size());
  std::ranges::transform(s, given->numbers.begin(), [](S x) {
    return static_cast<S>(static_cast<double>(fixed(static_cast<double>(x))) / kFixedOne);
  });
  return given;
}

// The era is sent unmasked: it depends on membership and on lost pairs alone, not on s.
template <class S>
void MaskedParts<S>::write(const MaskedRound<S>& round, NodeId to, std::size_t first,
                           std::size_t count, std::byte* wire) {
  std::memcpy(wire, &round.era, sizeof round.era);
  const std::span<std::uint64_t> numbers(reinterpret_cast<std::uint64_t*>(wire + kMaskedHead),
                                         count + 1);
  for (std::size_t k = 0; k < count; ++k)
    numbers[k] = static_cast<std::uint64_t>(fixed(static_cast<double>(round.numbers[first + k])));
  numbers[count] = 0;
  masks_->add(to, numbers);
}

std::uint64_t era_of(const Payload& part, std::size_t head) {
  ByteReader bytes(part);
  bytes.pass(head);
  std::uint64_t era;
  std::array<std::byte, sizeof era> scratch;
  std::memcpy(&era, bytes.next(scratch), sizeof era);
  return era;
}

std::optional<std::vector<double>> sum_of_parts(std::span<const Payload* const> parts,
                                                std::size_t head, std::size_t count) {
  std::vector<std::uint64_t> sums(count + 1);
  std::array<std::uint64_t, kSumTile> numbers;
  std::array<std::byte, sizeof numbers> scratch;
  for (const Payload* part : parts) {
    ByteReader bytes(*part);
    bytes.pass(head + kMaskedHead);
    for (std::size_t start = 0; start < sums.size(); start += kSumTile) {
      const std::size_t size = std::min(kSumTile, sums.size() - start);
      const std::size_t wide = size * sizeof(std::uint64_t);
      std::memcpy(numbers.data(), bytes.next(std::span(scratch).first(wide)), wide);
      for (std::size_t k = 0; k < size; ++k) sums[start + k] += numbers[k];
    }
  }
  if (sums.back() != 0) return std::nullopt;
  std::vector<double> values(count);
  std::ranges::transform(std::span(sums).first(count), values.begin(), [](std::uint64_t sum) {
    return static_cast<double>(static_cast<std::int64_t>(sum)) / kFixedOne;
  });
  return values;
}

template class MaskedParts<float>;
template class MaskedParts<double>;

}  // namespace starling::optim
