#include "daemon/setup/edge_list.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace starling::daemon {
namespace {

Result<std::string> read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return fail("topology.file = \"{}\": {}; expected an edge list", path, std::strerror(errno));
  std::string text;
  char block[64 * 1024];
  while (stream.read(block, sizeof block), stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kEdgeListBytesLimit)
      return fail("topology.file = \"{}\": is too large, expected at most {} bytes", path,
                  kEdgeListBytesLimit);
  }
  if (stream.bad())
    return fail("topology.file = \"{}\": cannot be read; expected an edge list", path);
  return text;
}

}  // namespace

Result<void> load_edges(topology::Options& options) {
  if (options.kind != topology::Kind::file) return {};
  TRY(const std::string text, read_text(options.file));
  TRY(topology::EdgeList list, topology::parse_edges(text, options.file));
  options.edges = std::move(list.edges);
  options.arcs = std::move(list.arcs);
  return {};
}

}  // namespace starling::daemon
