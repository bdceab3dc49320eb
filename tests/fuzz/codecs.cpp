// Vectors as they travel: every row of formats and compressors, the conversation of every form over
// an edge, slices, and the state that newcomers get. The tables of rows are walked, so that a new
// row is fuzzed without being named here.
#include <cmath>
#include <cstring>

#include "optim/codec/channel.h"
#include "optim/codec/codec.h"
#include "optim/codec/encoding.h"
#include "optim/combine/slices.h"
#include "optim/saved_state.h"
#include "optim/vector/kernels.h"
#include "tests/base/test_key.h"
#include "tests/fuzz/input.h"
#include "tests/optim/remembered.h"

namespace starling::fuzz {
namespace {

using namespace optim;
using test::test_key;

template <class S>
bool all_finite(std::span<const S> values) {
  return std::ranges::all_of(values, [](S value) { return std::isfinite(value); });
}

template <class S>
std::vector<S> numbers_of(Bytes bytes) {
  std::vector<S> numbers(bytes.size() / sizeof(S));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(S));
  return numbers;
}

std::string seed_of(std::string head, std::size_t numbers) {
  for (std::size_t k = 0; k < numbers; ++k) {
    const float value = std::sin(static_cast<float>(k)) * static_cast<float>(1 + k % 7);
    head.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return head;
}

// ---------------------------------------------------------------- formats

template <class S>
void expect_format(const Format& format, Bytes wire, std::size_t piece) {
  const std::size_t count = wire.size() / format.width;
  const Payload payload = in_pieces(wire, piece);
  if (!fits(format, payload, count)) return;
  std::vector<S> numbers(count), again(count);
  decode<S>(format, payload, numbers);
  BufferPool pool;
  decode<S>(format, encode<S>(format, std::span<const S>(numbers), pool), again);
  for (std::size_t k = 0; k < count; ++k)
    ENSURE(!std::isfinite(numbers[k]) || numbers[k] == again[k] ||
               std::abs(numbers[k]) > std::numeric_limits<float>::max(),
           "a number that was read is sent on as it is");
}

void run_formats(Bytes input) {
  Input in(input);
  const Format& format = formats()[in.below(formats().size())];
  const bool is_double = in.flag();
  const std::size_t piece = in.byte();
  is_double ? expect_format<double>(format, in.rest(), piece)
            : expect_format<float>(format, in.rest(), piece);
}

std::vector<std::string> format_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < formats().size(); ++k)
    for (char kind = 0; kind < 2; ++kind)
      seeds.push_back(seed_of({static_cast<char>(k), kind, static_cast<char>(8 * kind)}, 20));
  return seeds;
}

// ---------------------------------------------------------------- compressors

// ||v - q|| <= ||v||, up to rounding of the sums.
template <class S>
void expect_contraction(std::span<const S> v, std::span<const S> q) {
  double lost = 0, whole = 0;
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double difference = static_cast<double>(v[k]) - static_cast<double>(q[k]);
    lost += difference * difference;
    whole += static_cast<double>(v[k]) * static_cast<double>(v[k]);
  }
  ENSURE(!std::isfinite(whole) || lost <= whole * (1 + 1e-6),
         "a compressor loses no more than there was");
}

template <class S>
void expect_block(const Compressor& row, double density, Bytes bytes) {
  const std::vector<S> v = numbers_of<S>(bytes);
  const std::size_t count = std::min(v.size(), row.block);
  if (count == 0) return;
  std::vector<S> q(count);
  std::vector<std::byte> wire(row.bytes(count, density));
  // Any bytes: what is read is within the block, and finite.
  std::copy_n(bytes.begin(), std::min(bytes.size(), wire.size()), wire.begin());
  if (kernels<S>(row).decode(wire.data(), density, q))
    ENSURE(all_finite(std::span<const S>(q)), "a block that is accepted has finite numbers");
  // The same bytes as numbers.
  const std::span<const S> block = std::span(v).first(count);
  if (!all_finite(block) || !std::isfinite(squared_norm(block))) return;
  kernels<S>(row).encode(block, density, wire.data());
  ENSURE(kernels<S>(row).decode(wire.data(), density, q), "what is encoded can be decoded");
  expect_contraction<S>(block, q);
}

void run_compressors(Bytes input) {
  Input in(input);
  const Compressor& row = compressors()[in.below(compressors().size())];
  const bool is_double = in.flag();
  const double density = static_cast<double>(1 + in.below(100)) / 100;
  is_double ? expect_block<double>(row, density, in.rest())
            : expect_block<float>(row, density, in.rest());
}

std::vector<std::string> compressor_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < compressors().size(); ++k)
    for (char kind = 0; kind < 2; ++kind)
      seeds.push_back(seed_of({static_cast<char>(k), kind, 9}, 70));
  return seeds;
}

// ---------------------------------------------------------------- the conversation over an edge

// A peer's messages, in order, in pieces, some of a wrong size. After one that is none such the
// edge is broken and gives nothing.
template <class S>
void hold_conversation(const WireForm& form, Input& in) {
  Channel<S> channel(form);
  const std::size_t limit = channel.bytes_limit(), size = count_of(form.segments);
  bool is_broken = false;
  for (std::uint64_t pair = 1; !in.empty() && pair < 9; ++pair) {
    const std::size_t how = in.byte(), rung = in.byte();
    const std::size_t wanted = channel.bytes(pair, rung % rung_count());
    ENSURE(wanted <= limit, "no message is longer than the limit");
    std::vector<std::byte> bytes(how == 0 ? in.byte() : wanted);
    const std::size_t head = form.coding.is_chosen && pair > 1 && !bytes.empty() ? 1 : 0;
    if (head > 0) bytes[0] = static_cast<std::byte>(how == 1 ? rung : rung % rung_count());
    const Bytes some = in.take(bytes.size() - head);
    std::ranges::copy(some, bytes.begin() + static_cast<std::ptrdiff_t>(head));
    const std::uint64_t number = how == 2 ? pair + 1 : pair;
    const auto pieces = channel.take(1, number, nullptr, in_pieces(bytes, how / 8));
    ENSURE(!is_broken || pieces.empty(), "a broken edge gives nothing");
    is_broken = pieces.empty();
    for (const auto& [first, difference] : pieces)
      ENSURE(first + difference.size() <= size, "numbers lie in the vector");
  }
}

std::vector<WireForm> forms_that_remember() {
  std::vector<WireForm> forms;
  for (const std::string& name : wire_form_names()) {
    WireForm form = wire_form_named(name);
    if (!form.remembers()) form.coding.parts = 2;
    form.segments = {{70}, {3, true}, {40}};
    forms.push_back(form);
  }
  return forms;
}

void run_channel(Bytes input) {
  static const std::vector<WireForm> forms = forms_that_remember();
  Input in(input);
  WireForm form = forms[in.below(forms.size())];
  if (!form.format) form.format = format_named("f32");
  if (in.flag()) form.coding.parts = 3;
  in.flag() ? hold_conversation<double>(form, in) : hold_conversation<float>(form, in);
}

std::vector<std::string> channel_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < forms_that_remember().size(); ++k)
    for (char parts = 0; parts < 2; ++parts)
      seeds.push_back(seed_of({static_cast<char>(k), parts, 0, 3, 1}, 400));
  return seeds;
}

// ---------------------------------------------------------------- slices

std::shared_ptr<const MaskGroup> group_of_three() {
  std::vector<MaskMember> members;
  for (std::uint64_t member = 0; member < 3; ++member)
    members.push_back({NodeId{member}, 1, *curve_key(test_key(member).public_key())});
  return std::make_shared<const MaskGroup>(7, NodeId{0}, std::move(members));
}

// Three nodes that all sum; the messages of both neighbours come from outside.
template <class S>
void sum_slices(const Format& format, bool is_masked, Input& in) {
  constexpr std::size_t kSize = 10;
  const std::vector<std::uint64_t> edges = {1, 2};
  Slicing slicing{.is_masked = is_masked};
  if (is_masked) slicing.masks = std::make_shared<Masks>(test_key(0).curve_secret());
  Slices<S> slices(format, slicing, kSize);
  if (is_masked) slices.keep({.open = edges, .mask_group = group_of_three()});
  BufferPool pool;
  std::vector<S> s(kSize, S{1});
  for (std::uint64_t round = 1; !in.empty() && round < 4; ++round) {
    std::vector<EdgePlace> parts, means;
    for (const std::uint64_t edge : edges) {
      const Slot slot{round, 3, 3, 0, edge, NodeId{edge}};
      parts.push_back({.edge = edge, .number = 2 * round - 1, .slot = slot});
      means.push_back({.edge = edge, .number = 2 * round, .slot = slot});
    }
    for (const auto* places : {&parts, &means})
      for (const EdgeOffer& own : slices.messages(*places, std::span<const S>(s), pool)) {
        const std::size_t how = in.byte();
        std::string bytes(in.text(how % 4 == 0 ? in.byte() : own.payload.size()));
        // Its own message has the right head where the two count alike.
        if (how % 4 == 1) bytes = all_bytes(own.payload);
        if (how % 4 == 2) bytes.replace(0, 8, all_bytes(own.payload).substr(0, 8));
        slices.take({.peer = NodeId{own.edge},
                     .weight = 1.0 / 3,
                     .theirs = in_pieces(bytes_of(bytes), how / 8),
                     .own = own.payload,
                     .edge = own.edge,
                     .span = 1,
                     .number = own.number},
                    {}, s);
      }
  }
}

void run_slices(Bytes input) {
  Input in(input);
  const Format& format = formats()[in.below(formats().size())];
  const bool is_double = in.flag(), is_masked = in.flag();
  is_double ? sum_slices<double>(format, is_masked, in) : sum_slices<float>(format, is_masked, in);
}

std::vector<std::string> slice_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < formats().size(); ++k)
    for (char how = 0; how < 4; ++how)
      for (char masked = 0; masked < 2; ++masked)
        seeds.push_back(seed_of({static_cast<char>(k), 0, masked, how}, 60));
  return seeds;
}

// ---------------------------------------------------------------- a state

void run_state(Bytes input) {
  Input in(input);
  const std::size_t piece = in.byte();
  const auto saved = decode_saved_state(in_pieces(in.rest(), piece));
  if (!saved) return expect_reason(saved.error());
  const std::string once = all_bytes(encode(*saved));
  const auto again = decode_saved_state(in_pieces(bytes_of(once), 0));
  ENSURE(again && all_bytes(encode(*again)) == once, "a state that is sent on stays as it is");
  if (const auto x = load_parameters<float>(*saved, test::kSavedBlocks))
    ENSURE(x->size() == 3 && all_finite(std::span<const float>(*x)), "parameters are finite");
  test::Remembered after;
  if (!check_state(*saved, 3, after.state())) return;
  load_state(*saved, 3, after.state());
  ENSURE(after.m.size() == 3 && all_finite(std::span<const float>(after.m)), "vectors stay sound");
  for (const auto& [edge, flow] : after.flows)
    ENSURE(flow.size() == 3, "vectors of edges are of the model");
}

std::vector<std::string> state_seeds() {
  BufferPool pool;
  test::Remembered remembered;
  SavedState saved = test::saved_of(remembered, pool);
  saved.schema = "a model\nof two lines";
  saved.kind = "dpsgd sgd";
  std::vector<std::string> seeds = {std::string(1, '\0') + all_bytes(encode(saved))};
  saved.opaque = Payload::copy_of(bytes_of("of a trainer"));
  seeds.push_back(std::string(1, '\7') + all_bytes(encode(saved)));
  return seeds;
}

}  // namespace

std::vector<Target> codec_targets() {
  return {{"formats", run_formats, format_seeds, 512},
          {"compressors", run_compressors, compressor_seeds, 8192},
          {"channel", run_channel, channel_seeds, 4096},
          {"slices", run_slices, slice_seeds, 1024},
          {"saved-state", run_state, state_seeds, 2048}};
}

}  // namespace starling::fuzz
