// Congestion: the congestion control of a TCP connection.
//
// BBR (Cardwell, Cheng, Gunn, Yeganeh, Jacobson 2016), the default of some hosts, sends at the
// bandwidth that it saw in the last round trips. A node sends vectors to several neighbours at once
// and then computes, so that those estimates lag: at 100 Mbit/s a round of four nodes on a ring
// takes 1.4 times payload / bandwidth, and 1.2 times with Reno (bench/links.py --congestion).
// After a loss Reno needs many round trips to send as fast again, so only short ones use it.
#pragma once

#include <chrono>

namespace starling::daemon {

// Longer: links of more than one site take Reno, which a loss of 1 % holds at 70 Mbit/s for each
// connection at this round trip, and at less the longer it is. Shorter: busy local networks keep
// BBR.
inline constexpr std::chrono::microseconds kShortRoundTrip{2000};

// Replaces BBR by Reno if the connection's shortest round trip so far is short. Leaves other
// algorithms, and descriptors that are no connected TCP socket, unchanged.
void choose_congestion_control(int descriptor);

}  // namespace starling::daemon
