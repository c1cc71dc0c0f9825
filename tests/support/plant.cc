#include "tests/support/plant.h"

#include <cmath>
#include <utility>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr int64_t kStartNs = 1'577'836'800'000'000'000;

// A bump of this many instants, now and then.
class Dips {
 public:
  double Next(Random& random) {
    if (left_ == 0 && random.Uniform() < 0.02) left_ = 6;
    if (left_ == 0) return 0;
    --left_;
    return -4;
  }

 private:
  int left_ = 0;
};

data::ChannelSet PlantChannels() {
  return data::ChannelSet::Create(
             {MakeChannel("inlet", "kPa"), MakeChannel("outlet", "kPa"),
              MakeChannel("tank", "%"), MakeChannel("still", "V"),
              MakeChannel("valve", "%", data::ChannelKind::kCommand),
              MakeChannel("mode", "", data::ChannelKind::kDiscrete)})
      .value();
}

}  // namespace

data::Channel MakeChannel(const std::string& name, const std::string& unit,
                          data::ChannelKind kind) {
  data::Channel channel;
  channel.name = name;
  channel.unit = unit;
  channel.kind = kind;
  if (kind == data::ChannelKind::kDiscrete) {
    channel.vocabulary = {{0, "off"}, {1, "idle"}, {2, "run"}};
  }
  return channel;
}

data::Series PlantSeries(uint64_t seed, int length) {
  data::Series series;
  series.channels = PlantChannels();
  Random random(seed);
  Dips dips;
  std::vector<double> inlets;
  double wander = 0;
  int open = 0;
  int mode = 1;
  for (int t = 0; t < length; ++t) {
    wander = 0.9 * wander + 0.3 * random.Normal();
    inlets.push_back(wander + dips.Next(random));
    const double earlier =
        t < kPlantLag ? 0 : inlets[static_cast<size_t>(t - kPlantLag)];
    open = open > 0 ? open - 1 : (random.Uniform() < 0.01 ? 25 : 0);
    if (random.Uniform() < 0.005) mode = static_cast<int>(random.Below(3));
    const double instant[kPlantChannels] = {
        200 + 10 * (inlets.back() + 0.1 * random.Normal()),
        80 + 5 * (1.5 * earlier + 0.2 * random.Normal()),
        50 + 8 * std::sin(0.05 * t) + (open > 0 ? 6 : 0) +
            0.5 * random.Normal() + 2 * mode,
        28 + 0.01 * static_cast<double>(random.Below(2)),
        open > 0 ? 100.0 : 0.0,
        static_cast<double>(mode)};
    for (const double x : instant) {
      series.samples.push_back(static_cast<float>(x));
    }
    series.time_ns.push_back(kStartNs + t * kPlantCadenceNs);
  }
  return series;
}

TrainingOptions PlantTraining() {
  TrainingOptions options;
  options.threads = 1;
  options.steps = 120;
  options.batch = 4;
  options.window = 128;
  options.warm_up_steps = 20;
  options.learning_rate = 1e-2;
  options.false_alarms_per_10k = 40;
  EncoderConfig& encoder = options.encoder;
  encoder.width = 16;
  encoder.heads = 2;
  encoder.query_width = 8;
  encoder.value_width = 8;
  encoder.feed_forward = 32;
  encoder.stem_taps = 5;
  encoder.stem_hidden = 24;
  encoder.horizons = {1, 4, 8};
  encoder.layers = {{.key_source = KeySource::kLayer, .reach = 16},
                    {.key_source = KeySource::kStem,
                     .reach = 64,
                     .blind_heads = 1,
                     .blind_span = 8}};
  return options;
}

void Overwrite(data::Series& series, int channel, int begin, int end,
               float value) {
  const auto width = static_cast<size_t>(series.channels.size());
  for (int t = begin; t < end; ++t) {
    series.samples[static_cast<size_t>(t) * width +
                   static_cast<size_t>(channel)] = value;
  }
}

data::Series Select(const data::Series& series, const std::vector<bool>& keep) {
  data::Series selected;
  selected.channels = series.channels;
  for (int t = 0; t < series.length(); ++t) {
    if (!keep[static_cast<size_t>(t)]) continue;
    selected.time_ns.push_back(series.time_ns[static_cast<size_t>(t)]);
    const auto instant = series.Instant(t);
    selected.samples.insert(selected.samples.end(), instant.begin(),
                            instant.end());
  }
  return selected;
}

}  // namespace telltale::model
