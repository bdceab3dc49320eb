// text: numbers as people read them.
#pragma once

#include <cstddef>
#include <string>

namespace starling::models {

// 60000 as "60,000".
inline std::string with_commas(std::size_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace starling::models
