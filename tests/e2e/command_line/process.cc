#include "tests/e2e/command_line/process.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <spawn.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace telltale::testing {
namespace {

constexpr std::chrono::seconds kPatience(60);
constexpr std::chrono::seconds kLongestRun(240);

// The world outside has no other way to say that it is ready.
bool Poll(const std::function<bool()>& ready,
          std::chrono::seconds patience = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace

Process::Process(const std::string& folder,
                 const std::vector<std::string>& arguments)
    : out_path_(folder + "/stdout"), err_path_(folder + "/stderr") {
  std::vector<std::string> words = {TELLTALE_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_path_.c_str(),
                                   kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path_.c_str(),
                                   kFlags, 0600);
  const int error = posix_spawn(&pid_, TELLTALE_BINARY, &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << "cannot start " << TELLTALE_BINARY;
  if (error != 0) pid_ = -1;
}

Process::~Process() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

bool Process::AwaitError(const std::string& text) const {
  return Poll(
      [&] { return FileBytes(err_path_).find(text) != std::string::npos; });
}

Outcome Process::Wait() {
  Outcome outcome;
  int status = 0;
  rusage usage = {};
  if (pid_ > 0) {
    const auto ended = [&] {
      return wait4(pid_, &status, WNOHANG, &usage) == pid_;
    };
    if (!Poll(ended, kLongestRun)) {
      ADD_FAILURE() << "still running after minutes";
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
    }
  }
  pid_ = -1;
  outcome.exit_code =
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.peak_bytes = int64_t{1024} * usage.ru_maxrss;
  outcome.out = FileBytes(out_path_);
  outcome.err = FileBytes(err_path_);
  return outcome;
}

Outcome RunTelltale(const std::string& folder,
                    const std::vector<std::string>& arguments) {
  return Process(folder, arguments).Wait();
}

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool AwaitFile(const std::string& path) {
  return Poll([&] { return !FileBytes(path).empty(); });
}

}  // namespace telltale::testing
