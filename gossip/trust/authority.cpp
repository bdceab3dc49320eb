#include "gossip/trust/authority.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/utc.h"

namespace starling::gossip {
namespace {

using Reason = Refusal::Reason;

template <class... Values>
Refusal refuse(Reason reason, fmt::format_string<Values...> format, Values&&... values) {
  return {reason, fmt::format(format, std::forward<Values>(values)...)};
}

}  // namespace

std::string_view to_string(Reason reason) {
  return name_of({"other-key", "unknown-key", "other-cluster", "bad-signature", "revoked",
                  "not-yet-valid", "expired", "superseded"},
                 reason);
}

Authority::Authority(std::optional<PublicKey> cluster, AuthorizedKeys authorized)
    : cluster_(cluster), authorized_(std::move(authorized)) {}

std::optional<Refusal> Authority::judge(const Certificate& certificate, const CurveKey& proven,
                                        std::uint64_t now) {
  if (curve_key(certificate.key) != proven)
    return refuse(Reason::other_key,
                  "the certificate of {} is for the key {}, and the connection has proved another "
                  "key; start that node with the key file that was made with this certificate",
                  certificate.name, to_string(certificate.key));
  auto refusal = judge_signature(certificate);
  if (!refusal) refusal = judge_revoked(certificate);
  if (!refusal) refusal = judge_time(certificate, now);
  if (!refusal) refusal = judge_order(certificate);
  if (!refusal) remember(certificate);
  return refusal;
}

std::optional<Refusal> Authority::vouch(const Certificate& certificate) {
  auto refusal = judge_revoked(certificate);
  if (!refusal) refusal = judge_order(certificate);
  if (!refusal) refusal = judge_signature(certificate);
  if (!refusal) remember(certificate);
  return refusal;
}

std::optional<Refusal> Authority::vouch_for_past(const Certificate& certificate) const {
  auto refusal = judge_revoked(certificate);
  if (!refusal) refusal = judge_signature(certificate);
  return refusal;
}

const PublicKey* Authority::newest_key(std::string_view name) const {
  const auto known = accepted_.find(name);
  return known == accepted_.end() ? nullptr : &known->second.key;
}

std::optional<Refusal> Authority::judge_signature(const Certificate& certificate) const {
  if (auto refusal = judge_signer(certificate)) return refusal;
  if (is_signed(certificate)) return std::nullopt;
  return refuse(Reason::bad_signature,
                "the certificate of {} is not signed by the key that it names: it was changed or "
                "damaged; copy it again, or make a new one with starling invite",
                certificate.name);
}

std::optional<Refusal> Authority::judge_signer(const Certificate& certificate) const {
  if (certificate.is_self_signed()) return judge_self_signed(certificate);
  if (!cluster_)
    return refuse(Reason::other_cluster,
                  "the certificate of {} is signed by the cluster key {}, and this node has no "
                  "cluster key; invite this node too, or authorize the key {} here",
                  certificate.name, to_string(certificate.cluster), to_string(certificate.key));
  if (certificate.cluster != *cluster_)
    return refuse(Reason::other_cluster,
                  "the certificate of {} is signed by the cluster key {}; that of this cluster is "
                  "{}: make a certificate with starling invite and this cluster's key",
                  certificate.name, to_string(certificate.cluster), to_string(*cluster_));
  return std::nullopt;
}

std::optional<Refusal> Authority::judge_self_signed(const Certificate& certificate) const {
  const PublicKey* known = authorized_.find(certificate.name);
  if (known && *known == certificate.key) return std::nullopt;
  if (known)
    return refuse(Reason::unknown_key,
                  "{} has the key {}; the authorized keys have {} for it: correct that line, or "
                  "start the node with its key file",
                  certificate.name, to_string(certificate.key), to_string(*known));
  return refuse(Reason::unknown_key,
                "the key of {} is not known: make a certificate with starling invite, or add this "
                "line to the authorized keys: {} {}",
                certificate.name, certificate.name, to_string(certificate.key));
}

std::optional<Refusal> Authority::judge_revoked(const Certificate& certificate) const {
  const auto time = revoked_at(revocations_, certificate);
  if (!time) return std::nullopt;
  return refuse(Reason::revoked,
                "{} was revoked at {}; to admit it again, make a new key and a certificate with "
                "starling invite",
                certificate.name, utc_text(*time));
}

std::optional<Refusal> Authority::judge_time(const Certificate& certificate,
                                             std::uint64_t now) const {
  if (certificate.not_before > now && certificate.not_before - now > kClockTolerance)
    return refuse(
        Reason::not_yet_valid,
        "the certificate of {} is valid from {}, and this machine's clock says {}: one of "
        "two clocks is wrong, this one or that of the machine that made it; compare "
        "date -u on both",
        certificate.name, utc_text(certificate.not_before), utc_text(now));
  if (certificate.not_after < now)
    return refuse(Reason::expired,
                  "the certificate of {} was valid until {}, and this machine's clock says {}: "
                  "renew it with starling invite, or set the clock if it is wrong",
                  certificate.name, utc_text(certificate.not_after), utc_text(now));
  return std::nullopt;
}

// Two keys in one second are ordered by the key, the same at every node.
std::optional<Refusal> Authority::judge_order(const Certificate& certificate) const {
  const auto known = accepted_.find(certificate.name);
  if (known == accepted_.end()) return std::nullopt;
  const Accepted& newest = known->second;
  if (certificate.key == newest.key) return std::nullopt;  // it was renewed
  if (std::tie(certificate.not_before, certificate.key) >= std::tie(newest.not_before, newest.key))
    return std::nullopt;
  return refuse(
      Reason::superseded,
      "the certificate of {} is from {}, and a later one, from {}, is in use with the key "
      "{}; start the node with the later one, or invite it again",
      certificate.name, utc_text(certificate.not_before), utc_text(newest.not_before),
      to_string(newest.key));
}

// Only the cluster key and the authorized keys make names. If they make more than a cluster has
// members, the one whose certificate ends first is forgotten.
void Authority::remember(const Certificate& certificate) {
  if (accepted_.size() >= kMembersLimit && !accepted_.contains(certificate.name))
    accepted_.erase(std::ranges::min_element(
        accepted_, {}, [](const auto& entry) { return entry.second.not_after; }));
  const auto known = accepted_.find(certificate.name);
  if (known != accepted_.end() && known->second.not_before > certificate.not_before) return;
  accepted_[certificate.name] = {certificate.not_before, certificate.key, certificate.not_after};
}

bool Authority::learn(const Revocations& list) {
  if (!cluster_ || list.cluster != *cluster_ || !supersedes(list, revocations_) || !is_signed(list))
    return false;
  revocations_ = list;
  return true;
}

}  // namespace starling::gossip
