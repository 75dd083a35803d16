#include "sim/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <numeric>
#include <utility>

namespace foretrain {

namespace {
// Letters to insert, to remove or to replace, and pairs of neighbours to exchange.
std::size_t edit_distance(std::string_view a, std::string_view b)
{
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::size_t letters_in_common(std::string a, std::string b)
{
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::string both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

// What stands before the first digit: "a" of "a30", "rtx" of "rtx 3090".
std::string family(std::string_view name)
{
  std::string letters;
  for (const char c : name) {
    if (is_digit(c))
      break;
    if (c != '-' && c != '_' && c != ' ')
      letters += c;
  }
  return letters;
}

// Names with numbers are of families: an A30 is no misspelt K80. Families of a few letters have to
// be the same, longer ones may be misspelt themselves.
bool other_family(std::string_view word, std::string_view candidate)
{
  if (std::none_of(word.begin(), word.end(), is_digit) ||
      std::none_of(candidate.begin(), candidate.end(), is_digit))
    return false;
  constexpr std::size_t kShort = 3;
  const std::string asked = family(word);
  const std::string known = family(candidate);
  return asked != known &&
         (std::min(asked.size(), known.size()) <= kShort ||
          edit_distance(asked, known) > std::max<std::size_t>(1, asked.size() / 3));
}

std::string digits(std::string_view name)
{
  std::string found;
  std::copy_if(name.begin(), name.end(), std::back_inserter(found), is_digit);
  return found;
}

// Candidates that begin with the word, have it as parts of their name ("horovod",
// "mxnet-horovod"), or end with it and its number ("fp4", "nvfp4"), unless it is too short to say
// anything.
std::vector<std::string> that_contain(std::string_view word,
                                      const std::vector<std::string>& candidates)
{
  std::vector<std::string> found;
  if (word.size() < 3)
    return found;
  const std::string asked = lower_case(word);
  for (const auto& candidate : candidates) {
    const std::string known = lower_case(candidate);
    if (known.starts_with(asked) ||
        ("-" + known + "-").find("-" + asked + "-") != std::string::npos ||
        (known.ends_with(asked) && !digits(asked).empty()))
      found.push_back(candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return found;
}

// The candidates that begin with a part as the word nearly is: "flanel", "flannel-udp".
std::vector<std::string> that_nearly_begin(std::string_view word,
                                           const std::vector<std::string>& candidates)
{
  std::vector<std::string> parts;
  for (const auto& candidate : candidates)
    if (const auto end = candidate.find('-'); end != std::string::npos)
      parts.push_back(candidate.substr(0, end));
  const std::string part = nearest(word, parts);
  return part.empty() ? std::vector<std::string>{} : that_contain(part, candidates);
}

// The keys, or those whose first word, the word begins with: "tensor_parallel", "tensor";
// "batchsize", "batch_per_gpu".
std::vector<std::string> with_first_word_of(std::string_view word,
                                            const std::vector<std::string>& candidates)
{
  constexpr std::size_t kLetters = 4; // fewer begin too much
  const std::string asked = lower_case(word);
  std::vector<std::string> found;
  for (const auto& candidate : candidates)
    if (const std::string first = candidate.substr(0, candidate.find('_'));
        first.size() >= kLetters && asked.starts_with(first) &&
        (first.size() < candidate.size() || asked.substr(first.size()).starts_with('_')))
      found.push_back(candidate);
  return found;
}

// The numbers behind a stem that ends in '-': 2, 19, 4 of "nccl-2.19.4"; none of what is not all
// digits and points.
std::vector<int> version_of(std::string_view name, std::string_view stem)
{
  if (!name.starts_with(stem))
    return {};
  std::vector<int> numbers;
  const char* const end = name.data() + name.size();
  for (const char* at = name.data() + stem.size();; ++at) {
    int number = 0;
    const auto [tail, error] = std::from_chars(at, end, number);
    if (error != std::errc())
      return {};
    numbers.push_back(number);
    if (tail == end)
      return numbers;
    if (*tail != '.')
      return {};
    at = tail;
  }
}

// Letters that both begin with.
std::ptrdiff_t letters_alike(std::string_view a, std::string_view b)
{
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

constexpr std::size_t kShown = 20; // names of a list

} // namespace

std::string lower_case(std::string_view text)
{
  std::string small(text);
  for (char& c : small)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator)
{
  std::string text;
  for (const auto& word : words) {
    if (!text.empty())
      text += separator;
    text += word;
  }
  return text;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates)
{
  if (word.size() > 200)
    return "";
  const std::string asked = lower_case(word);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  // Of as near names the one that lost no letter, then the one that begins alike.
  std::pair<std::size_t, std::size_t> best_letters;
  for (const auto& candidate : candidates) {
    const std::string known = lower_case(candidate);
    if (candidate.size() > 200 || other_family(asked, known))
      continue;
    std::size_t distance = edit_distance(asked, known);
    if (word.size() >= 3 && known.starts_with(asked))
      distance = std::min<std::size_t>(distance, 2);
    const auto [end, _] = std::mismatch(asked.begin(), asked.end(), known.begin(), known.end());
    const std::pair letters{letters_in_common(asked, known),
                            static_cast<std::size_t>(end - asked.begin())};
    const bool rather = distance == best_distance && letters > best_letters && !best.empty();
    if (distance < best_distance || rather) {
      best = candidate;
      best_distance = distance;
      best_letters = letters;
    }
  }
  return best;
}

std::string version_before(std::string_view word, const std::vector<std::string>& candidates)
{
  const std::string asked = lower_case(word);
  const std::string stem = asked.substr(0, asked.rfind('-') + 1);
  const std::vector<int> version = version_of(asked, stem);
  std::string best;
  std::vector<int> newest;
  if (version.size() < 2 || stem.empty()) // a number without points is as often a size
    return best;
  for (const auto& candidate : candidates)
    if (std::vector<int> known = version_of(lower_case(candidate), stem);
        known > newest && known <= version) {
      best = candidate;
      newest = std::move(known);
    }
  return best;
}

std::string hint(std::string_view word, const std::vector<std::string>& candidates)
{
  if (const std::string version = version_before(word, candidates); !version.empty())
    return "did you mean '" + version + "'?";
  std::string guess = nearest(word, candidates);
  auto longer = that_contain(word, candidates);
  if (guess.empty() && longer.empty() && word.size() > 4)
    longer = that_nearly_begin(word, candidates);
  if (guess.empty() && longer.empty())
    longer = with_first_word_of(word, candidates);
  if (guess.empty() || edit_distance(lower_case(word), lower_case(guess)) > 1 ||
      (digits(word) != digits(guess) && !lower_case(guess).starts_with(lower_case(word)))) {
    if (longer.size() > 1)
      return "did you mean one of " +
             joined({longer.begin(),
                     longer.begin() +
                         static_cast<std::ptrdiff_t>(std::min<std::size_t>(longer.size(), 6))}) +
             (longer.size() > 6 ? ", ..." : "") + "?";
    if (!longer.empty())
      guess = longer.front();
  }
  return guess.empty() ? "" : "did you mean '" + guess + "'?";
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view label)
{
  if (std::string guess = hint(word, candidates); !guess.empty())
    return guess;
  std::vector<std::string> shown = candidates;
  if (shown.size() > kShown) { // its family first
    const std::string asked = lower_case(word);
    const auto family = [&](const std::string& candidate) {
      const std::string small = lower_case(candidate);
      const bool inside = small.size() > 3 && asked.find(small) != std::string::npos;
      return std::pair{inside, letters_alike(asked, small)};
    };
    std::stable_sort(shown.begin(), shown.end(),
                     [&](const auto& a, const auto& b) { return family(a) > family(b); });
    shown.resize(kShown);
  }
  for (std::string& name : shown)
    name = excerpt(name);
  if (shown.size() < candidates.size())
    shown.emplace_back("...");
  return "known " + std::string(label) + ": " + joined(shown);
}

namespace {

// Bytes of the character that a text begins with, in UTF-8; 0 where that is none.
std::size_t character_size(std::string_view text)
{
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0x80             ? 1
                           : (byte(0) & 0xe0) == 0xc0 ? 2
                           : (byte(0) & 0xf0) == 0xe0 ? 3
                           : (byte(0) & 0xf8) == 0xf0 ? 4
                                                      : 0;
  if (size > text.size())
    return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  return size;
}

} // namespace

std::string excerpt(std::string_view text, std::size_t limit)
{
  std::string shown;
  std::size_t i = 0;
  while (i < text.size() && i < limit) {
    const std::size_t size = character_size(text.substr(i));
    const auto first = static_cast<unsigned char>(text[i]);
    const bool is_shown = size > 1 || (size == 1 && first >= 0x20 && first != 0x7f);
    if (is_shown && i + size > limit)
      break;
    shown += is_shown ? std::string(text.substr(i, size)) : "?";
    i += std::max<std::size_t>(1, size);
  }
  return i < text.size() ? shown + "..." : shown;
}

} // namespace foretrain
