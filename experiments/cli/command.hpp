// The commands of `foretrain`. One file per command, one line in main.cpp's table.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>

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

/// Check of an option: a range holds back no NaN.
inline std::string finite(const std::string& text)
{
  return text.find_first_of("nN") == std::string::npos ? "" : "must be a number, got " + text;
}

/// Check of an option: stores keep seeds as whole numbers of SQLite, up to 2^63 - 1.
inline std::string seed_in_range(const std::string& text)
{
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  const bool fits = text.size() < 19 || (text.size() == 19 && text <= "9223372036854775807");
  return !digits || fits ? "" : "must be at most 9223372036854775807, got " + text;
}

/// Processes that run at a time where nobody says how many.
inline int cores()
{
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

struct Command {
  const char* name;
  const char* summary;
  Setup setup;
};

std::function<int()> predict(CLI::App& app);
std::function<int()> sweep(CLI::App& app);
std::function<int()> compare(CLI::App& app);
std::function<int()> check(CLI::App& app);
std::function<int()> explain(CLI::App& app);
std::function<int()> plan(CLI::App& app);
std::function<int()> list(CLI::App& app);
std::function<int()> fleet(CLI::App& app);
std::function<int()> tune(CLI::App& app);
std::function<int()> validate(CLI::App& app);
std::function<int()> nccl_tests(CLI::App& app);
std::function<int()> platform(CLI::App& app);
std::function<int()> model(CLI::App& app);
std::function<int()> program(CLI::App& app);
std::function<int()> trace(CLI::App& app);
std::function<int()> realrun_import(CLI::App& app);
std::function<int()> mlperf_import(CLI::App& app);
std::function<int()> schema(CLI::App& app);
std::function<int()> calibrate(CLI::App& app);
std::function<int()> parameters(CLI::App& app);
std::function<int()> completion(CLI::App& app);
std::function<int()> sql(CLI::App& app);
std::function<int()> report(CLI::App& app);
std::function<int()> serve(CLI::App& app);

} // namespace foretrain::cli
