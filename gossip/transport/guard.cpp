#include "gossip/transport/guard.h"

#include <algorithm>
#include <utility>

#include "base/utc.h"
#include "base/utf8.h"

namespace starling::gossip {
namespace {

std::string encoded_certificate(const Credentials* credentials) {
  return credentials ? encode(credentials->certificate) : std::string();
}

}  // namespace

Guard::Guard(NodeId self, std::shared_ptr<Credentials> credentials, WallClock wall_clock)
    : self_(self),
      credentials_(std::move(credentials)),
      wall_clock_(std::move(wall_clock)),
      certificate_(encoded_certificate(credentials_.get())) {}

const std::map<std::string, std::string, std::less<>>& Guard::reasons() {
  static const auto kReasons = [] {
    std::map<std::string, std::string, std::less<>> all = {
        {"no-keys",
         "it speaks without encryption, and this node has keys: give that node keys with "
         "starling invite"},
        {"needs-keys",
         "it wants encryption, or is no node; this node has no keys: ask for a ticket, which "
         "starling invite makes"},
        {"handshake",
         "its handshake failed: it is no node, or it has dialled with another key than "
         "this node's"},
        {"other-server",
         "the node there has another key than the one that this node knows: its "
         "address belongs to another node now, or it was invited again"},
        {"no-greeting", "it did not say who it is"},
        {"no-certificate", "its greeting has no certificate that can be read"},
        {"other-name", "its certificate has another name than its greeting"},
        {"refused-there", "it refuses this node"}};
    for (int k = 0; k <= static_cast<int>(Refusal::kLast); ++k)
      all[std::string(to_string(static_cast<Refusal::Reason>(k)))] = "its certificate is refused";
    return all;
  }();
  return kReasons;
}

Result<Guard::Admitted> Guard::admit(Time now, const Greeting& greeting,
                                     const std::optional<CurveKey>& proven, std::string_view at) {
  if (!credentials_) return Admitted();
  const auto refuse = [&](std::string_view reason, std::string_view who, std::string words = {}) {
    if (proven) bar(now, *proven);
    note(now, reason, who, std::move(words));
    return fail("{}", reason);
  };
  auto certificate = decode_certificate(greeting.certificate);
  if (!certificate || !proven) return refuse("no-certificate", at);
  if (auto refusal = credentials_->authority.judge(*certificate, *proven, wall_clock_()))
    return refuse(to_string(refusal->reason), certificate->name, std::move(refusal->words));
  if (node_id(certificate->name) != greeting.node) return refuse("other-name", certificate->name);
  barred_.erase(*proven);
  return Admitted(*std::move(certificate));
}

std::optional<PublicKey> Guard::key_at(Time now, const Certificate& certificate,
                                       std::string_view at) {
  const auto key = curve_key(certificate.key);
  if (!credentials_ || !key) return std::nullopt;
  const auto refusal = credentials_->authority.judge(certificate, *key, wall_clock_());
  if (!refusal) return certificate.key;
  note(now, to_string(refusal->reason), at, refusal->words);
  return std::nullopt;
}

bool Guard::is_barred(const CurveKey& key, Time now) const {
  const auto found = barred_.find(key);
  return found != barred_.end() && now < found->second;
}

void Guard::bar(Time now, const CurveKey& key) {
  std::erase_if(barred_, [&](const auto& item) { return item.second <= now; });
  if (barred_.size() < kBarredLimit) barred_[key] = now + kBarred;
}

bool Guard::is_revoked(Time now, const Certificate& certificate, std::string_view at) {
  if (!credentials_) return false;
  const auto key = curve_key(certificate.key);
  const auto time = revoked_at(credentials_->authority.revocations(), certificate);
  if (!time || !key) return false;
  const auto refusal = credentials_->authority.judge(certificate, *key, wall_clock_());
  bar(now, *key);
  note(now, "revoked", certificate.name, refusal ? refusal->words : std::string(at));
  return true;
}

std::uint64_t Guard::revocations() const {
  return credentials_ ? credentials_->authority.revocations().number : 0;
}

SecurityStatus Guard::status() const {
  SecurityStatus status{.revocations = revocations(), .refused = counts_};
  if (credentials_) status.certificate = credentials_->certificate;
  status.peers.assign(refused_.begin(), refused_.end());
  return status;
}

std::vector<std::string> Guard::warnings(Time now) const {
  std::vector<std::string> texts;
  for (const RefusedPeer& peer : refused_)
    if (now - peer.last < kRecent) texts.push_back(sentence(peer));
  if (!credentials_) return texts;
  const auto& revocations = credentials_->authority.revocations();
  if (const auto time = revoked_at(revocations, credentials_->certificate))
    texts.push_back(fmt::format(
        "this node was revoked at {}; to come back it needs a ticket of starling invite",
        utc_text(*time)));
  return texts;
}

void Guard::note_refused_there(Time now, std::string_view reason, std::string_view who) {
  const bool is_known = reasons().contains(reason);
  note(now, "refused-there", who,
       is_known ? fmt::format("it refuses this node: {}", reason) : std::string());
}

// `who` and `words` may come from another node: only plain texts are used.
void Guard::note(Time now, std::string_view reason, std::string_view who, std::string words) {
  ++counts_[std::string(reason)];
  if (words.empty() || !is_plain(words)) words = reasons().find(reason)->second;
  const std::string name(is_plain(who) ? who : "a node");
  const auto same = [&](const RefusedPeer& peer) {
    return peer.who == name && peer.reason == reason;
  };
  RefusedPeer peer{.who = name, .reason = std::string(reason), .words = {}};
  if (const auto found = std::ranges::find_if(refused_, same); found != refused_.end()) {
    peer = std::move(*found);
    refused_.erase(found);
  }
  peer.words = std::move(words);
  peer.last = now;
  ++peer.count;
  refused_.push_back(std::move(peer));
  if (refused_.size() > kRefusedLimit) refused_.pop_front();
}

}  // namespace starling::gossip
