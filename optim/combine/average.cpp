#include "optim/combine/average.h"

#include <cmath>
#include <utility>

#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

template <class S>
std::optional<Channel<S>> channel_of(const WireForm& form, std::size_t size) {
  if (!form.coding.is_of_differences()) return std::nullopt;
  const std::size_t model = count_of(form.segments);
  return Channel<S>(form, model > 0 ? size / model : 1);
}

}  // namespace

template <class S>
Average<S>::Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const WireForm& form)
    : s_(s, std::move(pool)), format_(form.format), channel_(channel_of<S>(form, s.size())) {
  if (form.coding.in_slices) slices_.emplace(*form.format, s.size());
}

template <class S>
void Average<S>::keep(const EdgeLives& lives) {
  if (!channel_ && !slices_) return;
  std::vector<std::uint64_t> edges(lives.open.begin(), lives.open.end());
  edges.insert(edges.end(), lives.ending.begin(), lives.ending.end());
  if (channel_) channel_->keep(edges);
  if (slices_) slices_->keep(edges);
}

template <class S>
Offer Average<S>::offer(std::span<const EdgePlace> to) {
  if (slices_) return {.of_edge = slices_->offer(to, s_, wire_)};
  if (!channel_) return {.vector = sent_ = encode(*format_, s_, wire_)};
  Offer offer;
  for (const EdgePlace& place : to)
    offer.of_edge.push_back(offer_over(*channel_, place, s_.values(), wire_));
  offer.codec = report_of(*channel_);
  return offer;
}

template <class S>
MixResult Average<S>::absorb(std::span<const MixTerm> terms, const Counts& counts) {
  if (slices_) return absorb_slices(terms, counts);
  if (channel_) return absorb_encoded(terms, counts);
  if (terms.empty()) return {};
  // No neighbour needs what was sent from here on: the sessions keep what they may send again.
  const Payload sent = sent_.empty() ? terms.front().own : std::exchange(sent_, {});
  MixResult result = mix(s_, sent, terms, *format_, counts ? nullptr : room_of(terms));
  for (const std::size_t place : result.mixed) {
    const auto count = counts ? counts(terms[place]) : std::nullopt;
    if (!count) continue;
    MixTerm counted = terms[place];
    counted.weight = count->factor;
    accumulate(count->flow, s_.size() - count->flow.size(), counted, *format_);
  }
  return result;
}

// The only neighbour's vector, if nothing but the term holds it: the result may overwrite it.
template <class S>
std::shared_ptr<std::byte> Average<S>::room_of(std::span<const MixTerm> terms) const {
  const bool is_alone = terms.size() == 1 && terms.front().theirs.size() == s_.size() * sizeof(S) &&
                        kernels<S>(*format_).is_native();
  return is_alone ? BufferPool::reopen(terms.front().theirs) : nullptr;
}

// The term with the span since the last pair of the same part.
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
    for (const auto& [first, difference] : pieces) {
      squared += squared_norm(difference);
      if (!(term.weight > 0)) continue;
      axpy(static_cast<S>(term.weight), difference, s.subspan(first, difference.size()));
      if (!count || first < s.size() - count->flow.size()) continue;
      const std::size_t at = first - (s.size() - count->flow.size());
      axpy(static_cast<S>(count->factor), difference, count->flow.subspan(at, difference.size()));
    }
    result.distances.push_back({term.peer, std::sqrt(squared)});
    result.mixed.push_back(place);
  }
  return result;
}

template <class S>
MixResult Average<S>::absorb_slices(std::span<const MixTerm> terms, const Counts& counts) {
  MixResult result;
  for (std::size_t place = 0; place < terms.size(); ++place) {
    const MixTerm& term = terms[place];
    std::optional<Count> count;
    if (term.pair % 2 == 0 && counts) {
      MixTerm spanned = {.peer = term.peer, .weight = term.weight, .theirs = {}, .edge = term.edge};
      spanned.span = slices_->span_of(term);
      count = counts(spanned);
    }
    const auto taken = slices_->take(term, s_.edit(), count ? &*count : nullptr);
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
