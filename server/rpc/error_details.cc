#include "server/rpc/error_details.h"

#include <atomic>
#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"

#include "proto/google/rpc/status.pb.h"

namespace telltale::server {
namespace {

using std::chrono::milliseconds;

constexpr const char* kFieldsUrl = "type.googleapis.com/google.rpc.BadRequest";
// gRPC refuses headers beyond 8 KiB, and details travel in a header.
constexpr int kMaxDetailBytes = 3000;
constexpr size_t kMaxMessageBytes = 1000;

milliseconds Vary(milliseconds delay) {
  static std::atomic<uint32_t> counter{0};
  const int64_t step = counter.fetch_add(7, std::memory_order_relaxed) % 41;
  return delay * (80 + step) / 100;
}

// A message must be UTF-8 to travel; ours is unless a file's name is not.
std::string Shortened(std::string_view text) {
  if (text.size() <= kMaxMessageBytes) return std::string(text);
  size_t size = kMaxMessageBytes;
  // Back over continuation bytes, 10xxxxxx: half a character is no UTF-8.
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
    --size;
  }
  return std::string(text.substr(0, size));
}

}  // namespace

absl::Status FieldError(std::string_view field, std::string_view description) {
  return WithField(
      absl::InvalidArgumentError(absl::StrFormat("%s", description)), field);
}

absl::Status WithField(const absl::Status& status, std::string_view field) {
  google::rpc::BadRequest fields;
  auto* violation = fields.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(
      Shortened({status.message().data(), status.message().size()}));
  absl::Status named(status.code(),
                     absl::StrFormat("%s: %s", field, status.message()));
  named.SetPayload(kFieldsUrl, absl::Cord(fields.SerializeAsString()));
  return named;
}

google::rpc::BadRequest FieldsOf(const absl::Status& status) {
  google::rpc::BadRequest fields;
  if (const auto payload = status.GetPayload(kFieldsUrl)) {
    fields.ParseFromString(std::string(*payload));
  }
  return fields;
}

std::optional<milliseconds> RetryDelay(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return Vary(milliseconds(100));
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
      return Vary(milliseconds(1000));
    default:
      return std::nullopt;
  }
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(
      Shortened({status.message().data(), status.message().size()}));
  if (const google::rpc::BadRequest fields = FieldsOf(status);
      fields.field_violations_size() > 0) {
    details.add_details()->PackFrom(fields);
  }
  if (const auto delay = RetryDelay(status)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(delay->count() / 1000);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int>(delay->count() % 1000) * 1'000'000);
    details.add_details()->PackFrom(retry);
  }
  std::string bytes = details.SerializeAsString();
  if (bytes.size() > kMaxDetailBytes) bytes.clear();
  return {static_cast<grpc::StatusCode>(status.code()), details.message(),
          bytes};
}

std::string DescribeError(const grpc::Status& status) {
  std::string text = status.error_message();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return text;
  for (const auto& detail : details.details()) {
    google::rpc::BadRequest fields;
    if (!detail.UnpackTo(&fields)) continue;
    for (const auto& violation : fields.field_violations()) {
      if (text.find(violation.description()) != std::string::npos) continue;
      text += "; " + violation.field() + ": " + violation.description();
    }
  }
  return text;
}

}  // namespace telltale::server
