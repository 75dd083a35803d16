#include "experiments/cli/sweep_status.hpp"

#include "experiments/cli/command.hpp"
#include "experiments/run/keep/result_store.hpp"
#include "sim/base/error.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

using experiments::ResultStore;
using experiments::SweepRun;

constexpr std::int64_t kSilent = 120; // seconds after which a run on another machine counts as lost

std::string duration_text(double seconds)
{
  return seconds < 90     ? fmt::format("{:.0f} s", seconds)
         : seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60)
                          : fmt::format("{:.1f} h", seconds / 3600);
}

bool is_running(const SweepRun& run)
{
  if (run.ended || run.process == 0)
    return false;
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0 && run.host == name)
    return kill(static_cast<pid_t>(run.process), 0) == 0;
  return std::time(nullptr) - run.updated < kSilent;
}

// What one run says of itself.
std::string line_of(const std::string& file, const SweepRun& run)
{
  const std::int64_t finished = std::min(run.points, run.done + run.known + run.failed);
  std::string text = fmt::format("  {}: {} of {} points", file, finished, run.points);
  if (run.failed > 0)
    text += fmt::format(", {} failed", run.failed);
  if (run.process == 0)
    return text + ", queued";
  if (!is_running(run))
    return text + (run.ended ? ", ended" : ", stopped");
  const double seconds = std::max(1.0, static_cast<double>(run.updated - run.started));
  text += fmt::format(", running on {} (process {})", run.host, run.process);
  if (run.done > 0)
    text += fmt::format(", {} left", duration_text(seconds / static_cast<double>(run.done) *
                                                   static_cast<double>(run.points - finished)));
  return text;
}

void must_exist(const std::string& store)
{
  std::error_code error;
  if (!std::filesystem::is_regular_file(store, error))
    throw UsageError("there is no file '" + store + "'");
}

// Files beside the store whose names begin with its name and `what`.
std::vector<std::string> beside(const std::string& store, const std::string& what)
{
  const std::filesystem::path file = std::filesystem::absolute(store);
  const std::string prefix = file.filename().string() + what;
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), error))
    if (entry.path().filename().string().starts_with(prefix))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

std::vector<std::string> parts_beside(const std::string& store)
{
  std::vector<std::string> parts = beside(store, ".part-");
  std::erase_if(parts, [](const std::string& name) { return name.ends_with("-journal"); });
  return parts;
}

int sweep_status(const std::string& store)
{
  // Tasks write parts of their own; the file itself comes when they are collected.
  const std::vector<std::string> parts = parts_beside(store);
  if (parts.empty())
    must_exist(store);
  std::set<std::string> keys;
  std::int64_t failed = 0;
  std::string lines;
  // An empty one is being made.
  if (std::error_code error;
      std::filesystem::is_regular_file(store, error) && std::filesystem::file_size(store) > 0) {
    const ResultStore whole(store, experiments::StoreUse::read);
    keys = whole.keys();
    failed = whole.failed();
    if (const auto run = whole.last_run())
      lines += line_of(store, *run) + "\n";
  }
  for (const std::string& part : parts)
    try {
      const ResultStore of_task(part, experiments::StoreUse::read);
      keys.merge(of_task.keys());
      failed += of_task.failed();
      if (const auto run = of_task.last_run())
        lines += line_of(std::filesystem::path(part).filename().string(), *run) + "\n";
    } catch (const UsageError& error) {
      lines += fmt::format("  {}\n", error.what());
    }
  std::cout << fmt::format("{} points done, {} failed\n", keys.size(), failed) << lines;
  return done;
}

int sweep_clean(const std::string& store)
{
  must_exist(store);
  ResultStore whole(store);
  for (const std::string& part : parts_beside(store)) {
    {
      const ResultStore of_task(part); // throws before anything is removed
      if (const auto run = of_task.last_run(); run && is_running(*run))
        throw UsageError("'" + part + "' is being written by process " +
                         std::to_string(run->process) + " on " + run->host);
    }
    whole.merge(part);
  }
  int files = 0;
  for (const char* what : {".part-", ".sbatch", ".collect.sbatch", ".slurm-"})
    for (const std::string& file : beside(store, what))
      files += std::filesystem::remove(file) ? 1 : 0;
  const int points = whole.clean();
  std::cout << fmt::format("{} files removed, {} points forgotten, {} points kept\n", files, points,
                           whole.keys().size());
  return done;
}

} // namespace foretrain::cli
