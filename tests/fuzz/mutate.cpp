#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstdint>

namespace starling::fuzz {
namespace {

using Change = void (*)(Prng& prng, std::string& text, const std::string& other);

std::size_t place(Prng& prng, const std::string& text) {
  return prng.below(text.size() + 1);
}

// Mostly few bytes.
std::size_t length(Prng& prng, std::size_t most) {
  return most == 0 ? 0 : 1 + prng.below(prng.chance(0.7) ? std::min<std::size_t>(most, 8) : most);
}

void flip(Prng& prng, std::string& text, const std::string&) {
  if (text.empty()) return;
  char& byte = text[prng.below(text.size())];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << prng.below(8)));
}

void replace(Prng& prng, std::string& text, const std::string&) {
  if (!text.empty()) text[prng.below(text.size())] = static_cast<char>(prng.below(256));
}

void insert(Prng& prng, std::string& text, const std::string&) {
  text.insert(place(prng, text), length(prng, 64), static_cast<char>(prng.below(256)));
}

void leave_out(Prng& prng, std::string& text, const std::string&) {
  const std::size_t from = place(prng, text);
  text.erase(from, length(prng, text.size() - from));
}

void cut(Prng& prng, std::string& text, const std::string&) {
  text.resize(place(prng, text));
}

void repeat(Prng& prng, std::string& text, const std::string&) {
  const std::size_t from = place(prng, text);
  const std::string part = text.substr(from, length(prng, text.size() - from));
  for (std::size_t k = length(prng, 16); k > 0; --k) text.insert(from, part);
}

void splice(Prng& prng, std::string& text, const std::string& other) {
  const std::size_t from = place(prng, other);
  const std::string part = other.substr(from, length(prng, other.size() - from));
  const std::size_t at = place(prng, text);
  if (prng.chance(0.5)) text.erase(at, part.size());
  text.insert(at, part);
}

// A number of 1 to 8 bytes, in either order, or in digits.
void put_number(Prng& prng, std::string& text, const std::string&) {
  constexpr std::uint64_t kEnds[] = {0,      1,          0x7f,       0x80,       0xff,       0x7fff,
                                     0xffff, 0x7fffffff, 0xffffffff, 1ULL << 40, 1ULL << 63, ~0ULL};
  const std::uint64_t value = kEnds[prng.below(std::size(kEnds))];
  const std::size_t at = place(prng, text);
  if (prng.chance(0.3)) {
    text.insert(at, std::to_string(value));
    return;
  }
  const bool is_little = prng.chance(0.5);
  const std::size_t bytes = std::size_t{1} << prng.below(4);
  for (std::size_t k = 0; k < bytes && at + k < text.size(); ++k)
    text[at + k] = static_cast<char>(value >> 8 * (is_little ? k : bytes - 1 - k));
}

constexpr Change kChanges[] = {flip, replace, insert, leave_out, cut, repeat, splice, put_number};

}  // namespace

std::string mutated(Prng& prng, const std::vector<std::string>& inputs, std::size_t limit) {
  std::string text = inputs[prng.below(inputs.size())];
  const std::size_t most = std::max(limit, text.size());
  for (std::size_t k = 1 + prng.below(8); k > 0; --k)
    kChanges[prng.below(std::size(kChanges))](prng, text, inputs[prng.below(inputs.size())]);
  text.resize(std::min(text.size(), most));
  return text;
}

}  // namespace starling::fuzz
