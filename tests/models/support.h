// What the tests of this layer share: options by keys, members, files that come and go.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/text.h"
#include "models/data/load.h"
#include "models/factory.h"
#include "models/nets/layer_registry.h"

namespace starling::models {

inline optim::Shard shard_of(std::size_t nodes, std::size_t place) {
  optim::Shard shard{.members = {}, .place = place};
  for (std::size_t i = 0; i < nodes; ++i)
    shard.members.push_back(node_id("node-" + std::to_string(i)));
  return shard;
}

// The value, or a failed test that shows the error.
template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().text);
  return std::move(*result);
}

inline std::shared_ptr<const Data> load_shared(const DataOptions& options) {
  return std::make_shared<const Data>(value_of(load(options)));
}

// A table of one node's own, all of which it trains on, that predicts y.
inline DataOptions site_options(const std::string& path) {
  DataOptions options{.source = Source::csv, .path = path};
  options.target = "y";
  options.holdout = 0;
  options.shard.kind = ShardChoice::Kind::all;
  return options;
}

// Of a net, as in model.layers.
inline std::vector<LayerSpec> layers_of(const std::string& text) {
  return value_of(parse_layers(split(text, ',')));
}

// A directory of its own for one test, removed with the object.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("starling-test-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Real data beside the repository, or an empty text where there is none.
inline std::string real_data(const std::string& name) {
  const auto path = std::filesystem::path(STARLING_ROOT) / ".." / "shared" / "data" / name;
  if (std::filesystem::exists(path)) return path.string();
  MESSAGE("skipped: no " << name << " here");
  return {};
}

// From -1 to 1, the same for the same seed.
template <class S>
std::vector<S> random_numbers(std::size_t count, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<S> numbers(count);
  for (S& number : numbers) number = static_cast<S>(prng.uniform(-1, 1));
  return numbers;
}

// `text` with a few bytes replaced, the same for the same seed.
inline std::string damaged(std::string text, std::uint64_t seed) {
  Prng prng(seed);
  for (int i = 0; i < 3; ++i) text[prng.below(text.size())] = static_cast<char>(prng.below(256));
  return text;
}

// Plain gradient descent with batches drawn from a fixed seed.
template <class S>
void descend(optim::Objective<S>& objective, std::vector<S>& x, double rate, std::size_t batch,
             int steps) {
  Prng prng(7);
  std::vector<S> gradient(x.size());
  std::vector<std::uint32_t> picked(batch);
  for (int step = 0; step < steps; ++step) {
    for (auto& index : picked) index = static_cast<std::uint32_t>(prng.below(objective.samples()));
    objective.loss_and_gradient(x, picked, gradient);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= static_cast<S>(rate) * gradient[i];
  }
}

}  // namespace starling::models
