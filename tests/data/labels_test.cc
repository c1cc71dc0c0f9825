#include "data/labels.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/temporary_file.h"

namespace telltale::data {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string Refusal(const std::string& text) {
  const TemporaryFile file("labels.csv", text);
  const auto labels = ReadLabels(file.path());
  if (labels.ok()) return "";
  EXPECT_EQ(labels.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(labels.status().message());
}

TEST(Labels, ReadBackAsWritten) {
  LabelledEvent with_cause;
  with_cause.start_ns = 60'000'000'000;
  with_cause.end_ns = 80'500'000'000;
  with_cause.cause = TimeRange{1'000'000'000, 2'000'000'000};
  with_cause.cause_channel = "pump, inlet";
  with_cause.kind = "pressure_drop";
  with_cause.channel = "temperature \"7\"";
  LabelledEvent bare;
  bare.start_ns = 90'000'000'000;
  bare.end_ns = 90'000'000'000;
  const std::vector<LabelledEvent> events = {with_cause, bare};

  for (const TimeForm form : {TimeForm::kSeconds, TimeForm::kRfc3339}) {
    const TemporaryFile file("labels.csv");
    ASSERT_TRUE(WriteLabels(events, form, file.path()).ok());
    const auto reread = ReadLabels(file.path());
    ASSERT_TRUE(reread.ok()) << reread.status();
    EXPECT_EQ(*reread, events);
  }
}

TEST(Labels, WriteSevenColumns) {
  LabelledEvent event;
  event.start_ns = 1'000'000'000;
  event.end_ns = 2'000'000'000;
  event.kind = "spike";
  event.channel = "thrust";
  const TemporaryFile file("labels.csv");

  ASSERT_TRUE(WriteLabels({event}, TimeForm::kSeconds, file.path()).ok());

  EXPECT_EQ(file.Content(),
            "start,end,cause_start,cause_end,cause_channel,kind,channel\n"
            "1,2,,,,spike,thrust\n");
}

TEST(Labels, NameTheSegmentWhereThereAreSeveral) {
  LabelledEvent event;
  event.start_ns = 1'000'000'000;
  event.end_ns = 2'000'000'000;
  event.segment = 7;
  const TemporaryFile file("labels.csv");

  ASSERT_TRUE(WriteLabels({event}, TimeForm::kSeconds, file.path()).ok());

  EXPECT_EQ(
      file.Content(),
      "segment,start,end,cause_start,cause_end,cause_channel,kind,channel\n"
      "7,1,2,,,,,\n");
  EXPECT_EQ(*ReadLabels(file.path()), std::vector<LabelledEvent>{event});
}

TEST(Labels, NeedOnlyStartAndEndInAnyOrder) {
  const TemporaryFile file("labels.csv", "end,start\n7,5\n");

  const auto labels = ReadLabels(file.path());

  ASSERT_TRUE(labels.ok()) << labels.status();
  ASSERT_EQ(labels->size(), 1);
  EXPECT_EQ(labels->front().start_ns, 5'000'000'000);
  EXPECT_EQ(labels->front().end_ns, 7'000'000'000);
  EXPECT_FALSE(labels->front().cause.has_value());
}

TEST(Labels, MayBeNone) {
  const TemporaryFile file("labels.csv", "start,end\n");
  const auto labels = ReadLabels(file.path());
  ASSERT_TRUE(labels.ok());
  EXPECT_THAT(*labels, IsEmpty());
}

TEST(Labels, SayWhereTheyAreWrong) {
  EXPECT_THAT(Refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(Refusal("start,stop\n"), HasSubstr("\"stop\" is no column"));
  EXPECT_THAT(Refusal("start,start\n"), HasSubstr("stands twice"));
  EXPECT_THAT(Refusal("start,kind\n"), HasSubstr("lacks start or end"));
  EXPECT_THAT(Refusal("start,end,cause_start\n"), HasSubstr("both or none"));
  EXPECT_THAT(Refusal("start,end\n5,4\n"),
              HasSubstr("line 2: column 2 (end): \"4\" lies before start 5"));
  EXPECT_THAT(Refusal("start,end\n5\n"), HasSubstr("1 cells"));
  for (const char* segment : {"", "-1", "1.5", "x", "99999999999"}) {
    EXPECT_THAT(
        Refusal("segment,start,end\n" + std::string(segment) + ",5,6\n"),
        HasSubstr("is no segment; expected a number from 0 on"))
        << segment;
  }
  EXPECT_THAT(Refusal("start,end\n5,x\n"),
              HasSubstr("column 2 (end): \"x\" is no time stamp"));
  EXPECT_THAT(Refusal("start,end,cause_start,cause_end\n5,6,1,\n"),
              HasSubstr("column 4 (cause_end): \"\" is no time stamp"));
}

}  // namespace
}  // namespace telltale::data
