// EdgeLedger: which vectors the two ends of an edge average with each other, so that the mean of
// the network stays under loss, repetition and reordering. Each end numbers the vectors it offers
// on the edge 1, 2, ...; the k-th vectors of both ends form pair k, and each end mixes every pair
// exactly once, early or late, s being the vectors and h the shares of pair k:
//   x_i += w (s_j - s_i) ,   x_j += w (s_i - s_j) ,   w = min(h_i, h_j) .
// What i gains is what j loses. A vector is kept until the peer has acknowledged it and the pair is
// mixed. When an edge closes, each end sends the number of its last vector; the pairs that both
// ends have offered are still mixed, and then the ledger is settled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gossip/edges/receive_window.h"
#include "gossip/edges/send_window.h"

namespace starling::gossip {

class EdgeLedger {
 public:
  struct Order {
    bool is_kept = false;       // no pair is mixed before those with lower numbers
    std::uint64_t a_round = 1;  // vectors of each end in a round
  };
  EdgeLedger() = default;
  explicit EdgeLedger(Order order) : order_(order) {}

  // Incomplete pairs that this end may have when it offers one more vector. Larger: rounds go on
  // longer without a slow or lossy edge, with older vectors and more memory.
  static constexpr std::size_t kLateLimit = 1;

  struct Pair {
    std::uint64_t number = 0;
    EdgeVector own, theirs;

    double weight() const;
    double span() const;
    // The smaller theta of the two ends; see Round::damping.
    double theta() const;
    // The smaller reach that an end sent; 0: neither sent one. See Round::reach.
    double reach() const;
  };

  // The vectors that this end has sent, and those received from the peer.
  const SendWindow& sent() const { return sent_; }
  SendWindow& sent() { return sent_; }
  const ReceiveWindow& received() const { return received_; }

  // ---- this end's vectors
  // Whether this end may offer one more vector: not if the edge is closed or too many pairs are
  // incomplete. With two vectors a round, the second is taken if the first was.
  bool takes_part() const;
  // The lowest round that the peer's half of the next pair can have; 0: the peer has offered it. An
  // offer of this end in an earlier round would pair different rounds from then on. Example: the
  // peer's newest vector is number 4, of round 10; after this end's number 6 it is 13.
  std::uint64_t round_of_next() const;
  // With two vectors a round, a part and a mean: whether this end's next vector is a mean.
  bool owes_mean() const { return order_.a_round == 2 && sent_.last() % 2 == 1; }
  // The round of the peer's part whose mean is missing after this end sent its own mean; 0: none.
  std::uint64_t round_of_mean() const;
  // Returns the vector's number. REQUIRES !is_closed().
  std::uint64_t offer(EdgeVector own);
  // As SendWindow::acknowledge(). Forgets the acknowledged vectors that are mixed.
  bool acknowledge(std::uint64_t up_to, std::uint64_t beyond);

  // ---- the peer's vectors
  // Returns false if the vector is known already, makes no pair, or has a number that no honest
  // peer uses.
  bool receive(std::uint64_t number, EdgeVector theirs);
  // The peer has offered all vectors up to `number`.
  void announced(std::uint64_t number) { received_.announced(number); }
  // Whether a vector that the peer has offered is missing; its round may be later than this end's.
  // On a closed edge only vectors that make a pair count.
  bool lacks() const;

  // ---- pairs
  // Returns the complete pairs that were not taken yet, in order, and counts them as mixed.
  std::vector<Pair> take();
  bool has_pairs() const;
  // Whether this end's half of a pair waits for the peer's half.
  bool is_waiting() const;
  // Whether the peer's half of a pair waits for this end's half, which this end may offer.
  bool is_asked() const {
    return takes_part() && !theirs_.empty() && theirs_.rbegin()->first > sent_.last();
  }
  // Whether a pair before that of the last offer is not mixed here or not acknowledged.
  bool is_late() const;

  // ---- the end of the edge
  // This end offers no more vectors.
  void close();
  // The peer offers no vector after `last`. Closes this end too.
  void closed_at(std::uint64_t last);
  bool is_closed() const { return closed_; }
  // Whether this end still needs an acknowledgement, a vector or the last number from the peer.
  bool is_open_question() const;
  // Whether the edge is closed at both ends, every pair that both offered is mixed here, and the
  // peer has acknowledged this end's half of it.
  bool is_settled() const { return closed_ && their_last_ && sent_.kept().empty(); }

 private:
  std::size_t waiting() const;
  void forget_done();
  bool is_whole(std::uint64_t number) const;

  Order order_;
  std::uint64_t mixed_ = 0;  // the highest number of a mixed pair
  SendWindow sent_;
  ReceiveWindow received_;
  std::map<std::uint64_t, EdgeVector> theirs_;  // the peer's vectors until they are mixed
  std::uint64_t newest_round_ = 0;              // of the received vector with the highest number
  bool closed_ = false;
  std::optional<std::uint64_t> their_last_;
};

}  // namespace starling::gossip
