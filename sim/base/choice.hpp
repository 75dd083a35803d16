// Words of files that stand for one of a few things. An enumeration has one table of them, beside
// it, from which come what is read, messages, the schema and what is written:
//
//   enum class Overlap { none, per_tensor };
//   constexpr auto choices(Overlap)
//   {
//     return std::to_array<Choice<Overlap>>(
//         {{Overlap::none, "none"}, {Overlap::per_tensor, "per-tensor"}});
//   }
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

template <class E>
struct Choice {
  E value;
  std::string_view word;
};

/// All words of an enumeration, in the order of its table.
template <class E>
std::vector<std::string> words_of()
{
  std::vector<std::string> words;
  for (const Choice<E>& choice : choices(E{}))
    words.emplace_back(choice.word);
  return words;
}

/// What a word stands for, if anything.
template <class E>
std::optional<E> choice_of(std::string_view word)
{
  constexpr auto table = choices(E{});
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const Choice<E>& choice) { return choice.word == word; });
  return it == table.end() ? std::nullopt : std::optional(it->value);
}

template <class E>
std::string word_of(E value)
{
  for (const Choice<E>& choice : choices(E{}))
    if (choice.value == value)
      return std::string(choice.word);
  throw std::logic_error("a choice without a word");
}

} // namespace foretrain
