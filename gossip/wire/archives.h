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

#include "base/utf8.h"
#include "gossip/wire/fields.h"

namespace starling::gossip {

// ---------------------------------------------------------------- what a field may be

// A name is UTF-8, so that two names do not look alike, and has no control characters, with which a
// peer could forge a line of a log.
inline bool is_name(std::string_view text) {
  return is_plain(text) && is_utf8(text);
}
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
  void ids(const std::vector<NodeId>&, std::size_t) { ++count_; }
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
  void ids(const std::vector<NodeId>& values, std::size_t) {
    array(values.size());
    for (const NodeId value : values) id(value);
  }
  void record(const auto& x) {
    array(count_fields(x));
    fields(*this, x);
  }
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
    expect(value.size() <= most && is_name(value));
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
  void ids(const std::vector<NodeId>& values, std::size_t most) { expect(values.size() <= most); }
  void record(const auto& x) { fields(*this, x); }
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

// Reads the fields of one array in order. After the first field that does not fit `sound` stays
// false and every later field reads as empty: callers check `sound` once, at the end.
class Reader {
 public:
  Reader(const msgpack::object& object, bool& sound) : sound_(sound) {
    sound_ = sound_ && object.type == msgpack::type::ARRAY;
    if (sound_) array_ = object.via.array;
  }

  // Expects that no field is left. Call it after the last field.
  void end() { expect(index_ == array_.size); }
  // Expects an array as the next field; returns the reader of its fields.
  Reader array() {
    static const msgpack::object kNothing;
    const msgpack::object* field = next(msgpack::type::ARRAY);
    return {field ? *field : kNothing, sound_};
  }

  void number(std::uint64_t& value, std::uint64_t most) {
    const msgpack::object* field = next(msgpack::type::POSITIVE_INTEGER);
    if (field && expect(field->via.u64 <= most)) value = field->via.u64;
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
    if (const msgpack::object* field = next(msgpack::type::FLOAT64)) value = field->via.f64;
  }
  void amount(double& value, double most) {
    double read = 0;
    real(read);
    if (expect(is_amount(read, most))) value = read;
  }
  void text(std::string& value, std::size_t most) {
    const msgpack::object* field = next(msgpack::type::STR);
    if (!field || !expect(field->via.str.size <= most)) return;
    const std::string_view read(field->via.str.ptr, field->via.str.size);
    if (expect(is_plain(read))) value = read;
  }
  void name(std::string& value, std::size_t most) {
    text(value, most);
    expect(is_name(value));
  }
  void bytes(std::string& value, std::size_t most) {
    const msgpack::object* field = next(msgpack::type::BIN);
    if (field && expect(field->via.bin.size <= most))
      value.assign(field->via.bin.ptr, field->via.bin.size);
  }
  void block(std::span<std::byte> value) {
    const msgpack::object* field = next(msgpack::type::BIN);
    if (field && expect(field->via.bin.size == value.size()))
      std::memcpy(value.data(), field->via.bin.ptr, value.size());
  }
  void floats(std::vector<float>& values, std::size_t most) {
    std::string raw;
    bytes(raw, most * sizeof(float));
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
  void ids(std::vector<NodeId>& values, std::size_t most) {
    Reader array = this->array();
    values.resize(array.size_up_to(most));
    for (NodeId& value : values) array.id(value);
  }
  template <class T>
  void record(T& x) {
    Reader in = array();
    fields(in, x);
    in.end();
  }
  void list(auto& records, std::size_t most) { array().rest(records, most); }
  void rest(auto& records, std::size_t most) {
    records.resize(size_up_to(most));
    for (auto& x : records) record(x);
  }

 private:
  bool expect(bool holds) { return sound_ = sound_ && holds; }
  // The number of fields left; 0, and not sound, when it exceeds `most`.
  std::size_t size_up_to(std::size_t most) {
    const std::size_t left = array_.size - index_;
    return expect(left <= most) ? left : 0;
  }
  const msgpack::object* next(msgpack::type::object_type type) {
    if (!expect(index_ < array_.size && array_.ptr[index_].type == type)) return nullptr;
    return &array_.ptr[index_++];
  }

  msgpack::object_array array_{0, nullptr};
  std::uint32_t index_ = 0;
  bool& sound_;
};

// The most elements of an array of a header.
inline constexpr std::size_t kArrayLimit = 16 * kMembersLimit;

// Calls `read` with the object that the bytes begin with; its texts and binaries lie in `bytes`. It
// holds no map, no extension, no long text, no deep nesting and no array of more than
// `array_limit`. Returns the number of its bytes; 0 if there is no such object.
template <class Read>
std::size_t unpack(std::span<const std::byte> bytes, std::size_t array_limit, const Read& read) {
  const msgpack::unpack_limit limits(array_limit, /*map*/ 0, /*str*/ kHeaderBytesLimit,
                                     /*bin*/ kHeaderBytesLimit, /*ext*/ 0, /*depth*/ 8);
  try {
    std::size_t offset = 0;
    bool referenced = false;
    const msgpack::object_handle handle = msgpack::unpack(
        reinterpret_cast<const char*>(bytes.data()), bytes.size(), offset, referenced,
        [](msgpack::type::object_type, std::size_t, void*) { return true; }, nullptr, limits);
    read(handle.get());
    return offset;
  } catch (const std::exception&) {  // msgpack::unpack_error and its relatives, bad_alloc
    return 0;
  }
}

}  // namespace starling::gossip
