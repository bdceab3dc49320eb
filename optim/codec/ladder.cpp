#include "optim/codec/ladder.h"

#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace starling::optim {
namespace {

// Names of formats or compressors; empty: the format of the form.
constexpr std::array<std::string_view, 4> kRungs = {"", "bf16", "i8", "i4"};

}  // namespace

std::size_t rung_count() {
  return kRungs.size();
}

std::string rung_names() {
  std::string names = "native";
  for (const std::string_view rung : kRungs)
    if (!rung.empty()) names.append(", ").append(rung);
  return names;
}

Encoding encoding_of(const WireForm& form, std::size_t rung) {
  ENSURE(rung < rung_count(), "a message names a rung of the ladder");
  Encoding encoding{.whole = form.format, .format = form.format};
  if (kRungs[rung].empty()) return encoding;
  const WireForm row = wire_form_named(kRungs[rung]);
  encoding.compressor = row.coding.compressor;
  if (!encoding.compressor) encoding.format = row.format;
  return encoding;
}

std::string_view rung_name(const WireForm& form, std::size_t rung) {
  return kRungs[rung].empty() ? form.format->name : kRungs[rung];
}

std::size_t shortening_of(const WireForm& form, std::size_t rung) {
  const auto bytes = [&](std::size_t of) {
    return static_cast<double>(encoding_of(form, of).bytes(kBlockLimit, false));
  };
  return std::bit_floor(static_cast<std::size_t>(std::lround(bytes(0) / bytes(rung))));
}

std::size_t rung_for(const WireForm& form, std::size_t shortening) {
  std::size_t rung = 0;
  while (rung + 1 < rung_count() && shortening_of(form, rung) < shortening) ++rung;
  return rung;
}

}  // namespace starling::optim
