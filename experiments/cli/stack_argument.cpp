#include "experiments/cli/stack_argument.hpp"

#include "experiments/spec/experiment.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

bool one_of_kind(const std::string& name, const PresetKind& kind)
{
  const auto names = preset_names(kind);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "vm+ipoib" as an object.
Json from_words(const std::string& text)
{
  Json stack = Json::object();
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, '+');) {
    const bool host = one_of_kind(word, platforms::kHostKind);
    if (!host && !one_of_kind(word, platforms::kTransportKind)) {
      auto names = preset_names(platforms::kHostKind);
      for (const std::string& name : preset_names(platforms::kTransportKind))
        names.push_back(name);
      throw UsageError(
          "--stack: '" + excerpt(word) +
          "' is neither a host layer nor a transport\n  hint: " + suggestion(word, names, "names") +
          "; like vm+ipoib, an object with \"host\" and \"network\", or a file that "
          "ends in .json");
    }
    const char* key = host ? "host" : "network";
    if (stack.contains(key))
      throw UsageError(fmt::format("--stack: '{}' names two of one kind: '{}' and '{}'", text,
                                   stack.at(key).get<std::string>(), word));
    stack[key] = word;
  }
  return stack;
}

std::shared_ptr<Document> document_of(const std::string& text)
{
  if (is_file_name(text))
    return load_document(text);
  return parse_document(text.starts_with("{") ? text : from_words(text).dump(), "--stack");
}

} // namespace

platforms::Stack stack_of(const StackArguments& arguments, const platforms::PlatformSpec& platform,
                          const OverlayPtr& overlay)
{
  const auto document = document_of(arguments.stack);
  if (!document->root.is_object())
    throw UsageError("--stack: '" + excerpt(arguments.stack, 200) +
                     "' must hold an object with \"host\" and \"network\"");
  if (!arguments.host.empty())
    document->root["host"] = arguments.host;
  if (!arguments.network.empty())
    document->root["network"] = arguments.network;
  document->overlay = overlay;
  const Value root{DocumentPtr(document)};
  auto spec = read_as<experiments::StackSpec>(root);
  return experiments::resolve_stack(spec, nullptr, platform, root);
}

} // namespace foretrain::cli
