#include "experiments/cli/slurm.hpp"

#include "experiments/cli/command.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

constexpr int kTasks = 16;

// As one word for a shell.
std::string quoted(const std::string& word)
{
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string shell_command(const std::vector<std::string>& words)
{
  std::vector<std::string> safe;
  for (const std::string& word : words)
    safe.push_back(quoted(word));
  return joined(safe, " ");
}

void write_script(const std::string& path, const std::string& command)
{
  write_file(path, "#!/bin/bash\nexec " + command + " --jobs \"${SLURM_CPUS_PER_TASK:-1}\"\n");
}

// What the command prints; its messages go to the user.
std::string output_of(const std::vector<std::string>& command, int& status)
{
  std::string text;
  FILE* pipe = popen(shell_command(command).c_str(), "r");
  if (pipe == nullptr)
    throw UsageError("cannot run '" + command.front() + "'");
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr)
    text += buffer.data();
  status = pclose(pipe);
  return text;
}

// Submits a script; the number of the job.
std::string submit(std::vector<std::string> arguments, const SlurmArray& array,
                   const std::string& script)
{
  std::vector<std::string> command{"sbatch", "--parsable", "--job-name=foretrain"};
  command.insert(command.end(), array.options.begin(), array.options.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back(script);
  int status = 0;
  const std::string text = output_of(command, status);
  std::string job = text.substr(0, text.find_first_of(";\n")); // "id;cluster"
  if (status != 0 || job.empty())
    throw UsageError("sbatch did not take the job: " + shell_command(command) +
                     "\n  hint: without Slurm use --launcher local, or --part K/N under another "
                     "batch system");
  return job;
}

} // namespace

int submit_to_slurm(const SlurmArray& array, std::size_t pieces, const std::string& noun)
{
  const std::size_t tasks =
      std::min(pieces, static_cast<std::size_t>(array.tasks > 0 ? array.tasks : kTasks));
  const std::string command = shell_command(array.command);
  const std::string script = array.store + ".sbatch";
  write_script(script, fmt::format("{} --part \"$SLURM_ARRAY_TASK_ID/{}\"", command, tasks));
  const std::string first = submit(
      {fmt::format("--array=0-{}", tasks - 1), "--output=" + array.store + ".slurm-%A_%a.log"},
      array, script);
  const std::string collecting = array.store + ".collect.sbatch";
  write_script(collecting, command);
  const std::string after =
      submit({"--dependency=afterany:" + first, "--output=" + array.store + ".slurm-collect.log"},
             array, collecting);
  std::cout << fmt::format("job {}: {} {} in {} tasks\njob {}: collects them in {}\n", first,
                           pieces, noun, tasks, after, array.store);
  return done;
}

std::string this_program()
{
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

} // namespace foretrain::cli
