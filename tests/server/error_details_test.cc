#include "server/rpc/error_details.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/google/rpc/status.pb.h"

namespace telltale::server {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

TEST(ErrorDetails, AFieldErrorTravelsAsBadRequest) {
  const grpc::Status status =
      ToGrpcStatus(FieldError("window.samples", "there are 5; 6 expected"));

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const google::rpc::Status details = DetailsOf(status);
  EXPECT_EQ(details.code(), 3);
  google::rpc::BadRequest fields;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&fields));
  EXPECT_EQ(fields.field_violations(0).field(), "window.samples");
  EXPECT_EQ(fields.field_violations(0).description(),
            "there are 5; 6 expected");
}

// Half a character would make the whole reply unreadable for the client.
TEST(ErrorDetails, ALongMessageIsCutBetweenCharacters) {
  std::string name;
  while (name.size() < 3000) name += "\u00e9";
  for (const char* before : {"", "x"}) {
    const grpc::Status status =
        ToGrpcStatus(FieldError("channels[0].name", before + name));

    google::rpc::BadRequest fields;
    ASSERT_EQ(DetailsOf(status).details_size(), 1);
    ASSERT_TRUE(DetailsOf(status).details(0).UnpackTo(&fields));
    EXPECT_GT(fields.field_violations(0).description().size(), 900U);
    EXPECT_LE(fields.field_violations(0).description().size(), 1000U);
  }
}

TEST(ErrorDetails, OverloadTravelsWithARetryDelay) {
  const google::rpc::Status details =
      DetailsOf(ToGrpcStatus(absl::ResourceExhaustedError("full")));

  google::rpc::RetryInfo retry;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().nanos(), 0);
}

TEST(ErrorDetails, RetryDelaysVaryByAFifth) {
  milliseconds least(10'000);
  milliseconds most(0);
  for (int i = 0; i < 100; ++i) {
    const auto delay = RetryDelay(absl::ResourceExhaustedError("full"));
    ASSERT_TRUE(delay.has_value());
    least = std::min(least, *delay);
    most = std::max(most, *delay);
  }
  EXPECT_GE(least, milliseconds(80));
  EXPECT_LE(most, milliseconds(120));
  EXPECT_LT(least, most);
}

TEST(ErrorDetails, WhatCannotSucceedLaterHasNoRetryDelay) {
  EXPECT_FALSE(RetryDelay(absl::InvalidArgumentError("bad")).has_value());
  EXPECT_FALSE(RetryDelay(absl::NotFoundError("none")).has_value());
}

TEST(ErrorDetails, DetailsNeverOutgrowAHeader) {
  const grpc::Status status =
      ToGrpcStatus(FieldError("name", std::string(100'000, 'x')));

  EXPECT_LE(status.error_details().size(), 3000U);
  EXPECT_LE(status.error_message().size(), 3000U);
}

TEST(ErrorDetails, DescribesTheFieldsToAPerson) {
  EXPECT_THAT(DescribeError(ToGrpcStatus(FieldError("epoch", "it is -1"))),
              HasSubstr("epoch: it is -1"));
}

}  // namespace
}  // namespace telltale::server
