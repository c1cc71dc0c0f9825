#pragma once

namespace telltale::model {

// Instants [begin, end) of one segment.
struct Range {
  int segment = 0;
  int begin = 0, end = 0;
  int length() const { return end - begin; }

  friend bool operator==(const Range&, const Range&) = default;
};

}  // namespace telltale::model
