// The archives that walk the field lists of fields.h: Counter counts the fields of a struct, Writer
// encodes it as MessagePack, Reader decodes it, and Checker checks that Reader would accept the
// result of Writer.
#pragma once

#define MSGPACK_NO_BOOST
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <msgpack.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_name.h"
#include "base/utf8.h"
#include "gossip/wire/fields.h"
#include "gossip/wire/record_cache.h"

namespace starling::gossip {

inline constexpr std::size_t kWordBytes = 8;

// ---------------------------------------------------------------- what a field may be

inline bool is_amount(double value, double most) {
  return value >= 0 && value <= most;
}
inline bool are_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// ---------------------------------------------------------------- counting

// Counts the fields of a struct. A nested struct is one field, an endpoint is two.
class Counter {
 public:
  std::size_t count() const { return count_; }

  void number(std::uint64_t, std::uint64_t) { ++count_; }
  void id(NodeId) { ++count_; }
  void flag(bool) { ++count_; }
  void choice(auto, auto) { ++count_; }
  void real(double) { ++count_; }
  void amount(double, double) { ++count_; }
  void text(std::string_view, std::size_t) { ++count_; }
  void name(std::string_view, std::size_t) { ++count_; }
  void bytes(const std::string&, std::size_t) { ++count_; }
  void block(std::span<const std::byte>) { ++count_; }
  void floats(const std::vector<float>&, std::size_t) { ++count_; }
  void endpoint(const Endpoint&) { count_ += 2; }
  void words(const auto&, std::size_t) { ++count_; }
  void record(const auto&) { ++count_; }
  void list(const auto&, std::size_t) { ++count_; }
  void rest(const auto& records, std::size_t) { count_ += records.size(); }

 private:
  std::size_t count_ = 0;
};

template <class T>
std::size_t count_fields(const T& x) {
  Counter counter;
  fields(counter, x);
  return counter.count();
}

// ---------------------------------------------------------------- writing

// Writes any values; Checker checks whether they are within their limits.
class Writer {
 public:
  void array(std::size_t size) { packer_.pack_array(static_cast<std::uint32_t>(size)); }
  std::string take() { return std::move(buffer_.bytes); }

  void number(std::uint64_t value, std::uint64_t = kAnyNumber) { packer_.pack(value); }
  void id(NodeId value) { number(value.value); }
  void flag(bool value) { number(value ? 1 : 0); }
  void choice(auto value, auto) { number(static_cast<std::uint64_t>(value)); }
  // Always FLOAT64: pack(double) would write a whole number as an integer.
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    std::array<char, 9> bytes{'\xcb'};
    for (std::size_t i = 0; i < 8; ++i) bytes[i + 1] = static_cast<char>(bits >> (56 - 8 * i));
    buffer_.write(bytes.data(), bytes.size());
  }
  void amount(double value, double) { real(value); }
  void text(std::string_view value, std::size_t) { packer_.pack(value); }
  void name(std::string_view value, std::size_t) { packer_.pack(value); }
  void bytes(const std::string& value, std::size_t) { binary(value.data(), value.size()); }
  void block(std::span<const std::byte> value) { binary(value.data(), value.size()); }
  void floats(const std::vector<float>& values, std::size_t) {
    binary(values.data(), values.size() * sizeof(float));
  }
  void endpoint(const Endpoint& value) {
    text(value.host, kHostBytesLimit);
    number(value.port);
  }
  void words(const auto& values, std::size_t) {
    static_assert(sizeof(values[0]) == kWordBytes);
    binary(values.data(), values.size() * kWordBytes);
  }
  void record(const auto& x) {
    array(count_fields(x));
    fields(*this, x);
  }
  void record(const Record& x) { buffer_.write(x.encoding().data(), x.encoding().size()); }
  void list(const auto& records, std::size_t) {
    array(records.size());
    for (const auto& x : records) record(x);
  }
  void rest(const auto& records, std::size_t) {
    for (const auto& x : records) record(x);
  }

 private:
  void binary(const void* data, std::size_t size) {
    packer_.pack_bin(static_cast<std::uint32_t>(size));
    packer_.pack_bin_body(static_cast<const char*>(data), static_cast<std::uint32_t>(size));
  }

  // The sink that msgpack::packer requires. take() moves the bytes out instead of copying them.
  struct Buffer {
    std::string bytes;
    void write(const char* data, std::size_t size) { bytes.append(data, size); }
  };
  Buffer buffer_;
  msgpack::packer<Buffer> packer_{buffer_};
};

// ---------------------------------------------------------------- checking

// Checks that all fields of a struct are within their limits.
class Checker {
 public:
  bool sound() const { return sound_; }

  void number(std::uint64_t value, std::uint64_t most) { expect(value <= most); }
  void id(NodeId) {}
  void flag(bool) {}
  void choice(auto value, auto last) { expect(value <= last); }
  void real(double) {}
  void amount(double value, double most) { expect(is_amount(value, most)); }
  void text(std::string_view value, std::size_t most) {
    expect(value.size() <= most && is_plain(value));
  }
  void name(std::string_view value, std::size_t most) {
    expect(value.size() <= most && is_node_name(value));
  }
  void bytes(const std::string& value, std::size_t most) { expect(value.size() <= most); }
  void block(std::span<const std::byte>) {}
  void floats(const std::vector<float>& values, std::size_t most) {
    expect(values.size() <= most && are_finite(values));
  }
  void endpoint(const Endpoint& value) {
    text(value.host, kHostBytesLimit);
    expect(is_host(value.host));
  }
  void words(const auto& values, std::size_t most) { expect(values.size() <= most); }
  void record(const auto& x) { fields(*this, x); }
  void record(const Record& x) { expect(x.is_within_limits()); }
  void list(const auto& records, std::size_t most) {
    expect(records.size() <= most);
    for (const auto& x : records) record(x);
  }
  void rest(const auto& records, std::size_t most) { list(records, most); }

 private:
  void expect(bool holds) { sound_ = sound_ && holds; }

  bool sound_ = true;
};

// ---------------------------------------------------------------- reading

// Reads the fields of one array in order, where they lie: a message has thousands of them, too many
// to make an object of each first. After the first field that does not fit `sound` stays false and
// every later field reads as empty: callers check `sound` once, at the end.
class Reader {
 public:
  struct Source {
    std::span<const std::byte> bytes;  // that are left
    RecordCache* records = nullptr;    // null: every record is decoded
    bool sound = true;
  };
  // The array that `source` begins with. Readers of one source take turns: a field that is an array
  // is read to its end before the next field.
  explicit Reader(Source& source) : source_(source), left_(size_of(kArray)) {
    if (!expect(left_ <= source_.bytes.size())) left_ = 0;
  }

  // Expects that no field is left. Call it after the last field.
  void end() { expect(left_ == 0); }
  // Reads the fields of `x`, and expects nothing after them.
  void only(auto& x) {
    fields(*this, x);
    end();
    expect(source_.bytes.empty());
  }
  // Expects an array as the next field; returns the reader of its fields.
  Reader array() {
    take_field();
    return Reader(source_);
  }

  void number(std::uint64_t& value, std::uint64_t most) {
    take_field();
    const std::uint64_t read = unsigned_number();
    if (expect(read <= most)) value = read;
  }
  void id(NodeId& value) { number(value.value, kAnyNumber); }
  void flag(bool& value) {
    std::uint64_t bit = 0;
    number(bit, 1);
    value = bit == 1;
  }
  template <class E>
  void choice(E& value, E last) {
    std::uint64_t index = 0;
    number(index, static_cast<std::uint64_t>(last));
    value = static_cast<E>(index);
  }
  void real(double& value) {
    take_field();
    if (expect(first() == kFloat64)) value = std::bit_cast<double>(big_endian(1, 8));
  }
  void amount(double& value, double most) {
    double read = 0;
    real(read);
    if (expect(is_amount(read, most))) value = read;
  }
  void text(std::string& value, std::size_t most) {
    const std::string_view read = chars(kText, most);
    if (expect(is_plain(read))) value = read;
  }
  void name(std::string& value, std::size_t most) {
    text(value, most);
    expect(is_node_name(value));
  }
  void bytes(std::string& value, std::size_t most) { value = chars(kBinary, most); }
  void block(std::span<std::byte> value) {
    const std::string_view read = chars(kBinary, value.size());
    if (expect(read.size() == value.size())) std::memcpy(value.data(), read.data(), read.size());
  }
  void floats(std::vector<float>& values, std::size_t most) {
    const std::string_view raw = chars(kBinary, most * sizeof(float));
    if (!expect(raw.size() % sizeof(float) == 0)) return;
    values.resize(raw.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), raw.data(), raw.size());
    expect(are_finite(values));
  }
  // Checks a host received from a peer by the same rule as one in the settings, before anything
  // connects to it.
  void endpoint(Endpoint& value) {
    std::uint64_t port = 0;
    text(value.host, kHostBytesLimit);
    number(port, 0xffff);
    value.port = static_cast<std::uint16_t>(port);
    expect(is_host(value.host));
  }
  void words(auto& values, std::size_t most) {
    static_assert(sizeof(values[0]) == kWordBytes);
    const std::string_view raw = chars(kBinary, most * kWordBytes);
    if (!expect(raw.size() % kWordBytes == 0)) return;
    values.resize(raw.size() / kWordBytes);
    if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
  }
  template <class T>
  void record(T& x) {
    Reader in = array();
    fields(in, x);
    in.end();
  }
  void record(Record& x) {
    take_field();
    const std::span<const std::byte> encoding = skip_array();
    if (!source_.sound) return;
    const auto read = source_.records ? source_.records->get(encoding) : Record::decode(encoding);
    if (expect(read.has_value())) x = *read;
  }
  void list(auto& records, std::size_t most) { array().rest(records, most); }
  void rest(auto& records, std::size_t most) {
    records.resize(size_up_to(most));
    for (auto& x : records) record(x);
  }

 private:
  // How MessagePack writes the sizes of one type: in the low bits of the first byte, or in one, two
  // or four bytes after it.
  struct Sizes {
    std::uint8_t fixed, mask;      // first bytes fixed to fixed + mask; mask 0: none
    std::uint16_t one, two, four;  // kNone: there is no such form
  };
  static constexpr std::uint16_t kNone = 0x100;
  static constexpr Sizes kArray{0x90, 0x0f, kNone, 0xdc, 0xdd}, kText{0xa0, 0x1f, 0xd9, 0xda, 0xdb},
      kBinary{0, 0, 0xc4, 0xc5, 0xc6};
  static constexpr std::uint8_t kFloat64 = 0xcb, kUnsigned8 = 0xcc, kUnsigned64 = 0xcf;

  bool expect(bool holds) { return source_.sound = source_.sound && holds; }
  void take_field() {
    if (expect(left_ > 0)) --left_;
  }
  // 0xc1, which begins nothing, if nothing can be read.
  std::uint8_t first() const {
    constexpr std::uint8_t kNothing = 0xc1;
    return source_.sound && !source_.bytes.empty() ? std::to_integer<std::uint8_t>(source_.bytes[0])
                                                   : kNothing;
  }
  // The number in `size` bytes after the first `before`, which are taken with it.
  std::uint64_t big_endian(std::size_t before, std::size_t size) {
    if (!expect(source_.bytes.size() >= before + size)) return 0;
    std::uint64_t value = 0;
    for (const std::byte byte : source_.bytes.subspan(before, size))
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    source_.bytes = source_.bytes.subspan(before + size);
    return value;
  }
  std::uint64_t unsigned_number() {
    const std::uint8_t byte = first();
    if (byte < 0x80) return big_endian(0, 1);
    if (!expect(byte >= kUnsigned8 && byte <= kUnsigned64)) return 0;
    return big_endian(1, std::size_t{1} << (byte - kUnsigned8));
  }
  std::size_t size_of(const Sizes& sizes) {
    const std::uint8_t byte = first();
    if (sizes.mask > 0 && (byte & ~sizes.mask) == sizes.fixed) return big_endian(0, 1) & sizes.mask;
    const std::size_t width = byte == sizes.one    ? 1
                              : byte == sizes.two  ? 2
                              : byte == sizes.four ? 4
                                                   : 0;
    return expect(width > 0) ? big_endian(1, width) : 0;
  }
  std::string_view chars(const Sizes& sizes, std::size_t most) {
    take_field();
    const std::size_t size = size_of(sizes);
    if (!expect(size <= most && size <= source_.bytes.size())) return {};
    const auto read = source_.bytes.first(size);
    source_.bytes = source_.bytes.subspan(size);
    return {reinterpret_cast<const char*>(read.data()), read.size()};
  }
  // Takes an array without a look at what its fields say.
  std::span<const std::byte> skip_array() {
    const std::span<const std::byte> begun = source_.bytes;
    for (std::size_t values = 1; values > 0 && source_.sound; --values) values += skip_value();
    return begun.first(begun.size() - source_.bytes.size());
  }
  // Returns the number of its fields if it is an array.
  std::size_t skip_value() {
    const std::uint8_t byte = first();
    if (byte < 0x80 || (byte >= kUnsigned8 && byte <= kUnsigned64)) return unsigned_number(), 0;
    if (byte == kFloat64) return big_endian(1, 8), 0;
    if ((byte & ~kArray.mask) == kArray.fixed || byte == kArray.two || byte == kArray.four)
      return size_of(kArray);
    const bool is_text =
        (byte & ~kText.mask) == kText.fixed || (byte >= kText.one && byte <= kText.four);
    const std::size_t size = size_of(is_text ? kText : kBinary);
    if (expect(size <= source_.bytes.size())) source_.bytes = source_.bytes.subspan(size);
    return 0;
  }
  // The number of fields left; 0, and not sound, when it exceeds `most`.
  std::size_t size_up_to(std::size_t most) { return expect(left_ <= most) ? left_ : 0; }

  Source& source_;
  std::size_t left_;  // fields
};

}  // namespace starling::gossip
