#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/matrix.h"

namespace telltale::model {

// What one alarmed instant's forecast owes to each earlier instant: values[i]
// belongs to instant first + i, or to its key (InstantReadout).
struct Readout {
  int64_t first = 0;
  std::vector<float> values;
};

// The read-outs of a stream's alarms of late. One alarm's points now to the
// cause and now to what the fault did since; the cause is what the alarms of an
// event have in common, so that their sum ranks it better.
//
// Keeps those of every kStep-th instant that alarmed, by its index, for kSpan
// instants: what it says depends on the stream alone.
class ReadoutLog {
 public:
  static constexpr int64_t kStep = 4;
  static constexpr int64_t kSpan = 32;

  // `length`: the most values of a read-out.
  explicit ReadoutLog(int64_t length);

  // The read-out of the alarmed instant `index` plus those kept of the kSpan
  // instants before it, value by value; and keeps the former for later ones.
  Readout Accumulate(int64_t index, const Readout& own);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  void Keep(int64_t index, const Readout& own);

  Matrix values_;                 // [kSpan / kStep, length], a ring
  std::vector<int64_t> indices_;  // [slots]; -1: never written
  std::vector<int64_t> firsts_;   // [slots]
  std::vector<int64_t> counts_;   // [slots], of values
};

}  // namespace telltale::model
