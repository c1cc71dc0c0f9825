#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::data {

// The bytes of a .npy file, written the way NumPy does.
inline std::string NpyBytes(std::string_view dictionary, std::string_view data,
                            int major = 1) {
  std::string header(dictionary);
  const size_t prefix = major == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes("\x93NUMPY", 6);
  bytes += static_cast<char>(major);
  bytes += '\0';
  const auto length = static_cast<uint32_t>(header.size());
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>((length >> (8 * i)) & 0xff);
  }
  return bytes + header + std::string(data);
}

inline std::string NpyDictionary(std::string_view descr,
                                 std::string_view shape) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
}

template <typename Number>
std::string BytesOf(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          numbers.size() * sizeof(Number)};
}

}  // namespace telltale::data
