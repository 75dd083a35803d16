// Answers questions: waits for a place, runs the command, tells progress, answer and drawings line
// by line.
#pragma once

#include "experiments/serve/asked.hpp"
#include "experiments/serve/catalogue.hpp"
#include "experiments/serve/child.hpp"
#include "experiments/serve/fair_queue.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace foretrain::serve {

struct WorkSetting {
  std::filesystem::path program;
  Given given;
  QueueLimits queue;
  std::chrono::seconds short_time{60}, long_time{600};
  int jobs = 1; // processes of one prediction
};

/// Takes a line of JSON; false: nobody listens any more.
using Tell = std::function<bool(const std::string& line)>;

class Work {
public:
  explicit Work(WorkSetting setting);

  /// Answers with lines of JSON, each an object with one of the keys "refused", "waiting",
  /// "running", "answer", "drawing" ("of": now, both), "messages", "end".
  void answer(const Asked& asked, const std::string& address, const Tell& tell);

  /// An answer that is kept somewhere as the report's "csv" or "table", or its whole page as
  /// "html".
  ChildResult told_as(const std::string& answer, const std::string& format, const Asker& asker);

  /// Asks a run to stop with what it has; the second time it is ended.
  void stop(const std::string& page, const std::string& run);

  /// Ends all that runs and waits; nothing begins any more.
  void close() { closed_ = true; }

private:
  class Run;
  ChildSetting child_setting(const Asked& asked) const;
  std::string draw(const std::string& answer, const ChildSetting& setting,
                   const std::function<Wish(const std::string&)>& watch) const;

  WorkSetting setting_;
  FairQueue queue_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<std::atomic<int>>> stops_; // page and run -> how often
};

} // namespace foretrain::serve
