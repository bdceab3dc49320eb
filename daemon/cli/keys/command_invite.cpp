#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/settings.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/keys/commands.h"
#include "daemon/cli/keys/describe.h"
#include "daemon/cli/keys/issue.h"
#include "daemon/process/private_file.h"
#include "daemon/process/whole_file.h"
#include "daemon/setup/config.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/setting_sources.h"

namespace starling::daemon {
namespace {

// Of the new node: its name, its public key, and its secret key if it is made here.
struct Invited {
  std::string name;
  PublicKey key;
  Secret seed = {};
};

Result<Invited> invited(const CommandLine& line) {
  const auto request = line.value("request");
  if (!request) {
    if (line.positional.empty())
      return fail("expected the NAME of the new node, or --request LINE");
    const KeyPair pair = new_key();
    return Invited{line.positional[0], pair.public_key(), pair.seed()};
  }
  const auto asked = decode_request(*request);
  if (!asked) return fail("--request: {}", asked.error().text);
  if (!line.positional.empty() && line.positional[0] != asked->name)
    return fail("the request is of {}, not of {}; invite it under the name that it asks for",
                asked->name, line.positional[0]);
  return Invited{asked->name, asked->key};
}

Result<Ticket> make_ticket(const CommandLine& line) {
  TRY(Invited node, invited(line));
  CommandLine given = line;
  if (line.has("join"))
    for (const std::string& seed : given.options["join"])
      given.keys.emplace_back("cluster.join", seed);
  TRY(const Settings settings, load_settings(schema(), line.value("config"), given.keys));
  Reader reader(settings);
  Ticket ticket{.cluster_id = reader.text("cluster.id"), .seeds = reader.list("cluster.join")};
  TRY_DO(reader.verdict());
  if (ticket.seeds.empty())
    return fail("--join HOST:PORT is missing: where the new node reaches a member");
  TRY(ticket.certificate, issue(line, node.name, node.key));
  ticket.seed = std::move(node.seed);
  return ticket;
}

// Past the buffer of standard output, which nobody overwrites.
Outcome<void> print_secret_line(const Secret& text) {
  std::fflush(stdout);
  Secret line(text.size() + 1);
  std::ranges::copy(text.bytes(), line.bytes().begin());
  line.bytes().back() = std::byte{'\n'};
  if (!write_all(STDOUT_FILENO, Payload(nullptr, std::as_const(line).bytes())))
    return complaint(kExitFailed, "standard output is closed");
  return {};
}

Outcome<void> give_ticket(const CommandLine& line, const Secret& text) {
  const auto path = line.value("ticket-file");
  if (!path) return print_secret_line(text);
  if (const auto written = write_private_file(*path, text.bytes()); !written)
    return complaint(kExitFailed, "--ticket-file: {}", written.error().text);
  return {};
}

Outcome<void> give_document(const CommandLine& line, const Ticket& ticket, const Secret& text) {
  nlohmann::ordered_json document = json_of(ticket);
  if (const auto path = line.value("ticket-file")) {
    TRY_DO(give_ticket(line, text));
    document["ticket_file"] = *path;
  } else {
    document["ticket"] = text.text();
  }
  fmt::print("{}\n", document.dump());
  return {};
}

Outcome<int> run_invite(const CommandLine& line) {
  TRY(const Ticket ticket, make_ticket(line));
  TRY(const Secret text, encode(ticket));
  if (line.has("json")) {
    TRY_DO(give_document(line, ticket, text));
    return kExitDone;
  }
  TRY_DO(give_ticket(line, text));
  fmt::print(stderr, "\n{}{}", text_of(ticket),
             ticket.seed.size() > 0
                 ? "\nThe ticket is secret: any machine that has it is this node. Give it to one "
                   "machine,\n"
                   "by a way that you trust, and keep no copy.\n"
                 : "\nThe ticket is of use only to the node that asked for it.\n");
  return kExitDone;
}

constexpr auto kInviteOptions =
    join({{"join", "HOST:PORT",
           "the control address of a member, as in cluster.join; may be given several times"},
          {"ticket-file", "FILE", "write the ticket there, for you alone, and not to the terminal"},
          {"request", "LINE",
           "what starling keygen request printed on the new node; its ticket holds no secret"}},
         kSigning,
         {{"config,c", "FILE", "configuration, INI, for cluster.id and cluster.join"},
          {"cluster.id", "ID", "the id of the cluster; default: that of the configuration"}},
         kPrintingJson);
constexpr std::string_view kInviteArguments[] = {"NAME"};

}  // namespace

constinit const ProgramCommand kInvite = {
    .name = "invite",
    .summary = "make a ticket for a new node",
    .usage = R"(starling invite NAME --join HOST:PORT ... [--cluster-key FILE] [--days D]
         [--group G] [--ticket-file FILE] [-c FILE] [--json]
       starling invite --request LINE --join HOST:PORT ... [--cluster-key FILE])",
    .description =
        R"(Makes a key and a certificate for a node and prints a ticket: one line with all
that the node needs to join. The ticket holds the secret key of the node: any machine that has it is
that node. It is the one secret that a command prints; --ticket-file writes it to a file of mode
0600 instead.

With --request the secret key stays on the new node: starling keygen request prints a line there,
and the ticket that answers it holds no secret.

To renew a certificate, answer the request of the node again, or make a new ticket: of two
certificates for a name the later one counts.)",
    .options = kInviteOptions,
    .notes = R"(Examples: a ticket in a file, and an answer to a request

  starling invite node-3 --join 10.0.0.1:7600 --ticket-file node-3.ticket
  starling invite --request starling-request1:... --join 10.0.0.1:7600)",
    .exits = "0 done, 1 the ticket cannot be written, 2 wrong usage, or a file that does not fit.",
    .settings = "cluster",
    .arguments = kInviteArguments,
    .run = run_invite};

}  // namespace starling::daemon
