// Recordings as newcomers have them, without a setting: each is learnt from and
// a gross spike found, or refused in one line that names the file.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/score_file.h"
#include "tests/data/npy_bytes.h"
#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr int kFresh = 300;  // instants scored, from where training ended
constexpr int kSpike = 250;  // of them, and the next two

// Noise between -1 and 1 that every machine draws alike.
double Noise(int t, int c) {
  uint32_t bits = static_cast<uint32_t>(t) * 2654435761U +
                  static_cast<uint32_t>(c) * 40503U + 12345;
  bits ^= bits >> 15;
  bits *= 2246822519U;
  bits ^= bits >> 13;
  return 2.0 * bits / 4294967295.0 - 1;
}

// A wave of a period of its own, with noise.
double Wave(int t, int c) {
  return std::sin(t * 6.28 / (20 + 7 * (c % 11))) + 0.2 * Noise(t, c);
}

struct Newcomer {
  const char* name;
  int rows;
  int channels;
  std::function<double(int t, int c)> sample;
  int faulty = 0;     // the channel that spikes
  double spike = 15;  // by how much
};

const std::vector<Newcomer>& Newcomers() {
  static const auto& all = *new std::vector<Newcomer>{
      {"one_channel", 500, 1, Wave},
      {"two_hundred_channels", 500, 200, Wave, 7, 40},
      {"all_constant", 500, 3, [](int, int) { return 4.0; }},
      {"constant_beside_others", 500, 3,
       [](int t, int c) { return c == 1 ? 7.0 : Wave(t, c); }, 1},
      {"others_beside_a_constant", 500, 3,
       [](int t, int c) { return c == 1 ? 7.0 : Wave(t, c); }, 2},
      {"binary_beside_others", 600, 3,
       [](int t, int c) { return c == 1 ? t / 60 % 2 : Wave(t, c); }, 0},
      {"binary_that_leaves_its_values", 600, 2,
       [](int t, int) { return t / 60 % 2; }, 0, 20},
      {"without_a_sample_beside_others", 500, 3,
       [](int t, int c) { return c == 2 ? kMissing : Wave(t, c); }},
      {"far_from_zero", 500, 2,
       [](int t, int c) { return 1e9 + 1e5 * Wave(t, c); }, 1, 2e6},
      {"far_from_zero_moving_little", 500, 2,
       [](int t, int c) { return 1e6 + 4 * Wave(t, c); }, 1, 80},
      {"tiny", 500, 2, [](int t, int c) { return 1e-6 * Wave(t, c); }, 1, 2e-5},
      {"twice_the_same_channel", 500, 4,
       [](int t, int c) { return Wave(t, c / 2); }, 1},
      {"every_third_sample_missing", 600, 2,
       [](int t, int c) { return (t + c) % 3 == 0 ? kMissing : Wave(t, c); }, 0,
       20},
      {"a_ramp", 500, 1, [](int t, int) { return 0.5 * t; }, 0, 400},
      {"as_few_as_may_be", 200, 2, Wave},
  };
  return all;
}

class NewcomerTest : public CommandLineFixture,
                     public ::testing::WithParamInterface<Newcomer> {
 protected:
  // Instants [begin, end), with or without the spike.
  std::string Write(const std::string& name, int begin, int end, bool spiked) {
    const Newcomer& newcomer = GetParam();
    std::ofstream file(Path(name));
    file << "time";
    for (int c = 0; c < newcomer.channels; ++c) file << ",c" << c;
    for (int t = begin; t < end; ++t) {
      file << '\n' << t;
      for (int c = 0; c < newcomer.channels; ++c) {
        double sample = newcomer.sample(t, c);
        const int place = t - begin - kSpike;
        if (spiked && c == newcomer.faulty && place >= 0 && place < 3) {
          sample += newcomer.spike;
        }
        file << ','
             << (std::isnan(sample) ? "" : absl::StrFormat("%.12g", sample));
      }
    }
    file << '\n';
    return Path(name);
  }
};

TEST_P(NewcomerTest, IsLearntFromAndAGrossSpikeIsFound) {
  const int rows = GetParam().rows;
  const std::string scores = Path("scores.csv");

  const Outcome trained =
      Run({"train", "--quick", "--data", Write("run.csv", 0, rows, false),
           "--out", Path("m")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  Succeed({"score", "--model", Path("m"), "--data",
           Write("fresh.csv", rows, rows + kFresh, true), "--out", scores});

  // Scores that are not finite are refused.
  const auto file = server::ReadScoreFile(scores);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_GE(file->scored, kFresh - 100);
  float before = 0;
  for (int t = 0; t < kSpike; ++t) before = std::max(before, file->scores[t]);
  float spike = 0;
  bool alarmed = false;
  bool named = false;
  for (int t = kSpike; t < kSpike + 3; ++t) {
    spike = std::max(spike, file->scores[t]);
    alarmed |= file->alarms[t] != 0;
    const int top = file->top_channel[t];
    named |= top >= 0 && file->channel_names[top] ==
                             absl::StrFormat("c%d", GetParam().faulty);
  }
  EXPECT_GT(spike, before);
  EXPECT_TRUE(alarmed);
  EXPECT_TRUE(named);
}

INSTANTIATE_TEST_SUITE_P(Recordings, NewcomerTest,
                         ::testing::ValuesIn(Newcomers()),
                         [](const auto& instance) {
                           return std::string(instance.param.name);
                         });

using NewcomersFilesTest = CommandLineFixture;

std::string Rows(int rows, const std::function<double(int)>& sample) {
  std::string text = "time,a\n";
  for (int t = 0; t < rows; ++t) {
    text += absl::StrFormat("%d,%g\n", t, sample(t));
  }
  return text;
}

TEST_F(NewcomersFilesTest, AreRefusedInOneLineThatSaysWhatToDo) {
  const auto wave = [](int t) { return Wave(t, 0); };
  std::string absent = "time,a,b\n";
  for (int t = 0; t < 500; ++t) absent += absl::StrFormat("%d,,\n", t);
  struct Case {
    std::string text;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"", "is empty; expected a header"},
      {"time,a\n", "no instant; expected at least one row"},
      {"time\n0\n", "at least 1 channel"},
      {"time,a,a\n0,1,1\n", "channel name \"a\" stands twice"},
      {Rows(3, wave), "3 instants in all; training needs 200"},
      {Rows(100, wave), "record for longer"},
      {absent, "none of the continuous channels has a sample"},
      {"a,b\n1,2\n", "first column must be time"},
      {"time,a\n0,1\n1,on\n", "line 3: column 2 (a): \"on\" is no number"},
      {"time,a\n0,1\n0,2\n", "does not increase"},
  };
  for (const Case& c : cases) {
    const std::string data = WriteFile("run.csv", c.text);
    const Outcome outcome = Run({"train", "--data", data, "--out", Path("m")});
    EXPECT_EQ(outcome.exit_code, 1) << c.says;
    // Training may have told what it was given before.
    const std::string refusal = outcome.err.substr(
        std::min(outcome.err.find("telltale: "), outcome.err.size()));
    EXPECT_THAT(refusal, StartsWith("telltale: " + data)) << c.says;
    EXPECT_THAT(refusal, HasSubstr(c.says));
    EXPECT_EQ(std::count(refusal.begin(), refusal.end(), '\n'), 1) << refusal;
  }
}

TEST_F(NewcomersFilesTest, OfUnequalLengthAreSegments) {
  const auto part = [&](const char* name, int begin, int rows) {
    return WriteFile(name,
                     Rows(rows, [&](int t) { return Wave(begin + t, 0); }));
  };
  const std::string first = part("first.csv", 0, 500);
  const std::string second = part("second.csv", 500, 330);
  const std::string brief = part("brief.csv", 830, 70);
  const std::string stub = part("stub.csv", 900, 20);

  const Outcome trained = Run(
      {"train", "--quick", "--data", first, second, brief, "--out", Path("m")});
  const Outcome refused =
      Run({"train", "--data", first, stub, "--out", Path("n")});

  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("900 instants of 1 channels in 3 segm"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr(stub + " has 20 instants; training needs 64"));
}

TEST_F(NewcomersFilesTest, MayBeArraysOfSegments) {
  std::vector<float> samples;
  for (int t = 0; t < 12 * 100; ++t) {
    for (int c = 0; c < 3; ++c)
      samples.push_back(static_cast<float>(Wave(t, c)));
  }
  const std::string bytes = data::BytesOf(samples);
  const auto array = [&](const char* name, const char* shape) {
    return WriteFile(name,
                     data::NpyBytes(data::NpyDictionary("<f4", shape), bytes));
  };

  const Outcome trained =
      Run({"train", "--quick", "--data", array("runs.npy", "(12, 100, 3)"),
           "--out", Path("m")});
  const Outcome refused =
      Run({"train", "--data", array("short.npy", "(40, 30, 3)"), "--out",
           Path("n")});

  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("in 12 segments"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("short.npy, segment 0 has 30 instants"));
}

TEST_F(NewcomersFilesTest, AreToldWhatTheModelCannotKnow) {
  std::string text = "time,moves,rests,absent,far\n";
  for (int t = 0; t < 500; ++t) {
    text += absl::StrFormat("%d,%g,7,,%.12g\n", t, Wave(t, 0),
                            1e9 + 0.001 * Wave(t, 1));
  }
  const std::string data = WriteFile("run.csv", text);

  const Outcome outcome =
      Run({"train", "--quick", "--data", data, "--out", Path("m")});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("never judged: absent\n"));
  EXPECT_THAT(outcome.err, HasSubstr("any change is an anomaly: rests\n"));
  EXPECT_THAT(outcome.err, HasSubstr("subtract an offset"));
  EXPECT_THAT(outcome.err, HasSubstr("scored: far\n"));
  EXPECT_THAT(outcome.out, HasSubstr("a quick model"));
  EXPECT_THAT(outcome.out,
              HasSubstr("0 in 125 held-out instants, 0 per 10,000 (95 % "
                        "interval 0 to 295)"));
  EXPECT_THAT(outcome.out, HasSubstr("about 80,000 instants of training"));
  EXPECT_THAT(Succeed({"inspect", "--model", Path("m")}),
              HasSubstr("a quick model"));
}

}  // namespace
}  // namespace telltale::testing
