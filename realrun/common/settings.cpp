#include "realrun/common/settings.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace foretrain::realrun {

namespace {

/// Collects the names, the documentation and the texts of all settings.
struct FlagList {
  struct Flag {
    std::string key;
    std::string doc;
    bool is_text;
  };
  std::vector<Flag> flags;

  template <class T>
  void optional(const std::string& key, T&, const char* doc, const Limits& limits = {})
  {
    std::string text = doc;
    if (!limits.one_of.empty())
      text += " (" + joined(limits.one_of, " | ") + ")";
    flags.push_back({key, text, !std::is_arithmetic_v<T>});
  }
};

std::vector<FlagList::Flag> all_flags()
{
  FlagList list;
  Settings settings;
  describe(list, settings);
  return list.flags;
}

std::string flag_of(std::string key)
{
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

/// A number when it reads as one, else text.
Json scalar(const std::string& text)
{
  const Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_number() || parsed.is_boolean() ? parsed : Json(text);
}

std::optional<int> from_environment(std::initializer_list<const char*> names)
{
  for (const char* name : names)
    if (const char* text = std::getenv(name)) {
      char* end = nullptr;
      const long value = std::strtol(text, &end, 10);
      if (end == text || *end != '\0' || value < 0 || value > 65536)
        throw UsageError(std::string("environment variable ") + name + " is not a rank count: '" +
                         text + "'");
      return static_cast<int>(value);
    }
  return std::nullopt;
}

void settle_rank(Settings& s)
{
  if (s.rank < 0)
    s.rank =
        from_environment({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}).value_or(0);
  if (s.world < 0)
    s.world = from_environment({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
                  .value_or(1);
  if (s.world < 1 || s.rank >= s.world)
    throw UsageError("rank " + std::to_string(s.rank) + " does not exist among " +
                     std::to_string(s.world) +
                     " ranks (--rank counts from 0, --world is the count)");
}

/// Walks argv; flags with values go into `document`, the rest into `line`.
class ArgumentReader {
public:
  ArgumentReader(CommandLine& line, int argc, const char* const* argv) : line_(line)
  {
    line_.words.assign(argv, argv + argc);
    for (next_ = 1; next_ < line_.words.size();)
      take(line_.words[next_++]);
  }

  Json flags = Json::object();
  std::string settings_file;

private:
  void take(const std::string& word)
  {
    if (word == "--help" || word == "-h")
      line_.help = true;
    else if (word == "--check-gradients")
      line_.check_gradients = true;
    else if (word == "--settings")
      settings_file = value_of(word);
    else if (word == "--set")
      line_.model_overrides.push_back(value_of(word));
    else if (word == "--label")
      label(value_of(word));
    else if (word.starts_with("--"))
      setting(word);
    else if (line_.verb.empty())
      line_.verb = word;
    else
      line_.arguments.push_back(word);
  }

  const std::string& value_of(const std::string& flag)
  {
    if (next_ >= line_.words.size())
      throw UsageError(flag + " needs a value");
    return line_.words[next_++];
  }

  void label(const std::string& text)
  {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--label needs key=value, got '" + text + "'");
    line_.labels[text.substr(0, equals)] = scalar(text.substr(equals + 1));
  }

  void setting(const std::string& word)
  {
    std::vector<std::string> known{"--help", "--settings", "--set", "--label", "--check-gradients"};
    for (const auto& flag : known_) {
      known.push_back(flag_of(flag.key));
      if (known.back() == word) {
        const std::string& text = value_of(word);
        flags[flag.key] = flag.is_text ? Json(text) : scalar(text);
        return;
      }
    }
    throw UsageError("unknown option " + word + "; " + suggestion(word, known, "options"));
  }

  CommandLine& line_;
  std::vector<FlagList::Flag> known_ = all_flags();
  std::size_t next_ = 1;
};

} // namespace

CommandLine parse_command_line(int argc, const char* const* argv)
{
  CommandLine line;
  const ArgumentReader arguments(line, argc, argv);
  const auto document = arguments.settings_file.empty() ? parse_document("{}", "command line")
                                                        : load_document(arguments.settings_file);
  for (const auto& [key, value] : arguments.flags.items())
    set_value(*document, "/" + pointer_token(key), value, flag_of(key));
  line.settings = read_as<Settings>(Value(document));
  if (!line.help)
    settle_rank(line.settings);
  return line;
}

std::string settings_help()
{
  std::string text;
  for (const auto& flag : all_flags()) {
    std::string name = "  " + flag_of(flag.key);
    name.resize(std::max<std::size_t>(name.size() + 1, 20), ' ');
    text += name + flag.doc + "\n";
  }
  return text;
}

Json to_json(const Settings& s)
{
  return {{"world", s.world},
          {"batch", s.batch},
          {"bucket_bytes", s.bucket.value()},
          {"overlap", s.overlap},
          {"input", s.input},
          {"data", s.data},
          {"cold", s.cold},
          {"decode_threads", s.decode_threads},
          {"prefetch", s.prefetch},
          {"threads", s.threads},
          {"repetitions", s.repetitions},
          {"warmup", s.warmup},
          {"steps", s.steps},
          {"seconds", s.seconds.value()},
          {"learning_rate", s.learning_rate},
          {"momentum", s.momentum},
          {"seed", s.seed},
          {"timeout_s", s.timeout.value()}};
}

Meeting meeting_of(const Settings& s)
{
  Meeting meeting;
  meeting.rank = s.rank;
  meeting.world = s.world;
  meeting.file = s.meet;
  meeting.timeout_s = s.timeout.value();
  const std::size_t colon = s.root.rfind(':');
  if (colon == std::string::npos || colon == 0)
    throw UsageError("--root must be HOST:PORT, got '" + s.root + "'");
  meeting.host = s.root.substr(0, colon);
  char* end = nullptr;
  const long port = std::strtol(s.root.c_str() + colon + 1, &end, 10);
  if (*end != '\0' || port < (s.meet.empty() ? 1 : 0) || port > 65535)
    throw UsageError("--root must be HOST:PORT with a port from 1 to 65535, got '" + s.root + "'");
  meeting.port = s.meet.empty() ? static_cast<int>(port) : 0;
  return meeting;
}

} // namespace foretrain::realrun
