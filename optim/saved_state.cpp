#include "optim/saved_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace starling::optim {
namespace {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, float>) return "F32";
  if constexpr (std::is_same_v<T, double>) return "F64";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "U32";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "U64";
}

// A field that is to be copied.
struct Source {
  std::string name;
  const char* type;
  std::vector<std::size_t> extents;
  std::span<const std::byte> bytes;
};

template <class T>
Source source_of(std::string name, std::span<const T> values) {
  return {
      std::move(name), type_name<std::remove_const_t<T>>(), {values.size()}, std::as_bytes(values)};
}

// Flags are saved as numbers; these lie here until they are copied.
using Flags = std::map<std::string, std::uint64_t>;

template <class S>
std::vector<Source> sources_of(const State<S>& state, Flags& flags) {
  std::vector<Source> sources;
  for (const auto& [name, vector] : state.vectors) sources.push_back(source_of<S>(name, vector));
  for (const auto& [name, order] : state.orders)
    sources.push_back(source_of<std::uint32_t>(name, *order));
  for (const auto& [name, edges] : state.edges)
    for (const auto& [edge, vector] : *edges)
      sources.push_back(source_of<S>(fmt::format("{}.{:016x}", name, edge), vector));
  for (const auto& [name, number] : state.numbers)
    sources.push_back(source_of<double>(name, std::span(number, 1)));
  for (const auto& [name, place] : state.own) {
    if (const auto* number = std::get_if<double*>(&place))
      sources.push_back(source_of<double>(name, std::span(*number, 1)));
    else if (const auto* count = std::get_if<std::uint64_t*>(&place))
      sources.push_back(source_of<std::uint64_t>(name, std::span(*count, 1)));
    else
      sources.push_back(
          source_of<std::uint64_t>(name, std::span(&(flags[name] = *std::get<bool*>(place)), 1)));
  }
  return sources;
}

template <class S>
std::vector<Source> sources_of(std::span<const S> x, std::span<const ParameterBlock> blocks) {
  std::vector<Source> sources;
  for (const ParameterBlock& block : blocks)
    sources.push_back({block.name, type_name<S>(), block.extents,
                       std::as_bytes(x.subspan(block.offset, block.size()))});
  return sources;
}

std::size_t bytes_of(const std::vector<Source>& sources) {
  std::size_t bytes = 0;
  for (const Source& source : sources) bytes += source.bytes.size();
  return bytes;
}

std::vector<SavedField> copy(const std::vector<Source>& sources,
                             const std::shared_ptr<std::byte>& buffer, std::size_t& offset) {
  std::vector<SavedField> fields;
  for (const Source& source : sources) {
    std::byte* const at = buffer.get() + offset;
    const std::size_t size = source.bytes.size();
    if (size > 0) std::memcpy(at, source.bytes.data(), size);
    offset += size;
    fields.push_back({source.name, source.type, source.extents,
                      size > 0 ? Payload(buffer, {at, size}) : Payload()});
  }
  return fields;
}

using Fields = std::map<std::string_view, const SavedField*>;

Fields by_name(const std::vector<SavedField>& fields) {
  Fields found;
  for (const SavedField& field : fields) found.emplace(field.name, &field);
  return found;
}

template <class T>
Result<void> read(const SavedField& field, std::span<T> to) {
  if (field.type != type_name<T>())
    return fail("\"{}\" is of type {}; expected {}", field.name, field.type, type_name<T>());
  if (field.bytes.size() != to.size_bytes())
    return fail("\"{}\" has {} bytes; expected {}", field.name, field.bytes.size(),
                to.size_bytes());
  if (!to.empty()) field.bytes.copy_to(0, std::as_writable_bytes(to));
  if constexpr (std::is_floating_point_v<T>)
    if (!std::ranges::all_of(to, [](T value) { return std::isfinite(value); }))
      return fail("\"{}\" holds a number that is not finite", field.name);
  return {};
}

template <class T>
Result<void> read_if(const Fields& fields, const std::string& name, std::span<T> to) {
  const auto found = fields.find(name);
  return found == fields.end() ? Result<void>() : read(*found->second, to);
}

Result<void> read_order(const SavedField& field, std::vector<std::uint32_t>& order) {
  order.resize(field.bytes.size() / sizeof(std::uint32_t));
  TRY_DO(read(field, std::span(order)));
  if (std::ranges::any_of(order, [&](std::uint32_t index) { return index >= order.size(); }))
    return fail("\"{}\" holds an index that is not below {}", field.name, order.size());
  return {};
}

// Those whose name is that of the part and the id of an edge.
template <class S>
Result<void> read_edges(const Fields& fields, const std::string& name, std::size_t dimension,
                        typename State<S>::OfEdges& edges) {
  const std::string prefix = name + ".";
  edges.clear();
  for (auto item = fields.lower_bound(prefix);
       item != fields.end() && item->first.starts_with(prefix); ++item) {
    const std::string_view digits = item->first.substr(prefix.size());
    std::uint64_t edge = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), edge, 16);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) continue;
    TRY_DO(read(*item->second, std::span(edges[edge] = std::vector<S>(dimension))));
  }
  return {};
}

template <class Place>
Result<void> read_own(const Fields& fields, const std::string& name, const Place& place) {
  if (const auto* number = std::get_if<double*>(&place))
    return read_if(fields, name, std::span(*number, 1));
  if (const auto* count = std::get_if<std::uint64_t*>(&place))
    return read_if(fields, name, std::span(*count, 1));
  bool& flag = *std::get<bool*>(place);
  std::uint64_t value = flag;
  TRY_DO(read_if(fields, name, std::span(&value, 1)));
  flag = value != 0;
  return {};
}

}  // namespace

template <class S>
SavedState save_state(std::span<const S> x, std::span<const ParameterBlock> blocks,
                      const State<S>& state, BufferPool& pool) {
  Flags flags;
  const std::vector<Source> parameters = sources_of(x, blocks), rest = sources_of(state, flags);
  const auto buffer = pool.take(bytes_of(parameters) + bytes_of(rest));
  std::size_t offset = 0;
  SavedState saved;
  saved.parameters = copy(parameters, buffer, offset);
  saved.state = copy(rest, buffer, offset);
  saved.opaque = state.opaque;
  return saved;
}

template <class S>
Result<std::vector<S>> load_parameters(const SavedState& saved,
                                       std::span<const ParameterBlock> blocks) {
  const Fields fields = by_name(saved.parameters);
  std::vector<S> x(dimension_of(blocks));
  for (const ParameterBlock& block : blocks) {
    const auto found = fields.find(block.name);
    if (found == fields.end()) return fail("there is no \"{}\"", block.name);
    TRY_DO(read(*found->second, std::span(x).subspan(block.offset, block.size())));
  }
  return x;
}

template <class S>
Result<void> load_state(const SavedState& saved, std::size_t dimension, const State<S>& state) {
  const Fields fields = by_name(saved.state);
  for (const auto& [name, vector] : state.vectors) TRY_DO(read_if(fields, name, vector));
  for (const auto& [name, number] : state.numbers)
    TRY_DO(read_if(fields, name, std::span(number, 1)));
  for (const auto& [name, place] : state.own) TRY_DO(read_own(fields, name, place));
  for (const auto& [name, order] : state.orders)
    if (const auto found = fields.find(name); found != fields.end())
      TRY_DO(read_order(*found->second, *order));
  for (const auto& [name, edges] : state.edges)
    TRY_DO(read_edges<S>(fields, name, dimension, *edges));
  return {};
}

template SavedState save_state(std::span<const float>, std::span<const ParameterBlock>,
                               const State<float>&, BufferPool&);
template SavedState save_state(std::span<const double>, std::span<const ParameterBlock>,
                               const State<double>&, BufferPool&);
template Result<std::vector<float>> load_parameters(const SavedState&,
                                                    std::span<const ParameterBlock>);
template Result<std::vector<double>> load_parameters(const SavedState&,
                                                     std::span<const ParameterBlock>);
template Result<void> load_state(const SavedState&, std::size_t, const State<float>&);
template Result<void> load_state(const SavedState&, std::size_t, const State<double>&);

}  // namespace starling::optim
