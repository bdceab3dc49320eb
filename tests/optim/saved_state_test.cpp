#include "optim/saved_state.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "tests/optim/remembered.h"

using namespace starling;
using namespace starling::optim;
using namespace starling::test;

namespace {

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
  const auto x = load_parameters<float>(saved, kSavedBlocks);
  REQUIRE(x);
  CHECK(*x == kSavedX);
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
  CHECK(sent.size() <= encoded_limit(saved.schema, kSavedBlocks, before.state()));
  const auto came = decode_saved_state(sent);
  REQUIRE(came);
  CHECK(came->schema == saved.schema);
  CHECK(came->kind == saved.kind);
  CHECK(came->opaque.size() == saved.opaque.size());
  CHECK(came->parameters.at(0).extents == std::vector<std::size_t>{2, 1});
  CHECK(*load_parameters<float>(*came, kSavedBlocks) == kSavedX);
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
  auto other = kSavedBlocks;
  other[1].name = "bias";
  CHECK(load_parameters<float>(saved, other).error().text == "there is no \"bias\"");
  CHECK(load_parameters<double>(saved, kSavedBlocks).error().text ==
        "\"w\" is of type F32; expected F64");
}
