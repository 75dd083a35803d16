#include "realrun/common/cli.hpp"

#include "realrun/common/dataset.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <chrono>
#include <iostream>
#include <new>
#include <thread>

namespace foretrain::realrun {

namespace {

void print_help(const char* program, std::span<const Verb> verbs)
{
  std::cout << "usage: " << program << " VERB ARGUMENTS [OPTIONS]\n\n";
  for (const Verb& verb : verbs)
    std::cout << "  " << verb.name << " " << verb.arguments << "\n      " << verb.help << "\n";
  std::cout << "\nOptions (times and sizes take units: \"2 s\", \"4 MiB\"):\n"
            << settings_help() << "  --settings FILE   options from a JSON file\n"
            << "  --set KEY=VALUE   change one key of the model file\n"
            << "  --label KEY=VALUE copied into the record's settings\n"
            << "  --check-gradients compare the ranks' gradients with one rank's, then stop\n";
}

const Verb& find_verb(const std::string& name, const char* program, std::span<const Verb> verbs)
{
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (name == verb.name)
      return verb;
    names.emplace_back(verb.name);
  }
  throw UsageError(name.empty()
                       ? std::string("no verb given (see ") + program + " --help)"
                       : "unknown verb '" + name + "'; " + suggestion(name, names, "verbs"));
}

} // namespace

int run_program(int argc, const char* const* argv, const char* program, std::span<const Verb> verbs)
{
  std::string who = program;
  const auto complain = [&](const std::string& text) { std::cerr << who << ": " << text << "\n"; };
  try {
    const CommandLine line = parse_command_line(argc, argv);
    if (line.help) {
      print_help(program, verbs);
      return 0;
    }
    if (line.settings.world > 1)
      who += " rank " + std::to_string(line.settings.rank);
    return find_verb(line.verb, program, verbs).run(line);
  } catch (const ConfigError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const UsageError& error) {
    complain(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    complain("out of memory (try a smaller --batch)");
    return 3;
  } catch (const std::exception& error) {
    complain(error.what());
    return 3;
  }
}

const std::string& only_argument(const CommandLine& line, const char* what)
{
  if (line.arguments.size() != 1)
    throw UsageError(line.verb + " needs exactly one argument: " + what);
  return line.arguments.front();
}

int make_data(const CommandLine& line)
{
  if (line.arguments.empty())
    throw UsageError("make-data needs a folder");
  const auto document = parse_document(
      R"({"format": "foretrain.realrun-dataset/1", "encoding": "raw", "count": 512, "side": 64,
          "channels": 3, "classes": 10, "seed": 1, "per_shard": 256})",
      "make-data");
  for (std::size_t i = 1; i < line.arguments.size(); ++i) {
    const std::string& text = line.arguments[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError("make-data takes key=value, got '" + text + "'");
    set_value(*document, "/" + pointer_token(text.substr(0, equals)), text.substr(equals + 1));
  }
  write_dataset(line.arguments.front(), read_as<DatasetIndex>(Value(document)));
  return 0;
}

void wait_until(double start_at)
{
  const std::chrono::duration<double> since_epoch(start_at);
  std::this_thread::sleep_until(std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(since_epoch)));
}

} // namespace foretrain::realrun
