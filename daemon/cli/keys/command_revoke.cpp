#include <nlohmann/json.hpp>

#include "base/utc.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/keys/commands.h"
#include "daemon/cli/keys/describe.h"
#include "daemon/cli/keys/issue.h"
#include "daemon/process/clock.h"
#include "daemon/setup/armor.h"
#include "daemon/setup/trust_files.h"

namespace starling::daemon {
namespace {

using gossip::Revocations;

// The list that is there, or an empty one. It must be of this cluster key.
Result<Revocations> list_before(const std::string& path, const KeyPair& cluster) {
  TRY(auto list, load_revocations(path));
  if (list && list->cluster != cluster.public_key())
    return fail("{} is signed by the cluster key {}; --cluster-key is {}", path,
                to_string(list->cluster), to_string(cluster.public_key()));
  return list ? *std::move(list) : Revocations();
}

// A text that is a public key is taken for one.
Result<Revocations> with_entries(Revocations list, const std::vector<std::string>& texts,
                                 const KeyPair& cluster) {
  std::vector<Revocations::Name> names;
  std::vector<Revocations::Key> keys;
  const std::uint64_t now = wall_clock();
  for (const std::string& text : texts) {
    if (const auto key = parse_public_key(text))
      keys.push_back({*key, now});
    else
      names.push_back({text, now});
  }
  return gossip::revoke(std::move(list), names, keys, cluster);
}

// The node tells all members.
Outcome<void> tell_node(const CommandLine& line, const Revocations& list) {
  TRY(const NodeAccess access, read_node_access(line));
  const std::string bytes = encode(list);
  const Secret text = armor(kRevocationsLabel, std::as_bytes(std::span(bytes)));
  const nlohmann::json body = {{"list", text.text()}};
  TRY(const HttpReply reply, ask(access, "POST", "/v1/revocations", body.dump()));
  if (reply.status != 202) return tl::unexpected(refusal_of(access, reply));
  return {};
}

Outcome<int> run_revoke(const CommandLine& line) {
  const std::string path = line.value("out").value_or(revocations_path(cluster_key_path(line)));
  TRY(const KeyPair cluster, cluster_key(line));
  TRY(Revocations before, list_before(path, cluster));
  TRY(const Revocations list, with_entries(std::move(before), line.positional, cluster));
  if (const auto saved = save_revocations(path, list); !saved)
    return complaint(kExitFailed, "{}", saved.error().text);
  if (line.has("api")) TRY_DO(tell_node(line, list));
  nlohmann::ordered_json document = {{"file", path}, {"told", line.has("api")}};
  document.update(json_of(list));
  fmt::print("{}", line.has("json") ? document.dump() + "\n"
                                    : fmt::format("{}: the list\n\n{}", path, text_of(list)));
  if (!line.has("json") && !line.has("api"))
    fmt::print(
        "\nNo node knows it yet: give --api URL of one that runs, or put it into the\n"
        "node.data-dir of one before it starts. Each tells all others.\n");
  return kExitDone;
}

constexpr auto kRevokeOptions = join(
    {{"cluster-key", "FILE", "the secret key of the cluster; default ./cluster.key"},
     {"out", "PATH", "the list to add to; default beside the cluster key, ./cluster.revocations"}},
    kAsking, kPrintingJson);
constexpr std::string_view kRevokeArguments[] = {"NAME..."};

}  // namespace

constinit const ProgramCommand kRevoke = {
    .name = "revoke",
    .summary = "take back the certificates of nodes",
    .usage =
        "starling revoke NAME|KEY ... [--cluster-key FILE] [--out FILE] [--api URL]\n"
        "         [--token-file FILE] [--json]",
    .description = R"(Adds names or public keys to the cluster's list of revocations, and signs it
under the next number. A name is revoked with all certificates that it has now: the node can be
invited again. A public key is revoked for ever, under any name. Nothing is ever taken off the
list. With --api a node that runs gets the list, and tells all members: they close their connections
with the revoked ones at once.)",
    .options = kRevokeOptions,
    .notes = R"(Example: a machine was stolen

  starling revoke node-3 --api http://127.0.0.1:7680
  starling keygen show cluster.revocations)",
    .exits = "0 done, 1 the list cannot be written, 2 wrong usage, or a file that does not fit.",
    .arguments = kRevokeArguments,
    .arguments_least = 1,
    .run = run_revoke};

}  // namespace starling::daemon
