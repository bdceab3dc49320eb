// Ladder: the encodings among which exchange.codec = auto chooses, from the longest to the shortest
// messages. A message names its rung, so that the ends of an edge need not agree on one. To add a
// rung for exchange.codec = auto: its row in optim/codec/ladder.cpp. Sparse compressors are left
// out: models that are not linear lose accuracy.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "optim/codec/encoding.h"
#include "optim/codec/wire_form.h"

namespace starling::optim {

std::size_t rung_count();
// For help: "native, bf16, i8, i4".
std::string rung_names();
// These REQUIRE rung < rung_count().
std::string_view rung_name(const WireForm& form, std::size_t rung);
// By which factor its messages are shorter than those of the first rung, as a power of two.
std::size_t shortening_of(const WireForm& form, std::size_t rung);
Encoding encoding_of(const WireForm& form, std::size_t rung);
// The first rung with this shortening or more, else the last.
std::size_t rung_for(const WireForm& form, std::size_t shortening);

}  // namespace starling::optim
