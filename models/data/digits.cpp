// digits: images of handwritten-looking digits drawn by the program, ten classes of 28 x 28 bytes.
// A digit is a few strokes; every image draws them with its own shift, scale, slant, rotation,
// thickness, wobble and noise, so that a linear model does clearly worse than a network.
#include "models/data/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/prng.h"
#include "base/text.h"

namespace starling::models {
namespace {

constexpr std::size_t kDigitSide = 28;
constexpr std::size_t kDigitClasses = 10;

struct Point {
  double x = 0;  // the digit lies in [-1, 1] x [-1, 1], y down
  double y = 0;
};
using Stroke = std::vector<Point>;

// Part of an ellipse, angles in quarter turns, clockwise from the right.
Stroke arc(Point centre, Point radius, double from, double to) {
  constexpr int kSteps = 10;
  Stroke stroke;
  for (int i = 0; i <= kSteps; ++i) {
    const double angle = (from + (to - from) * i / kSteps) * std::numbers::pi / 2;
    stroke.push_back(
        {centre.x + radius.x * std::cos(angle), centre.y + radius.y * std::sin(angle)});
  }
  return stroke;
}

std::array<std::vector<Stroke>, kDigitClasses> make_shapes() {
  return {{
      {arc({0, 0}, {0.6, 1}, 0, 4)},
      {{{-0.35, -0.6}, {0.05, -1}, {0.05, 1}}},
      {arc({0, -0.5}, {0.55, 0.5}, -2, 0.5), {{0.38, -0.14}, {-0.6, 1}, {0.6, 1}}},
      {arc({-0.05, -0.5}, {0.55, 0.5}, -1.7, 1), arc({-0.05, 0.5}, {0.6, 0.5}, -1, 1.7)},
      {{{0.25, 1}, {0.25, -1}, {-0.65, 0.4}, {0.65, 0.4}}},
      {{{0.5, -1}, {-0.4, -1}, {-0.45, -0.1}}, arc({-0.05, 0.4}, {0.6, 0.6}, -1.6, 1.6)},
      {{{0.35, -1}, {-0.3, -0.4}, {-0.55, 0.35}}, arc({0, 0.45}, {0.55, 0.55}, 0, 4)},
      {{{-0.6, -1}, {0.6, -1}, {-0.15, 1}}},
      {arc({0, -0.5}, {0.45, 0.5}, 0, 4), arc({0, 0.5}, {0.55, 0.5}, 0, 4)},
      {arc({0, -0.45}, {0.55, 0.55}, 0, 4), {{0.55, -0.4}, {0.45, 0.3}, {0.2, 1}}},
  }};
}

// The map from a digit's own plane to pixels, drawn anew for each image, and the pen.
struct Pose {
  double xx, xy, yx, yy;
  Point centre;
  double thickness;
  double ink;

  Point operator()(Point p) const {
    return {centre.x + xx * p.x + xy * p.y, centre.y + yx * p.x + yy * p.y};
  }
};

Pose draw_pose(Prng& prng) {
  const double angle = prng.uniform(-0.3, 0.3);
  const double slant = prng.uniform(-0.35, 0.35);
  const double width = prng.uniform(5.0, 9.0);
  const double height = prng.uniform(7.0, 10.0);
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  Pose pose{};
  pose.xx = cosine * width;
  pose.yx = sine * width;
  pose.xy = (-slant * cosine - sine) * height;
  pose.yy = (-slant * sine + cosine) * height;
  constexpr double kMiddle = (kDigitSide - 1) / 2.0;
  pose.centre.x = kMiddle + prng.uniform(-2.5, 2.5);
  pose.centre.y = kMiddle + prng.uniform(-2.5, 2.5);
  pose.thickness = prng.uniform(0.8, 1.7);
  pose.ink = prng.uniform(150, 255);
  return pose;
}

double distance(Point p, Point a, Point b) {
  const Point along{b.x - a.x, b.y - a.y};
  const double square = along.x * along.x + along.y * along.y;
  const double t =
      square > 0 ? std::clamp(((p.x - a.x) * along.x + (p.y - a.y) * along.y) / square, 0.0, 1.0)
                 : 0.0;
  const double dx = p.x - a.x - t * along.x;
  const double dy = p.y - a.y - t * along.y;
  return std::sqrt(dx * dx + dy * dy);
}

using Image = std::array<double, kDigitSide * kDigitSide>;

// Darkens every pixel within a thickness of the line from a to b, soft over one pixel at the rim.
void draw_line(Point a, Point b, const Pose& pose, Image& image) {
  const double reach = pose.thickness + 1;
  const auto clip = [](double value) {
    return static_cast<std::size_t>(std::clamp(value, 0.0, kDigitSide - 1.0));
  };
  for (std::size_t y = clip(std::min(a.y, b.y) - reach); y <= clip(std::max(a.y, b.y) + reach); ++y)
    for (std::size_t x = clip(std::min(a.x, b.x) - reach); x <= clip(std::max(a.x, b.x) + reach);
         ++x) {
      const Point pixel{static_cast<double>(x), static_cast<double>(y)};
      const double cover = std::clamp(pose.thickness + 0.5 - distance(pixel, a, b), 0.0, 1.0);
      double& value = image[y * kDigitSide + x];
      value = std::max(value, cover * pose.ink);
    }
}

void draw_digit(const std::vector<Stroke>& strokes, Prng& prng, std::uint8_t* out) {
  constexpr double kWobble = 0.06;
  constexpr double kSpeckle = 14;  // standard deviation of the noise on every pixel
  const Pose pose = draw_pose(prng);
  Image image{};
  for (const Stroke& stroke : strokes) {
    Point before{};
    for (std::size_t i = 0; i < stroke.size(); ++i) {
      const double dx = prng.uniform(-kWobble, kWobble);
      const double dy = prng.uniform(-kWobble, kWobble);
      const Point here = pose({stroke[i].x + dx, stroke[i].y + dy});
      if (i > 0) draw_line(before, here, pose, image);
      before = here;
    }
  }
  // The sum of four uniform bytes, of standard deviation 148, is near enough to normal.
  for (std::size_t i = 0; i < image.size(); ++i) {
    const std::uint64_t bits = prng.next();
    double noise = -510;
    for (int shift = 0; shift < 32; shift += 8) noise += static_cast<double>((bits >> shift) & 255);
    out[i] = static_cast<std::uint8_t>(std::clamp(image[i] + noise * kSpeckle / 148, 0.0, 255.0));
  }
}

Dataset draw(std::size_t rows, Prng prng) {
  static const auto shapes = make_shapes();
  constexpr std::size_t kPixels = kDigitSide * kDigitSide;
  ByteFeatures features;
  features.values.resize(rows * kPixels);
  Dataset set;
  for (std::size_t r = 0; r < rows; ++r)
    set.labels.push_back(static_cast<std::int32_t>(r % kDigitClasses));
  prng.shuffle(std::span(set.labels));
  for (std::size_t r = 0; r < rows; ++r)
    draw_digit(shapes[static_cast<std::size_t>(set.labels[r])], prng,
               features.values.data() + r * kPixels);
  set.features = std::move(features);
  set.rows = rows;
  set.columns = kPixels;
  set.image = ImageShape{.height = kDigitSide, .width = kDigitSide};
  set.classes = kDigitClasses;
  return set;
}

}  // namespace

Data draw_digits(std::size_t samples, std::uint64_t seed) {
  Data data;
  data.train = draw(samples, Prng::derive(seed, 1));
  data.test = draw(samples / 5, Prng::derive(seed, 2));
  data.description = fmt::format("digits: {} images of {}x{}, {} held out, {} classes",
                                 with_commas(data.train.rows), kDigitSide, kDigitSide,
                                 with_commas(data.test.rows), kDigitClasses);
  return data;
}

}  // namespace starling::models
