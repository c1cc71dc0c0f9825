// Replays a corpus through a fuzz target, then mutations of it: the same ones
// each time, so that a failure repeats.
//
//   csv_fuzz FOLDER [MUTATIONS]

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

std::vector<std::string> ReadCorpus(const std::filesystem::path& folder) {
  std::vector<std::string> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  // The order of a folder is the system's; the mutations must not be.
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

// The input with a byte changed, some removed or doubled, the rest cut off, or
// a piece of another input put in. REQUIRES: not empty.
void Edit(std::string& input, const std::string& other, std::mt19937& random) {
  const auto below = [&random](size_t count) { return random() % count; };
  const size_t at = below(input.size());
  switch (below(5)) {
    case 0:
      input[at] = static_cast<char>(below(256));
      return;
    case 1:
      input.erase(at, 1 + below(8));
      return;
    case 2:
      input.insert(at, input.substr(at, 1 + below(16)));
      return;
    case 3:
      input.resize(at);
      return;
    default:
      input.insert(at, other.substr(below(other.size() + 1), 1 + below(32)));
  }
}

// One to four edits.
std::string Mutate(std::string input, const std::vector<std::string>& corpus,
                   std::mt19937& random) {
  for (size_t edits = 1 + random() % 4; edits > 0 && !input.empty(); --edits) {
    Edit(input, corpus[random() % corpus.size()], random);
  }
  return input;
}

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [MUTATIONS]\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = ReadCorpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no input\n", argv[1]);
    return 1;
  }
  for (const std::string& input : corpus) Run(input);

  const int mutations = argc > 2 ? std::atoi(argv[2]) : 20'000;
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  for (int i = 0; i < mutations; ++i) {
    Run(Mutate(corpus[random() % corpus.size()], corpus, random));
  }
  std::printf("%zu inputs and %d mutations of them\n", corpus.size(),
              mutations);
  return 0;
}
