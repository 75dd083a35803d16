// Walks JSON text along a pointer, only when an error is printed: nlohmann 3.11 keeps no positions.
#include "sim/base/document.hpp"

#include <fmt/format.h>

namespace foretrain {

namespace {

class Walker {
public:
  Walker(std::string_view text, std::vector<std::string> steps, bool want_key)
      : text_(text), steps_(std::move(steps)), want_key_(want_key)
  {
  }

  std::size_t find() // position, or npos
  {
    for (std::size_t depth = 0; depth < steps_.size(); ++depth) {
      skip_blank();
      const bool last = depth + 1 == steps_.size();
      if (at_ >= text_.size() || !enter(steps_[depth], last))
        return std::string_view::npos;
      if (last && want_key_ && key_at_ != std::string_view::npos)
        return key_at_;
    }
    skip_blank();
    return at_;
  }

private:
  void skip_blank()
  {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  std::string string_here() // at_ on the opening quote; leaves it behind the closing one
  {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"')
      at_ += text_[at_] == '\\' ? 2U : 1U;
    at_ = std::min(at_ + 1, text_.size());
    const auto parsed = Json::parse(text_.substr(begin, at_ - begin), nullptr, false);
    return parsed.is_string() ? parsed.get<std::string>() : std::string();
  }

  void skip_value()
  {
    skip_blank();
    int depth = 0;
    while (at_ < text_.size()) {
      skip_blank();
      if (at_ >= text_.size())
        return;
      const char c = text_[at_];
      if (c == '"') {
        string_here();
        if (depth == 0)
          return;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']'))
        return;
      if (c == '{' || c == '[')
        ++depth;
      if (c == '}' || c == ']')
        --depth;
      ++at_;
      if (depth == 0 && (c == '}' || c == ']'))
        return;
    }
  }

  bool enter(const std::string& step, bool)
  {
    const char open = text_[at_];
    if (open != '{' && open != '[')
      return false;
    ++at_;
    for (std::size_t index = 0; at_ < text_.size(); ++index) {
      skip_blank();
      if (at_ >= text_.size() || text_[at_] == '}' || text_[at_] == ']')
        return false;
      bool here = false;
      key_at_ = std::string_view::npos;
      if (open == '{') {
        const std::size_t key_at = at_;
        here = text_[at_] == '"' && string_here() == step;
        key_at_ = key_at;
        skip_blank();
        if (at_ < text_.size() && text_[at_] == ':')
          ++at_;
      } else {
        here = std::to_string(index) == step;
      }
      if (here)
        return true;
      skip_value();
      skip_blank();
      if (at_ < text_.size() && text_[at_] == ',')
        ++at_;
    }
    return false;
  }

  std::string_view text_;
  std::vector<std::string> steps_;
  bool want_key_;
  std::size_t at_ = 0;
  std::size_t key_at_ = std::string_view::npos;
};

} // namespace

std::vector<std::string> pointer_steps(std::string_view pointer)
{
  std::vector<std::string> steps;
  std::size_t from = 0;
  while (from < pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', from + 1), pointer.size());
    std::string step;
    for (std::size_t i = from + 1; i < end; ++i) {
      const bool escape = pointer[i] == '~' && i + 1 < end;
      step += escape ? (pointer[i + 1] == '1' ? '/' : '~') : pointer[i];
      i += escape ? 1U : 0U;
    }
    steps.push_back(step);
    from = end;
  }
  return steps;
}

bool is_within(std::string_view pointer, std::string_view outer)
{
  return pointer.starts_with(outer) &&
         (pointer.size() == outer.size() || pointer[outer.size()] == '/');
}

bool overlap(std::string_view a, std::string_view b)
{
  return is_within(a, b) || is_within(b, a);
}

std::optional<std::size_t> offset_of(std::string_view text, std::string_view pointer, bool want_key)
{
  const std::size_t at = Walker(text, pointer_steps(pointer), want_key).find();
  if (at == std::string_view::npos || at > text.size())
    return std::nullopt;
  return at;
}

std::string locate(std::string_view text, std::string_view pointer, bool want_key)
{
  const auto at = offset_of(text, pointer, want_key);
  if (!at)
    return "";
  std::size_t line = 1;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < *at; ++i)
    if (text[i] == '\n') {
      ++line;
      begin = i + 1;
    }
  return fmt::format("{}:{}", line, *at - begin + 1);
}

} // namespace foretrain
