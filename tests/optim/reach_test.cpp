#include "optim/combine/reach.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optim/combine/average.h"
#include "optim/combine/trimmer.h"

using namespace starling;
using namespace starling::optim;

namespace {

const Aggregation kClip{.rule = mix_rule_named("clip"), .liars = 1};

// Of pairs that lie so far apart, over the edges 1, 2, ...
std::vector<double> factors_of(Reach& reach, const std::vector<double>& distances,
                               const std::vector<double>& told, double own_length = 1) {
  std::vector<MixTerm> terms(distances.size());
  std::vector<Apart> pairs;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    terms[k].edge = k + 1;
    terms[k].reach = told[k];
    pairs.push_back({&terms[k], distances[k]});
  }
  const std::vector<double> factors = reach.factors(pairs, [own_length] { return own_length; });
  reach.end_round();
  return factors;
}

Reach after(const Aggregation& aggregation, const std::vector<double>& distances) {
  Reach reach(aggregation);
  factors_of(reach, distances, std::vector<double>(distances.size()));
  return reach;
}

Payload sent(const std::vector<double>& values, BufferPool& pool) {
  return encode(*format_named("f64"), std::span<const double>(values), pool);
}

}  // namespace

TEST_CASE("The reach is the largest distance without those of the liars that are assumed") {
  const auto clip = [](std::size_t liars) {
    return Aggregation{.rule = mix_rule_named("clip"), .liars = liars};
  };
  CHECK(after(clip(1), {3, 1, 2}).told() == 2);
  CHECK(after(clip(2), {3, 1, 2}).told() == 1);
  CHECK(after(clip(3), {3, 1, 2}).told() == 0);
  CHECK(after(clip(1), {0, 0}).told() == kNothing);
  CHECK(after({.rule = mix_rule_named("mean")}, {3, 1, 2}).told() == 0);
  Reach reach = after(kClip, {3, 1, 2});
  const std::uint64_t kept[] = {2, 3};
  reach.keep(kept);
  factors_of(reach, {}, {});
  CHECK(reach.told() == doctest::Approx(2 * kFall));
  for (int round = 0; round < 1000; ++round) factors_of(reach, {}, {});
  CHECK(reach.told() == 1);
}

TEST_CASE("A node tells no reach with too few edges and nothing before it has measured them") {
  Reach reach(kClip);
  const std::uint64_t one[] = {1}, three[] = {1, 2, 3};
  reach.keep(one);
  CHECK(reach.told() == 0);
  reach.keep(three);
  CHECK(reach.told() == kNothing);
  CHECK(factors_of(reach, {4, 2, 3}, {kNothing, kNothing, kNothing})[0] < 1e-20);
  CHECK(reach.told() == 3);
}

TEST_CASE("Neighbours that send nothing sound are taken for the liars after a while") {
  for (const std::size_t liars : {1, 2}) {
    CAPTURE(liars);
    Reach reach({.rule = mix_rule_named("clip"), .liars = liars});
    const std::vector<std::uint64_t> edges = {1, 2, 3};
    reach.keep(std::span(edges).first(liars + 1));
    for (std::size_t round = 1; round < kSilence; ++round) factors_of(reach, {5}, {kNothing});
    CHECK(reach.told() == kNothing);
    factors_of(reach, {5}, {kNothing});
    CHECK(reach.told() == 5);
    factors_of(reach, {4, 900}, {5, 5});  // the silent one speaks
    CHECK(reach.told() == doctest::Approx(5 * kFall));
  }
  Reach reach(kClip);
  const std::uint64_t three[] = {1, 2, 3};
  reach.keep(three);
  for (std::size_t round = 0; round < 2 * kSilence; ++round) factors_of(reach, {5}, {kNothing});
  CHECK(reach.told() == kNothing);  // more are silent than may lie
}

TEST_CASE("A pair counts up to the reach that its ends share") {
  Reach clip = after(kClip, {1, 1});
  CHECK(factors_of(clip, {.5, 1, 4}, {1, 1, 1}) == std::vector<double>{1, 1, .25});
  CHECK(factors_of(clip, {.5, 1, 4}, {0, 0, 0}) == std::vector<double>{1, 1, 1});
}

TEST_CASE("A vector is refused that is farther than the own is long and all others are away") {
  for (const MixRule& rule : mix_rules()) {
    Reach reach({.rule = &rule});
    const double most = kFar;
    CHECK(factors_of(reach, {1, 1, most}, {0, 0, 0}) == std::vector<double>{1, 1, 1});
    CHECK(factors_of(reach, {1, 1, 1.1 * most}, {0, 0, 0}) == std::vector<double>{1, 1, 0});
    CHECK(factors_of(reach, {1, 2, 1.1 * most}, {0, 0, 0}) == std::vector<double>{1, 1, 1});
    CHECK(factors_of(reach, {1, 1, 1.1 * most}, {0, 0, 0}, 2) == std::vector<double>{1, 1, 1});
    Reach alone({.rule = &rule});
    CHECK(factors_of(alone, {1.1 * most}, {0}) == std::vector<double>{0});
    CHECK(factors_of(alone, {1.1 * most}, {0}, 0) == std::vector<double>{1});  // as short as can be
  }
}

// Both ends of every edge shorten alike, so that the sum over all nodes stays.
TEST_CASE("What clip takes from one end of an edge it gives to the other") {
  const Format& f64 = *format_named("f64");
  auto shared = std::make_shared<BufferPool>();
  const std::vector<double> a = {1, 0}, far = {100, 0};
  const WireForm form{.format = &f64};
  Average<double> at_a(a, shared, form, kClip), at_b(far, shared, form, kClip);
  const Payload own_a = at_a.offer({}).vector, own_b = at_b.offer({}).vector;
  const MixTerm to_b{
      .peer = NodeId{2}, .weight = .25, .theirs = own_b, .own = own_a, .edge = 1, .reach = 3};
  const MixTerm to_a{
      .peer = NodeId{1}, .weight = .25, .theirs = own_a, .own = own_b, .edge = 1, .reach = 3};
  at_a.absorb(std::span(&to_b, 1));
  at_b.absorb(std::span(&to_a, 1));
  CHECK(at_a.values()[0] == doctest::Approx(1 + .25 * 3));
  CHECK(at_b.values()[0] == doctest::Approx(100 - .25 * 3));
  CHECK(at_a.values()[0] + at_b.values()[0] == doctest::Approx(101));
  CHECK(at_a.values()[1] + at_b.values()[1] == 0);
}

TEST_CASE("Trim leaves out the largest and the smallest of every number") {
  BufferPool pool;
  const Format& f64 = *format_named("f64");
  const std::vector<double> own = {0, 0};
  const Payload own_sent = sent(own, pool);
  std::vector<MixTerm> terms;
  for (const std::vector<double>& theirs :
       {std::vector<double>{1, -4}, {2, 1e6}, {-1e6, 2}, {3, 4}})
    terms.push_back(
        {.peer = NodeId{7}, .weight = .125, .theirs = sent(theirs, pool), .own = own_sent});
  std::vector<double> x = own;
  const MixResult result = trim(std::span(x), terms, f64, 1);
  CHECK(result.mixed.size() == 4);
  // Of {0, 1, 2, 3, -1e6} and {0, -4, 4, 2, 1e6} the middle three, where 0 is this node's own.
  CHECK(x[0] == doctest::Approx(.125 * (1 + 2)));
  CHECK(x[1] == doctest::Approx(.125 * (2 + 4)));
}

TEST_CASE("Trim leaves out vectors of another size and such that are not finite") {
  BufferPool pool;
  const std::vector<double> own = {0, 0};
  const Payload own_sent = sent(own, pool);
  std::vector<MixTerm> terms;
  for (const std::vector<double>& theirs : {std::vector<double>{NAN, 0}, {1}, {1, 1}})
    terms.push_back(
        {.peer = NodeId{7}, .weight = .25, .theirs = sent(theirs, pool), .own = own_sent});
  std::vector<double> x = own;
  const MixResult result = trim(std::span(x), terms, *format_named("f64"), 1);
  REQUIRE(result.rejections.size() == 2);
  CHECK(result.rejections[0].reason == "not finite");
  CHECK(result.rejections[1].reason == "size");
  CHECK(result.mixed == std::vector<std::size_t>{2});
  CHECK(x == own);  // nothing is left between the largest and the smallest
}

TEST_CASE("A single neighbour's vector that is too long is shortened where it lies") {
  auto pool = std::make_shared<BufferPool>();
  const Format& f32 = *format_named("f32");
  const std::vector<float> own = {1, 0, 0}, theirs = {1, 0, 64};
  Average<float> average(own, pool, {.format = &f32}, kClip);
  const Payload own_sent = average.offer({}).vector;
  BufferPool wire;
  const MixTerm term{.peer = NodeId{2},
                     .weight = .5,
                     .theirs = encode(f32, std::span<const float>(theirs), wire),
                     .own = own_sent,
                     .edge = 1,
                     .reach = 4};
  const MixResult result = average.absorb(std::span(&term, 1));
  CHECK(average.values()[2] == doctest::Approx(.5 * 4));
  CHECK(average.values()[0] == 1);
  CHECK(result.distances.front().distance == 64);
  REQUIRE(result.rejections.empty());
  CHECK(result.factors.front() == doctest::Approx(4.0 / 64));
}

// A peer that does not average the pair tells no reach, and the own one falls from round to round.
TEST_CASE("A round takes its factors once where vectors are averaged a second time") {
  auto pool = std::make_shared<BufferPool>();
  const Format& f64 = *format_named("f64");
  const std::vector<double> zeros = {0, 0};
  SharedVector<double> x(zeros, pool);
  BufferPool wire;
  const Payload own = encode(f64, x, wire);
  const MixTerm term{
      .peer = NodeId{2}, .weight = .5, .theirs = sent({8, 0}, wire), .own = own, .edge = 1};
  int asked = 0;
  const Shorten ever_less = [&asked](std::span<const Apart> pairs) {
    return std::vector<double>(pairs.size(), 1.0 / (2 << asked++));
  };
  const MixResult result = mix(x, own, std::span(&term, 1), f64, ever_less);
  CHECK(asked == 1);
  CHECK(x.values()[0] == doctest::Approx(.5 * .5 * 8));
  CHECK(result.factors.front() == .5);
}
