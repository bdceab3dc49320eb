// What a trainer of the user's own sends over its socket: records, its segment, and the table of
// its tensors; and what other nodes keep for trainers.
#include <fcntl.h>
#include <sys/mman.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "daemon/attach/keepsake.h"
#include "daemon/attach/records.h"
#include "daemon/attach/tensor_table.h"
#include "daemon/attach/trainer_terms.h"
#include "daemon/process/whole_file.h"
#include "optim/algorithms/registry.h"
#include "tests/daemon/temporary_folder.h"
#include "tests/fuzz/input.h"

extern "C" {
#include "clients/c/json.h"
}

namespace starling::fuzz {
namespace {

using namespace daemon;

void expect_line(const std::string& text) {
  for (const char c : text)
    ENSURE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a text for people is a line");
}

// A memory file of a trainer, sealed or not, of the size that it says or not.
void run_segment(Bytes input) {
  Input in(input);
  const std::size_t how = in.byte(), said = in.number(2);
  const Region region{in.number(in.byte() % 9), in.number(in.byte() % 9)};
  const OpenFile file(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ENSURE(file && write_all(file.number(), in_pieces(in.rest(), 0)), "a memory file can be written");
  ::fcntl(file.number(), F_ADD_SEALS, (how & 1 ? 0 : F_SEAL_SHRINK) | (how & 2 ? 0 : F_SEAL_GROW));
  const auto segment = Segment::map(file, said);
  if (!segment) return expect_reason(segment.error());
  segment->progress();
  const auto fits = segment->check("values", region);
  if (!fits) return expect_reason(fits.error());
  ENSURE(region.bytes <= said && region.offset <= said - region.bytes,
         "a region lies in its segment");
  segment->prepare(region);
  for (const std::byte byte : segment->at(region)) ENSURE(byte == byte, "a region can be read");
}

std::vector<std::string> segment_seeds() {
  constexpr std::uint64_t kMagic = 0x3152524154535453;
  std::string file(192, '\0');
  std::memcpy(file.data(), &kMagic, sizeof kMagic);
  return {std::string("\0\xc0\0\1\x40\1\x40", 7) + file, std::string("\1\xc0\0\0\0", 5) + file};
}

// What another node kept for its trainer.
void run_keepsake(Bytes input) {
  static const test::TemporaryFolder folder;
  static const auto port = TrainerPort::open(folder.path() + "/trainer", {});
  ENSURE(port.has_value(), "a socket can be made");
  Input in(input);
  Keepsake keepsake(**port, {.is_shared = in.flag()}, [] { return Time{}; });
  const auto heir = in.flag() ? optim::Heir::self : optim::Heir::newcomer;
  const std::size_t piece = in.byte();
  const Payload shared = in_pieces(in.rest(), piece);
  keepsake.adopt(shared, heir);
  const std::string once = all_bytes(keepsake.share(optim::Heir::self));
  ENSURE(once.size() <= std::max<std::size_t>(shared.size(), sizeof(std::uint64_t)),
         "no more is kept than came");
  ENSURE(once == all_bytes(shared).substr(0, once.size()) || once.size() == sizeof(std::uint64_t),
         "what came is kept as it is");
}

std::vector<std::string> keepsake_seeds() {
  const std::string tensors = std::string("\4\0\0\0\0\0\0\0", 8) + "abcd";
  return {std::string("\0\0\0", 3) + tensors, std::string("\1\0\5", 3) + tensors + "a state"};
}

void run_record(Bytes input) {
  const auto record = read_record(text_of(input));
  if (!record) return expect_reason(record.error());
  if (const auto* note = std::get_if<Note>(&*record)) expect_line(note->text);
  if (const auto* answer = std::get_if<TrainerAnswer>(&*record)) expect_line(answer->refusal);
  const auto* hello = std::get_if<Hello>(&*record);
  if (!hello) return;
  expect_line(hello->client);
  for (const optim::AlgorithmRow& row : optim::algorithms())
    for (const bool weighs : {false, true}) {
      TrainerTerms terms;
      terms.algorithm = &row;
      terms.weighs_samples = weighs;
      if (const auto fits = check_terms(terms, *hello); !fits) expect_reason(fits.error());
    }
}

std::vector<std::string> record_seeds() {
  return {R"({"kind": "hello", "version": 1, "client": "c", "mode": "loop", "samples": 60,
"optimizer": "adam", "steps": "linear", "learning_rate": 0.1, "corrects": true, "shifts": true,
"evaluates": true, "saves": true, "segment": 4096, "table": {"offset": 64, "bytes": 128},
"values": {"offset": 192, "bytes": 1024}, "correction": null})",
          R"({"kind": "hello", "version": 1, "mode": "gradients", "gradient": {"offset": 64}})",
          R"({"kind": "done", "job": 3, "steps": 4, "samples": 128, "loss": 0.5, "rmse": 1e300,
"gradient_norm": 2, "accuracy": 0.75, "refusal": "no\nreason"})",
          R"({"kind": "log", "metrics": {"loss": 1, "accuracy": 0.5, "rmse": null}})",
          R"({"kind": "note", "text": "a word"})",
          R"({"kind": "close"})"};
}

// The bytes of the region, then the text of the table.
void run_table(Bytes input) {
  Input in(input);
  const std::size_t region = in.number(in.byte() % 9);
  const auto table = TensorTable::parse(text_of(in.rest()), region);
  if (!table) return expect_reason(table.error());
  std::size_t dimension = 0;
  for (const TrainerTensor& tensor : table->tensors()) {
    ENSURE(tensor.offset % kSegmentAlignment == 0 && tensor.bytes() <= region &&
               tensor.offset <= region - tensor.bytes(),
           "a tensor lies in the region");
    dimension += tensor.is_exchanged() ? tensor.numbers : 0;
  }
  ENSURE(dimension == table->dimension() && dimension > 0, "the vector has all its tensors");
  ENSURE(table->donated_bytes() <= region, "what is donated lies in the region");
  table->statistics();
  const std::string schema = table->schema();
  ENSURE(!first_difference(schema, schema + "x").empty(), "a difference is named");
}

std::vector<std::string> table_seeds() {
  const std::string head("\2\0\x10", 3);  // 4096
  return {
      head + R"([{"name": "w", "shape": [3, 4], "dtype": "f32", "role": "averaged", "offset": 0},
{"name": "m", "shape": [], "dtype": "bf16", "role": "statistic", "offset": 64},
{"name": "n", "shape": [2], "dtype": "i64", "role": "donor", "offset": 128},
{"name": "l", "shape": [0], "dtype": "f64", "role": "local", "offset": 192}])",
      head + R"([{"name": "w", "shape": [1], "dtype": "f16", "role": "averaged", "offset": 0}])"};
}

// What the library for trainers in C reads of the daemon's records.
void run_c_json(Bytes input) {
  constexpr const char* kKeys[] = {"kind", "job", "count", "learning_rate", "corrects", "reason"};
  const std::string record(text_of(input));
  for (const char* key : kKeys) {
    const char* const found = sl_json_find(record.c_str(), key);
    ENSURE(!found || (found >= record.c_str() && found <= record.c_str() + record.size()),
           "a value lies in its text");
    sl_json_count(record.c_str(), key, 7);
    sl_json_number(record.c_str(), key, 7);
    sl_json_is_true(record.c_str(), key);
    for (const std::size_t room : {1, 2, 16}) {
      std::vector<char> value(room, 'x');
      sl_json_string(record.c_str(), key, value.data(), room);
      ENSURE(std::ranges::find(value, '\0') != value.end(), "a string has its end");
    }
  }
  ::text out{};
  sl_text_add_string(&out, record.c_str());
  ENSURE(out.failed || nlohmann::json::accept(out.data) || !is_utf8(record),
         "a string that is written is JSON");
  sl_text_free(&out);
}

std::vector<std::string> c_json_seeds() {
  return {
      write_record(Welcome{.node = "node-1", .algorithm = "gt", .precision = "f32"}),
      write_record(3, StepRequest{.count = 4, .round = 5, .learning_rate = 0.1}),
      write_record(4, GradientRequest{}),
      write_refusal("a \"reason\"\n\\"),
      write_end("done", true),
      R"( { "kind" : "step" , "x": [1, {"job": 2}], "job":18446744073709551616, "count":-1 } )"};
}

}  // namespace

std::vector<Target> attach_targets() {
  return {{"trainer-record", run_record, record_seeds, 2048},
          {"c-json", run_c_json, c_json_seeds, 1024},
          {"segment", run_segment, segment_seeds, 512, 500},
          {"keepsake", run_keepsake, keepsake_seeds, 512, 500},
          {"tensor-table", run_table, table_seeds, 2048}};
}

}  // namespace starling::fuzz
