#include "server/cli/card_text.h"

#include <cmath>

#include "absl/strings/str_format.h"

#include "data/time_stamp.h"

namespace telltale::server {
namespace {

// Later than this, a time stamp is a date and not a run's own clock.
constexpr int64_t kDatesBeginNs = 100'000'000'000'000'000;  // 1973

// Of the instants of training; 0 where the record does not tell it.
double HeldOutShare(const model::Checkpoint& checkpoint) {
  const Json training = ParseObject(checkpoint.training_record);
  const auto held_out = training.find("held_out");
  if (held_out == training.end() || !held_out->is_number()) return 0;
  const auto share = held_out->get<double>();
  return share > 0 && share < 1 ? share : 0;
}

}  // namespace

std::string Grouped(int64_t number) {
  const std::string digits = absl::StrFormat("%d", number);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

Json ParseObject(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

std::string FieldText(const Json& json, const char* name) {
  const auto field = json.find(name);
  if (field == json.end()) return "?";
  if (field->is_number_integer()) return Grouped(field->get<int64_t>());
  if (field->is_number()) return absl::StrFormat("%.4g", field->get<double>());
  if (field->is_string()) return field->get<std::string>();
  return field->dump();
}

std::string TimeText(const Json& json, const char* name) {
  const auto field = json.find(name);
  if (field == json.end() || !field->is_number_integer()) return "?";
  const auto time_ns = field->get<int64_t>();
  if (time_ns >= kDatesBeginNs) {
    return data::FormatTimeStamp(time_ns, data::TimeForm::kRfc3339);
  }
  return data::FormatTimeStamp(time_ns, data::TimeForm::kSeconds) + " s";
}

int64_t ParameterCount(const model::Checkpoint& checkpoint) {
  int64_t count = 0;
  for (const model::NamedTensor& tensor : checkpoint.parameters.tensors()) {
    count += static_cast<int64_t>(tensor.size);
  }
  return count;
}

bool IsQuick(const model::Checkpoint& checkpoint) {
  const Json card = ParseObject(checkpoint.card);
  const auto quick = card.find("quick");
  return quick != card.end() && *quick == true;
}

std::string RateText(double per_10k) {
  if (per_10k >= 99.5) return Grouped(std::llround(per_10k));
  return absl::StrFormat("%.2g", per_10k);
}

std::string WideIntervalText(const model::Checkpoint& checkpoint) {
  // At the budget, this many events are so many that their interval reaches
  // from about half to twice.
  constexpr double kEnoughEvents = 10;
  const model::ThresholdRecord& record = checkpoint.threshold;
  const double expected =
      record.budget_per_10k * static_cast<double>(record.instants) / 10'000;
  if (expected >= kEnoughEvents) return "";
  std::string text = absl::StrFormat(
      "%s held-out instants cannot tell more than that false alarms come to %s "
      "to %s per 10,000",
      Grouped(record.instants), RateText(record.low_per_10k),
      RateText(record.high_per_10k));
  const double held_out = HeldOutShare(checkpoint);
  if (held_out > 0) {
    const double wanted =
        10'000 * kEnoughEvents / record.budget_per_10k / held_out;
    text += absl::StrFormat(
        "; about %s instants of training tell it within a factor of two",
        Grouped(std::llround(wanted)));
  }
  return text;
}

}  // namespace telltale::server
