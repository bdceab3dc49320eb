#include "daemon/safetensors.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace starling::daemon {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template <class S>
void append(std::string& text, std::span<const double> numbers) {
  const std::size_t start = text.size();
  text.resize(start + numbers.size() * sizeof(S));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const S number = static_cast<S>(numbers[i]);
    std::memcpy(text.data() + start + i * sizeof(S), &number, sizeof(S));
  }
}

}  // namespace

std::string safetensors(std::span<const double> parameters, models::Precision precision,
                        const std::map<std::string, std::string>& metadata) {
  const bool is_double = precision == models::Precision::f64;
  const std::size_t bytes = parameters.size() * (is_double ? sizeof(double) : sizeof(float));
  const nlohmann::json header = {{"__metadata__", metadata},
                                 {"parameters",
                                  {{"dtype", is_double ? "F64" : "F32"},
                                   {"shape", {parameters.size()}},
                                   {"data_offsets", {0, bytes}}}}};
  std::string head = header.dump();
  head.append((8 - head.size() % 8) % 8, ' ');  // the numbers begin at a multiple of 8
  const std::uint64_t length = head.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  text += head;
  if (is_double)
    append<double>(text, parameters);
  else
    append<float>(text, parameters);
  return text;
}

}  // namespace starling::daemon
