#include "daemon/setup/given_ticket.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/seed_name.h"
#include "daemon/process/private_file.h"
#include "daemon/setup/armor.h"

namespace starling::daemon {
namespace {

// The one that the arguments of this process had.
Secret& hidden_ticket() {
  static Secret ticket;
  return ticket;
}

// "starling1:…", or an argument that ends in that, such as --join=starling1:….
std::size_t ticket_in(std::string_view text) {
  const std::size_t value = text.starts_with("--") ? text.find('=') + 1 : 0;
  return label_of(text.substr(value)) == kTicketLabel ? value : std::string_view::npos;
}

void hide_ticket(char* argument) {
  const std::size_t begin = ticket_in(argument);
  if (begin == std::string_view::npos) return;
  const std::span<char> line(argument + begin, std::strlen(argument) - begin);
  if (hidden_ticket().size() == 0) hidden_ticket() = copy_secret(std::as_bytes(line));
  std::ranges::fill(line, '\0');
  std::ranges::copy(kTicketMark, line.begin());
}

// The values of --join that are tickets are taken out of it.
std::vector<std::string> take_tickets(CommandLine& line) {
  std::vector<std::string> tickets;
  const auto joins = line.options.find("join");
  if (joins == line.options.end()) return tickets;
  std::erase_if(joins->second, [&](const std::string& value) {
    const bool is_ticket = value == kTicketMark || label_of(value) == kTicketLabel;
    if (is_ticket) tickets.push_back(value);
    return is_ticket;
  });
  if (joins->second.empty()) line.options.erase(joins);
  return tickets;
}

Result<void> settle(Settings& settings, std::string_view key, const std::string& value) {
  if (!settings.is_default(key) && settings.text(key) != value)
    return fail("{} = \"{}\": the ticket says \"{}\"; expected that, or nothing", key,
                settings.text(key), value);
  settings.set(key, value, "ticket");
  return {};
}

bool is_elsewhere(const std::string& text) {
  const auto seed = parse_seed_name(text);
  return seed && !is_loopback(seed->at);
}

}  // namespace

void hide_tickets(std::span<char* const> arguments) {
  for (char* argument : arguments) hide_ticket(argument);
}

Result<std::optional<Ticket>> given_ticket(CommandLine& line) {
  const std::vector<std::string> tickets = take_tickets(line);
  const auto path = line.value("ticket-file");
  if (tickets.size() + (path ? 1 : 0) > 1)
    return fail(
        "more than one ticket: a node has one name; expected one --join TICKET, or one "
        "--ticket-file");
  if (path) {
    TRY(const Secret text, read_private_file(*path, kTicketBytesLimit));
    auto ticket = decode_ticket(text.text());
    if (!ticket) return fail("--ticket-file {}: {}", *path, ticket.error().text);
    return ticket;
  }
  if (tickets.empty()) return std::nullopt;
  auto ticket = decode_ticket(tickets[0] == kTicketMark ? hidden_ticket().text() : tickets[0]);
  if (!ticket) return fail("--join: {}", ticket.error().text);
  return ticket;
}

Result<void> apply(const Ticket& ticket, Settings& settings) {
  TRY_DO(settle(settings, "cluster.id", ticket.cluster_id));
  TRY_DO(settle(settings, "node.name", ticket.certificate.name));
  std::vector<std::string> seeds = Reader(settings).list("cluster.join");
  for (const std::string& seed : ticket.seeds)
    if (std::ranges::find(seeds, seed) == seeds.end()) seeds.push_back(seed);
  settings.set("cluster.join", fmt::format("{}", fmt::join(seeds, ",")), "ticket");
  if (settings.is_default("listen.control") && std::ranges::any_of(ticket.seeds, is_elsewhere))
    settings.set("listen.control", "0.0.0.0:7600", "ticket");
  return {};
}

void hide_tickets(Settings& settings, std::vector<std::string>& mistakes) {
  for (const Key& key : settings.schema().keys()) {
    const Setting setting = settings.at(key.name);
    if (setting.value.find(fmt::format("{}:", kTicketLabel)) == std::string::npos) continue;
    mistakes.push_back(
        fmt::format("{}: {}: holds a ticket, which is secret; expected it in "
                    "--ticket-file FILE or --join TICKET of starling run",
                    setting.origin, key.name));
    settings.set(key.name, std::string(kTicketMark), setting.origin);
  }
}

}  // namespace starling::daemon
