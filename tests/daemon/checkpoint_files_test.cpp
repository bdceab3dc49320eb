#include "daemon/process/checkpoint_files.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/prng.h"
#include "daemon/process/safetensors.h"
#include "optim/saved_state.h"
#include "tests/daemon/checkpoint_example.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

std::string all_bytes(const Payload& payload) {
  std::string bytes(payload.size(), '\0');
  payload.copy_to(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

TEST_CASE("A checkpoint comes back from its files with every bit") {
  const gossip::Checkpoint before = example_checkpoint();
  const auto read = checkpoint_from(files_of(before));
  REQUIRE(read);
  CHECK(read->round == before.round);
  CHECK(read->uncounted == before.uncounted);
  CHECK(read->sealed == before.sealed);
  CHECK(read->members == before.members);
  CHECK(read->foundation == before.foundation);
  REQUIRE(read->exchange.edges.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(read->exchange.edges[k].peer == before.exchange.edges[k].peer);
    CHECK(read->exchange.edges[k].edge == before.exchange.edges[k].edge);
    CHECK(read->exchange.edges[k].claim == before.exchange.edges[k].claim);
  }
  CHECK(read->exchange.path == before.exchange.path);
  CHECK(read->exchange.sent_path == before.exchange.sent_path);
  CHECK(read->trained_s == before.trained_s);
  CHECK(read->steps == before.steps);
  CHECK(read->samples == before.samples);
  CHECK(read->state->schema == before.state->schema);
  CHECK(read->state->kind == before.state->kind);
  CHECK(all_bytes(read->state->opaque) == "of a trainer");
  const auto find = [](const std::vector<optim::SavedField>& fields, const std::string& name) {
    return *std::ranges::find(fields, name, &optim::SavedField::name);
  };
  const optim::SavedField w = find(read->state->parameters, "w");
  CHECK(w.extents == std::vector<std::size_t>{2, 2});
  CHECK(all_bytes(w.bytes) == all_bytes(before.state->parameters[0].bytes));
  CHECK(all_bytes(find(read->state->state, "algorithm.flow.00000000000000ff").bytes) ==
        all_bytes(before.state->state[0].bytes));
}

TEST_CASE("The parameters of a checkpoint are a file that others can read") {
  const Generation content = files_of(example_checkpoint());
  const auto file = read_safetensors(all_bytes(content.files.at("model.safetensors")));
  REQUIRE(file);
  CHECK(file->tensors.at("w").numbers == std::vector<double>{1, 2, 3, 4});
  CHECK(file->tensors.at("w").extents == std::vector<std::size_t>{2, 2});
  CHECK(file->metadata.at("round") == "12345678901");
}

TEST_CASE("A manifest with something missing or wrong is refused by name") {
  const auto refusal = [](const std::string& key, const char* value) {
    Generation content = files_of(example_checkpoint());
    if (value)
      content.about[key] = value;
    else
      content.about.erase(key);
    const auto read = checkpoint_from(content);
    return read ? std::string() : read.error().text;
  };
  CHECK(refusal("kind", nullptr).empty());
  for (const char* key : {"round", "members", "steps", "samples", "trained-s", "path"})
    for (const char* value : {static_cast<const char*>(nullptr), "", "-1x", "nan"}) {
      CAPTURE(key);
      CHECK(refusal(key, value).find(key) != std::string::npos);
    }
  CHECK(refusal("members", "5000").find("4096") != std::string::npos);
  CHECK(refusal("round", "140737488355328").find("1099511627776") != std::string::npos);
  for (const char* edges : {"1:2", "1:2:", "1:2:3x", "1:2:3 ", ":::", "1:2:11112222333344445"})
    CHECK(refusal("edges", edges).find("edges") != std::string::npos);
}

TEST_CASE("Tensors that do not cover the file once or do not fit their bytes are refused") {
  const auto refusal_of = [](const std::string& head) {
    std::string file(8, '\0');
    const std::uint64_t length = head.size();
    std::memcpy(file.data(), &length, sizeof(length));
    file += head + std::string(16, '\0');
    const auto whole = read_safetensors(file);
    const auto placed =
        read_safetensors_head(Payload::copy_of(std::as_bytes(std::span(std::string_view(file)))));
    CHECK(whole.has_value() == placed.has_value());
    return placed ? std::string() : placed.error().text;
  };
  const auto refusal = [&](const json& header) { return refusal_of(header.dump()); };
  const auto tensor = [](const json& shape, std::size_t begin, std::size_t end) {
    return json{{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  const json left = tensor({2}, 0, 8), none = json::array({5, 0});
  CHECK(refusal({{"a", left}, {"b", tensor({2}, 8, 16)}}).empty());
  CHECK(refusal({{"a", tensor({4}, 0, 16)}, {"b", tensor(none, 4, 4)}}).empty());
  CHECK(refusal({{"a", left}, {"b", left}}) == "tensors a and b overlap");
  CHECK(refusal({{"a", left}, {"b", tensor({2}, 4, 12)}}) == "tensors a and b overlap");
  CHECK(refusal({{"a", left}}) == "bytes 8 to 16 belong to no tensor");
  CHECK(refusal({{"a", tensor({2}, 8, 16)}}) == "bytes 0 to 8 belong to no tensor");
  const std::string one = json{{"a", tensor({4}, 0, 16)}}.dump();
  const std::string twice = one.substr(0, one.size() - 1) + "," + one.substr(1);
  CHECK(refusal_of(one).empty());
  CHECK(refusal_of(twice) == "the header names a twice");
  for (const json& shape : {json{3}, json{0}, json{1ULL << 40, 1ULL << 40}, json{UINT64_MAX, 2},
                            json{1ULL << 32, 1ULL << 32}}) {
    CAPTURE(shape.dump());
    CHECK(refusal({{"a", tensor(shape, 0, 8)}}).starts_with("tensor a has shape"));
  }
}

TEST_CASE("Spoilt heads of tensors are refused or read within the file") {
  Prng prng(3);
  const Generation whole = files_of(example_checkpoint());
  for (int trial = 0; trial < 2000; ++trial) {
    Generation content = whole;
    for (const char* name : {"model.safetensors", "state.safetensors"}) {
      std::string bytes = all_bytes(whole.files.at(name));
      for (int k = 0; k < 3; ++k)
        bytes[prng.below(bytes.size())] = static_cast<char>(prng.below(256));
      if (prng.chance(0.3)) bytes.resize(prng.below(bytes.size()));
      content.files[name] = Payload::copy_of(std::as_bytes(std::span(bytes)));
    }
    const auto read = checkpoint_from(content);
    if (!read) continue;
    for (const optim::SavedField& field : read->state->parameters)
      CHECK(field.bytes.size() <= content.files["model.safetensors"].size());
  }
  Generation none = whole;
  none.files.erase("state.safetensors");
  CHECK(checkpoint_from(none).error().text.starts_with("state.safetensors"));
}
