#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/keys/commands.h"
#include "daemon/cli/keys/describe.h"
#include "daemon/cli/keys/issue.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/private_file.h"
#include "daemon/setup/armor.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/trust_files.h"

namespace starling::daemon {
namespace {

using ordered = nlohmann::ordered_json;
namespace files = std::filesystem;

void print_keygen(const CommandLine& line, const std::string& text, const ordered& document) {
  fmt::print("{}", line.has("json") ? document.dump() + "\n" : text);
}

Outcome<int> make_cluster_key(const CommandLine& line) {
  const std::string path = line.value("out").value_or("cluster.key");
  const KeyPair key = new_key();
  if (const auto saved = save_key_file(path, KeyKind::cluster, key); !saved)
    return complaint(kExitFailed, "{}", saved.error().text);
  const std::string text = fmt::format(
      "{} holds the secret key of the cluster; only you can read it. Its public key:\n\n  {}\n\n"
      "Keep the file off the nodes, and a copy in a safe place: without it nobody can be invited\n"
      "or revoked, and with it anybody. Next: starling invite NAME --join HOST:PORT\n",
      path, to_string(key.public_key()));
  print_keygen(line, text, {{"file", path}, {"public_key", to_string(key.public_key())}});
  return kExitDone;
}

// The key of a node, and its certificate, in the folder that is to be its node.data-dir.
struct NodeFolder {
  std::string name, path;
  std::string key_path() const { return files::path(path) / "key"; }
  std::string certificate_path() const { return files::path(path) / "certificate"; }
};

Result<NodeFolder> node_folder(const CommandLine& line) {
  const auto name = line.value("name");
  if (!name) return fail("--name NAME is missing: the name of the node, as its node.name");
  if (const auto out = line.value("out")) return NodeFolder{*name, *out};
  if (name->find('/') != std::string::npos || name->starts_with('.') || name->empty())
    return fail("\"{}\" is no name for a folder; name one with --out DIR", printable(*name));
  return NodeFolder{*name, *name};
}

struct NodeKey {
  KeyPair pair;
  bool is_new = false;
};

// That of the folder if there is one, so that a certificate can be renewed; else a new one, which
// is not in the folder yet.
Outcome<NodeKey> key_of(const NodeFolder& folder) {
  std::error_code ignored;
  if (!files::exists(folder.key_path(), ignored)) return NodeKey{new_key(), true};
  TRY(KeyPair pair, load_key_file(folder.key_path(), KeyKind::node));
  return NodeKey{std::move(pair)};
}

Outcome<void> keep(const NodeFolder& folder, const NodeKey& key) {
  if (!key.is_new) return {};
  std::error_code error;
  files::create_directories(folder.path, error);
  if (error) return complaint(kExitFailed, "cannot make {}: {}", folder.path, error.message());
  if (const auto saved = save_key_file(folder.key_path(), KeyKind::node, key.pair); !saved)
    return complaint(kExitFailed, "{}", saved.error().text);
  return {};
}

Outcome<int> make_node_key(const CommandLine& line) {
  TRY(const NodeFolder folder, node_folder(line));
  TRY(const NodeKey key, key_of(folder));
  TRY(const gossip::Certificate certificate, issue(line, folder.name, key.pair.public_key()));
  TRY_DO(keep(folder, key));
  if (const auto saved = save_certificate(folder.certificate_path(), certificate); !saved)
    return complaint(kExitFailed, "{}", saved.error().text);
  const std::string text = fmt::format(
      "{}: {}\n{}: its certificate\n\n{}\n"
      "Copy the folder to the node, where it is node.data-dir; keep its mode.\n",
      folder.key_path(), key.is_new ? "the secret key of the node" : "the key that was there",
      folder.certificate_path(), text_of(certificate));
  print_keygen(line, text,
               {{"key_file", folder.key_path()},
                {"certificate_file", folder.certificate_path()},
                {"new_key", key.is_new},
                {"certificate", json_of(certificate)}});
  return kExitDone;
}

Outcome<int> make_request(const CommandLine& line) {
  TRY(const NodeFolder folder, node_folder(line));
  TRY(const NodeKey key, key_of(folder));
  TRY(const std::string request, encode_request(folder.name, key.pair));
  TRY_DO(keep(folder, key));
  const std::string text = to_string(key.pair.public_key());
  if (line.has("json")) {
    fmt::print("{}\n", ordered{{"key_file", folder.key_path()},
                               {"name", folder.name},
                               {"public_key", text},
                               {"request", request}}
                           .dump());
    return kExitDone;
  }
  fmt::print("{}\n", request);
  fmt::print(stderr,
             "\nThe secret key stays here, in {}. Send the line above, which is no secret, to the\n"
             "person with the cluster key, who answers with a ticket:\n\n"
             "  starling invite --request LINE --join HOST:PORT\n\n"
             "Without a cluster key, this line belongs to the authorized keys of the others:\n\n"
             "  {} {}\n",
             folder.key_path(), printable(folder.name), text);
  return kExitDone;
}

Outcome<int> show_key(const CommandLine& line) {
  if (line.positional.size() < 2) return fail("show: expected a FILE, or - for standard input");
  const std::string& path = line.positional[1];
  TRY(const Secret text, read_as_secret(path, kArmorBytesLimit));
  const auto description = describe(text.text());
  if (!description) return fail("{}: {}", path, description.error().text);
  if (description->holds_secret && path != "-") {
    TRY_DO(check_private(path));
  }
  fmt::print("{}", line.has("json") ? description->json + "\n" : description->text);
  return kExitDone;
}

struct Action {
  std::string_view name;
  Outcome<int> (*run)(const CommandLine&);
  std::vector<std::string_view> options;
};

const Action* action_named(std::string_view name) {
  static const std::vector<Action> actions = {
      {"cluster", make_cluster_key, {"out", "json"}},
      {"node", make_node_key, {"name", "cluster-key", "days", "group", "out", "json"}},
      {"request", make_request, {"name", "out", "json"}},
      {"show", show_key, {"json"}}};
  const auto found = std::ranges::find(actions, name, &Action::name);
  return found == actions.end() ? nullptr : &*found;
}

Outcome<int> run_keygen(const CommandLine& line) {
  const std::string& name = line.positional[0];
  const Action* action = action_named(name);
  if (!action) return fail("\"{}\": expected cluster, node, request or show", printable(name));
  for (const auto& [option, values] : line.options)
    if (std::ranges::find(action->options, option) == action->options.end())
      return fail("--{}: keygen {} does not take it", option, name);
  if (line.positional.size() > 1 && name != "show")
    return fail("\"{}\": keygen {} takes options only", printable(line.positional[1]), name);
  return action->run(line);
}

constexpr auto kKeygenOptions = join(
    {{"name", "NAME", "node and request: the name of the node, as its node.name"},
     {"out", "PATH",
      "the file of the cluster key, by default ./cluster.key; the folder of a node, by default "
      "one of its name"}},
    kSigning, kPrintingJson);
constexpr std::string_view kKeygenArguments[] = {"cluster|node|request|show", "FILE"};

}  // namespace

constinit const ProgramCommand kKeygen = {
    .name = "keygen",
    .summary = "make the keys of a cluster and its nodes",
    .usage = R"(starling keygen cluster [--out FILE] [--json]
       starling keygen node --name NAME [--cluster-key FILE] [--days D] [--group G] [--out DIR]
       starling keygen request --name NAME [--out DIR] [--json]
       starling keygen show FILE [--json])",
    .description = R"(A cluster has one key, which a person keeps. With it that person signs a
certificate for each node: this name belongs to this key until that day. starling invite makes
tickets for machines of others.

`cluster` makes the secret key of a cluster. `node` makes the key of a node and its certificate, in
a folder that is the node's node.data-dir; run again, it renews the certificate of the key there.
`request` makes the key of this node and prints a line that asks for a ticket, so that the secret
key never leaves the machine. `show` says what a file holds: a key, a certificate, a ticket, a
request or a list of revocations. FILE may be -, standard input.

Secret keys are in files of mode 0600, never on the terminal. No file with a key is written over.)",
    .options = kKeygenOptions,
    .notes = R"(Example: a cluster and its first node

  starling keygen cluster
  starling keygen node --name node-1 --out /var/lib/starling)",
    .exits = "0 done, 1 a file cannot be written, 2 wrong usage, or a file that does not fit.",
    .arguments = kKeygenArguments,
    .arguments_least = 1,
    .run = run_keygen};

}  // namespace starling::daemon
