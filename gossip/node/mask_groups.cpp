#include "gossip/node/mask_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "gossip/trust/certificate.h"

namespace starling::gossip {
namespace {

// The record is verified, and its certificate with it, unless nodes have no keys.
std::optional<CurveKey> key_of(const std::string& certificate) {
  const auto decoded = decode_certificate(std::as_bytes(std::span(certificate)));
  return decoded ? curve_key(decoded->key) : std::nullopt;
}

}  // namespace

// A node's own record gets its certificate as it is sent.
void MaskGroups::follow(const Roster& members, const std::vector<topology::Site>* sites) {
  if (!is_masked_ || !sites) return;
  std::vector<Known> known;
  for (const topology::Site& site : *sites) {
    const bool is_self = site.id == members.self();
    const Member* const member = is_self ? &members.own() : members.find(site.id);
    if (!member || (!is_self && member->phase != Phase::training)) continue;
    known.push_back({member->id, member->incarnation, is_self ? "" : member->certificate});
  }
  if (known == known_) return;
  known_ = std::move(known);
  gather(members);
}

void MaskGroups::gather(const Roster& members) {
  group_ = nullptr;
  reason_.clear();
  std::vector<MaskMember> masked;
  std::vector<std::string> keyless;
  for (const Known& one : known_) {
    const bool is_self = one.id == members.self();
    const auto own = credentials_ ? curve_key(credentials_->certificate.key) : std::nullopt;
    const auto key = is_self ? own : key_of(one.certificate);
    if (!key) keyless.push_back(is_self ? members.own().name : members.find(one.id)->name);
    masked.push_back({one.id, one.incarnation, key.value_or(CurveKey())});
  }
  if (std::ranges::find(masked, members.self(), &MaskMember::id) == masked.end()) return;
  if (masked.size() == 1) return;  // there is nothing to average
  if (masked.size() < MaskGroup::kLeast)
    reason_ = fmt::format(
        "exchange.masks: {} nodes exchange, and nothing is averaged until there are {}: a mean of "
        "fewer shows what a single node has",
        masked.size(), MaskGroup::kLeast);
  else if (!keyless.empty())
    reason_ = fmt::format("exchange.masks: no key is known of {}: nothing is averaged",
                          fmt::join(keyless, ", "));
  else
    group_ = std::make_shared<const MaskGroup>(cluster_, members.self(), std::move(masked));
}

}  // namespace starling::gossip
