#include "models/traces/kineto.hpp"

#include "models/traces/kineto_event.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

// Follows the nesting: root > "traceEvents" > event > "args" > lists.
class Handler final : public Sax {
public:
  explicit Handler(EventSink& sink) : sink_(sink) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override
  {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override
  {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return true; }

  bool string(string_t& value) override
  {
    if (in_event() && depth_ == event_depth_)
      event_.text(key_, value);
    else if (in_event() && in_args_)
      event_.argument(argument_, value, depth_ - event_depth_ - 1);
    else if (section_ == Section::devices && root_key_ == "name")
      device_name_ = value;
    return true;
  }

  bool start_object(std::size_t) override
  {
    ++depth_;
    if (depth_ == event_depth_ && section_ == Section::events) {
      event_ = {};
      ++events_;
    } else if (in_event() && depth_ == event_depth_ + 1) {
      in_args_ = key_ == EventKey::args;
    }
    return depth_ < kDeepest;
  }
  bool end_object() override
  {
    if (depth_ == event_depth_ && section_ == Section::events)
      sink_.take(event_);
    else if (in_event() && depth_ == event_depth_ + 1)
      in_args_ = false;
    else if (section_ == Section::devices && depth_ == 3)
      sink_.device(device_, device_name_);
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override
  {
    ++depth_;
    if (depth_ == 1) { // the list of events alone
      section_ = Section::events;
      event_depth_ = 2;
    }
    if (in_args_)
      event_.open_list(argument_, depth_ - event_depth_ - 1);
    return depth_ < kDeepest;
  }
  bool end_array() override
  {
    if (section_ != Section::none && depth_ == 2 && event_depth_ == 3)
      section_ = Section::none;
    if (in_args_)
      event_.close_list(argument_, depth_ - event_depth_ - 1);
    --depth_;
    return true;
  }
  bool key(string_t& name) override
  {
    if (in_event() && depth_ == event_depth_)
      key_ = event_key(name);
    else if (in_args_ && depth_ == event_depth_ + 1)
      argument_ = argument_key(name);
    else if (!in_event())
      outer_key(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override
  {
    return false;
  }

  std::size_t events() const { return events_; }
  bool found_list() const { return event_depth_ == 2 || saw_events_; }

private:
  enum class Section { none, events, devices, distributed };
  static constexpr int kDeepest = 64;

  bool in_event() const { return section_ == Section::events && depth_ >= event_depth_; }

  void outer_key(const std::string& name)
  {
    root_key_ = name;
    if (depth_ != 1)
      return;
    section_ = name == "traceEvents"        ? Section::events
               : name == "deviceProperties" ? Section::devices
               : name == "distributedInfo"  ? Section::distributed
                                            : Section::none;
    saw_events_ = saw_events_ || section_ == Section::events;
  }

  bool number(double value)
  {
    if (in_event() && depth_ == event_depth_)
      event_.number(key_, value);
    else if (in_event() && in_args_)
      event_.argument(argument_, value, depth_ - event_depth_ - 1);
    else if (section_ == Section::devices && root_key_ == "id" && depth_ == 3)
      device_ = whole(value);
    else if (section_ == Section::distributed && depth_ == 2)
      sink_.distributed(root_key_, value);
    return true;
  }

  EventSink& sink_;
  RawEvent event_;
  Section section_ = Section::none;
  EventKey key_ = EventKey::other;
  ArgumentKey argument_ = ArgumentKey::other;
  std::string root_key_;
  std::string device_name_;
  int device_ = 0;
  int depth_ = 0;
  int event_depth_ = 3;
  bool in_args_ = false;
  bool saw_events_ = false;
  std::size_t events_ = 0;
};

} // namespace

bool looks_like_kineto(const std::string& head)
{
  return head.find("\"traceEvents\"") != std::string::npos ||
         head.find("\"deviceProperties\"") != std::string::npos ||
         (head.find("\"ph\"") != std::string::npos && head.find("\"ts\"") != std::string::npos);
}

Trace read_kineto(const std::filesystem::path& path, const Progress& progress)
{
  TextSource source(path, progress);
  Trace trace;
  trace.file = path.string();
  trace.format = "Kineto trace";
  EventSink sink(trace);
  Handler handler(sink);
  const bool whole = nlohmann::json::sax_parse(source.stream(), &handler);
  const auto place = source.position();
  if (handler.events() == 0)
    throw ConfigError(
        path.string(), "",
        handler.found_list() ? "holds no events"
        : whole              ? "is no Chrome trace: it has no \"traceEvents\""
                : fmt::format("is no Chrome trace: malformed JSON near byte {}", place),
        "expected what torch.profiler's export_chrome_trace writes, plain or gzipped");
  const std::string damage = fmt::format(
      "{} near byte {}{}", source.cut_off() || source.stream().eof() ? "cut off" : "damaged", place,
      source.gzipped() ? " of the unpacked text" : "");
  if (!whole && trace.work.empty())
    throw ConfigError(path.string(), "",
                      fmt::format("is {}, and the {} events before hold no work of a device",
                                  damage, handler.events()),
                      "NaN and inf are no JSON, nor is 1e999 a number: null may stand for them");
  if (!whole)
    trace.notes.push_back(fmt::format("the file is {}: only the {} events before are used", damage,
                                      handler.events()));
  sink.finish();
  finish_trace(trace);
  return trace;
}

} // namespace foretrain::models
