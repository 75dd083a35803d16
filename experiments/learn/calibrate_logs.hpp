// What each kind of log teaches: one function per kind, in a file of its own.
#pragma once

#include "experiments/learn/learning.hpp"
#include "platforms/platform.hpp"
#include "platforms/stack.hpp"

namespace foretrain::experiments {

/// What the logs do not say themselves: on which presets they were measured.
struct CalibrateOptions {
  std::string platform{}; // empty: logs that need one are refused
  std::string host = "bare-metal";
  std::string network{}; // empty: rdma where the platform has it, else tcp
  std::string library{}; // empty: that of the platform's GPUs
  std::string disk{};    // preset; empty: the platform's first
  int gpus = 0;          // per node, for logs that do not say
  int nodes = 0;
  std::string program{};               // of nccl-tests, likewise
  bool force = false;                  // keep what is no better than the presets, or of another GPU
  std::vector<std::string> profiles{}; // learnt earlier, to build on
};

struct LogText {
  std::string path;
  std::string text;
};

/// The presets that logs were measured on, and what has been learnt about them.
struct Setup {
  CalibrateOptions options;
  Learning learning;
  std::vector<std::string> notes;

  OverlayPtr learnt() const { return learning.profiles.overlay; }
  /// Presets with an overlay, like learnt().
  platforms::PlatformSpec platform(const OverlayPtr& overlay) const;
  Value library(const OverlayPtr& overlay, const platforms::PlatformSpec& on) const;
  Value transport(const OverlayPtr& overlay, const platforms::PlatformSpec& on) const;
  /// The platform, where one was given, and what runs on it.
  struct Machine {
    platforms::PlatformSpec platform;
    platforms::Stack stack;
  };
  Machine machine(const OverlayPtr& overlay) const;
  /// Throws UsageError when no --platform was given; `log` is what needs it.
  void need_platform(const std::string& log) const;
  /// Objects to what a log of another GPU than the platform's would teach; notes one of another
  /// board of the same.
  void take_gpu(const std::string& gpu, const std::string& log, const platforms::PlatformSpec& spec,
                FitTask& task);
};

/// Fits the logs of one kind, all together. Returns what each log taught, for the profile.
using Teach = std::vector<std::string> (*)(const std::vector<LogText>& logs, Setup& setup);

std::vector<std::string> teach_p2p(const std::vector<LogText>& logs, Setup& setup);
std::vector<std::string> teach_nccl_tests(const std::vector<LogText>& logs, Setup& setup);
std::vector<std::string> teach_iperf3(const std::vector<LogText>& logs, Setup& setup);
std::vector<std::string> teach_perftest(const std::vector<LogText>& logs, Setup& setup);
std::vector<std::string> teach_fio(const std::vector<LogText>& logs, Setup& setup);
std::vector<std::string> teach_topology(const std::vector<LogText>& logs, Setup& setup);
std::vector<std::string> teach_realrun(const std::vector<LogText>& logs, Setup& setup);
bool is_topology(const std::string& text);

} // namespace foretrain::experiments
