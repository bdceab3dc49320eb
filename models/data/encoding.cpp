#include "models/data/encoding.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace starling::models {
namespace {

struct Close {
  void operator()(void* descriptor) const { iconv_close(static_cast<iconv_t>(descriptor)); }
};

Result<std::string> convert(std::string text, const std::string& encoding,
                            const std::string& path) {
  iconv_t opened = iconv_open("UTF-8", encoding.c_str());
  if (opened == reinterpret_cast<iconv_t>(-1))
    return fail(
        "data.encoding = \"{}\" is unknown; expected auto, or a name that `iconv -l` lists, "
        "such as latin1, cp1252 or utf-16",
        encoding);
  const std::unique_ptr<void, Close> descriptor(opened);
  std::string result;
  std::array<char, 1 << 16> part;
  char* from = text.data();
  std::size_t left = text.size();
  while (left > 0) {
    char* to = part.data();
    std::size_t room = part.size();
    const std::size_t done = iconv(opened, &from, &left, &to, &room);
    result.append(part.data(), part.size() - room);
    if (done == static_cast<std::size_t>(-1) && errno != E2BIG)
      return fail("{}: byte {} is not of encoding {}; data.encoding names another", path,
                  text.size() - left + 1, encoding);
  }
  return result;
}

}  // namespace

Result<std::string> to_utf8(std::string text, const std::string& encoding,
                            const std::string& path) {
  const bool is_marked = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  if (encoding != "auto" || is_marked) {
    TRY(text, convert(std::move(text), encoding == "auto" ? "UTF-16" : encoding, path));
  }
  if (text.find('\n') == std::string::npos) std::ranges::replace(text, '\r', '\n');
  return text;
}

}  // namespace starling::models
