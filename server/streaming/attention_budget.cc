#include "server/streaming/attention_budget.h"

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

constexpr double kMebibyte = 1 << 20;

// In double, which no window can overflow. A query of a window sees at most the
// window and the context before it.
double BytesOfRows(const model::ModelDescription& model, int64_t instants) {
  const auto queries = static_cast<double>(instants);
  const double keys = queries + model.context_length;
  return sizeof(float) * queries * keys * model.layer_count * model.head_count;
}

}  // namespace

AttentionBudget::Share::~Share() {
  const std::lock_guard lock(budget_.mutex_);
  budget_.reserved_ -= bytes_;
}

absl::Status AttentionBudget::Check(const model::ModelDescription& model,
                                    int64_t instants) const {
  const double needed = BytesOfRows(model, instants);
  if (needed <= static_cast<double>(bytes_)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the attention rows of %d instants take %.1f MiB, and the server sets "
      "aside %.1f MiB for all; send shorter windows, or ask for no rows",
      instants, needed / kMebibyte, static_cast<double>(bytes_) / kMebibyte));
}

absl::StatusOr<std::shared_ptr<const AttentionBudget::Share>>
AttentionBudget::Reserve(const model::ModelDescription& model,
                         int64_t instants) {
  if (absl::Status status = Check(model, instants); !status.ok()) return status;
  const auto needed = static_cast<int64_t>(BytesOfRows(model, instants));
  {
    const std::lock_guard lock(mutex_);
    if (needed <= bytes_ - reserved_) {
      reserved_ += needed;
      return std::shared_ptr<const Share>(new Share(*this, needed));
    }
  }
  return absl::ResourceExhaustedError(absl::StrFormat(
      "attention rows that clients have not read yet take %.1f MiB of %.1f; "
      "try again",
      static_cast<double>(reserved()) / kMebibyte,
      static_cast<double>(bytes_) / kMebibyte));
}

int64_t AttentionBudget::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

}  // namespace telltale::server
