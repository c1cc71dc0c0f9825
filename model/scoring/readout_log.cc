#include "model/scoring/readout_log.h"

#include <algorithm>
#include <cassert>

#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

constexpr auto kSlots =
    static_cast<size_t>(ReadoutLog::kSpan / ReadoutLog::kStep);

size_t Slot(int64_t index) {
  return static_cast<size_t>(index / ReadoutLog::kStep) % kSlots;
}

}  // namespace

ReadoutLog::ReadoutLog(int64_t length)
    : values_(kSlots, length),
      indices_(kSlots, -1),
      firsts_(kSlots, 0),
      counts_(kSlots, 0) {}

Readout ReadoutLog::Accumulate(int64_t index, const Readout& own) {
  const auto count = static_cast<int64_t>(own.values.size());
  std::vector<size_t> summed;
  int64_t begin = own.first;
  int64_t end = own.first + count;
  // The nearest first, so that the order of the sum is that of the stream.
  for (int64_t i = (index - 1) / kStep * kStep;
       i >= std::max(int64_t{0}, index - kSpan); i -= kStep) {
    const size_t slot = Slot(i);
    if (indices_[slot] != i) continue;
    summed.push_back(slot);
    begin = std::min(begin, firsts_[slot]);
    end = std::max(end, firsts_[slot] + counts_[slot]);
  }
  Readout sum{begin, std::vector<float>(static_cast<size_t>(end - begin))};
  std::ranges::copy(own.values, sum.values.begin() + (own.first - begin));
  for (const size_t slot : summed) {
    const float* from = values_.Row(static_cast<int64_t>(slot));
    float* to = sum.values.data() + (firsts_[slot] - begin);
    for (int64_t i = 0; i < counts_[slot]; ++i) to[i] += from[i];
  }
  if (index % kStep == 0) Keep(index, own);
  return sum;
}

void ReadoutLog::Keep(int64_t index, const Readout& own) {
  assert(static_cast<int64_t>(own.values.size()) <= values_.columns());
  const size_t slot = Slot(index);
  indices_[slot] = index;
  firsts_[slot] = own.first;
  counts_[slot] = static_cast<int64_t>(own.values.size());
  std::ranges::copy(own.values, values_.Row(static_cast<int64_t>(slot)));
}

void ReadoutLog::Save(std::string& bytes) const {
  AppendBytes(values_.floats(), bytes);
  AppendBytes(indices_, bytes);
  AppendBytes(firsts_, bytes);
  AppendBytes(counts_, bytes);
}

bool ReadoutLog::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, values_.floats()) && TakeBytes(bytes, indices_) &&
         TakeBytes(bytes, firsts_) && TakeBytes(bytes, counts_) &&
         std::ranges::all_of(counts_, [this](int64_t count) {
           return 0 <= count && count <= values_.columns();
         });
}

}  // namespace telltale::model
