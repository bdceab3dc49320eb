// Workload: what a node learns, as the protocol sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/payload.h"
#include "optim/evaluation.h"

namespace starling::optim {

// Which part of the data is this node's: its place among the members that share one data set.
struct Shard {
  std::vector<NodeId> members;  // in topology order, all that have data
  std::size_t place = 0;        // of this node in `members`; of a relay their number: it holds none
  bool has_held_out = false;    // rows that were held out are dealt too, and trained on

  bool operator==(const Shard&) const = default;
};

// What a node's steps so far may have told about one of its samples; see privacy/accountant.h.
struct PrivacySpent {
  std::optional<double> epsilon = {};  // nothing: no bound, for earlier steps had no noise
  // After as many steps more as the last round had, or after one.
  std::optional<double> coming = {};
  double delta = 0;
  std::uint64_t steps = 0;  // with noise, in all lives
};

// What the training of a node starts from, for people.
struct Preparation {
  std::optional<double> l2 = {};  // model.l2, or what auto stands for; nothing: not known
  std::string l2_reason = {};     // why auto stands for that
  std::string idle = {};          // why nothing can be learned now, as a sentence; empty: it can
  std::string unmatched = {};     // which rows of other sites or of this one have no partners
  // Of the node's own held-out rows with a linear model of its own rows alone, of a table; nothing:
  // not known.
  std::optional<Evaluation> alone = {};
};

// The properties of the training that the protocol needs.
struct Workload {
  std::size_t payload_bytes = 0;  // the most of an offered vector; 0 until founded
  std::size_t vector_bytes = 0;   // of an offered vector after the first of an edge; the same
  // Buffers for the neighbours' vectors, if those are numbers as they are in memory; else null.
  TakeBuffer take_buffer = nullptr;
  std::size_t f32_bytes = 0;       // of its numbers in f32; the same
  std::size_t snapshot_bytes = 0;  // the most of a snapshot; 0 until founded
  std::size_t saved_bytes = 0;     // the least of what Job::save gives; 0 until founded
  std::uint64_t schema_hash = 0;   // of everything that must agree for averaging to make sense
  std::string schema;              // the same in words
  std::string survey;              // this node's part of the foundation; empty when none is needed
  std::size_t shard_samples = 0;   // samples this node holds
  std::string shard_description;   // for the status: which samples those are
  // After founding on surveys: the survey that gives newcomers the same features.
  std::string foundation;
  std::vector<std::string> notes;  // for people, about the foundation
  Preparation preparation;
  // After founding: why this node's data and those of the founders are not of one data set, if all
  // nodes are to share one. A node that has not trained before must not adopt the model.
  std::string strangeness;
  // After founding: for late founders, in place of `survey`; empty: the same.
  std::string late_survey;
  // After founding: this node begins with the model of another founder, and does not have it yet.
  bool needs_model = false;
  std::optional<PrivacySpent> privacy = {};  // by steps so far; nothing without optim.noise
};

}  // namespace starling::optim
