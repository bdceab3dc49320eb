#include "optim/combine/average.h"

#include <cmath>
#include <utility>

#include "optim/combine/trimmer.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

template <class S>
std::optional<Channel<S>> channel_of(const WireForm& form, std::size_t size) {
  if (!form.coding.is_of_differences()) return std::nullopt;
  const std::size_t model = count_of(form.segments);
  return Channel<S>(form, model > 0 ? size / model : 1);
}

// Adds a rejection for each pair that was refused (factor 0).
void name_refused(std::span<const MixTerm> terms, MixResult& result) {
  for (std::size_t k = 0; k < result.mixed.size(); ++k)
    if (result.factors[k] == 0)
      result.rejections.push_back({terms[result.mixed[k]].peer, "far", true});
}

}  // namespace

template <class S>
Average<S>::Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const WireForm& form,
                    const Aggregation& aggregation)
    : s_(s, std::move(pool)),
      format_(form.format),
      reach_(aggregation),
      compares_(form.coding.parts == 1),
      channel_(channel_of<S>(form, s.size())) {
  if (form.coding.in_slices) slices_.emplace(form, s.size());
}

template <class S>
std::vector<std::uint64_t> Average<S>::keep(const EdgeLives& lives) {
  reach_.keep(lives.open);
  const std::vector<std::uint64_t> open(lives.open.begin(), lives.open.end());
  if (!channel_ && !slices_) return open;
  std::vector<std::uint64_t> edges = open;
  edges.insert(edges.end(), lives.ending.begin(), lives.ending.end());
  if (channel_) channel_->keep(edges);
  if (!slices_) return open;
  slices_->keep(edges, lives.mask_group);
  return slices_->counted(open);
}

template <class S>
Offer Average<S>::offer(std::span<const EdgePlace> to) {
  if (slices_) {
    Offer offer{.of_edge = slices_->offer(to, s_, wire_)};
    offer.problem = slices_->problem();
    return offer;
  }
  if (!channel_) return {.vector = sent_ = encode(*format_, s_, wire_), .reach = reach_.told()};
  Offer offer{.reach = reach_.told()};
  for (const EdgePlace& place : to)
    offer.of_edge.push_back(offer_over(*channel_, place, s_.values(), wire_));
  offer.codec = report_of(*channel_);
  return offer;
}

template <class S>
MixResult Average<S>::absorb(std::span<const MixTerm> terms, const Counts& counts) {
  if (slices_) return absorb_slices(terms, counts);
  MixResult result = channel_ ? absorb_encoded(terms, counts) : absorb_whole(terms, counts);
  name_refused(terms, result);
  reach_.end_round();
  return result;
}

template <class S>
MixResult Average<S>::absorb_whole(std::span<const MixTerm> terms, const Counts& counts) {
  if (terms.empty()) return {};
  // Releases the sent vector; the streams hold it for as long as they may retransmit it.
  const Payload sent = sent_.empty() ? terms.front().own : std::exchange(sent_, {});
  const Aggregation& aggregation = reach_.aggregation();
  if (aggregation.rule->is_trimmed) return trim(s_.edit(), terms, *format_, aggregation.liars);
  const auto shorten = [this](std::span<const Apart> pairs) { return factors(pairs); };
  MixResult result = mix(s_, sent, terms, *format_, shorten, counts ? nullptr : room_of(terms));
  for (std::size_t k = 0; k < result.mixed.size(); ++k) {
    const MixTerm& term = terms[result.mixed[k]];
    const auto count = counts ? counts(term) : std::nullopt;
    if (!count) continue;
    MixTerm counted = term;
    counted.weight = count->factor * result.factors[k];
    accumulate(count->flow, s_.size() - count->flow.size(), counted, *format_);
  }
  return result;
}

template <class S>
std::vector<double> Average<S>::factors(std::span<const Apart> pairs) {
  return reach_.factors(pairs, [this] { return std::sqrt(squared_norm(s_.values())); });
}

// The buffer of the only neighbour's vector, to be overwritten; null: something else holds it too.
template <class S>
std::shared_ptr<std::byte> Average<S>::room_of(std::span<const MixTerm> terms) const {
  const bool is_alone = terms.size() == 1 && terms.front().theirs.size() == s_.size() * sizeof(S) &&
                        kernels<S>(*format_).is_native();
  return is_alone ? BufferPool::reopen(terms.front().theirs) : nullptr;
}

// The term, with the sum of its spans since the last averaged pair of the same part.
template <class S>
MixTerm Average<S>::of_part(const MixTerm& term) {
  MixTerm part = {.peer = term.peer, .weight = term.weight, .theirs = {}, .edge = term.edge};
  const double span = term.span * term.theta;
  const double sum = channel_->span_of_part(term.edge, term.pair, span, term.weight > 0);
  part.span = term.theta > 0 ? sum / term.theta : 0;
  return part;
}

template <class S>
MixResult Average<S>::absorb_encoded(std::span<const MixTerm> terms, const Counts& counts) {
  MixResult result;
  const std::span<S> s = s_.edit();
  for (std::size_t place = 0; place < terms.size(); ++place) {
    const MixTerm& term = terms[place];
    const auto pieces = channel_->take(term.edge, term.pair, &term.own, term.theirs);
    if (pieces.empty()) {
      result.rejections.push_back({term.peer, "encoding"});
      continue;
    }
    const auto count = counts ? counts(of_part(term)) : std::nullopt;
    double squared = 0;
    for (const auto& [first, difference] : pieces) squared += squared_norm(difference);
    const double distance = std::sqrt(squared);
    const Apart pair{&term, distance};
    const double shortened =
        term.weight > 0 && compares_ ? factors(std::span(&pair, 1)).front() : 1;
    for (const auto& [first, difference] : pieces) {
      if (!(term.weight > 0)) continue;
      axpy(static_cast<S>(term.weight * shortened), difference,
           s.subspan(first, difference.size()));
      if (!count || first < s.size() - count->flow.size()) continue;
      const std::size_t at = first - (s.size() - count->flow.size());
      axpy(static_cast<S>(count->factor * shortened), difference,
           count->flow.subspan(at, difference.size()));
    }
    result.distances.push_back({term.peer, distance});
    result.mixed.push_back(place);
    result.factors.push_back(shortened);
  }
  return result;
}

template <class S>
MixResult Average<S>::absorb_slices(std::span<const MixTerm> terms, const Counts& counts) {
  MixResult result;
  for (std::size_t place = 0; place < terms.size(); ++place) {
    const MixTerm& term = terms[place];
    const auto [life, weight, own_span, their_span] = slices_->spans(term);
    const auto count_of = [&](double span) -> std::optional<Count> {
      if (!counts || life == 0) return std::nullopt;
      MixTerm spanned = {.peer = term.peer, .weight = weight, .theirs = {}, .edge = life};
      spanned.span = span;
      return counts(spanned);
    };
    const auto own = count_of(own_span), theirs = count_of(their_span);
    const auto taken = slices_->take(
        term, s_.edit(), {.own = own ? &*own : nullptr, .theirs = theirs ? &*theirs : nullptr});
    if (!taken.is_sound) result.rejections.push_back({term.peer, "encoding"});
    if (!taken.distance) continue;
    result.distances.push_back({term.peer, *taken.distance});
    result.mixed.push_back(place);
  }
  return result;
}

template class Average<float>;
template class Average<double>;

}  // namespace starling::optim
