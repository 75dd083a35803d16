#include "experiments/run/workers.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kLargestShare = 64;

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
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &action, &previous_[i]);
      if (previous_[i].sa_handler == SIG_IGN) // nohup
        sigaction(kSignals[i], &previous_[i], nullptr);
    }
  }
  ~InterruptGuard()
  {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      sigaction(kSignals[i], &previous_[i], nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> previous_ = {};
};

// A process and the pieces [next, end) that it has still to bring.
struct Child {
  pid_t pid;
  int pipe;
  int next;
  int end;
  std::string unread;
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

// One message per piece: status, length, text.
struct Header {
  std::int32_t status;
  std::uint32_t length;
};

// Nothing where the system has no process or file left; errno says which.
std::optional<Child> spawn(int begin, int end, const std::function<Outcome(int)>& work)
{
  int ends[2];
  if (pipe(ends) != 0)
    return std::nullopt;
  // What the caller has printed is in no child's buffer: SimGrid's engine empties it.
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    errno = why;
    return std::nullopt;
  }
  if (pid == 0) {
    std::signal(SIGINT, SIG_IGN); // the parent decides
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    close(ends[0]);
    for (int i = begin; i < end; ++i) {
      const Outcome outcome = work(i);
      const Header header{outcome.status, static_cast<std::uint32_t>(outcome.text.size())};
      write_all(ends[1],
                std::string(reinterpret_cast<const char*>(&header), sizeof header) + outcome.text);
    }
    _exit(0);
  }
  close(ends[1]);
  return Child{pid, ends[0], begin, end, {}};
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
  child.unread.append(buffer, static_cast<std::size_t>(n));
  return true;
}

// Hands over every message that has arrived whole.
void deliver(Child& child, const std::function<void(int, const Outcome&)>& done)
{
  Header header{};
  while (child.unread.size() >= sizeof header) {
    std::memcpy(&header, child.unread.data(), sizeof header);
    if (child.unread.size() < sizeof header + header.length)
      return;
    const Outcome outcome{header.status, child.unread.substr(sizeof header, header.length)};
    child.unread.erase(0, sizeof header + header.length);
    done(child.next++, outcome);
  }
}

// Waits for the process; tells how it ended when it did not finish its share.
std::string end_of(const Child& child)
{
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                             : "ended without a result";
}

// Smaller and smaller, so that processes end together; the first of them last.
std::vector<std::pair<int, int>> shares_of(int count, int jobs)
{
  std::vector<std::pair<int, int>> shares;
  for (int begin = 0; begin < count;) {
    const int end = begin + std::clamp((count - begin) / (jobs * 4), 1, kLargestShare);
    shares.emplace_back(begin, end);
    begin = end;
  }
  std::reverse(shares.begin(), shares.end());
  return shares;
}

} // namespace

bool run_workers(int count, int jobs, const std::function<Outcome(int)>& work,
                 const std::function<void(int, const Outcome&)>& done,
                 const std::function<void()>& idle)
{
  const InterruptGuard guard;
  interrupted = 0;
  std::vector<std::pair<int, int>> shares = shares_of(count, jobs); // still to be given out
  std::vector<Child> children;
  while ((!shares.empty() || !children.empty()) && interrupted == 0) {
    while (!shares.empty() && static_cast<int>(children.size()) < jobs) {
      std::optional<Child> child = spawn(shares.back().first, shares.back().second, work);
      if (!child && children.empty())
        throw UsageError(
            fmt::format("cannot start a process to simulate in: {}; limits are told by "
                        "'ulimit -u' and 'ulimit -n'",
                        std::strerror(errno)));
      if (!child)
        break; // those that run go on
      children.push_back(std::move(*child));
      shares.pop_back();
    }
    std::vector<pollfd> files;
    for (const Child& child : children)
      files.push_back({child.pipe, POLLIN, 0});
    const int quiet = idle ? static_cast<int>(kQuiet.count()) : -1;
    const int changed = poll(files.data(), files.size(), quiet);
    if (changed == 0)
      idle();
    if (changed <= 0)
      continue;
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0)
        continue;
      Child& child = children[i];
      const bool more = read_some(child);
      deliver(child, done);
      if (more)
        continue;
      const std::string how = end_of(child);
      if (child.next < child.end) {
        done(child.next, {3, "internal error: the process of this point " + how});
        if (child.next + 1 < child.end)
          shares.emplace_back(child.next + 1, child.end);
      }
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const Child& child : children) {
    kill(child.pid, SIGTERM);
    end_of(child);
  }
  return interrupted == 0;
}

} // namespace foretrain::experiments
