#include "sim/ledger.h"

#include <algorithm>
#include <cmath>

#include "optim/codec/codec.h"
#include "sim/simulation.h"

namespace starling::sim {
namespace {

constexpr std::size_t kNumbersLimit = 4096;  // of a model whose every mix is done again
constexpr std::uint64_t kUnderWay = 8;    // rounds within which a pair may be mixed at one end only
constexpr double kAgainLimit = 0.02;      // of the bytes of vectors, may be sent once more
constexpr double kTolerance = 1e-9;       // relative, of doubles
constexpr double kFloatTolerance = 1e-4;  // of floats on the wire

// Whether a frame did not arrive, or not once and in its turn, or a node is not what it was.
bool has_astray(const FaultCounts& counts) {
  return counts.lost + counts.duplicated + counts.reordered + counts.cut_one_way +
             counts.cut_both_ways + counts.corrupted + counts.forged + counts.vanished +
             counts.crashed + counts.left >
         0;
}

// Empty when it is no vector of that size.
std::vector<double> decode(const optim::Format& format, const Payload& payload,
                           std::size_t dimension) {
  std::vector<double> numbers;
  if (!fits(format, payload, dimension)) return numbers;
  numbers.resize(dimension);
  optim::decode(format, payload, std::span(numbers));
  return numbers;
}

}  // namespace

const std::byte* address_of(const Payload& payload) {
  return payload.empty() ? nullptr : payload.pieces().front().bytes.data();
}

Ledger::Book& Ledger::book_of(std::size_t node) {
  Book& book = books_[node];
  if (book.life != world_->machine(node).life) book = {.life = world_->machine(node).life};
  return book;
}

void Ledger::see(std::size_t node, const gossip::Send& send) {
  const auto* round = std::get_if<gossip::Round>(&send.message.body);
  if (!round) return;
  count_bytes(node, send);
  Book& book = book_of(node);
  const Payload& vector = send.message.payload;
  if (vector.empty()) return;
  const bool in_slices = book.in_slices.value_or(world_->options().base.schedule->is_in_slices);
  const Offer offer{node, book.life, round->round, in_slices && round->number % 2 == 0};
  const Offered* const known = find(vector);
  const bool goes_on = known && known->first.node == node && known->first.life == book.life;
  const Offer first = goes_on ? known->first : offer;
  if (goes_on && first <= offer && offer <= known->last) return;  // again, or to another neighbour
  if (round->round < book.offered_round)
    report_("rounds go forward", node,
            fmt::format("offers round {} after {}", round->round, book.offered_round));
  book.offered_round = round->round;
  offers_[address_of(vector)] = {vector.pieces().front().owner, first, offer};
}

const Ledger::Offered* Ledger::find(const Payload& vector) const {
  const auto found = offers_.find(address_of(vector));
  if (found == offers_.end()) return nullptr;
  const std::weak_ptr<const void>& known = found->second.owner;
  const std::shared_ptr<const void>& owner = vector.pieces().front().owner;
  const bool is_same = !known.owner_before(owner) && !owner.owner_before(known);
  return is_same ? &found->second : nullptr;
}

// While nothing goes astray, however late it comes, nothing is sent again.
void Ledger::count_bytes(std::size_t node, const gossip::Send& send) {
  const auto& round = std::get<gossip::Round>(send.message.body);
  if (round.number == 0 || send.message.payload.empty()) return;
  if (has_astray(world_->fault_counts())) return;
  const double bytes = static_cast<double>(send.message.payload.size() - send.from);
  std::uint64_t& highest = numbered_[{node, send.to, round.epoch, round.echo}];
  (round.number > highest ? first_bytes_ : again_bytes_) += bytes;
  highest = std::max(highest, round.number);
  if (again_bytes_ > kAgainLimit * first_bytes_)
    report_("vectors are sent once", node,
            fmt::format("{:.0f} bytes once more after {:.0f} bytes", again_bytes_, first_bytes_));
}

void Ledger::see(std::size_t node, const gossip::Train& train) {
  const optim::Job& job = train.job;
  Book& book = book_of(node);
  const gossip::Options& base = world_->options().base;
  if (job.options) book.in_slices = job.options->aggregation.slicing.is_on;
  if (job.options) book.is_of_start = form_of(*job.options) == base.training_form;
  if (job.anew) {
    const std::uint64_t abandoned = world_->status(node).abandoned_edges;
    if (std::exchange(book.abandoned, abandoned) < abandoned) book.abandoned_until = job.round;
  }
  book.expected.reset();
  if (!job.absorb) return;
  if (gossip::counts_pairs(base))
    for (const optim::MixTerm& term : job.mix) enter(node, term);
  // Others offer something else than their model, or mix with other weights.
  if (base.algorithm == "dpsgd" && !base.schedule->is_in_slices && book.is_of_start)
    book.expected = mixed(node, job);
}

void Ledger::enter(std::size_t node, const optim::MixTerm& term) {
  const Offered *const given = find(term.own), *const taken = find(term.theirs);
  if (!given || !taken) return;
  const Offer &own = given->first, &theirs = taken->first;
  if (world_->network().damage().has_forged(node, theirs.node))
    return;  // they need not know the same
  const auto [pair, is_new] = pairs_.try_emplace({std::minmax(own, theirs), term.number});
  Entry& entry = pair->second;
  bool& is_mixed = entry.is_mixed[own < theirs ? 0 : 1];
  if (is_mixed)
    report_("pairs are mixed once", node,
            fmt::format("round {} with node-{}'s round {} again", own.round, theirs.node,
                        theirs.round));
  is_mixed = true;
  if (is_new)
    entry.weight = term.weight;
  else if (std::abs(entry.weight - term.weight) > kTolerance)
    report_("weights are symmetric", node,
            fmt::format("gives {} to node-{} in round {} and gets {}", term.weight, theirs.node,
                        theirs.round, entry.weight));
}

void Ledger::expect_settled() {
  if (world_->fault_counts().forged > 0) return;  // one rumor makes a node forget an edge
  for (const auto& [pair, entry] : pairs_) {
    const auto& [lesser, greater] = pair.vectors;
    if (entry.is_mixed[0] && entry.is_mixed[1]) continue;
    const Offer& lacks = entry.is_mixed[0] ? greater : lesser;
    const Offer& has = entry.is_mixed[0] ? lesser : greater;
    const bool both_live = world_->runs(lacks.node) &&
                           world_->machine(lacks.node).life == lacks.life &&
                           world_->runs(has.node) && world_->machine(has.node).life == has.life;
    if (!both_live || lacks.round + kUnderWay >= books_[lacks.node].offered_round) continue;
    // A node that changes its algorithm waits three seconds for what the other end owes.
    const auto gave_up = [&](const Offer& offer) {
      return offer.round <= books_[offer.node].abandoned_until;
    };
    if (gave_up(lacks) || gave_up(has)) continue;
    report_(
        "pairs are mixed at both ends", lacks.node,
        fmt::format("not its round {} with node-{}'s round {}", lacks.round, has.node, has.round));
  }
}

// x + sum_j w_j (theirs_j - own_j)
std::optional<Ledger::Vector> Ledger::mixed(std::size_t node, const optim::Job& job) const {
  // Two bytes a number round by more than is tolerated here. The mean that they keep is
  // tests/sim/mean_test.cpp's to see.
  const optim::Format* format = world_->options().format;
  if (!format || format->width < sizeof(float)) return std::nullopt;
  const Vector own = world_->trainer(node).parameters();
  const optim::Aggregation& aggregation = world_->options().aggregation;
  if (own.empty() || own.size() > kNumbersLimit || aggregation.rule->is_trimmed)
    return std::nullopt;
  Vector x = own;
  for (const optim::MixTerm& term : job.mix) {
    const Vector theirs = decode(*format, term.theirs, own.size());
    if (theirs.empty()) continue;
    const Vector given = decode(*format, term.own, own.size());
    if (given.empty()) continue;
    const double reach = term.reach.value_or(0);
    const double weight =
        term.weight * (reach > 0 ? std::min(1.0, reach / distance(theirs, given)) : 1);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += weight * (theirs[k] - given[k]);
  }
  return x;
}

void Ledger::see(std::size_t node, const gossip::Progress&) {
  const std::optional<Vector> expected = std::exchange(book_of(node).expected, std::nullopt);
  if (!expected || world_->machine(node).learning_rate > 0) return;
  const Vector model = world_->trainer(node).parameters();
  if (expected->size() != model.size()) return;
  const double off = distance(*expected, model);
  if (off > kFloatTolerance * (1 + distance(*expected, Vector(model.size()))))
    report_("a mix is what its weights say", node, fmt::format("it is off by {:.3g}", off));
}

}  // namespace starling::sim
