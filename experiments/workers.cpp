#include "experiments/workers.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace foretrain::experiments {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int)
{
  interrupted = 1;
}

class InterruptGuard {
public:
  InterruptGuard()
  {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &previous_int_);
    sigaction(SIGTERM, &action, &previous_term_);
  }
  ~InterruptGuard()
  {
    sigaction(SIGINT, &previous_int_, nullptr);
    sigaction(SIGTERM, &previous_term_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

private:
  struct sigaction previous_int_ = {}, previous_term_ = {};
};

struct Child {
  pid_t pid;
  int pipe;
  int piece;
  std::string text;
};

void write_all(int file, const std::string& text)
{
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      _exit(3);
    written += static_cast<std::size_t>(n);
  }
}

Child spawn(int piece, const std::function<Outcome(int)>& work)
{
  int ends[2];
  if (pipe(ends) != 0)
    throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0)
    throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) {
    std::signal(SIGINT, SIG_IGN); // the parent decides
    std::signal(SIGTERM, SIG_DFL);
    close(ends[0]);
    const Outcome outcome = work(piece);
    write_all(ends[1], static_cast<char>('0' + outcome.status) + outcome.text);
    _exit(0);
  }
  close(ends[1]);
  return {pid, ends[0], piece, {}};
}

Outcome outcome_of(Child& child)
{
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !child.text.empty())
    return {child.text.front() - '0', child.text.substr(1)};
  const std::string how = WIFSIGNALED(status)
                              ? "was ended by signal " + std::to_string(WTERMSIG(status))
                              : "ended without a result";
  return {3, "internal error: the process of this point " + how};
}

// Reads what a child has written; false at its end.
bool read_some(Child& child)
{
  char buffer[65536];
  const ssize_t n = read(child.pipe, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return true;
  if (n <= 0)
    return false;
  child.text.append(buffer, static_cast<std::size_t>(n));
  return true;
}

} // namespace

bool run_workers(int count, int jobs, const std::function<Outcome(int)>& work,
                 const std::function<void(int, const Outcome&)>& done)
{
  const InterruptGuard guard;
  interrupted = 0;
  std::vector<Child> children;
  int next = 0;
  while ((next < count || !children.empty()) && interrupted == 0) {
    while (next < count && static_cast<int>(children.size()) < jobs)
      children.push_back(spawn(next++, work));
    std::vector<pollfd> files;
    for (const Child& child : children)
      files.push_back({child.pipe, POLLIN, 0});
    if (poll(files.data(), files.size(), -1) < 0)
      continue;
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0 || read_some(children[i]))
        continue;
      const Outcome outcome = outcome_of(children[i]);
      const int piece = children[i].piece;
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      done(piece, outcome);
    }
  }
  for (Child& child : children) {
    kill(child.pid, SIGTERM);
    outcome_of(child);
  }
  return interrupted == 0;
}

} // namespace foretrain::experiments
