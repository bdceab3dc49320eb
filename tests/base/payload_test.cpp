#include "base/payload.h"

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace starling;

namespace {

std::string text_of(const Payload& payload) {
  std::string text(payload.size(), '?');
  payload.copy_to(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// The texts in one payload, a piece each, with an empty piece after each.
Payload rope(const std::vector<std::string>& texts) {
  std::vector<Payload::Piece> pieces;
  for (const std::string& text : texts) {
    const Payload whole = Payload::copy_of(std::as_bytes(std::span(text)));
    pieces.push_back(whole.pieces().front());
    pieces.push_back({});
  }
  return Payload(std::move(pieces));
}

}  // namespace

TEST_CASE("A rope reads as one text wherever it is cut") {
  for (const Payload& payload :
       {rope({"abcdef"}), rope({"ab", "cdef"}), rope({"a", "bcd", "ef"})}) {
    REQUIRE(payload.size() == 6);
    for (std::size_t offset = 0; offset <= 6; ++offset) {
      for (std::size_t length = 0; length <= 6 - offset; ++length) {
        const Payload part = payload.slice(offset, length);
        CHECK(part.size() == length);
        CHECK(text_of(part) == std::string("abcdef").substr(offset, length));
        std::string copied(length, '?');
        payload.copy_to(offset, std::as_writable_bytes(std::span(copied)));
        CHECK(copied == text_of(part));
      }
    }
  }
}

TEST_CASE("A slice shares the bytes and keeps them alive") {
  auto owner = std::make_shared<std::string>("abcdef");
  const std::weak_ptr<std::string> watch = owner;
  const auto bytes = std::as_bytes(std::span(*owner));
  Payload whole(std::move(owner), bytes);
  Payload part = whole.slice(2, 3);
  CHECK(part.pieces().front().bytes.data() == bytes.data() + 2);
  whole = Payload();
  CHECK_FALSE(watch.expired());
  CHECK(text_of(part) == "cde");
  part = Payload();
  CHECK(watch.expired());
}

TEST_CASE("A slice of nothing holds nothing") {
  CHECK(Payload().empty());
  CHECK(Payload().slice(0, 0).empty());
  CHECK(rope({"abc"}).slice(3, 0).pieces().empty());
}

TEST_CASE("A payload that was moved away is empty") {
  Payload from = rope({"abc"});
  const Payload to = std::move(from);
  CHECK(text_of(to) == "abc");
  CHECK(from.empty());
  CHECK(from.pieces().empty());
}
