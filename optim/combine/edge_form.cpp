#include "optim/combine/edge_form.h"

#include <cmath>
#include <utility>

#include "optim/codec/channel.h"
#include "optim/codec/codec.h"
#include "optim/combine/reach.h"
#include "optim/combine/slices.h"
#include "optim/combine/trimmer.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// Ends a round of the reach. Adds a rejection for each pair that was refused (factor 0).
MixResult end_round(Reach& reach, std::span<const MixTerm> terms, MixResult result) {
  for (std::size_t k = 0; k < result.mixed.size(); ++k)
    if (result.factors[k] == 0)
      result.rejections.push_back({terms[result.mixed[k]].peer, "far", true});
  reach.end_round();
  return result;
}

template <class S>
class Plain final : public EdgeForm<S> {
 public:
  Plain(const Format& format, std::size_t size, const Aggregation& aggregation)
      : format_(&format), size_(size), reach_(aggregation) {}

  std::vector<std::uint64_t> keep(const EdgeIds& ids) override {
    reach_.keep(ids.open);
    return {ids.open.begin(), ids.open.end()};
  }

  Offer offer(std::span<const EdgePlace>, SharedVector<S>& s) override {
    return {.vector = sent_ = encode(*format_, s, wire_), .reach = reach_.told()};
  }

  MixResult absorb(std::span<const MixTerm> terms, const FlowCounts<S>& counts,
                   SharedVector<S>& s) override {
    return end_round(reach_, terms, terms.empty() ? MixResult() : average(terms, counts, s));
  }

  std::size_t vector_bytes() const override { return optim::bytes_limit(*format_, size_); }
  std::size_t bytes_limit() const override { return vector_bytes(); }

 private:
  MixResult average(std::span<const MixTerm> terms, const FlowCounts<S>& counts,
                    SharedVector<S>& s) {
    // Releases the sent vector; the streams hold it for as long as they may retransmit it.
    const Payload sent = sent_.empty() ? terms.front().own : std::exchange(sent_, {});
    const Aggregation& aggregation = reach_.aggregation();
    if (aggregation.rule->is_trimmed) return trim(s.edit(), terms, *format_, aggregation.liars);
    const auto shorten = [&](std::span<const Apart> pairs) {
      return reach_.factors(pairs, [&] { return std::sqrt(squared_norm(s.values())); });
    };
    MixResult result = mix(s, sent, terms, *format_, shorten, counts ? nullptr : room_of(terms));
    for (std::size_t k = 0; k < result.mixed.size(); ++k) {
      const MixTerm& term = terms[result.mixed[k]];
      const auto count = counts ? counts(term) : std::nullopt;
      if (!count) continue;
      MixTerm counted = term;
      counted.weight = count->factor * result.factors[k];
      accumulate(count->flow, size_ - count->flow.size(), counted, *format_);
    }
    return result;
  }

  // The buffer of the only neighbour's vector, to be overwritten; null: something else holds it.
  std::shared_ptr<std::byte> room_of(std::span<const MixTerm> terms) const {
    const bool is_alone = terms.size() == 1 && terms.front().theirs.size() == size_ * sizeof(S) &&
                          kernels<S>(*format_).is_native();
    return is_alone ? BufferPool::reopen(terms.front().theirs) : nullptr;
  }

  const Format* format_;
  std::size_t size_;
  Reach reach_;
  BufferPool wire_;  // buffers of encoded vectors, whose size differs from that of s
  Payload sent_;     // the vector of the last offer, until absorb()
};

template <class S>
class Encoded final : public EdgeForm<S> {
 public:
  Encoded(const WireForm& form, std::size_t halves, const Aggregation& aggregation)
      : channel_(form, halves), reach_(aggregation), compares_(form.coding.parts == 1) {}

  std::vector<std::uint64_t> keep(const EdgeIds& ids) override {
    reach_.keep(ids.open);
    channel_.keep(ids.all());
    return {ids.open.begin(), ids.open.end()};
  }

  Offer offer(std::span<const EdgePlace> to, SharedVector<S>& s) override {
    Offer offer{.reach = reach_.told()};
    for (const EdgePlace& place : to)
      offer.of_edge.push_back(channel_.offer(place, s.values(), wire_));
    offer.codec = channel_.report();
    return offer;
  }

  MixResult absorb(std::span<const MixTerm> terms, const FlowCounts<S>& counts,
                   SharedVector<S>& shared) override {
    MixResult result;
    const std::span<S> s = shared.edit();
    const auto length = [&] { return std::sqrt(squared_norm(shared.values())); };
    for (std::size_t place = 0; place < terms.size(); ++place) {
      const MixTerm& term = terms[place];
      const auto pieces = channel_.take(term.edge, term.number, &term.own, term.theirs);
      if (pieces.empty()) {
        result.rejections.push_back({term.peer, "encoding"});
        continue;
      }
      const auto count = counts ? counts(of_part(term)) : std::nullopt;
      double squared = 0;
      for (const auto& [first, difference] : pieces) squared += squared_norm(difference);
      const Apart pair{&term, std::sqrt(squared)};
      const double shortened =
          term.weight > 0 && compares_ ? reach_.factors(std::span(&pair, 1), length).front() : 1;
      for (const auto& [first, difference] : pieces) {
        if (!(term.weight > 0)) continue;
        axpy(static_cast<S>(term.weight * shortened), difference,
             s.subspan(first, difference.size()));
        if (!count || first < s.size() - count->flow.size()) continue;
        const std::size_t at = first - (s.size() - count->flow.size());
        axpy(static_cast<S>(count->factor * shortened), difference,
             count->flow.subspan(at, difference.size()));
      }
      result.distances.push_back({term.peer, pair.distance});
      result.mixed.push_back(place);
      result.factors.push_back(shortened);
    }
    return end_round(reach_, terms, std::move(result));
  }

  std::size_t vector_bytes() const override { return channel_.bytes(2); }
  std::size_t bytes_limit() const override { return channel_.bytes_limit(); }

 private:
  // The term, with the sum of its spans since the last averaged pair of the same part.
  MixTerm of_part(const MixTerm& term) {
    MixTerm part = {.peer = term.peer, .weight = term.weight, .theirs = {}, .edge = term.edge};
    const double span = term.span * term.theta;
    const double sum = channel_.span_of_part(term.edge, term.number, span, term.weight > 0);
    part.span = term.theta > 0 ? sum / term.theta : 0;
    return part;
  }

  Channel<S> channel_;
  Reach reach_;
  bool compares_;  // the reach applies; false with parts, whose distances are not comparable
  BufferPool wire_;
};

}  // namespace

template <class S>
std::unique_ptr<EdgeForm<S>> make_edge_form(const WireForm& form, std::size_t size,
                                            const Aggregation& aggregation) {
  if (aggregation.slicing.is_on)
    return std::make_unique<Slices<S>>(*form.format, aggregation.slicing, size);
  if (!form.remembers()) return std::make_unique<Plain<S>>(*form.format, size, aggregation);
  const std::size_t model = count_of(form.segments);
  return std::make_unique<Encoded<S>>(form, model > 0 ? size / model : 1, aggregation);
}

template std::unique_ptr<EdgeForm<float>> make_edge_form(const WireForm&, std::size_t,
                                                         const Aggregation&);
template std::unique_ptr<EdgeForm<double>> make_edge_form(const WireForm&, std::size_t,
                                                          const Aggregation&);

}  // namespace starling::optim
