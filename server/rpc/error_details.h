#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <grpcpp/support/status.h>

#include "proto/google/rpc/error_details.pb.h"

namespace telltale::server {

// Errors and what goes with them. Inside the server an error is an absl::Status
// and carries the fields at fault as a payload; here they become what clients
// see.

// kInvalidArgument about one field: the value found and what was expected.
absl::Status FieldError(std::string_view field, std::string_view description);
// The same for an error that came without a field's name.
absl::Status WithField(const absl::Status& status, std::string_view field);

// The fields at fault; empty when none were named.
google::rpc::BadRequest FieldsOf(const absl::Status& status);

// When a request that failed with `status` may be sent again; absent when only
// another request can succeed. Varies by a fifth, so that clients that were
// refused together do not come back together.
std::optional<std::chrono::milliseconds> RetryDelay(const absl::Status& status);

// For the end of a call: code, message and google.rpc details.
grpc::Status ToGrpcStatus(const absl::Status& status);

// One line about a failed call for a person: message and fields.
std::string DescribeError(const grpc::Status& status);

}  // namespace telltale::server
