#include "daemon/setup/credentials.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/utc.h"
#include "daemon/process/log.h"
#include "daemon/process/whole_file.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/trust_files.h"

namespace starling::daemon {
namespace {

using gossip::AuthorizedKeys;
using gossip::Certificate;
using gossip::Credentials;

// A certificate that this machine can renew is renewed when less is left of it.
constexpr std::uint64_t kRenewedBefore_s = 30 * 86'400;

std::string key_path(const std::string& folder) {
  return folder + "/key";
}
std::string certificate_path(const std::string& folder) {
  return folder + "/certificate";
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// What the folder of a node has.
struct Kept {
  std::optional<KeyPair> key;
  std::optional<Certificate> certificate;
};

Result<Kept> kept_in(const std::string& folder) {
  Kept kept;
  if (folder.empty()) return kept;
  if (is_there(key_path(folder))) {
    TRY(kept.key, load_key_file(key_path(folder), KeyKind::node));
  }
  TRY(kept.certificate, kept_certificate(folder));
  return kept;
}

// A key with its certificate.
struct Proof {
  KeyPair key;
  Certificate certificate;
};

// Gives the key's file a name that is free.
Result<void> set_aside(const std::string& path) {
  std::string aside = path + ".old";
  for (int k = 2; is_there(aside); ++k) aside = fmt::format("{}.old-{}", path, k);
  if (std::rename(path.c_str(), aside.c_str()) != 0)
    return fail("cannot rename {} to {}: {}", path, aside, std::strerror(errno));
  log::warning("{} has another key now; the one before is {}", path, aside);
  return {};
}

// The certificate comes last: a crash before that leaves a key that its ticket fits. One that the
// key itself signed is made anew at each start.
Result<void> keep(const std::string& folder, const Proof& proof, const Kept& kept) {
  if (folder.empty()) return {};
  const bool is_same = kept.key && kept.key->public_key() == proof.key.public_key();
  if (kept.key && !is_same) TRY_DO(set_aside(key_path(folder)));
  if (!is_same) TRY_DO(save_key_file(key_path(folder), KeyKind::node, proof.key));
  if (proof.certificate.is_self_signed() || kept.certificate == proof.certificate) return {};
  return save_certificate(certificate_path(folder), proof.certificate);
}

// ---- of a ticket

// A folder is that of one node of one cluster.
Result<void> check_owner(const std::string& folder, const Kept& kept, const Certificate& given) {
  if (!kept.certificate) return {};
  const Certificate& own = *kept.certificate;
  if (own.name != given.name)
    return fail(
        "node.data-dir = \"{}\": is that of {}, and the certificate is for {}; expected a "
        "folder of its own",
        folder, own.name, given.name);
  if (own.cluster != given.cluster)
    return fail(
        "node.data-dir = \"{}\": its certificate is signed by the cluster key {}, and the "
        "new one by {}; expected another folder for another cluster",
        folder, to_string(own.cluster), to_string(given.cluster));
  return {};
}

Result<void> check_newer(const std::string& folder, const Kept& kept, const Certificate& given) {
  if (!kept.certificate)
    return fail(
        "node.data-dir = \"{}\": has the key {} without a certificate, and the ticket is "
        "for {}; expected the ticket that answers its own request, or a folder without key",
        folder, to_string(kept.key->public_key()), to_string(given.key));
  if (given.not_before > kept.certificate->not_before) return {};
  return fail(
      "the ticket is from {}, and node.data-dir = \"{}\" has another key with a "
      "certificate from {}; start without the ticket, or take a newer one",
      utc_text(given.not_before), folder, utc_text(kept.certificate->not_before));
}

Result<KeyPair> key_for(const Ticket& ticket, Kept& kept) {
  if (ticket.seed.size() > 0) return KeyPair(ticket.seed);
  if (!kept.key)
    return fail(
        "the ticket answers a request and holds no secret key; expected in node.data-dir "
        "the folder in which starling keygen request made the key");
  if (kept.key->public_key() != ticket.certificate.key)
    return fail(
        "the ticket is for the key {}, and node.data-dir has the key {}; expected the "
        "ticket that answers the request of this folder",
        to_string(ticket.certificate.key), to_string(kept.key->public_key()));
  return KeyPair(kept.key->seed());
}

// Of two certificates of one key the later counts: a ticket may be given at every start.
Result<Proof> proof_of_ticket(const CredentialSources& sources, Kept& kept) {
  const Ticket& ticket = *sources.ticket;
  const Certificate& given = ticket.certificate;
  TRY_DO(check_owner(sources.folder, kept, given));
  TRY(KeyPair key, key_for(ticket, kept));
  const bool is_same = kept.key && kept.key->public_key() == given.key;
  if (kept.key && !is_same) TRY_DO(check_newer(sources.folder, kept, given));
  const bool is_renewed = is_same && kept.certificate && kept.certificate->key == given.key &&
                          kept.certificate->not_before > given.not_before;
  return Proof{std::move(key), is_renewed ? *kept.certificate : given};
}

// ---- without a ticket

// Signed here; what the folder has stays while it lasts.
Result<Proof> proof_of_cluster_key(const CredentialSources& sources, Kept& kept) {
  KeyPair key = kept.key ? KeyPair(kept.key->seed()) : new_key();
  TRY(Certificate made, sources.sign(key.public_key()));
  TRY_DO(check_owner(sources.folder, kept, made));
  const bool lasts = kept.certificate && kept.certificate->key == key.public_key() &&
                     kept.certificate->not_after > sources.now + kRenewedBefore_s;
  return Proof{std::move(key), lasts ? *kept.certificate : std::move(made)};
}

// Signed by itself: what counts is the line in the files of the others.
Result<Proof> proof_of_own_key(const CredentialSources& sources, Kept& kept) {
  if (sources.folder.empty())
    return fail(
        "security.authorized-keys = \"{}\": needs node.data-dir, where the node keeps its "
        "key",
        sources.authorized_keys);
  KeyPair key = kept.key ? KeyPair(kept.key->seed()) : new_key();
  log::info("its line in the authorized keys: {} {}", sources.name, to_string(key.public_key()));
  TRY(Certificate made,
      gossip::sign_certificate(
          {.name = sources.name, .key = key.public_key(), .not_after = kLatestMoment}, key));
  return Proof{std::move(key), std::move(made)};
}

Result<std::optional<Proof>> find_proof(const CredentialSources& sources, Kept& kept) {
  if (sources.ticket) return proof_of_ticket(sources, kept);
  if (sources.sign) return proof_of_cluster_key(sources, kept);
  if (!kept.certificate && !sources.authorized_keys.empty()) return proof_of_own_key(sources, kept);
  if (!kept.key && !kept.certificate) return std::nullopt;
  if (!kept.certificate)
    return fail(
        "node.data-dir = \"{}\": has a key and no certificate; expected the ticket that "
        "answers its request, in --join or --ticket-file",
        sources.folder);
  if (!kept.key)
    return fail(
        "node.data-dir = \"{}\": has a certificate and no key; copy the key there, or "
        "invite the node again",
        sources.folder);
  return Proof{KeyPair(kept.key->seed()), *kept.certificate};
}

// ---- whom the node accepts

Result<AuthorizedKeys> authorized_in(const std::string& path) {
  if (path.empty()) return AuthorizedKeys();
  TRY(const auto bytes, read_file(path, gossip::kAuthorizedKeysBytesLimit));
  if (!bytes)
    return fail("security.authorized-keys = \"{}\": no such file; expected lines of NAME KEY",
                path);
  auto keys = AuthorizedKeys::parse(as_text(*bytes));
  if (!keys) return fail("security.authorized-keys = \"{}\": {}", path, keys.error().text);
  return keys;
}

Result<void> learn_revocations(const std::string& folder, gossip::Authority& authority) {
  if (folder.empty()) return {};
  const std::string path = folder + "/revocations";
  TRY(const auto list, load_revocations(path));
  if (list && !authority.learn(*list) && list->number > 0)
    return fail("{}: is not of this cluster's key; copy the list from beside that key", path);
  return {};
}

Result<gossip::Authority> authority_of(const CredentialSources& sources,
                                       const Certificate& certificate) {
  TRY(AuthorizedKeys authorized, authorized_in(sources.authorized_keys));
  const auto cluster =
      certificate.is_self_signed() ? std::nullopt : std::optional(certificate.cluster);
  gossip::Authority authority(cluster, std::move(authorized));
  TRY_DO(learn_revocations(sources.folder, authority));
  return authority;
}

// What the others would find wrong. Its own line among the authorized keys the others need, not it.
Result<void> check_own(const CredentialSources& sources, const Proof& proof,
                       gossip::Authority& authority) {
  const Certificate& own = proof.certificate;
  if (own.name != sources.name)
    return fail(
        "node.name = \"{}\": the certificate is for {}; expected that name, or another "
        "node.data-dir",
        sources.name, own.name);
  if (own.is_self_signed()) return {};
  const auto refusal = authority.judge(own, *curve_key(proof.key.public_key()), sources.now);
  if (refusal) return fail("{}", refusal->words);
  return {};
}

}  // namespace

Result<std::optional<Certificate>> kept_certificate(const std::string& folder) {
  if (folder.empty() || !is_there(certificate_path(folder))) return std::nullopt;
  return load_certificate(certificate_path(folder));
}

Result<std::shared_ptr<Credentials>> find_credentials(const CredentialSources& sources) {
  TRY(Kept kept, kept_in(sources.folder));
  TRY(std::optional<Proof> proof, find_proof(sources, kept));
  if (!proof) return nullptr;
  TRY(gossip::Authority authority, authority_of(sources, proof->certificate));
  TRY_DO(check_own(sources, *proof, authority));
  TRY_DO(keep(sources.folder, *proof, kept));
  return std::make_shared<Credentials>(
      Credentials{std::move(proof->key), std::move(proof->certificate), std::move(authority)});
}

}  // namespace starling::daemon
