#include "experiments/cli/command_errors.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

namespace foretrain::cli {

namespace {

// The command that the words lead to, how it is called, and what follows it.
struct Reached {
  const CLI::App* app;
  std::string name;
  std::vector<std::string> rest;
};

std::vector<const CLI::App*> commands_of(const CLI::App& app)
{
  return app.get_subcommands([](const CLI::App*) { return true; });
}

Reached reach(const CLI::App& app, const std::vector<std::string>& words)
{
  Reached reached{&app, "", words};
  while (!reached.rest.empty()) {
    const auto commands = commands_of(*reached.app);
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == reached.rest.front();
    });
    if (found == commands.end())
      break;
    reached.app = *found;
    reached.name += (reached.name.empty() ? "" : " ") + reached.rest.front();
    reached.rest.erase(reached.rest.begin());
  }
  return reached;
}

std::vector<std::string> option_names(const CLI::App& app)
{
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string& name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

std::string unknown_command(const Reached& at)
{
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(*at.app))
    names.push_back(command->get_name());
  if (at.rest.empty() || at.rest.front().starts_with("-"))
    return (at.name.empty() ? "a command is needed" : at.name + " needs a command") +
           "\n  hint: one of " + joined(names);
  return "'" + excerpt(at.rest.front()) + "' is not a command" +
         (at.name.empty() ? "" : " of " + at.name) +
         "\n  hint: " + suggestion(at.rest.front(), names, "commands");
}

std::string unknown_word(const Reached& at, const std::string& fallback)
{
  const auto names = option_names(*at.app);
  for (const std::string& word : at.rest) {
    const std::string name = word.substr(0, word.find('='));
    if (name.size() > 1 && name.front() == '-' &&
        std::find(names.begin(), names.end(), name) == names.end())
      return "'" + excerpt(name) + "' is not an option" +
             (at.name.empty() ? "" : " of " + at.name) +
             "\n  hint: " + suggestion(name, names, "options");
  }
  return fallback + "\n  hint: foretrain " + at.name + " --help";
}

} // namespace

std::string command_error(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& words)
{
  const Reached at = reach(app, words);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return unknown_word(at, at.name + ": " + excerpt(error.what(), 400));
  if (!commands_of(*at.app).empty())
    return unknown_command(at);
  return at.name + ": " + excerpt(error.what(), 400) + "\n  hint: foretrain " + at.name + " --help";
}

} // namespace foretrain::cli
