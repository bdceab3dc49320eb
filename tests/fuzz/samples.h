// Valid things of several kinds, for the seeds of targets.
#pragma once

#include <string>
#include <vector>

#include "gossip/trust/certificate.h"
#include "models/nets/model_card.h"
#include "models/nets/network_shape.h"
#include "tests/base/test_key.h"

namespace starling::fuzz {

// age (a number) and job (clerk, nurse, or missing) decide between two classes.
inline models::TrainedModel sample_model() {
  models::TrainedModel model;
  models::Survey table;
  table.columns = {{"age", models::Content::numbers, {.count = 4, .mean = 40, .squares = 400}, {}},
                   {"job", models::Content::words, {}, {"", "clerk", "nurse"}}};
  table.target = "ill";
  table.classifies = true;
  table.classes = {"no", "yes"};
  table.rows = 4;
  table.is_fixed = true;
  model.card = {.kind = models::ModelKind::softmax,
                .shape = models::dense_network({4, 2}, models::Loss::cross_entropy),
                .source = models::Source::csv,
                .classes = 2,
                .table = table};
  model.parameters = {0, 1, 0, 0.5, 0, -1, 0, 2, 0, 0.25};
  return model;
}

// Of node `name` with key 2, signed by the cluster's key 1.
inline gossip::Certificate sample_certificate(const std::string& name) {
  auto certificate = gossip::sign_certificate({.name = name,
                                               .key = test::test_key(2).public_key(),
                                               .not_before = 1'795'000'000,
                                               .not_after = 1'796'000'000},
                                              test::test_key(1));
  ENSURE(certificate.has_value(), "a sample is valid");
  return *std::move(certificate);
}

}  // namespace starling::fuzz
