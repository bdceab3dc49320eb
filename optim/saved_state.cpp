#include "optim/saved_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

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

// Reads fields by their names into places. With `writes` unset it only checks whether they fit.
class FieldReader {
 public:
  FieldReader(const std::vector<SavedField>& fields, bool writes) : writes_(writes) {
    for (const SavedField& field : fields) found_.emplace(field.name, &field);
  }

  template <class T>
  Result<void> read(const std::string& name, std::span<T> to) const {
    const auto found = found_.find(name);
    if (found == found_.end()) return fail("there is no \"{}\"", name);
    return read(*found->second, to);
  }
  template <class T>
  Result<void> read_if(const std::string& name, std::span<T> to) const {
    return found_.contains(name) ? read(name, to) : Result<void>();
  }
  Result<void> read_order(const std::string& name, std::vector<std::uint32_t>& order) const;
  // The fields named by the part and the id of an edge.
  template <class S>
  Result<void> read_edges(const std::string& name, std::size_t dimension,
                          std::map<std::uint64_t, std::vector<S>>& edges) const;
  template <class Place>
  Result<void> read_own(const std::string& name, const Place& place) const;

 private:
  template <class T>
  Result<void> read(const SavedField& field, std::span<T> to) const;

  bool writes_;
  std::map<std::string_view, const SavedField*> found_;
};

// Whether the claim holds of each number, which may be misaligned where it lies.
template <class T, class Claim>
bool all_of(const Payload& bytes, Claim claim) {
  std::array<T, 512> tile;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof tile) {
    const std::size_t count = std::min(tile.size(), (bytes.size() - at) / sizeof(T));
    bytes.copy_to(at, std::as_writable_bytes(std::span(tile).first(count)));
    if (!std::ranges::all_of(std::span(tile).first(count), claim)) return false;
  }
  return true;
}

template <class T>
Result<void> FieldReader::read(const SavedField& field, std::span<T> to) const {
  if (field.type != type_name<T>())
    return fail("\"{}\" is of type {}; expected {}", field.name, field.type, type_name<T>());
  if (field.bytes.size() != to.size_bytes())
    return fail("\"{}\" has {} bytes; expected {}", field.name, field.bytes.size(),
                to.size_bytes());
  if constexpr (std::is_floating_point_v<T>)
    if (!all_of<T>(field.bytes, [](T value) { return std::isfinite(value); }))
      return fail("\"{}\" holds a number that is not finite", field.name);
  if (writes_ && !to.empty()) field.bytes.copy_to(0, std::as_writable_bytes(to));
  return {};
}

Result<void> FieldReader::read_order(const std::string& name,
                                     std::vector<std::uint32_t>& order) const {
  const auto found = found_.find(name);
  if (found == found_.end()) return {};
  const SavedField& field = *found->second;
  std::vector<std::uint32_t> indices(field.bytes.size() / sizeof(std::uint32_t));
  if (writes_) order.resize(indices.size());
  TRY_DO(read(field, std::span(writes_ ? order : indices)));
  if (!all_of<std::uint32_t>(field.bytes, [&](auto index) { return index < indices.size(); }))
    return fail("\"{}\" holds an index that is not below {}", name, indices.size());
  return {};
}

template <class S>
Result<void> FieldReader::read_edges(const std::string& name, std::size_t dimension,
                                     std::map<std::uint64_t, std::vector<S>>& edges) const {
  const std::string prefix = name + ".";
  std::map<std::uint64_t, std::vector<S>> read_ones;
  for (auto item = found_.lower_bound(prefix);
       item != found_.end() && item->first.starts_with(prefix); ++item) {
    const std::string_view digits = item->first.substr(prefix.size());
    std::uint64_t edge = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), edge, 16);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) continue;
    TRY_DO(read(*item->second, std::span(read_ones[edge] = std::vector<S>(dimension))));
  }
  if (writes_) edges = std::move(read_ones);
  return {};
}

template <class Place>
Result<void> FieldReader::read_own(const std::string& name, const Place& place) const {
  if (const auto* number = std::get_if<double*>(&place))
    return read_if(name, std::span(*number, 1));
  if (const auto* count = std::get_if<std::uint64_t*>(&place))
    return read_if(name, std::span(*count, 1));
  bool& flag = *std::get<bool*>(place);
  std::uint64_t value = flag;
  TRY_DO(read_if(name, std::span(&value, 1)));
  flag = value != 0;
  return {};
}

// ---------------------------------------------------------------- on the wire

struct Front {
  std::uint32_t magic = 0x54415453;  // "STAT"
  std::uint32_t version = kSavedStateVersion;
  std::uint32_t head_bytes = 0;
};
constexpr std::size_t kHeadBytesLimit = 16 << 20, kFieldsLimit = 1 << 17;

std::string line_of(std::string_view name, std::string_view type,
                    std::span<const std::size_t> extents) {
  return fmt::format("{} {} {}\n", type, fmt::join(extents, ","), name);
}

// Takes the text before the separator off `text`, and the separator.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::optional<std::uint64_t> take_count(std::string_view& text, char separator) {
  const auto count = parse_integer(take(text, separator));
  return count && *count >= 0 ? std::optional(static_cast<std::uint64_t>(*count)) : std::nullopt;
}

// The field that the line describes. Its bytes begin at `at` of the payload; moves `at` to their
// end.
Result<SavedField> read_field(std::string_view line, const Payload& payload, std::size_t& at) {
  SavedField field;
  const std::size_t left = payload.size() - at;
  field.type = take(line, ' ');
  std::string_view extents = take(line, ' ');
  field.name = line;
  std::size_t size = field.type.ends_with("64") ? 8 : 4;
  while (!extents.empty()) {
    const auto extent = take_count(extents, ',');
    const bool fits = extent && (*extent == 0 || size <= left / *extent);
    if (!fits) return fail("the extents of \"{}\" do not fit {} bytes", field.name, left);
    size *= field.extents.emplace_back(*extent);
  }
  if (size > left) return fail("\"{}\" has {} bytes; {} are left", field.name, size, left);
  field.bytes = payload.slice(at, size);
  at += size;
  return field;
}

template <class S>
Result<void> read_all(const FieldReader& reader, std::size_t dimension, const State<S>& state) {
  for (const auto& [name, vector] : state.vectors) TRY_DO(reader.read(name, vector));
  for (const auto& [name, number] : state.numbers) TRY_DO(reader.read(name, std::span(number, 1)));
  for (const auto& [name, place] : state.own) TRY_DO(reader.read_own(name, place));
  for (const auto& [name, order] : state.orders) TRY_DO(reader.read_order(name, *order));
  for (const auto& [name, edges] : state.edges)
    TRY_DO(reader.read_edges<S>(name, dimension, *edges));
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

Payload encode(const SavedState& saved) {
  std::string head = fmt::format("{}\n{} {} {}\n", saved.kind, saved.parameters.size(),
                                 saved.state.size(), saved.opaque.size());
  std::vector<Payload::Piece> pieces(1);
  for (const auto* fields : {&saved.parameters, &saved.state})
    for (const SavedField& field : *fields) {
      head += line_of(field.name, field.type, field.extents);
      std::ranges::copy(field.bytes.pieces(), std::back_inserter(pieces));
    }
  std::ranges::copy(saved.opaque.pieces(), std::back_inserter(pieces));
  head += saved.schema;
  const Front front{.head_bytes = static_cast<std::uint32_t>(head.size())};
  head.insert(0, reinterpret_cast<const char*>(&front), sizeof front);
  pieces[0] = Payload::copy_of(std::as_bytes(std::span(head))).pieces()[0];
  return Payload(std::move(pieces));
}

Result<SavedState> decode_saved_state(const Payload& payload) {
  Front front{.magic = 0};
  if (payload.size() >= sizeof front)
    payload.copy_to(0, std::as_writable_bytes(std::span(&front, 1)));
  if (front.magic != Front().magic) return fail("the snapshot does not begin as one");
  if (front.version != kSavedStateVersion)
    return fail("the snapshot has version {}; expected {}", front.version, kSavedStateVersion);
  const std::size_t limit = std::min(payload.size() - sizeof front, kHeadBytesLimit);
  if (front.head_bytes > limit)
    return fail("the snapshot's head has {} bytes; expected at most {}", front.head_bytes, limit);
  std::string text(front.head_bytes, '\0');
  payload.copy_to(sizeof front, std::as_writable_bytes(std::span(text)));
  std::string_view head = text;
  SavedState saved;
  saved.kind = take(head, '\n');
  std::string_view counts = take(head, '\n');
  const auto parameters = take_count(counts, ' '), others = take_count(counts, ' '),
             opaque = take_count(counts, ' ');
  if (!parameters || !others || !opaque) return fail("the snapshot's head cannot be read");
  if (*parameters > kFieldsLimit || *others > kFieldsLimit)
    return fail("the snapshot has {} and {} fields; expected at most {}", *parameters, *others,
                kFieldsLimit);
  std::size_t at = sizeof front + text.size();
  for (auto [fields, count] :
       {std::pair(&saved.parameters, *parameters), std::pair(&saved.state, *others)})
    for (; count > 0; --count) {
      TRY(SavedField field, read_field(take(head, '\n'), payload, at));
      fields->push_back(std::move(field));
    }
  if (*opaque != payload.size() - at)
    return fail("the snapshot has {} bytes after its fields; its head says {}", payload.size() - at,
                *opaque);
  saved.opaque = payload.slice(at, *opaque);
  saved.schema = head;
  return saved;
}

template <class S>
std::size_t encoded_limit(std::string_view schema, std::span<const ParameterBlock> blocks,
                          const State<S>& state) {
  constexpr std::size_t kOthersLimit = 4096;  // the lines and numbers of a state, and its kind
  std::size_t bytes = sizeof(Front) + schema.size() + kOthersLimit;
  for (const ParameterBlock& block : blocks)
    bytes += line_of(block.name, type_name<S>(), block.extents).size();
  return bytes + (1 + kStateVectorsLimit) * dimension_of(blocks) * sizeof(S) +
         std::max(state.opaque.size(), state.opaque_limit);
}

template <class S>
Result<std::vector<S>> load_parameters(const SavedState& saved,
                                       std::span<const ParameterBlock> blocks) {
  const FieldReader reader(saved.parameters, true);
  std::vector<S> x(dimension_of(blocks));
  for (const ParameterBlock& block : blocks)
    TRY_DO(reader.read(block.name, std::span(x).subspan(block.offset, block.size())));
  return x;
}

template <class S>
Result<void> check_state(const SavedState& saved, std::size_t dimension, const State<S>& state) {
  return read_all(FieldReader(saved.state, false), dimension, state);
}

template <class S>
void load_state(const SavedState& saved, std::size_t dimension, const State<S>& state) {
  const auto loaded = read_all(FieldReader(saved.state, true), dimension, state);
  ENSURE(loaded, "what is loaded was checked");
}

template SavedState save_state(std::span<const float>, std::span<const ParameterBlock>,
                               const State<float>&, BufferPool&);
template SavedState save_state(std::span<const double>, std::span<const ParameterBlock>,
                               const State<double>&, BufferPool&);
template std::size_t encoded_limit(std::string_view, std::span<const ParameterBlock>,
                                   const State<float>&);
template std::size_t encoded_limit(std::string_view, std::span<const ParameterBlock>,
                                   const State<double>&);
template Result<std::vector<float>> load_parameters(const SavedState&,
                                                    std::span<const ParameterBlock>);
template Result<std::vector<double>> load_parameters(const SavedState&,
                                                     std::span<const ParameterBlock>);
template Result<void> check_state(const SavedState&, std::size_t, const State<float>&);
template Result<void> check_state(const SavedState&, std::size_t, const State<double>&);
template void load_state(const SavedState&, std::size_t, const State<float>&);
template void load_state(const SavedState&, std::size_t, const State<double>&);

}  // namespace starling::optim
