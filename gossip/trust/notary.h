// Notary: signs the records, accusations, surveys and changes of settings of this node, and
// verifies those of others. Without keys it signs nothing and believes everything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/keys.h"
#include "base/result.h"
#include "gossip/trust/credentials.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// Belongs to one thread. Its memory is bounded by kMembersLimit certificates and twice as many
// signatures.
class Notary {
 public:
  // `credentials`: null without keys. `cluster`: as in Envelope; a record of one cluster is none of
  // another, though one key may have signed the certificates of both.
  Notary(std::shared_ptr<Credentials> credentials, std::uint64_t cluster, NodeId self);

  bool has_keys() const { return credentials_ != nullptr; }

  // The list of revocations that this node knows, encoded; empty: none.
  std::string revocations() const;
  // Whether the list is news: signed by the cluster key, and later than the known one.
  bool learn(const Revocations& list) {
    return credentials_ && credentials_->authority.learn(list);
  }
  // When the certificate of the record was revoked; nothing if it was not. REQUIRES a verified one.
  std::optional<std::uint64_t> revoked(const Member& record) const;
  // The number of that list.
  std::uint64_t revocations_number() const {
    return credentials_ ? credentials_->authority.revocations().number : 0;
  }

  // Signs what this node says for itself in the message: records, accusations, its survey. Signs
  // anew only what has changed.
  void sign(Body& body);

  // Whether the owner of the name says this: the error is "unsigned", "certificate", "signature" or
  // a reason of Refusal. A certificate is verified once; the clock is not asked.
  Result<void> verify(const Member& record);
  // Whether the accuser says that; nothing where it is not known who that is.
  std::optional<bool> verify_accusation(const Rumor& rumor) const;
  // Whether the founder says that; nothing where it is not known who that is.
  std::optional<bool> verify_survey(const Survey& survey) const;
  // Whether the two records have certificates of different keys. REQUIRES verified ones.
  static bool is_other_key(const Member& a, const Member& b);

  // The same of a change of settings: this node's, which becomes its author; and whether its author
  // says so and may. Also "operator": its certificate is of another group than that of operators.
  void sign(SettingChange& own);
  Result<void> verify(const SettingChange& change);
  // Whether this node may change settings of all.
  bool may_change_settings() const;

  // Something was not believed, for that reason.
  void refuse(std::string reason) { refusals_.push_back(std::move(reason)); }
  // The reasons since the last call.
  std::vector<std::string> take_refusals() { return std::exchange(refusals_, {}); }

 private:
  struct Known {
    std::string certificate;  // as encoded
    PublicKey key;
  };

  void sign(Member& own);
  void sign(Record& own);
  void accuse(Rumor& rumor);
  void sign(Survey& own);
  Result<PublicKey> key_of(const Member& record);
  void remember(NodeId id, const std::string& certificate, const PublicKey& key);
  std::string said_of(const Member& record) const;
  std::string said_of(const Rumor& accusation) const;
  std::string said_of(const Survey& survey) const;
  std::string said_of(const SettingChange& change) const;
  // REQUIRES keys.
  std::optional<bool> is_said_by(NodeId id, const std::string& said,
                                 const std::string& signature) const;

  std::shared_ptr<Credentials> credentials_;
  const std::uint64_t cluster_;
  const NodeId self_;
  std::string own_certificate_;
  struct Signed {
    std::string said, signature;
  };
  // Puts the signature of what is `said` in place of that of something else.
  void renew(Signed& last, std::string said) const;
  Record last_unsigned_, last_signed_;                         // of this node
  Signed own_record_, own_survey_;                             // that were signed last
  std::map<std::pair<NodeId, Liveness>, Signed> accusations_;  // of this node
  std::map<NodeId, Known> known_;
  Signature judged_by_{};  // of the revocation list by which known_ was judged
  std::vector<std::string> refusals_;
};

}  // namespace starling::gossip
