// Commands of the program as a user gives them, each in a process of its own: a simulation can be
// run once per process, and what a command prints goes nowhere else.
#pragma once

#include "experiments/cli/commands.hpp"
#include "sim/base/units.hpp" // before <sys/wait.h>, to which si_value is a macro

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace foretrain::test {

struct Told {
  int code = 0;
  std::string out;
  std::string err;
};

/// What `foretrain WORDS...` prints where it is run in `folder`; code -1 where it was killed.
inline Told told_by(std::vector<std::string> words, const std::filesystem::path& folder)
{
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File out(std::tmpfile(), &std::fclose);
  const File err(std::tmpfile(), &std::fclose);
  if (!out || !err)
    throw std::runtime_error("no temporary file");
  std::cout.flush(); // what waits in it is not the child's to say
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error("fork");
  if (child == 0) {
    dup2(fileno(out.get()), STDOUT_FILENO);
    dup2(fileno(err.get()), STDERR_FILENO);
    std::error_code problem;
    std::filesystem::current_path(folder, problem);
    words.insert(words.begin(), "foretrain");
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int code = problem ? 99 : cli::run(static_cast<int>(words.size()), arguments.data());
    std::fflush(nullptr);
    _exit(code);
  }
  Told told;
  int status = 0;
  waitpid(child, &status, 0);
  told.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const auto read_all = [](std::FILE* file) {
    std::string text;
    std::rewind(file);
    char chunk[4096];
    for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof chunk, file)) > 0;)
      text.append(chunk, got);
    return text;
  };
  told.out = read_all(out.get());
  told.err = read_all(err.get());
  return told;
}

} // namespace foretrain::test
