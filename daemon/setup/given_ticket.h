// GivenTicket: the ticket that `starling run` is given, as an argument or in a file. It is a
// secret: an argument is overwritten where the system shows it, and no message quotes it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/command_line.h"
#include "base/result.h"
#include "base/settings.h"
#include "daemon/setup/ticket.h"

namespace starling::daemon {

// What stands in the place of a ticket wherever one was found.
inline constexpr std::string_view kTicketMark = "(ticket)";

// Takes the tickets out of the arguments of this process, before they are copied; the first is kept
// for given_ticket(). Once, at the start of the program.
void hide_tickets(std::span<char* const> arguments);

// That of --join TICKET or --ticket-file FILE; nothing if neither is there. A file that others can
// read is refused. `line` loses the mark.
Result<std::optional<Ticket>> given_ticket(CommandLine& line);

// cluster.id and node.name as the ticket says, its seeds beside those of the user, and, where a
// seed is on another machine and the user says nothing else, a listen.control that others reach.
// The error: the user set another id or name.
Result<void> apply(const Ticket& ticket, Settings& settings);

// A value that is a ticket is a mistake, and the mark takes its place.
void hide_tickets(Settings& settings, std::vector<std::string>& mistakes);

}  // namespace starling::daemon
