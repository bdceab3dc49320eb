#include "optim/vector/buffer_pool.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <utility>

using namespace starling;
using namespace starling::optim;

TEST_CASE("A buffer is used again once nothing holds it") {
  BufferPool pool;
  auto first = pool.take(1000);
  std::byte* const place = first.get();
  CHECK(pool.take(1000).get() != place);
  const Payload payload = BufferPool::seal(std::move(first), 1000);
  auto second = pool.take(1000);
  CHECK(second.get() != place);
}

TEST_CASE("A vector takes a buffer of at most twice its size") {
  BufferPool pool;
  std::byte* const place = pool.take(1000).get();
  CHECK(pool.lend(500).get() == place);
  CHECK(pool.take(1000).get() == place);
}

TEST_CASE("Only the one holder of a payload in a pool writes to its buffer") {
  BufferPool pool;
  auto buffer = pool.take(1000);
  std::byte* const place = buffer.get();
  const Payload payload = BufferPool::seal(std::move(buffer), 1000);
  Payload other = payload;
  CHECK_FALSE(BufferPool::reopen(payload));
  other = {};
  const auto again = BufferPool::reopen(payload);
  CHECK(again.get() == place);
  CHECK((again.owner_before(payload.pieces().front().owner) ||
         payload.pieces().front().owner.owner_before(again)));
  CHECK_FALSE(BufferPool::reopen(payload.slice(1, 999)));
  CHECK_FALSE(BufferPool::reopen(Payload::copy_of({place, 1000})));
  CHECK_FALSE(BufferPool::reopen({}));
}
