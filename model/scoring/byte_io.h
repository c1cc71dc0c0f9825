#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace telltale::model {

// Arrays of plain values to bytes and back, for stream states that are read by
// the same build on the same kind of machine. A reader knows every size.

template <typename Value>
void AppendBytes(const Value* values, size_t count, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(Value));
}

template <typename Value, typename Allocator>
void AppendBytes(const std::vector<Value, Allocator>& values,
                 std::string& bytes) {
  AppendBytes(values.data(), values.size(), bytes);
}

// Takes `count` values off the front. False: too few bytes; nothing is taken.
template <typename Value>
bool TakeBytes(std::string_view& bytes, Value* values, size_t count) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const size_t size = count * sizeof(Value);
  if (bytes.size() < size) return false;
  if (size > 0) std::memcpy(values, bytes.data(), size);
  bytes.remove_prefix(size);
  return true;
}

template <typename Value, typename Allocator>
bool TakeBytes(std::string_view& bytes, std::vector<Value, Allocator>& values) {
  return TakeBytes(bytes, values.data(), values.size());
}

}  // namespace telltale::model
