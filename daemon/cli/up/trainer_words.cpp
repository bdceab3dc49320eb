#include "daemon/cli/up/trainer_words.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/text.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kLinesLimit = 6;
constexpr std::string_view kComplaint = "starling run: ";
constexpr std::string_view kTime = "00:00:00.000 ";
constexpr std::streamoff kBytesLimit = 16'384;  // from the end of the log

// The node's own lines begin with the time: 13:11:26.864. What ends it begins with its command.
bool is_of_node(std::string_view line) {
  if (line.starts_with(kComplaint)) return true;
  if (line.size() < kTime.size()) return false;
  return std::ranges::equal(line.substr(0, kTime.size()), kTime, [](char seen, char form) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(seen)) != 0 : seen == form;
  });
}

// 13:11:26.864 warning node-0: no trainer is attached
std::string said(const std::string& line) {
  if (line.starts_with(kComplaint)) return line.substr(kComplaint.size());
  const std::size_t name_end = line.find(": ", kTime.size());
  return name_end == std::string::npos ? line : line.substr(name_end + 2);
}

std::string end_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(0, std::ios::end);
  const std::streamoff size = stream.tellg();
  stream.seekg(std::max<std::streamoff>(0, size - kBytesLimit));
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::string node_words(const std::string& log_path) {
  const std::vector<std::string> lines = split(end_of(log_path), '\n');
  const auto last = std::find_if(lines.rbegin(), lines.rend(), is_of_node);
  return last == lines.rend() ? "" : said(*last);
}

std::vector<std::string> trainer_words(const std::string& log_path) {
  std::vector<std::string> words = split(end_of(log_path), '\n');
  std::erase_if(words, [](const auto& line) { return line.empty() || is_of_node(line); });
  if (words.size() > kLinesLimit)
    words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(kLinesLimit));
  return words;
}

}  // namespace starling::daemon
