#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/output_file.h"
#include "data/series.h"
#include "model/detector.h"

namespace telltale::server {

// One instant's verdict as people and files see it.
struct ScoreRow {
  // An earlier instant that is pointed back to.
  struct Cause {
    int64_t time_ns = 0;
    int lag = 0;  // instants before
    float weight = 0;
    std::string channel;
  };

  std::optional<int> segment = {};  // which of several, counted from 0
  int64_t time_ns = 0;
  model::InstantState state = model::InstantState::kWarmingUp;
  std::optional<float> score;  // absent unless scored
  float threshold = 0;
  std::optional<float> verdict = {};  // absent unless the model gives verdicts
  bool anomaly = false;
  // The channel with the largest share; empty when there is none.
  std::string channel;
  std::string unit;
  float expected = 0;         // NaN or without channel: not known
  float observed = 0;         // NaN: missing
  std::vector<Cause> causes;  // strongest first
  std::optional<model::MaskingCheck> masking = std::nullopt;
  bool trained = false;  // the model was trained or calibrated on it
};

ScoreRow RowOf(const model::InstantScore& score,
               const data::ChannelSet& channels, float threshold);

// "SCORED", "WARMING_UP", "INCOMPLETE" or "LATE".
const char* StateName(model::InstantState state);

// An anomaly in words, on one line: when, how strong, on which channel, and
// what it points back to.
std::string DescribeAnomaly(const ScoreRow& row, data::TimeForm form);

// Any other instant in words: when, its score or why it has none.
std::string DescribeNominal(const ScoreRow& row, data::TimeForm form);

// The columns of a score table that are there on request.
struct ScoreColumns {
  bool segment = false;
  bool masking = false;
  bool trained = false;
};

// Writes scores, one row an instant, as CSV with a header or as JSON lines with
// the same names. Columns: segment (where there are several), time, state,
// score, threshold, anomaly, verdict, channel, expected, observed, cause_time,
// cause_weight, cause_channel, and the same three for cause2 to cause5; on
// request masking_pointed and masking_random, in deviations
// (model::MaskingCheck), and trained. What is not known is an empty cell or
// null. Not thread-safe.
class ScoreTable {
 public:
  enum class Format { kCsv, kJsonLines };
  enum class Placement {
    kAtOnce,      // others may read the file while it grows
    kWhenClosed,  // whole or not at all
  };

  // An empty path is standard output. `form` is that of the input's time
  // column. kNotFound, kPermissionDenied: the file cannot be created.
  static absl::StatusOr<ScoreTable> Create(const std::string& path,
                                           Format format, data::TimeForm form,
                                           ScoreColumns columns = {},
                                           Placement = Placement::kAtOnce);

  void Append(const ScoreRow& row);

  // kDataLoss: not everything could be written, the disk being full for
  // instance.
  absl::Status Close();

 private:
  ScoreTable(Format format, data::TimeForm form, ScoreColumns columns,
             std::optional<data::OutputFile> file);

  std::ostream& out();

  Format format_;
  data::TimeForm form_;
  ScoreColumns columns_;
  std::optional<data::OutputFile> file_;  // none: standard output
  std::string line_;
};

}  // namespace telltale::server
