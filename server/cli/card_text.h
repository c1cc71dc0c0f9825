#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "model/checkpoint/checkpoint.h"

namespace telltale::server {

// What cards and summaries write in the same words.

using Json = nlohmann::json;

// 1234567 as "1,234,567".
std::string Grouped(int64_t number);

// A record of a checkpoint; empty where it is no object.
Json ParseObject(const std::string& text);

// A field as text; "?" where a record has none.
std::string FieldText(const Json& json, const char* name);

// The same of a time stamp in nanoseconds: a date, or seconds of a run's clock.
std::string TimeText(const Json& json, const char* name);

int64_t ParameterCount(const model::Checkpoint& checkpoint);

// Whether it was trained with --quick.
bool IsQuick(const model::Checkpoint& checkpoint);

// Events for each 10,000 instants, without more digits than mean something.
std::string RateText(double per_10k);

// Where the interval is too wide to rely on the budget: how wide, and, if the
// training record tells the share held out, how many instants would narrow it.
// Empty elsewhere.
std::string WideIntervalText(const model::Checkpoint& checkpoint);

}  // namespace telltale::server
