// Measures one thing at a time, as the benchmark's script asks for it:
//
//   bench_worker CHECKPOINT [ONNX_RUNTIME_LIBRARY]
//
// Each line of standard input is a command, each answer a line: `ok VALUE` or
// `error MESSAGE`.
//
//   write MODEL FOLDER             MODEL's files (bench_models.h); the version
//                                  of ONNX Runtime, or none
//   check MODEL whole FILE         the relative error of an exported file over
//   check MODEL step FILE          whole windows, or step by step
//   precision NAME                 whether this processor has it: yes, or why
//                                  not
//   time COUNT JOB                 seconds of processor time for doing it COUNT
//                                  times; what is measured for the first time
//                                  is done once before
//
// A JOB is one of
//
//   forward MODEL BATCH PRECISION         multiply SIZE PRECISION
//   advance MODEL STREAMS ROWS PRECISION  read MEBIBYTES
//   onnx MODEL FILE BATCH                 train
//   step MODEL FILE STREAMS

#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "model/ops/context.h"
#include "tests/bench/bench_jobs.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/onnx_jobs.h"
#include "tests/bench/onnx_runtime.h"

namespace telltale::bench {
namespace {

double ProcessSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

class Worker {
 public:
  explicit Worker(std::string checkpoint)
      : checkpoint_(std::move(checkpoint)) {}

  absl::Status LoadRuntime(const std::string& library) {
    auto runtime = OnnxRuntime::Load(library);
    if (!runtime.ok()) return runtime.status();
    runtime_ = *std::move(runtime);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Answer(const std::string& line);

 private:
  using Words = std::vector<std::string>;

  absl::StatusOr<std::string> Write(const Words& words);
  absl::StatusOr<std::string> Check(const Words& words);
  absl::StatusOr<std::string> Time(int count, const Words& what);
  absl::StatusOr<Job> MakeJob(const Words& what);
  absl::StatusOr<const BenchModel*> Model(const std::string& name);
  absl::Status NeedRuntime() const {
    if (runtime_ != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError("ONNX Runtime was not given");
  }

  const std::string checkpoint_;
  std::unique_ptr<OnnxRuntime> runtime_;
  std::map<std::string, std::unique_ptr<BenchModel>> models_;
  std::map<Words, Job> jobs_;
};

absl::StatusOr<const BenchModel*> Worker::Model(const std::string& name) {
  std::unique_ptr<BenchModel>& model = models_[name];
  if (model == nullptr) {
    auto made = MakeBenchModel(name, checkpoint_);
    if (!made.ok()) return made.status();
    model = *std::move(made);
  }
  return model.get();
}

absl::StatusOr<std::string> Worker::Write(const Words& words) {
  const auto model = Model(words[1]);
  if (!model.ok()) return model.status();
  absl::Status status = WriteBenchModel(words[1], **model, words[2]);
  if (!status.ok()) return status;
  return runtime_ == nullptr ? "none" : runtime_->version();
}

absl::StatusOr<std::string> Worker::Check(const Words& words) {
  const auto model = Model(words[1]);
  if (!model.ok()) return model.status();
  if (absl::Status status = NeedRuntime(); !status.ok()) return status;
  const auto check = words[2] == "step" ? OnnxStepError : OnnxError;
  const auto error = check(*runtime_, **model, words[3]);
  if (!error.ok()) return error.status();
  return absl::StrFormat("%.9g", *error);
}

absl::StatusOr<Job> Worker::MakeJob(const Words& what) {
  const auto number = [&](size_t i) { return std::stoi(what.at(i)); };
  if (what[0] == "read") return ReadJob(number(1));
  if (what[0] == "train") return TrainJob(checkpoint_);
  if (what[0] == "multiply") {
    const auto precision = model::ChoosePrecision(what.at(2));
    if (!precision.ok()) return precision.status();
    return MultiplyJob(number(1), *precision);
  }
  const auto model = Model(what.at(1));
  if (!model.ok()) return model.status();
  if (what[0] == "forward" || what[0] == "advance") {
    const auto precision = model::ChoosePrecision(what.back());
    if (!precision.ok()) return precision.status();
    return what[0] == "forward"
               ? ForwardJob(**model, number(2), *precision)
               : AdvanceJob(**model, number(2), number(3), *precision);
  }
  if (what[0] == "onnx" || what[0] == "step") {
    if (absl::Status status = NeedRuntime(); !status.ok()) return status;
    const auto make = what[0] == "step" ? OnnxStepJob : OnnxJob;
    return make(*runtime_, **model, what.at(2), number(3));
  }
  return absl::InvalidArgumentError(absl::StrCat("no job '", what[0], "'"));
}

absl::StatusOr<std::string> Worker::Time(int count, const Words& what) {
  Job& job = jobs_[what];
  if (job == nullptr) {
    auto made = MakeJob(what);
    if (!made.ok()) return made.status();
    if (absl::Status status = (*made)(1); !status.ok()) return status;
    job = *std::move(made);
  }
  const double start = ProcessSeconds();
  if (absl::Status status = job(count); !status.ok()) return status;
  return absl::StrFormat("%.9g", ProcessSeconds() - start);
}

absl::StatusOr<std::string> Worker::Answer(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.size() == 3 && words[0] == "write") return Write(words);
  if (words.size() == 4 && words[0] == "check") return Check(words);
  if (words.size() == 2 && words[0] == "precision") {
    const absl::Status status = model::ChoosePrecision(words[1]).status();
    return status.ok() ? "yes" : std::string(status.message());
  }
  if (words.size() >= 3 && words[0] == "time") {
    return Time(std::stoi(words[1]), {words.begin() + 2, words.end()});
  }
  return absl::InvalidArgumentError(absl::StrCat("not understood: ", line));
}

int Run(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: bench_worker CHECKPOINT [ONNX_RUNTIME_LIBRARY]\n";
    return 2;
  }
  model::Context::PrepareThread();
  Worker worker(argv[1]);
  if (argc == 3) {
    if (absl::Status status = worker.LoadRuntime(argv[2]); !status.ok()) {
      std::cerr << "bench_worker: " << status.message() << '\n';
      return 1;
    }
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = worker.Answer(line);
    if (answer.ok()) {
      std::cout << "ok " << *answer << std::endl;
    } else {
      std::cout << "error " << answer.status().message() << std::endl;
    }
  }
  return 0;
}

}  // namespace
}  // namespace telltale::bench

int main(int argc, char** argv) {
  try {
    return telltale::bench::Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_worker: " << error.what() << '\n';
    return 1;
  }
}
