#include "sim/lies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace starling::sim {
namespace {

using Vector = LieScene::Vector;

// Every number the same.
template <double (*kValue)()>
Vector constant(const LieScene& scene) {
  return Vector(scene.own.size(), kValue());
}

double nan() {
  return std::numeric_limits<double>::quiet_NaN();
}
double infinite() {
  return std::numeric_limits<double>::infinity();
}
double minus_infinite() {
  return -infinite();
}
double huge() {
  return 1e30;
}
double large() {
  return 1e6;
}

template <class Number>
Vector each(const LieScene& scene, Number number) {
  Vector vector(scene.own.size());
  for (std::size_t k = 0; k < vector.size(); ++k) vector[k] = number(k);
  return vector;
}

// The mean of all, moved against its last step.
Vector reverse(const LieScene& scene) {
  constexpr double kTimes = 50;
  return each(scene, [&](std::size_t k) {
    return scene.mean[k] - kTimes * (scene.mean[k] - scene.mean_before[k]);
  });
}

// The own vector, and a twentieth of the mean size of its numbers in every number.
Vector shift(const LieScene& scene) {
  constexpr double kPart = 0.05;
  double size = 0;
  for (const double x : scene.own) size += std::abs(x) / static_cast<double>(scene.own.size());
  return each(scene, [&](std::size_t k) { return scene.own[k] + kPart * size; });
}

// The mean of all, ever larger up to three times itself.
Vector drift(const LieScene& scene) {
  constexpr double kMost = 3, kVectors = 200;
  const double grown = 1 + (kMost - 1) * std::min(1.0, static_cast<double>(scene.sent) / kVectors);
  return each(scene, [&](std::size_t k) { return grown * scene.mean[k]; });
}

Vector half(const LieScene& scene) {
  const auto first = scene.own.first(scene.own.size() / 2);
  return {first.begin(), first.end()};
}

Vector honest(const LieScene& scene) {
  return {scene.own.begin(), scene.own.end()};
}

Vector replay(const LieScene& scene) {
  return {scene.first.begin(), scene.first.end()};
}

// A Little Is Enough (Baruch, Baruch, Goldberg, 2019): within the spread of the honest nodes.
Vector a_little(const LieScene& scene) {
  constexpr double kDeviations = 1.5;
  return each(scene,
              [&](std::size_t k) { return scene.mean[k] - kDeviations * scene.deviation[k]; });
}

// Dissensus (He, Karimireddy, Jaggi, 2022): each neighbour is moved further from the others.
Vector dissensus(const LieScene& scene) {
  constexpr double kTimes = 10;
  return each(scene,
              [&](std::size_t k) { return scene.to[k] + kTimes * (scene.to[k] - scene.mean[k]); });
}

// Gaucher, Dieuleveut, Hendrikx (2025): along the split of the graph that mixes most slowly.
Vector spectral(const LieScene& scene) {
  constexpr double kTimes = 10;
  return each(scene, [&](std::size_t k) { return scene.to[k] + kTimes * scene.split[k]; });
}

// ---------------------------------------------------------------- of the end of the run

void early(gossip::Member& own) {
  own.end_at = 1;
}

void far(gossip::Member& own) {
  constexpr std::uint64_t kFar = 1'000'000;
  own.round += kFar;
  own.samples = kFar * kFar;
  own.accuracy = gossip::amount_bits(1);
  own.held_out_loss = 1;
}

void trains_on(gossip::Member& own) {
  if (has_ended(own)) own.phase = gossip::Phase::training;
  own.end_at = own.sealed = 0;
}

// Nobody takes an empty model.
void silent(gossip::Tally& message, Payload& payload) {
  message.kind = gossip::Tally::Kind::model;
  payload = {};
}

void busy(gossip::Tally& message, Payload& payload) {
  message.kind = gossip::Tally::Kind::busy;
  payload = {};
}

void last_epoch(gossip::Tally& message, Payload&) {
  message.epoch = gossip::kRoundLimit;
}

// Of models in double precision.
void false_model(gossip::Tally&, Payload& payload) {
  const std::vector<double> told(payload.size() / sizeof(double), large());
  payload = Payload::copy_of(std::as_bytes(std::span(told)));
}

constexpr std::array kRows = {
    Lie{"none", "all are honest"},
    Lie{"nan", "no numbers", constant<nan>},
    Lie{"inf", "infinite numbers", constant<infinite>},
    Lie{"minus-inf", "infinite numbers below zero", constant<minus_infinite>},
    Lie{"1e30", "numbers of 1e30", constant<huge>},
    Lie{"1e6", "numbers of 1e6", constant<large>},
    Lie{"reverse", "the mean of all, moved by -50 times its last step", reverse},
    Lie{"shift", "the own numbers, each moved by 5 % of their mean size", shift},
    Lie{"drift", "the mean of all, growing to three times itself", drift},
    Lie{"half", "half of the numbers", half},
    Lie{"ahead", "the own vector, a million rounds ahead", honest, 1'000'000},
    Lie{"replay", "the first vector again and again", replay},
    Lie{"alie", "the mean of all, less 1.5 of their deviations", a_little},
    Lie{"dissensus", "to each neighbour what moves it away from the others", dissensus},
    Lie{"spectral", "to each neighbour what splits the graph where it mixes most slowly", spectral},
    Lie{.name = "early", .help = "a wish to end after round 1", .record = early},
    Lie{.name = "far", .help = "progress that reaches any goal", .record = far},
    Lie{.name = "silent", .help = "no end, no answer then", .record = trains_on, .tally = silent},
    Lie{.name = "busy", .help = "that its part of the end comes later", .tally = busy},
    Lie{.name = "epoch", .help = "that the sum of the end is the last one", .tally = last_epoch},
    Lie{.name = "seal", .help = "a false model at the end", .tally = false_model},
};

}  // namespace

std::span<const Lie> lies() {
  return kRows;
}

const Lie* lie_named(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &Lie::name);
  ENSURE(found != kRows.end(), "a lie of that name");
  return &*found;
}

}  // namespace starling::sim
