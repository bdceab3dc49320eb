#include "gossip/trust/notary.h"

#include <algorithm>
#include <span>
#include <variant>

#include "base/limits.h"
#include "gossip/wire/archives.h"

namespace starling::gossip {
namespace {

constexpr std::string_view kMemberTitle = "member", kAccusationTitle = "accusation",
                           kSurveyTitle = "survey", kChangeTitle = "settings";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const Signature& signature) {
  return {reinterpret_cast<const char*>(signature.bytes.data()), signature.bytes.size()};
}

// All of it but its signature.
template <class What>
std::string said_unsigned(std::string_view title, std::uint64_t cluster, What what) {
  what.signature.clear();
  Writer out;
  out.number(cluster);
  out.record(what);
  return std::string(title) + out.take();
}

bool is_signed_by(const PublicKey& key, const std::string& said, const std::string& text) {
  Signature signature;
  if (text.size() != signature.bytes.size()) return false;
  std::ranges::copy(bytes_of(text), signature.bytes.begin());
  return verify(key, bytes_of(said), signature);
}

}  // namespace

Notary::Notary(std::shared_ptr<Credentials> credentials, std::uint64_t cluster, NodeId self)
    : credentials_(std::move(credentials)), cluster_(cluster), self_(self) {
  if (!has_keys()) return;
  own_certificate_ = encode(credentials_->certificate);
  credentials_->authority.vouch(credentials_->certificate);
}

// ---------------------------------------------------------------- what this node says

void Notary::sign(Body& body) {
  if (!has_keys()) return;
  if (Member* member = member_in(body)) sign(*member);
  if (auto* table = std::get_if<Table>(&body)) table->revocations = revocations_number();
  if (auto* message = std::get_if<Surveys>(&body))
    for (Survey& survey : message->surveys)
      if (survey.founder == self_) sign(survey);
  if (std::vector<Rumor>* rumors = rumors_in(body))
    for (Rumor& rumor : *rumors) {
      if (rumor.member->id == self_)
        sign(rumor.member);
      else if (rumor.accuser == self_ && rumor.accuses())
        accuse(rumor);
    }
}

std::string Notary::revocations() const {
  return revocations_number() > 0 ? encode(credentials_->authority.revocations()) : std::string();
}

std::optional<std::uint64_t> Notary::revoked(const Member& record) const {
  const auto certificate = decode_certificate(std::as_bytes(std::span(record.certificate)));
  if (!credentials_ || !certificate) return std::nullopt;
  return revoked_at(credentials_->authority.revocations(), *certificate);
}

void Notary::accuse(Rumor& rumor) {
  if (accusations_.size() >= 2 * kMembersLimit) accusations_.clear();
  Signed& last = accusations_[{rumor.member->id, rumor.liveness}];
  renew(last, said_of(rumor));
  rumor.signature = last.signature;
}

void Notary::sign(Member& own) {
  own.certificate = own_certificate_;
  renew(own_record_, said_of(own));
  own.signature = own_record_.signature;
}

// A node sends its record more often than it changes.
void Notary::sign(Record& own) {
  if (!own.is(last_unsigned_)) {
    last_unsigned_ = last_signed_ = own;
    last_signed_.change([this](Member& member) { sign(member); });
  }
  own = last_signed_;
}

void Notary::sign(Survey& own) {
  renew(own_survey_, said_of(own));
  own.signature = own_survey_.signature;
}

void Notary::renew(Signed& last, std::string said) const {
  if (said == last.said) return;
  last.signature = text_of(credentials_->key.sign(bytes_of(said)));
  last.said = std::move(said);
}

std::string Notary::said_of(const Member& record) const {
  return said_unsigned(kMemberTitle, cluster_, record);
}

// Of the member it holds what orders its records: a record with a later round is accused alike.
std::string Notary::said_of(const Rumor& accusation) const {
  Writer out;
  out.number(cluster_);
  out.id(accusation.member->id);
  out.number(accusation.member->incarnation);
  out.number(accusation.member->version);
  out.choice(accusation.liveness, Liveness::left);
  out.id(accusation.accuser);
  return std::string(kAccusationTitle) + out.take();
}

std::string Notary::said_of(const Survey& survey) const {
  return said_unsigned(kSurveyTitle, cluster_, survey);
}

void Notary::sign(SettingChange& own) {
  if (!has_keys()) return;
  own.certificate = own_certificate_;
  own.signature = text_of(credentials_->key.sign(bytes_of(said_of(own))));
}

bool Notary::may_change_settings() const {
  return !has_keys() || gossip::may_change_settings(credentials_->certificate);
}

std::string Notary::said_of(const SettingChange& change) const {
  return said_unsigned(kChangeTitle, cluster_, change);
}

// ---------------------------------------------------------------- what others say

Result<void> Notary::verify(const SettingChange& change) {
  if (!has_keys()) return {};
  if (change.certificate.empty() || change.signature.empty()) return fail("unsigned");
  const auto certificate = decode_certificate(bytes_of(change.certificate));
  if (!certificate || certificate->name != change.author) return fail("certificate");
  if (const auto refusal = credentials_->authority.vouch_for_past(*certificate))
    return fail("{}", to_string(refusal->reason));
  if (!gossip::may_change_settings(*certificate)) return fail("operator");
  if (!is_signed_by(certificate->key, said_of(change), change.signature)) return fail("signature");
  return {};
}

Result<void> Notary::verify(const Member& record) {
  if (!has_keys()) return {};
  if (record.certificate.empty() || record.signature.empty()) return fail("unsigned");
  TRY(const PublicKey key, key_of(record));
  if (!is_signed_by(key, said_of(record), record.signature)) return fail("signature");
  return {};
}

std::optional<bool> Notary::verify_accusation(const Rumor& rumor) const {
  if (!has_keys()) return true;
  if (rumor.accuser == rumor.member->id) return false;
  return is_said_by(rumor.accuser, said_of(rumor), rumor.signature);
}

std::optional<bool> Notary::verify_survey(const Survey& survey) const {
  if (!has_keys()) return true;
  return is_said_by(survey.founder, said_of(survey), survey.signature);
}

std::optional<bool> Notary::is_said_by(NodeId id, const std::string& said,
                                       const std::string& signature) const {
  if (id == self_) return is_signed_by(credentials_->key.public_key(), said, signature);
  const auto found = known_.find(id);
  if (found == known_.end()) return std::nullopt;
  return is_signed_by(found->second.key, said, signature);
}

Result<PublicKey> Notary::key_of(const Member& record) {
  Authority& authority = credentials_->authority;
  const Signature& list = authority.revocations().signature;
  if (std::exchange(judged_by_, list) != list) known_.clear();
  const auto known = known_.find(record.id);
  const PublicKey* newest = authority.newest_key(record.name);
  if (known != known_.end() && known->second.certificate == record.certificate && newest &&
      *newest == known->second.key)
    return known->second.key;
  const auto certificate = decode_certificate(bytes_of(record.certificate));
  if (!certificate || certificate->name != record.name || node_id(record.name) != record.id)
    return fail("certificate");
  if (const auto refusal = authority.vouch(*certificate))
    return fail("{}", to_string(refusal->reason));
  remember(record.id, record.certificate, certificate->key);
  return certificate->key;
}

void Notary::remember(NodeId id, const std::string& certificate, const PublicKey& key) {
  if (known_.size() >= kMembersLimit && !known_.contains(id)) known_.erase(known_.begin());
  known_[id] = {certificate, key};
}

bool Notary::is_other_key(const Member& a, const Member& b) {
  if (a.certificate == b.certificate) return false;
  const auto one = decode_certificate(bytes_of(a.certificate));
  const auto other = decode_certificate(bytes_of(b.certificate));
  return one && other && one->key != other->key;
}

}  // namespace starling::gossip
