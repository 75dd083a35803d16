// The commands of `foretrain`. One file per command, one line in main.cpp's table.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace foretrain::cli {

/// Exit codes of the public contract.
enum ExitCode { done = 0, violated = 1, wrong_input = 2, internal_error = 3 };

/// Adds options to `app` and returns what runs when the command was given.
using Setup = std::function<int()> (*)(CLI::App& app);

/// Check of an option: CLI11 would wrap a negative number around.
inline std::string not_negative(const std::string& text)
{
  return text.starts_with("-") ? "must not be negative, got " + text : "";
}

struct Command {
  const char* name;
  const char* summary;
  Setup setup;
};

std::function<int()> predict(CLI::App& app);
std::function<int()> sweep(CLI::App& app);
std::function<int()> plan(CLI::App& app);
std::function<int()> validate(CLI::App& app);
std::function<int()> nccl_tests(CLI::App& app);
std::function<int()> platform(CLI::App& app);
std::function<int()> model(CLI::App& app);
std::function<int()> realrun_import(CLI::App& app);
std::function<int()> schema(CLI::App& app);
std::function<int()> calibrate(CLI::App& app);
std::function<int()> parameters(CLI::App& app);

} // namespace foretrain::cli
