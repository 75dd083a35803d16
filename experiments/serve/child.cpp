#include "experiments/serve/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

extern char** environ;

namespace foretrain::serve {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kProgress = "progress: ";
constexpr std::size_t kMostMessages = std::size_t{1} << 20;
constexpr int kTick = 100; // ms

class Pipe {
public:
  Pipe() { open_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe()
  {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return open_; }
  int end(std::size_t which) const { return ends_[which]; }
  void close_end(std::size_t which)
  {
    if (ends_[which] >= 0)
      close(ends_[which]);
    ends_[which] = -1;
  }

private:
  std::array<int, 2> ends_{-1, -1};
  bool open_ = false;
};

struct Pipes {
  Pipe in, out, messages;
};

std::vector<char*> pointers(std::vector<std::string>& texts)
{
  std::vector<char*> all;
  for (std::string& text : texts)
    all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::vector<std::string>& own)
{
  std::vector<std::string> all = own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& mine : own)
      replaced = replaced || mine.starts_with(name);
    if (!replaced)
      all.emplace_back(text);
  }
  return all;
}

// Of its own session, with the three pipes and nothing else of this process's: no socket, no
// blocked signal.
pid_t start(const std::vector<std::string>& words, const ChildSetting& setting, const Pipes& pipes)
{
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes.in.end(0), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes.out.end(1), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes.messages.end(1), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&actions, setting.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGINT);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::vector<std::string> all{setting.program.string()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<std::string> environment = environment_with(setting.environment);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, setting.program.c_str(), &actions, &attributes,
                                 pointers(all).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    return -1;
  const rlimit memory{setting.memory_byte, setting.memory_byte};
  prlimit(pid, RLIMIT_AS, &memory, nullptr);
  if (setting.niceness != 0)
    setpriority(PRIO_PGRP, static_cast<id_t>(pid), setting.niceness);
  return pid;
}

// What of the messages is progress goes to `watch`, the rest is kept.
class Messages {
public:
  Wish add(std::string_view chunk, const std::function<Wish(const std::string&)>& watch)
  {
    Wish wish = Wish::go_on;
    unfinished_ += chunk;
    for (std::size_t end = unfinished_.find('\n'); end != std::string::npos;
         end = unfinished_.find('\n')) {
      const std::string line = unfinished_.substr(0, end + 1);
      unfinished_.erase(0, end + 1);
      if (line.starts_with(kProgress))
        wish = std::max(wish,
                        watch(line.substr(kProgress.size(), line.size() - kProgress.size() - 1)));
      else if (kept_.size() < kMostMessages)
        kept_ += line;
    }
    if (unfinished_.size() > kMostMessages)
      unfinished_.clear();
    return wish;
  }
  std::string all() const { return kept_ + unfinished_; }

private:
  std::string kept_, unfinished_;
};

class Conversation {
public:
  Conversation(pid_t pid, Pipes& pipes, const std::string& input, const ChildSetting& setting,
               const std::function<Wish(const std::string&)>& watch)
      : pid_(pid), pipes_(pipes), input_(input), setting_(setting), watch_(watch)
  {
  }

  ChildResult hold()
  {
    fcntl(pipes_.in.end(1), F_SETFL, O_NONBLOCK);
    const auto limit = Clock::now() + setting_.time;
    auto next_tick = Clock::now() + std::chrono::milliseconds(kTick);
    while (pipes_.out.end(0) >= 0 || pipes_.messages.end(0) >= 0) {
      exchange();
      const auto now = Clock::now();
      if (now >= next_tick) {
        next_tick = now + std::chrono::milliseconds(kTick);
        obey(watch_(""));
      }
      if (now >= limit)
        give_up(ChildEnd::too_long);
      if (result_.output.size() > setting_.output_byte)
        give_up(ChildEnd::too_large);
    }
    return finished();
  }

private:
  void exchange()
  {
    std::array<pollfd, 3> all{
        {{pipes_.out.end(0), POLLIN, 0},
         {pipes_.messages.end(0), POLLIN, 0},
         {pipes_.in.end(1), POLLOUT, 0}}}; // those that are closed are -1: passed over
    if (poll(all.data(), all.size(), kTick) <= 0)
      return;
    char block[65536];
    if (all[0].revents != 0)
      if (const std::string_view got = read_from(pipes_.out, block); !got.empty())
        result_.output += got;
    if (all[1].revents != 0)
      if (const std::string_view got = read_from(pipes_.messages, block); !got.empty())
        obey(messages_.add(got, watch_));
    if (all[2].revents != 0)
      feed();
  }

  static std::string_view read_from(Pipe& pipe, char (&block)[65536])
  {
    const ssize_t got = read(pipe.end(0), block, sizeof block);
    if (got == 0 || (got < 0 && errno != EINTR)) // at the end errno is that of an older call
      pipe.close_end(0);
    return got > 0 ? std::string_view(block, static_cast<std::size_t>(got)) : std::string_view();
  }

  void feed()
  {
    const ssize_t put = write(pipes_.in.end(1), input_.data() + fed_, input_.size() - fed_);
    if (put > 0)
      fed_ += static_cast<std::size_t>(put);
    if (fed_ == input_.size() || (put < 0 && errno != EAGAIN && errno != EINTR))
      pipes_.in.close_end(1);
  }

  void obey(Wish wish)
  {
    if (wish == Wish::end)
      give_up(ChildEnd::stopped);
    else if (wish == Wish::finish && !asked_) {
      asked_ = true;
      kill(pid_, SIGINT);
    }
  }

  void give_up(ChildEnd why)
  {
    if (result_.end == ChildEnd::ended)
      result_.end = why;
    killpg(pid_, SIGKILL);
    pipes_.out.close_end(0);
    pipes_.messages.close_end(0);
  }

  ChildResult finished()
  {
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
      ;
    if (info.si_code != CLD_EXITED)
      killpg(pid_, SIGKILL); // those that it has started
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR)
      ;
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    if (result_.end == ChildEnd::ended && !WIFEXITED(status))
      result_.end = ChildEnd::died;
    result_.messages = messages_.all();
    return std::move(result_);
  }

  pid_t pid_;
  Pipes& pipes_;
  const std::string& input_;
  const ChildSetting& setting_;
  const std::function<Wish(const std::string&)>& watch_;
  ChildResult result_;
  Messages messages_;
  std::size_t fed_ = 0;
  bool asked_ = false;
};

} // namespace

ChildResult run_child(const std::vector<std::string>& words, const std::string& input,
                      const ChildSetting& setting,
                      const std::function<Wish(const std::string&)>& watch)
{
  // A child that does not read its input is no reason to end.
  [[maybe_unused]] static const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipes pipes;
  if (!pipes.in.is_open() || !pipes.out.is_open() || !pipes.messages.is_open())
    return {ChildEnd::not_started, 0, "", ""};
  const pid_t pid = start(words, setting, pipes);
  if (pid < 0)
    return {ChildEnd::not_started, 0, "", ""};
  pipes.in.close_end(0);
  pipes.out.close_end(1);
  pipes.messages.close_end(1);
  return Conversation(pid, pipes, input, setting, watch).hold();
}

} // namespace foretrain::serve
