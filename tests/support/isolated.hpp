// Runs a simulation in a process of its own and brings its numbers back: SimGrid's network model
// can be used once per process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

namespace foretrain::test {

template <class Run>
std::vector<double> isolated(const Run& run)
{
  int ends[2];
  if (pipe(ends) != 0)
    throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error("fork");
  if (child == 0) {
    close(ends[0]);
    int status = 0;
    try {
      const std::vector<double> result = run();
      const auto* bytes = reinterpret_cast<const char*>(result.data());
      std::size_t left = result.size() * sizeof(double);
      while (left > 0) {
        const ssize_t written = write(ends[1], bytes, left);
        if (written <= 0)
          _exit(9);
        bytes += written;
        left -= static_cast<std::size_t>(written);
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "isolated run: %s\n", error.what());
      status = 8;
    }
    _exit(status);
  }
  close(ends[1]);
  std::vector<double> result;
  double number = 0;
  std::size_t have = 0;
  char chunk[4096];
  ssize_t got = 0;
  while ((got = read(ends[0], chunk, sizeof chunk)) > 0)
    for (ssize_t i = 0; i < got; ++i) {
      reinterpret_cast<char*>(&number)[have++] = chunk[i];
      if (have == sizeof number) {
        result.push_back(number);
        have = 0;
      }
    }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("the isolated run failed");
  return result;
}

} // namespace foretrain::test
