#include "daemon/process/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "daemon/process/safetensors.h"
#include "daemon/process/whole_file.h"
#include "optim/saved_state.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr char kModelFile[] = "model.safetensors", kStateFile[] = "state.safetensors";
constexpr char kTrainerFile[] = "trainer.state", kFoundationFile[] = "foundation",
               kSettingsFile[] = "settings";
constexpr std::size_t kEdgesLimit = 4096;
// Thirty years at a thousand rounds a second; members refuse rounds that are much larger.
constexpr std::uint64_t kSavedRoundLimit = UINT64_C(1) << 40;

Payload file_named(const Generation& content, const char* name) {
  const auto found = content.files.find(name);
  return found == content.files.end() ? Payload() : found->second;
}

// A file of the head, then the numbers, which are not copied.
Payload tensor_file(const std::vector<optim::SavedField>& fields,
                    const std::map<std::string, std::string>& metadata) {
  std::vector<PlacedTensor> tensors;
  for (const optim::SavedField& field : fields)
    tensors.push_back({field.name, field.type, field.extents, field.bytes.size()});
  std::vector<Payload::Piece> pieces = as_payload(safetensors_head(tensors, metadata)).pieces();
  for (const optim::SavedField& field : fields)
    std::ranges::copy(field.bytes.pieces(), std::back_inserter(pieces));
  return Payload(std::move(pieces));
}

Result<std::vector<optim::SavedField>> read_tensors(const Generation& content, const char* name) {
  const Payload file = file_named(content, name);
  const auto placed = read_safetensors_head(file);
  if (!placed) return fail("{} {}", name, placed.error().text);
  std::vector<optim::SavedField> fields;
  for (const PlacedTensor& tensor : *placed)
    fields.push_back(
        {tensor.name, tensor.type, tensor.extents, file.slice(tensor.begin, tensor.bytes)});
  return fields;
}

// A number in hexadecimal, without rounding.
std::string text_of(double number) {
  return fmt::format("{:a}", number);
}

std::string about(const Generation& content, const std::string& key) {
  const auto found = content.about.find(key);
  return found == content.about.end() ? "" : found->second;
}

Result<double> number_of(const Generation& content, const std::string& key) {
  const std::string text = about(content, key);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(number))
    return fail("the manifest's \"{}\" is no number", key);
  return number;
}

Result<std::uint64_t> count_of(const Generation& content, const std::string& key,
                               std::uint64_t limit) {
  const std::string text = about(content, key);
  const auto count = parse_exactly<std::uint64_t>(text);
  if (!count || *count > limit)
    return fail("the manifest's \"{}\" is \"{}\"; expected a whole number up to {}", key, text,
                limit);
  return *count;
}

// PEER:EDGE:CLAIM in hexadecimal, separated by spaces.
std::string text_of(const std::vector<gossip::KeptEdge>& edges) {
  std::string text;
  for (const gossip::KeptEdge& edge : edges)
    text += fmt::format("{}{:x}:{:x}:{:x}", text.empty() ? "" : " ", edge.peer.value, edge.edge,
                        edge.claim);
  return text;
}

Result<std::vector<gossip::KeptEdge>> edges_of(const Generation& content) {
  std::vector<gossip::KeptEdge> edges;
  const std::string text = about(content, "edges");
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    gossip::KeptEdge edge;
    for (std::uint64_t* const part : {&edge.peer.value, &edge.edge, &edge.claim}) {
      const auto parsed = std::from_chars(at, end, *part, 16);
      const bool is_last = part == &edge.claim;
      at = parsed.ptr;
      if (parsed.ec != std::errc() || (!is_last && (at == end || *at != ':')))
        return fail("the manifest's \"edges\" cannot be read");
      at += !is_last;
    }
    if (at != end && (*at++ != ' ' || at == end))
      return fail("the manifest's \"edges\" cannot be read");
    edges.push_back(edge);
    if (edges.size() > kEdgesLimit) return fail("the manifest has more than {} edges", kEdgesLimit);
  }
  return edges;
}

}  // namespace

Generation files_of(const gossip::Checkpoint& checkpoint) {
  const optim::SavedState& state = *checkpoint.state;
  Generation content;
  content.about = {{"round", std::to_string(checkpoint.round)},
                   {"uncounted", std::to_string(checkpoint.uncounted)},
                   {"sealed", std::to_string(checkpoint.sealed)},
                   {"members", std::to_string(checkpoint.members)},
                   {"steps", std::to_string(checkpoint.steps)},
                   {"samples", std::to_string(checkpoint.samples)},
                   {"trained-s", text_of(checkpoint.trained_s)},
                   {"path", text_of(checkpoint.exchange.path)},
                   {"partner-path", text_of(checkpoint.exchange.sent_path)},
                   {"edges", text_of(checkpoint.exchange.edges)},
                   {"model", state.schema},
                   {"kind", state.kind}};
  const std::map<std::string, std::string> origin = {{"round", content.about["round"]}};
  content.files[kModelFile] = tensor_file(state.parameters, origin);
  content.files[kStateFile] = tensor_file(state.state, origin);
  if (!state.opaque.empty()) content.files[kTrainerFile] = state.opaque;
  if (!checkpoint.foundation.empty())
    content.files[kFoundationFile] = as_payload(checkpoint.foundation);
  if (!checkpoint.changes.empty())
    content.files[kSettingsFile] = as_payload(gossip::encode(checkpoint.changes));
  return content;
}

Result<gossip::Checkpoint> checkpoint_from(const Generation& content) {
  gossip::Checkpoint checkpoint;
  TRY(checkpoint.round, count_of(content, "round", kSavedRoundLimit));
  if (content.about.contains("uncounted")) {
    TRY(checkpoint.uncounted, count_of(content, "uncounted", kSavedRoundLimit));
  }
  if (content.about.contains("sealed")) {
    TRY(checkpoint.sealed, count_of(content, "sealed", UINT64_MAX));
  }
  TRY(checkpoint.members, count_of(content, "members", kMembersLimit));
  TRY(checkpoint.steps, count_of(content, "steps", UINT64_MAX));
  TRY(checkpoint.samples, count_of(content, "samples", UINT64_MAX));
  TRY(checkpoint.trained_s, number_of(content, "trained-s"));
  TRY(checkpoint.exchange.path, number_of(content, "path"));
  TRY(checkpoint.exchange.sent_path, number_of(content, "partner-path"));
  TRY(checkpoint.exchange.edges, edges_of(content));
  auto state = std::make_shared<optim::SavedState>();
  state->schema = about(content, "model");
  state->kind = about(content, "kind");
  TRY(state->parameters, read_tensors(content, kModelFile));
  TRY(state->state, read_tensors(content, kStateFile));
  state->opaque = file_named(content, kTrainerFile);
  checkpoint.foundation = as_text(file_named(content, kFoundationFile));
  if (const std::string changes = as_text(file_named(content, kSettingsFile)); !changes.empty()) {
    TRY(checkpoint.changes, gossip::decode_setting_changes(std::as_bytes(std::span(changes))));
  }
  checkpoint.state = std::move(state);
  return checkpoint;
}

}  // namespace starling::daemon
