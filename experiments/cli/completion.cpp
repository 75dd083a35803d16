// Completions for bash, zsh and fish, from the options that the commands declare.
#include "experiments/cli/command.hpp"
#include "models/networks/network.hpp"
#include "platforms/platform.hpp"
#include "sim/base/text.hpp"

#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

// The words that may follow a command.
std::vector<std::string> words_after(const CLI::App& command)
{
  std::vector<std::string> words;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    words.push_back(sub->get_name());
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      words.push_back("--" + name);
  return words;
}

std::vector<std::string> names_for(const std::string& command)
{
  if (command == "platform")
    return preset_names(platforms::kPlatformKind);
  if (command == "model")
    return preset_names(models::kNetworkKind);
  return {};
}

std::string bash(const CLI::App& app)
{
  std::string text = "_foretrain()\n{\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" before="
                     "\"${COMP_WORDS[COMP_CWORD-1]}\" words\n"
                     "  if [ \"$before\" = --platform ]; then\n    words=\"" +
                     joined(preset_names(platforms::kPlatformKind), " ") +
                     "\"\n  elif [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"" +
                     joined(words_after(app), " ") +
                     "\"\n  else\n    case \"${COMP_WORDS[1]}\" in\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    auto words = words_after(*command);
    for (const std::string& name : names_for(command->get_name()))
      words.push_back(name);
    text += fmt::format("      {}) words=\"{}\";;\n", command->get_name(), joined(words, " "));
  }
  return text + "    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                "  [ \"${#COMPREPLY[@]}\" -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
                "complete -o filenames -F _foretrain foretrain\n";
}

std::string zsh(const CLI::App& app)
{
  return "#compdef foretrain\nautoload -U +X bashcompinit && bashcompinit\n" + bash(app);
}

// As one word for fish.
std::string fish_word(const std::string& text)
{
  std::string word = "'";
  for (const char c : text)
    word += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return word + "'";
}

std::string fish(const CLI::App& app)
{
  std::string text;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = command->get_name();
    text += fmt::format("complete -c foretrain -n __fish_use_subcommand -a {} -d {}\n", name,
                        fish_word(command->get_description()));
    const std::string after =
        fmt::format("complete -c foretrain -n '__fish_seen_subcommand_from {}'", name);
    for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; }))
      text += fmt::format("{} -a {}\n", after, sub->get_name());
    for (const CLI::Option* option : command->get_options())
      for (const std::string& word : option->get_lnames())
        text += fmt::format("{} -l {} -d {}\n", after, word, fish_word(option->get_description()));
  }
  return text;
}

} // namespace

std::function<int()> completion(CLI::App& app)
{
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [shell, whole = app.get_parent()] {
    std::cout << (*shell == "bash" ? bash(*whole) : *shell == "zsh" ? zsh(*whole) : fish(*whole));
    return done;
  };
}

} // namespace foretrain::cli
