#include "experiments/fleet/policy_command.hpp"

#include "sim/base/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

constexpr std::size_t kLongestAnswer = 16U * 1024U * 1024U;
constexpr std::chrono::milliseconds kToEnd{500};

Json seconds_or_null(Seconds time)
{
  return time == kNever ? Json() : Json(time.value());
}

Json waiting_json(const Scheduler& s, const Workload& workload)
{
  Json list = Json::array();
  for (const Waiting& waiting : s.waiting()) {
    if (waiting.gone)
      continue;
    const Job& job = s.job(waiting.job);
    Json entry = {{"job", waiting.job},
                  {"id", job.id},
                  {"queue", workload.queues.at(job.queue)},
                  {"account", workload.accounts.at(job.account)},
                  {"gpus", waiting.gpus},
                  {"submit_s", job.submit.value()},
                  {"expected_s", s.expected(waiting.job).value()},
                  {"limit_s", seconds_or_null(job.limit)},
                  {"priority", job.priority}};
    if (job.nodes > 0 && !s.keeps_place(waiting.job))
      entry["nodes"] = job.nodes;
    list.push_back(std::move(entry));
  }
  return list;
}

Json running_json(const Scheduler& s, const Workload& workload)
{
  Json list = Json::array();
  for (const Ending& ending : s.endings()) {
    Json held = Json::object();
    for (const Slice& slice : s.held(ending.job)) {
      Json& gpus = held[std::to_string(slice.node)];
      gpus = (gpus.is_null() ? 0 : gpus.get<int>()) + count(slice);
    }
    const Job& job = s.job(ending.job);
    list.push_back({{"job", ending.job},
                    {"id", job.id},
                    {"queue", workload.queues.at(job.queue)},
                    {"account", workload.accounts.at(job.account)},
                    {"gpus", job.gpus},
                    {"submit_s", job.submit.value()},
                    {"priority", job.priority},
                    {"expected_end_s", ending.time.value()},
                    {"held", std::move(held)}});
  }
  return list;
}

Json question(const Scheduler& s, const Workload& workload, std::uint64_t seed)
{
  Json free = Json::array();
  for (int node = 0; node < s.shape().nodes; ++node)
    free.push_back(s.free().count_on(node));
  return {{"seed", seed},
          {"time_s", s.now().value()},
          {"gpus_per_node", s.shape().gpus_per_node},
          {"free", std::move(free)},
          {"waiting", waiting_json(s, workload)},
          {"running", running_json(s, workload)}};
}

JobId job_of(const Value& job)
{
  if (!job.json().is_number_unsigned())
    job.fail("must be the number of a job (its \"job\"), got " + job.shown());
  return static_cast<JobId>(job.json().get<std::uint64_t>());
}

Decision decision_of(const Value& entry)
{
  if (!entry.json().is_object())
    return {job_of(entry)};
  for (const auto& item : entry.json().items())
    if (item.key() != "job" && item.key() != "nodes")
      entry.fail_at(item.key(), "is not a known key",
                    suggestion(item.key(), {"job", "nodes"}, "keys"));
  if (!entry.json().contains("job"))
    entry.fail_at("job", "is missing");
  Decision decision{job_of(entry.at("job"))};
  if (!entry.json().contains("nodes"))
    return decision;
  const Value nodes = entry.at("nodes");
  for (std::size_t i = 0; nodes.json().is_array() && i < nodes.json().size(); ++i) {
    if (!nodes.at(i).json().is_number_integer())
      nodes.at(i).fail("must be the number of a node, got " + nodes.at(i).shown());
    decision.nodes.push_back(nodes.at(i).json().get<int>());
  }
  if (decision.nodes.empty())
    nodes.fail("must be a list of nodes, got " + nodes.shown());
  return decision;
}

// One line of a policy.
struct AnswerSpec {
  Value start, stop;
  std::optional<double> again_s;
  bool when_full = false;
};

template <class V>
void describe(V& v, AnswerSpec& s)
{
  v.optional("start", s.start, "jobs that start now");
  v.optional("stop", s.stop, "jobs that stop first");
  v.optional("again_s", s.again_s, "when to ask again", positive());
  v.optional("when_full", s.when_full, "ask also while no GPU is free");
}

const Value& checked_list(const Value& list)
{
  if (!list.json().is_array())
    list.fail("must be a list of jobs, got " + list.shown());
  return list;
}

Decisions decisions_of(const std::string& line, Seconds now)
{
  const Value answer{DocumentPtr(parse_document(line, "answer.json"))};
  if (!answer.json().is_object() ||
      !(answer.json().contains("start") || answer.json().contains("stop")))
    answer.fail("must be an object with a list \"start\", got " + answer.shown());
  const auto spec = read_as<AnswerSpec>(answer);
  Decisions decisions;
  if (spec.start)
    for (std::size_t i = 0; i < checked_list(spec.start).json().size(); ++i)
      decisions.start.push_back(decision_of(spec.start.at(i)));
  if (spec.stop)
    for (std::size_t i = 0; i < checked_list(spec.stop).json().size(); ++i)
      decisions.stop.push_back(job_of(spec.stop.at(i)));
  if (spec.again_s)
    decisions.again = now + Seconds(*spec.again_s);
  decisions.ask = spec.when_full ? Ask::when_full : Ask::when_free;
  return decisions;
}

} // namespace

PolicyCommand::PolicyCommand(std::string command) : command_(std::move(command))
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw UsageError(fmt::format("--policy-command: no pair of sockets: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); // Ctrl-C is for us, not for it
  std::string shell = "sh";
  std::string option = "-c";
  char* const words[] = {shell.data(), option.data(), command_.data(), nullptr};
  const int error = posix_spawn(&pid_, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  socket_ = ends[0];
  if (error != 0) {
    close(socket_);
    throw UsageError(fmt::format("--policy-command: cannot start: {}", std::strerror(error)));
  }
}

PolicyCommand::~PolicyCommand()
{
  close(socket_);
  const auto end = std::chrono::steady_clock::now() + kToEnd;
  while (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void PolicyCommand::fail(const std::string& what)
{
  throw UsageError(fmt::format("--policy-command: '{}' {}", excerpt(command_, 200), what));
}

std::string PolicyCommand::how_it_ended()
{
  int status = 0;
  shutdown(socket_, SHUT_RDWR);
  for (int i = 0; i < kToEnd.count(); ++i) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                 : fmt::format("ended with exit code {}", WEXITSTATUS(status));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "closed its standard output";
}

void PolicyCommand::send(const std::string& text)
{
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      fail(how_it_ended() + " before it was asked");
    sent += static_cast<std::size_t>(n);
  }
}

std::string PolicyCommand::line()
{
  const auto end = std::chrono::steady_clock::now() + patience_;
  std::size_t newline = 0;
  while ((newline = unread_.find('\n')) == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd file{socket_, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&file, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      fail(fmt::format("did not answer within {:g} s",
                       std::chrono::duration<double>(patience_).count()));
    char buffer[65536];
    const ssize_t n = read(socket_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      fail(how_it_ended() + " before it answered");
    unread_.append(buffer, static_cast<std::size_t>(n));
    if (unread_.size() > kLongestAnswer)
      fail("answered with a line of more than 16 MiB");
  }
  std::string line = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  return line;
}

Decisions PolicyCommand::decide(const Scheduler& scheduler, const Workload& workload,
                                std::uint64_t seed)
{
  send(question(scheduler, workload, seed).dump(-1, ' ', false, Json::error_handler_t::replace) +
       "\n");
  const std::string answer = line();
  try {
    return decisions_of(answer, scheduler.now());
  } catch (const ConfigError& error) {
    fail(fmt::format("answered '{}': {}", excerpt(answer), error.what()));
  }
}

} // namespace foretrain::experiments
