// The one binary: parses the command line and runs the chosen subcommand.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "server/cli/commands.h"
#include "server/printable.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

// The parser's messages have several lines at times, and repeat any argument.
std::string OnOneLine(std::string text) {
  constexpr size_t kMaxBytes = 500;
  while (!text.empty() &&
         std::isspace(static_cast<unsigned char>(text.back()))) {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Printable(text, kMaxBytes);
}

// "telltale" or "telltale train", whichever the user had got to.
std::string CommandPath(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name()
                        : app.get_name() + " " + chosen.front()->get_name();
}

// A parser that misses a subcommand says so, even when a word stands where one
// belongs; that word is the news.
std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> words = app.remaining();
  if (app.get_subcommands().empty() && !words.empty() &&
      !words.front().starts_with('-')) {
    return "no subcommand is called '" + Printable(words.front()) + "'";
  }
  return OnOneLine(error.what());
}

void AddCommands(CLI::App& app, CommandResult& result) {
  AddSimulateCommand(app, result);
  AddTrainCommand(app, result);
  AddScoreCommand(app, result);
  AddEvaluateCommand(app, result);
  AddServeCommand(app, result);
  AddStreamCommand(app, result);
  AddHistoryCommand(app, result);
  AddHealthCommand(app, result);
  AddInspectCommand(app, result);
  AddExportCommand(app, result);
}

int Run(int argc, char** argv) {
  CLI::App app(
      "Watches telemetry: learns what is nominal, scores what streams in, and "
      "points back to the earlier instants that an anomaly rests on.",
      "telltale");
  app.set_version_flag("--version", "telltale " TELLTALE_VERSION);
  app.set_help_all_flag("--help-all", "Print the help of every subcommand");
  app.require_subcommand(1);
  app.footer(
      "`telltale SUBCOMMAND --help` explains a subcommand and its flags.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage; one line on standard error "
      "says why.");
  CommandResult result;
  AddCommands(app, result);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for) {  // --help, --help-all, --version
    return app.exit(asked_for);
  } catch (const CLI::ParseError& error) {
    std::cerr << "telltale: " << Explain(app, error) << "; see `"
              << CommandPath(app) << " --help`\n";
    return kUsage;
  }
  return result.exit_code;
}

}  // namespace
}  // namespace telltale::server

int main(int argc, char** argv) {
  // Nothing of ours throws; this is for the standard library's last words, such
  // as bad_alloc.
  try {
    return telltale::server::Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "telltale: " << error.what() << '\n';
    return telltale::server::kFailure;
  }
}
