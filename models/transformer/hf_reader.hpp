// What the kinds of config.json have in common: its keys, and those that many of them share.
#pragma once

#include "sim/base/document.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace foretrain::models::hf {

/// Positions before that of the first token (OPT, RoBERTa).
constexpr int kPadding = 2;

class Config {
public:
  explicit Config(Value config) : at_(std::move(config)) {}

  bool has(const std::string& key) const
  {
    return at_.json().contains(key) && !at_.json().at(key).is_null();
  }
  int number(const std::string& key) const
  {
    if (!has(key))
      at_.fail_at(key, "is missing");
    const Value value = at_.at(key);
    constexpr int kMost = std::numeric_limits<int>::max();
    if (!value.json().is_number_integer())
      value.fail("must be a whole number, got " + value.shown());
    if (value.json() > kMost || value.json() < -kMost)
      value.fail(fmt::format("must be at most {}, got {}", kMost, value.shown()));
    return value.json().get<int>();
  }
  int number_or(const std::string& key, int otherwise) const
  {
    return has(key) ? number(key) : otherwise;
  }
  bool flag_or(const std::string& key, bool otherwise) const
  {
    if (!has(key) || at_.json().at(key).is_null())
      return otherwise;
    if (!at_.json().at(key).is_boolean())
      at_.fail_at(key, "must be true or false, got " + at_.at(key).shown());
    return at_.json().at(key).get<bool>();
  }
  /// Each a member of a list. Throws ConfigError where there is none.
  std::vector<Value> members(const std::string& key) const
  {
    if (!has(key))
      at_.fail_at(key, "is missing");
    const Value list = at_.at(key);
    if (!list.json().is_array())
      list.fail("must be a list, got " + list.shown());
    std::vector<Value> members;
    for (std::size_t i = 0; i < list.json().size(); ++i)
      members.push_back(list.at(i));
    return members;
  }
  /// Of a classifier.
  int labels() const { return static_cast<int>(at_.json().at("id2label").size()); }
  std::string text(const std::string& key) const
  {
    return has(key) && at_.json().at(key).is_string() ? at_.json().at(key).get<std::string>() : "";
  }

  /// The class that the weights are of; "" where that is not told.
  std::string architecture() const
  {
    const Json& all = has("architectures") ? at_.json().at("architectures") : Json();
    return all.is_array() && !all.empty() && all.front().is_string()
               ? all.front().get<std::string>()
               : "";
  }

  /// What stands at a key. Throws ConfigError where nothing does.
  Config inside(const std::string& key) const
  {
    if (!has(key))
      at_.fail_at(key, "is missing");
    return Config(at_.at(key));
  }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const
  {
    at_.fail_at(key, what);
  }

private:
  Value at_;
};

/// Dimensions that most kinds call the same. `heads`: the class's own default; 0: it must be told.
Json sizes(const Config& c, int heads = 0);

/// These, and what decoders with gated feed-forward parts have beside them.
Json gated_decoder(const Config& c, int heads = 0);

/// Experts as DeepSeek's kinds tell them, put into `t`.
void add_routed(const Config& c, Json& t);

} // namespace foretrain::models::hf
