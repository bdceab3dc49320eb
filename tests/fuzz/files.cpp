// What lies on a disk or comes as a file: models, checkpoints, what a node remembers.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/content_hash.h"
#include "daemon/process/checkpoint_files.h"
#include "daemon/process/disk_state.h"
#include "daemon/process/model_file.h"
#include "daemon/process/safetensors.h"
#include "daemon/process/whole_file.h"
#include "gossip/wire/wire.h"
#include "models/nets/layer_registry.h"
#include "models/predictor.h"
#include "optim/saved_state.h"
#include "tests/daemon/checkpoint_example.h"
#include "tests/daemon/temporary_folder.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/samples.h"

namespace starling::fuzz {
namespace {

using namespace daemon;

// ---------------------------------------------------------------- models

void expect_model(std::string_view bytes) {
  auto model = parse_model(bytes);
  if (!model) return expect_reason(model.error());
  ENSURE(model->parameters.size() == models::dimension(model->card.shape),
         "a model has the parameters of its shape");
  const std::string once =
      write_model(model->card, model->parameters, models::Precision::f64, {{"node", "a"}});
  const auto again = parse_model(once);
  ENSURE(again && again->parameters == model->parameters, "a model reads as it was written");
  const auto predictor = models::Predictor::make(*std::move(model));
  if (!predictor) return expect_reason(predictor.error());
  if (!predictor->card().table) return;
  models::TableBuilder builder(predictor->layout(false));
  models::Dataset set;
  const std::vector<models::Cell> cells(builder.layout().columns.size());
  if (!builder.add(cells, set)) return;
  builder.finish(set);
  const auto predictions = predictor->predict(set);
  ENSURE(!predictions || predictions->rows == 1, "a row has its prediction");
}

void expect_file(Bytes bytes, std::size_t piece) {
  const Payload file = in_pieces(bytes, piece);
  if (const auto tensors = read_safetensors_head(file))
    for (const PlacedTensor& tensor : *tensors)
      ENSURE(tensor.begin <= file.size() && tensor.bytes <= file.size() - tensor.begin,
             "a tensor lies in the file");
  const auto read = read_safetensors(text_of(bytes));
  if (!read) return expect_reason(read.error());
  std::size_t numbers = 0;
  for (const auto& [name, tensor] : read->tensors) numbers += tensor.numbers.size();
  ENSURE(numbers * sizeof(float) <= bytes.size(), "numbers come from the file");
}

void run_safetensors(Bytes input) {
  Input in(input);
  const std::size_t piece = in.byte();
  const Bytes bytes = in.rest();
  expect_file(bytes, piece);
  expect_model(text_of(bytes));
}

// The header, up to a byte 1, then the numbers: its length is put before it.
void run_model(Bytes input) {
  Input in(input);
  const std::string_view head = in.until('\x01');
  std::string file(8, '\0');
  const std::uint64_t length = head.size();
  std::memcpy(file.data(), &length, sizeof length);
  file.append(head).append(text_of(in.rest()));
  expect_file(bytes_of(file), 0);
  expect_model(file);
}

std::string sample_file(models::Precision precision) {
  const models::TrainedModel model = sample_model();
  return write_model(model.card, model.parameters, precision, {{"node", "a"}, {"round", "3"}});
}

std::vector<std::string> safetensors_seeds() {
  return {std::string(1, '\0') + sample_file(models::Precision::f32),
          std::string(1, '\5') + sample_file(models::Precision::f64)};
}

std::string parted(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return file.substr(8, length) + "\x01" + file.substr(8 + length);
}

std::vector<std::string> model_seeds() {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  std::vector<std::string> seeds = {
      parted(sample_file(models::Precision::f32)), parted(sample_file(models::Precision::f64)),
      R"({"w": {"dtype": "F32", "shape": [2, 0], "data_offsets": [0, 0]}})",
      R"({"w": {"dtype": "F32", "shape": )" + deep + R"(, "data_offsets": [0, 4]}})"};
  models::TrainedModel net = sample_model();
  net.card.kind = models::ModelKind::net;
  net.card.source = models::Source::digits;
  net.card.table = std::nullopt;
  net.card.shape = models::NetworkShape{};
  net.card.shape.input = models::SampleShape(models::ImageShape{.height = 4, .width = 4});
  const std::vector<std::string> layers = {"conv:2:3", "pool:2", "norm", "dense:2"};
  net.card.shape.layers = *models::parse_layers(layers);
  net.card.shape.loss = models::Loss::cross_entropy;
  net.parameters.assign(models::dimension(net.card.shape), 0.5);
  seeds.push_back(
      parted(write_model(net.card, net.parameters, models::Precision::f32, {{"node", "a"}})));
  return seeds;
}

// ---------------------------------------------------------------- checkpoints

// A checkpoint that is read is written as the same.
void expect_checkpoint(const Generation& content) {
  const auto checkpoint = checkpoint_from(content);
  if (!checkpoint) return expect_reason(checkpoint.error());
  ENSURE(std::isfinite(checkpoint->trained_s), "times are finite");
  const Generation once = files_of(*checkpoint);
  const auto again = checkpoint_from(once);
  ENSURE(again && files_of(*again).about == once.about, "a checkpoint reads as it was written");
}

// The files of the sample, with a manifest from outside, whose checksum is right or not.
void run_manifest(Bytes input) {
  Input in(input);
  const bool is_right = in.byte() % 8 != 1;
  const std::string text(text_of(in.rest()));
  static const test::TemporaryFolder parent;
  static const std::string folder = [] {
    auto made = CheckpointFolder::open(parent.path());
    ENSURE(made && made->save(files_of(example_checkpoint()), 1), "a checkpoint can be saved");
    return parent.path();
  }();
  const std::uint64_t hash = content_hash(bytes_of(text)) ^ (is_right ? 0 : 1);
  parent.write("000000000001/manifest.json", fmt::format("{}\n{:016x}\n", text, hash));
  auto opened = CheckpointFolder::open(folder);
  ENSURE(opened.has_value(), "a folder can be opened");
  const auto content = opened->load();
  if (content) return expect_checkpoint(*content);
  ENSURE(opened->damages().size() == 1 && !opened->damages()[0].empty(),
         "a generation is passed over for a reason");
  const std::string generation = folder + "/000000000001";
  std::filesystem::rename(generation + ".damaged", generation);
}

std::vector<std::string> manifest_seeds() {
  const test::TemporaryFolder folder;
  auto made = CheckpointFolder::open(folder.path());
  ENSURE(made && made->save(files_of(example_checkpoint()), 1), "a checkpoint can be saved");
  const auto bytes = read_file(folder.path() + "/000000000001/manifest.json", 1 << 20);
  const std::string text = as_text(**bytes);
  const std::string line = text.substr(0, text.find('\n'));
  return {std::string(1, '\0') + line, std::string(1, '\1') + line,
          std::string(1, '\0') + R"({"about": {}, "files": {}, "format": 1})"};
}

// The properties of a checkpoint, each a line, then a byte 1 and the file of its state.
void run_checkpoint(Bytes input) {
  Generation content = files_of(example_checkpoint());
  Input in(input);
  Input lines(bytes_of(in.until('\x01')));
  while (!lines.empty()) {
    const std::string_view line = lines.until('\n');
    const std::size_t mark = std::min(line.find('='), line.size());
    content.about[std::string(line.substr(0, mark))] = line.substr(std::min(mark + 1, line.size()));
  }
  if (!in.empty()) content.files["state.safetensors"] = in_pieces(in.rest(), 0);
  expect_checkpoint(content);
}

std::vector<std::string> checkpoint_seeds() {
  const Generation content = files_of(example_checkpoint());
  std::string text;
  for (const auto& [key, value] : content.about) text += key + "=" + value + "\n";
  return {text, text + "\x01" + all_bytes(content.files.at("state.safetensors")),
          "edges=1:2:3 ff:ff:0\nround=0\n"};
}

// ---------------------------------------------------------------- what a node remembers

constexpr std::string_view kNames[] = {"incarnation", "peers", "name", "mark"};

// A file of that name, whose checksum is right or not.
void run_disk(Bytes input) {
  Input in(input);
  const std::string name(kNames[in.below(std::size(kNames))]);
  const bool is_right = in.byte() % 8 != 1;
  std::string text(text_of(in.rest()));
  if (is_right) text += to_string(NodeId{stable_hash(text)}) + "\n";
  static const test::TemporaryFolder folder;
  for (const std::string_view each : kNames)
    std::filesystem::remove(folder.path() + "/" + std::string(each));
  folder.write(name, text);
  auto state = DiskState::open(folder.path());
  ENSURE(state.has_value(), "a folder is opened whatever is in it");
  ENSURE(state->peers().size() <= kPeersKeptLimit, "peers are bounded");
  const std::string kept = state->keep_name("node-1");
  ENSURE(!kept.empty(), "a node has a name");
  state->keep_mark("a mark");
  const auto next = state->next_incarnation(1000);
  ENSURE(next && *next > 1000 && *next < gossip::kIncarnationLimit, "an incarnation is new");
}

std::vector<std::string> disk_seeds() {
  const auto seed = [](char which, std::string_view text) {
    return std::string{which, 0} + std::string(text);
  };
  return {seed(0, "starling incarnation 1\n77\n"),
          seed(1, "starling peers 1\n10.0.0.1:7600\n[::1]:7600\n"),
          seed(2, "starling name 1\nnode-7\n"), seed(3, "starling mark 1\nx\n"), std::string{0, 1}};
}

}  // namespace

std::vector<Target> file_targets() {
  return {{"safetensors", run_safetensors, safetensors_seeds, 4096, 1000},
          {"model", run_model, model_seeds, 4096, 1000},
          {"manifest", run_manifest, manifest_seeds, 2048, 300},
          {"checkpoint", run_checkpoint, checkpoint_seeds, 2048, 500},
          {"disk-state", run_disk, disk_seeds, 512, 200}};
}

}  // namespace starling::fuzz
