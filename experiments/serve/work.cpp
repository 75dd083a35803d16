#include "experiments/serve/work.hpp"

#include "experiments/serve/told.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <fmt/format.h>

namespace foretrain::serve {

namespace fs = std::filesystem;

namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);
constexpr int kNice = 10; // of long work
constexpr std::uint64_t kMemory = std::uint64_t{8} << 30;

// A folder of this process's own that is gone afterwards.
class Folder {
public:
  Folder()
  {
    std::string name = (fs::temp_directory_path() / "foretrain-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw UsageError("no folder can be made in " + fs::temp_directory_path().string());
    path_ = name;
  }
  ~Folder()
  {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  /// Text of a file in there; "" where there is none.
  std::string text(const char* name) const
  {
    return fs::exists(path_ / name) ? read_file(path_ / name) : "";
  }

private:
  fs::path path_;
};

// A place in the queue, given back at the end.
class Place {
public:
  Place(FairQueue& queue, const Asker& asker) : queue_(queue), ticket_(queue.ask(asker)) {}
  ~Place() { queue_.leave(ticket_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  bool refused() const { return ticket_ == 0; }
  bool enter() { return queue_.enter(ticket_, kPatience); }

private:
  FairQueue& queue_;
  FairQueue::Ticket ticket_;
};

std::string end_text(const ChildResult& result, const ChildSetting& setting)
{
  switch (result.end) {
  case ChildEnd::died:
    return fmt::format("the simulation's process was ended by signal {}", result.status);
  case ChildEnd::stopped:
    return "stopped";
  case ChildEnd::too_long:
    return fmt::format("ended after {} s, the most that the page gives it", setting.time.count());
  case ChildEnd::too_large:
    return "ended: its answer is larger than the page takes";
  case ChildEnd::not_started:
    return "the system has no process left; try again";
  case ChildEnd::ended:
    break;
  }
  return "";
}

Json messages_of(const ChildResult& result, const ChildSetting& setting)
{
  Json all = messages_in(result.messages);
  if (const std::string end = end_text(result, setting); !end.empty())
    for (const Json& told :
         message(end, result.end == ChildEnd::died ? "the server goes on; ask again" : ""))
      all.push_back(told);
  return all;
}

} // namespace

// One request while it waits, runs and is drawn.
class Work::Run {
public:
  Run(Work& work, const Asked& asked, const Tell& tell)
      : work_(work), key_(asked.page + " " + asked.run), tell_(tell),
        stops_(std::make_shared<std::atomic<int>>(0))
  {
    const std::lock_guard lock(work_.mutex_);
    work_.stops_[key_] = stops_;
  }
  ~Run()
  {
    const std::lock_guard lock(work_.mutex_);
    work_.stops_.erase(key_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void say(const char* key, Json value)
  {
    listens_ =
        listens_ &&
        tell_(Json{{key, std::move(value)}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void say_line(const std::string& line) { listens_ = listens_ && tell_(line); }

  /// Tells how far it is, now and then; hears whether it should go on.
  Wish watch(const char* state, const std::string& progress)
  {
    const auto now = std::chrono::steady_clock::now();
    if (!progress.empty())
      progress_ = progress;
    if (!progress.empty() || now >= next_) {
      next_ = now + std::chrono::milliseconds(500);
      say(state, {{"progress", progress_},
                  {"seconds", std::chrono::duration<double>(now - start_).count()}});
    }
    const int stops = stops_->load();
    return !listens_ || work_.closed_ || stops > 1 ? Wish::end
           : stops > 0                             ? Wish::finish
                                                   : Wish::go_on;
  }

private:
  Work& work_;
  std::string key_, progress_;
  const Tell& tell_;
  std::shared_ptr<std::atomic<int>> stops_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_ = start_ + std::chrono::milliseconds(300);
  bool listens_ = true;
};

Work::Work(WorkSetting setting) : setting_(std::move(setting)), queue_(setting_.queue) {}

ChildSetting Work::child_setting(const Asked& asked) const
{
  const fs::path data = fs::absolute(data_root());
  const Question c = asked.command;
  const char* const kind = c == Question::plan    ? "plan"
                           : c == Question::fleet ? "fleet"
                                                  : "experiment";
  const bool own = !setting_.given.bundled && !setting_.given.file.empty();
  ChildSetting child;
  child.program = setting_.program;
  child.folder = asked.beside.empty() && own ? setting_.given.file.parent_path()
                                             : fs::absolute(bundled_folder(kind));
  std::string folders;
  for (const char* room : {"platforms", "models", "calibration", "experiments"})
    folders += (data / room).string() + ":";
  if (own)
    folders += setting_.given.file.parent_path().string();
  const bool is_slow = is_long(asked);
  child.environment = {"FORETRAIN_DATA=" + data.string(), "FORETRAIN_FOLDERS=" + folders,
                       "FORETRAIN_PROGRESS=lines"};
  child.time = is_slow ? setting_.long_time : setting_.short_time;
  child.memory_byte = kMemory;
  child.niceness = is_slow ? kNice : 0;
  return child;
}

std::string Work::draw(const std::string& answer, const ChildSetting& setting,
                       const std::function<Wish(const std::string&)>& watch) const
{
  const ChildResult drawn = run_child({"report", "-", "--format", "html"}, answer, setting, watch);
  return main_of(drawn.output);
}

void Work::answer(const Asked& asked, const std::string& address, const Tell& tell)
{
  Run run(*this, asked, tell);
  Place place(queue_, {address, asked.page, is_long(asked)});
  if (place.refused()) {
    run.say("refused", "too much is waiting already: stop something, or try again");
    return;
  }
  while (!place.enter())
    if (run.watch("waiting", "") != Wish::go_on)
      return;
  const ChildSetting setting = child_setting(asked);
  const Folder out;
  const auto words =
      words_of(asked, out.path().string(), setting_.given.file.string(), setting_.jobs);
  const auto watch = [&run](const std::string& progress) { return run.watch("running", progress); };
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult result = run_child(words, asked.text, setting, watch);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.say("messages", messages_of(result, setting));
  const bool told = result.end == ChildEnd::ended && !result.output.empty();
  const Json now = told ? Json::parse(result.output, nullptr, false) : Json();
  if (told)
    run.say_line("{\"answer\": " + in_a_line(result.output) + "}");
  if (has_result(now) && asked.command != Question::tune) {
    const std::string report = out.text("report.html");
    run.say("drawing",
            {{"of", "now"},
             {"html", report.empty() ? draw(result.output, setting, watch) : main_of(report)}});
  }
  const Json before = Json::parse(asked.before, nullptr, false);
  if (is_prediction(now) && is_prediction(before) && has_result(now) && has_result(before))
    run.say("drawing",
            {{"of", "both"}, {"html", draw(together(now, before).dump(), setting, watch)}});
  run.say("end", {{"status", result.status}, {"seconds", seconds}, {"words", words}});
}

ChildResult Work::told_as(const std::string& answer, const std::string& format, const Asker& asker)
{
  Place place(queue_, asker);
  if (place.refused())
    return {ChildEnd::not_started, 0, "", ""};
  while (!place.enter())
    if (closed_)
      return {ChildEnd::stopped, 0, "", ""};
  return run_child({"report", "-", "--format", format}, answer, child_setting({}),
                   [this](const std::string&) { return closed_ ? Wish::end : Wish::go_on; });
}

void Work::stop(const std::string& page, const std::string& run)
{
  const std::lock_guard lock(mutex_);
  if (const auto at = stops_.find(page + " " + run); at != stops_.end())
    ++*at->second;
}

} // namespace foretrain::serve
