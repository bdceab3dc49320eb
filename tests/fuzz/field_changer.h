// FieldChanger: an archive (gossip/wire/fields.h) that gives one field of a message another value,
// also one beyond its limits. Which field and which value the bytes of a fuzzer say.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/wire/fields.h"
#include "tests/fuzz/input.h"

namespace starling::fuzz {

// Changes the field at a place of the walk, and counts them all.
class FieldChanger {
 public:
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  FieldChanger(Input& in, std::size_t place) : in_(&in), place_(place) {}

  std::size_t count() const { return count_; }

  void number(std::uint64_t& x, std::uint64_t most) {
    if (!is_chosen()) return;
    const std::size_t how = in_->byte();
    const std::uint64_t value = in_->number();
    x = how % 4 == 0   ? most - value % 2
        : how % 4 == 1 ? x + value % 16 - 8
        : how % 4 == 2 ? x ^ std::uint64_t{1} << value % 64
                       : value;
  }
  void id(NodeId& x) { number(x.value, gossip::kAnyNumber); }
  void flag(bool& x) {
    if (is_chosen()) x = !x;
  }
  template <class E>
  void choice(E& x, E last) {
    if (is_chosen()) x = static_cast<E>(in_->below(static_cast<std::size_t>(last) + 2));
  }
  void real(double& x) {
    if (is_chosen()) x = std::bit_cast<double>(in_->number());
  }
  void amount(double& x, double most) {
    if (!is_chosen()) return;
    const std::size_t how = in_->byte();
    x = how % 3 == 0 ? most : how % 3 == 1 ? std::bit_cast<double>(in_->number()) : x * 1.5;
  }
  void text(std::string& x, std::size_t most) {
    if (!is_chosen()) return;
    const std::size_t how = in_->byte();
    if (how % 8 == 0)
      x.assign(most + how / 8 % 2, 'x');
    else if (how % 8 == 1)
      x += static_cast<char>(in_->byte());
    else
      x = in_->text(how / 8);
  }
  void name(std::string& x, std::size_t most) { text(x, most); }
  void bytes(std::string& x, std::size_t most) { text(x, most); }
  void floats(std::vector<float>& x, std::size_t most) {
    if (!is_chosen()) return;
    const std::size_t how = in_->byte();
    x.resize(how % 4 == 0 ? most + how / 4 % 2 : in_->byte() % (most + 2));
    const auto bits = static_cast<std::uint32_t>(in_->number(4));
    if (!x.empty()) x.back() = how % 4 == 1 ? INFINITY : std::bit_cast<float>(bits);
  }
  void endpoint(Endpoint& x) {
    text(x.host, kHostBytesLimit);
    if (is_chosen()) x.port = static_cast<std::uint16_t>(in_->number(2));
  }
  void words(auto& x, std::size_t most) {
    if (!is_chosen()) return;
    x.resize(in_->byte() % 8 == 0 ? most + in_->byte() % 2 : in_->byte() % 16);
    if (!x.empty()) x.back() = std::bit_cast<std::remove_cvref_t<decltype(x[0])>>(in_->number());
  }
  void record(auto& x) {
    using gossip::fields;
    fields(*this, x);
  }
  void record(gossip::Record& x) {
    x.change([this](gossip::Member& member) { record(member); });
  }
  void list(auto& records, std::size_t most) {
    for (auto& x : records) record(x);
    if (!is_chosen()) return;
    // Fewer of them, or the last one again.
    const std::size_t count = in_->byte() % 16;
    if (count < records.size()) return records.resize(count);
    while (!records.empty() && records.size() < std::min(count, most))
      records.push_back(records.back());
  }
  void rest(auto& records, std::size_t most) { list(records, most); }

 private:
  bool is_chosen() { return count_++ == place_; }

  Input* in_;
  std::size_t place_, count_ = 0;
};

// Changes one of the fields that `walk` shows to an archive.
inline void change_one(Input& in, const auto& walk) {
  FieldChanger counter(in, FieldChanger::kNowhere);
  walk(counter);
  FieldChanger changer(in, in.below(counter.count()));
  walk(changer);
}

inline void change_a_field(gossip::Body& body, Input& in) {
  change_one(in, [&body](FieldChanger& changer) {
    std::visit([&changer](auto& x) { changer.record(x); }, body);
  });
}

}  // namespace starling::fuzz
