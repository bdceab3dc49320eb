#include "optim/saved_state.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

using namespace starling;
using namespace starling::optim;

namespace {

const std::vector<ParameterBlock> kBlocks = {{.name = "w", .extents = {2, 1}, .offset = 0},
                                             {.name = "b", .extents = {1}, .offset = 2}};

// One of each kind of place.
struct Remembered {
  std::vector<float> m = {1, 2, 3};
  double power = 0.5, length = 7;
  std::uint64_t random = 99;
  bool knows = true;
  std::vector<std::uint32_t> order = {2, 0, 1};
  std::map<std::uint64_t, std::vector<float>> flows = {{17, {1, 0, -1}},
                                                       {0xfedcba9876543210, {4, 5, 6}}};

  State<float> state() {
    State<float> state;
    state.add("part", {.vectors = {{"m", m}},
                       .numbers = {{"power", &power}},
                       .own = {{"length", &length}, {"random", &random}, {"knows", &knows}},
                       .orders = {{"order", &order}},
                       .edges = {{"flow", &flows}}});
    return state;
  }
  bool operator==(const Remembered&) const = default;
};

const std::vector<float> kX = {0.1F, 0.2F, 0.3F};

SavedState saved_of(Remembered& remembered, BufferPool& pool) {
  return save_state(std::span<const float>(kX), kBlocks, remembered.state(), pool);
}

SavedField& field(SavedState& saved, std::string_view name) {
  for (SavedField& field : saved.state)
    if (field.name == name) return field;
  throw std::runtime_error("no such field");
}

}  // namespace

TEST_CASE("What was saved is written over every place of another state") {
  BufferPool pool;
  Remembered before;
  const SavedState saved = saved_of(before, pool);
  CHECK(saved.parameters.at(0).name == "w");
  CHECK(saved.parameters.at(0).extents == std::vector<std::size_t>{2, 1});
  const auto x = load_parameters<float>(saved, kBlocks);
  REQUIRE(x);
  CHECK(*x == kX);
  Remembered after{{0, 0, 0}, 0, 0, 0, false, {}, {{3, {9, 9, 9}}}};
  REQUIRE(check_state(saved, 3, after.state()));
  load_state(saved, 3, after.state());
  CHECK(after == before);
}

TEST_CASE("A part for the node itself that was not saved stays as it is") {
  BufferPool pool;
  Remembered before;
  SavedState saved = saved_of(before, pool);
  std::erase_if(saved.state, [](const SavedField& field) { return field.name == "part.length"; });
  Remembered after{{0, 0, 0}, 0.25, 11, 0, false, {}, {}};
  REQUIRE(check_state(saved, 3, after.state()));
  load_state(saved, 3, after.state());
  CHECK(after.length == 11);
  CHECK(after.m == before.m);
}

TEST_CASE("What was saved is the same after its way over the wire") {
  BufferPool pool;
  Remembered before;
  SavedState saved = saved_of(before, pool);
  saved.schema = "a model\nof two lines";
  saved.kind = "dpsgd sgd";
  saved.opaque = Payload::copy_of(std::as_bytes(std::span(std::string_view("of a trainer"))));
  const Payload sent = encode(saved);
  CHECK(sent.size() <= encoded_limit(saved.schema, kBlocks, before.state()));
  const auto came = decode_saved_state(sent);
  REQUIRE(came);
  CHECK(came->schema == saved.schema);
  CHECK(came->kind == saved.kind);
  CHECK(came->opaque.size() == saved.opaque.size());
  CHECK(came->parameters.at(0).extents == std::vector<std::size_t>{2, 1});
  CHECK(*load_parameters<float>(*came, kBlocks) == kX);
  Remembered after{{0, 0, 0}, 0, 0, 0, false, {}, {{3, {9, 9, 9}}}};
  REQUIRE(check_state(*came, 3, after.state()));
  load_state(*came, 3, after.state());
  CHECK(after == before);
}

TEST_CASE("A field of another type or size or with a bad number is named") {
  BufferPool pool;
  const auto refusal = [&](auto spoil) {
    Remembered remembered;
    SavedState saved = saved_of(remembered, pool);
    spoil(saved);
    const auto fits = check_state(saved, 3, remembered.state());
    CHECK(remembered == Remembered());
    return fits ? std::string() : fits.error().text;
  };
  CHECK(refusal([](SavedState&) {}).empty());
  CHECK(refusal([](SavedState& saved) { field(saved, "part.m").name = "part.n"; }) ==
        "there is no \"part.m\"");
  CHECK(refusal([](SavedState& saved) { field(saved, "part.m").type = "F64"; }) ==
        "\"part.m\" is of type F64; expected F32");
  CHECK(refusal([](SavedState& saved) {
          SavedField& m = field(saved, "part.m");
          m.bytes = m.bytes.slice(0, 8);
        }) == "\"part.m\" has 8 bytes; expected 12");
  const auto with = [](const char* name, auto value) {
    return [name, value](SavedState& saved) {
      SavedField& spoilt = field(saved, name);
      std::vector<std::byte> bytes(spoilt.bytes.size());
      spoilt.bytes.copy_to(0, bytes);
      std::memcpy(bytes.data(), &value, sizeof(value));
      spoilt.bytes = Payload::copy_of(bytes);
    };
  };
  CHECK(refusal(with("part.m", std::numeric_limits<float>::infinity())) ==
        "\"part.m\" holds a number that is not finite");
  CHECK(refusal(with("part.power", std::numeric_limits<double>::quiet_NaN())) ==
        "\"part.power\" holds a number that is not finite");
  CHECK(refusal(with("part.order", std::uint32_t{3})) ==
        "\"part.order\" holds an index that is not below 3");
  CHECK(refusal(with("part.flow.0000000000000011", std::numeric_limits<float>::quiet_NaN())) ==
        "\"part.flow.0000000000000011\" holds a number that is not finite");
}

TEST_CASE("Parameters of another model are refused by name") {
  BufferPool pool;
  Remembered remembered;
  const SavedState saved = saved_of(remembered, pool);
  auto other = kBlocks;
  other[1].name = "bias";
  CHECK(load_parameters<float>(saved, other).error().text == "there is no \"bias\"");
  CHECK(load_parameters<double>(saved, kBlocks).error().text ==
        "\"w\" is of type F32; expected F64");
}
