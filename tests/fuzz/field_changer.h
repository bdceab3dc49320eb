// FieldChanger: an archive (gossip/wire/fields.h) that gives one field of a message another value,
// also one beyond its limits. Which field and which value the bytes of a fuzzer say.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/wire/fields.h"
#include "tests/fuzz/input.h"

namespace starling::fuzz {

class FieldChanger {
 public:
  void number(std::uint64_t& x, std::uint64_t most) {
    add([&x, most](Input& in) {
      const std::size_t how = in.byte();
      const std::uint64_t value = in.number();
      x = how % 4 == 0   ? most - value % 2
          : how % 4 == 1 ? x + value % 16 - 8
          : how % 4 == 2 ? x ^ std::uint64_t{1} << value % 64
                         : value;
    });
  }
  void id(NodeId& x) { number(x.value, gossip::kAnyNumber); }
  void flag(bool& x) {
    add([&x](Input&) { x = !x; });
  }
  template <class E>
  void choice(E& x, E last) {
    add([&x, last](Input& in) {
      x = static_cast<E>(in.below(static_cast<std::size_t>(last) + 2));
    });
  }
  void real(double& x) {
    add([&x](Input& in) { x = std::bit_cast<double>(in.number()); });
  }
  void amount(double& x, double most) {
    add([&x, most](Input& in) {
      const std::size_t how = in.byte();
      x = how % 3 == 0 ? most : how % 3 == 1 ? std::bit_cast<double>(in.number()) : x * 1.5;
    });
  }
  void text(std::string& x, std::size_t most) {
    add([&x, most](Input& in) {
      x = in.text(in.byte());
      if (x.size() == 255) x.assign(most + in.byte() % 2, 'x');
    });
  }
  void name(std::string& x, std::size_t most) { text(x, most); }
  void bytes(std::string& x, std::size_t most) { text(x, most); }
  void floats(std::vector<float>& x, std::size_t most) {
    add([&x, most](Input& in) {
      x.resize(in.byte() % 8 == 0 ? most + in.byte() % 2 : in.byte() % (most + 2));
      if (!x.empty()) x.back() = std::bit_cast<float>(static_cast<std::uint32_t>(in.number(4)));
    });
  }
  void endpoint(Endpoint& x) {
    text(x.host, kHostBytesLimit);
    add([&x](Input& in) { x.port = static_cast<std::uint16_t>(in.number(2)); });
  }
  void words(auto& x, std::size_t most) {
    add([&x, most](Input& in) {
      x.resize(in.byte() % 8 == 0 ? most + in.byte() % 2 : in.byte() % 16);
      if (!x.empty()) x.back() = std::bit_cast<std::remove_cvref_t<decltype(x[0])>>(in.number());
    });
  }
  void record(auto& x) {
    using gossip::fields;
    fields(*this, x);
  }
  // Which is immutable: a changed member takes its place.
  void record(gossip::Record& x) {
    gossip::Member& member = members_.emplace_back(*x);
    const std::size_t before = changes_.size();
    record(member);
    for (std::size_t k = before; k < changes_.size(); ++k)
      changes_[k] = [change = std::move(changes_[k]), &x, &member](Input& in) {
        change(in);
        x = gossip::Record(member);
      };
  }
  void list(auto& records, std::size_t most) {
    for (auto& x : records) record(x);
    // Fewer of them, or the last one again.
    add([&records, most](Input& in) {
      const std::size_t count = in.byte() % 16;
      if (count < records.size()) return records.resize(count);
      while (!records.empty() && records.size() < std::min(count, most))
        records.push_back(records.back());
    });
  }
  void rest(auto& records, std::size_t most) { list(records, most); }

  void change_one(Input& in) {
    if (!changes_.empty()) changes_[in.below(changes_.size())](in);
  }

 private:
  void add(std::function<void(Input&)> change) { changes_.push_back(std::move(change)); }

  std::vector<std::function<void(Input&)>> changes_;
  std::deque<gossip::Member> members_;
};

inline void change_a_field(gossip::Body& body, Input& in) {
  FieldChanger changer;
  std::visit([&changer](auto& x) { changer.record(x); }, body);
  changer.change_one(in);
}

}  // namespace starling::fuzz
