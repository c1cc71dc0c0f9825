// The one binary: parses the command line and runs the chosen subcommand.

#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "server/cli/commands.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

std::string OnOneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// "telltale" or "telltale train", whichever the user had got to.
std::string CommandPath(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name()
                        : app.get_name() + " " + chosen.front()->get_name();
}

void AddCommands([[maybe_unused]] CLI::App& app,
                 [[maybe_unused]] CommandResult& result) {
#ifdef TELLTALE_HAS_SIMULATE
  AddSimulateCommand(app, result);
#endif
#ifdef TELLTALE_HAS_TRAIN
  AddTrainCommand(app, result);
#endif
#ifdef TELLTALE_HAS_SCORE
  AddScoreCommand(app, result);
#endif
#ifdef TELLTALE_HAS_EVALUATE
  AddEvaluateCommand(app, result);
#endif
#ifdef TELLTALE_HAS_SERVE
  AddServeCommand(app, result);
#endif
#ifdef TELLTALE_HAS_STREAM
  AddStreamCommand(app, result);
#endif
#ifdef TELLTALE_HAS_HISTORY
  AddHistoryCommand(app, result);
#endif
#ifdef TELLTALE_HAS_HEALTH
  AddHealthCommand(app, result);
#endif
#ifdef TELLTALE_HAS_INSPECT
  AddInspectCommand(app, result);
#endif
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
    std::cerr << "telltale: " << OnOneLine(error.what()) << "; see `"
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
