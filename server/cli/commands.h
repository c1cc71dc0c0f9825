#pragma once

#include <CLI/CLI.hpp>

namespace telltale::server {

// What the process ends with. A command's callback leaves its exit code here:
// 0 done, 1 failed (one line on standard error says why), 2 wrong usage that
// only the callback could see. Usage errors that the parser sees end with 2
// before any callback runs.
struct CommandResult {
  int exit_code = 0;
};

// Each adds one subcommand to `app`: its flags, its help and its callback.
// `result` must outlive the parse. Callbacks do not throw.
void AddSimulateCommand(CLI::App& app, CommandResult& result);
void AddTrainCommand(CLI::App& app, CommandResult& result);
void AddScoreCommand(CLI::App& app, CommandResult& result);
void AddEvaluateCommand(CLI::App& app, CommandResult& result);
void AddServeCommand(CLI::App& app, CommandResult& result);
void AddStreamCommand(CLI::App& app, CommandResult& result);
void AddHistoryCommand(CLI::App& app, CommandResult& result);
void AddHealthCommand(CLI::App& app, CommandResult& result);
void AddInspectCommand(CLI::App& app, CommandResult& result);
void AddExportCommand(CLI::App& app, CommandResult& result);

}  // namespace telltale::server
