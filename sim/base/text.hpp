// Small text helpers shared by messages and tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

/// "a, b, c"
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

/// ASCII letters made small.
std::string lower_case(std::string_view text);

/// The candidate with the smallest edit distance to `word`, or "" if none is near enough to be a
/// plausible misspelling.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Of a version that no candidate has the newest one before it: "nccl-2.18" of "nccl-2.19.4"; ""
/// where there is none, or the word is no version.
std::string version_before(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean 'x'?" when a near name exists, or one that contains the word; else "".
std::string hint(std::string_view word, const std::vector<std::string>& candidates);

/// The hint when there is one, else "known LABEL: a, b, c" (shortened to 20).
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view label);

/// At most `limit` bytes of `text`, of whole characters, with "..." where cut; control characters
/// and what is not UTF-8 shown as '?'.
std::string excerpt(std::string_view text, std::size_t limit = 60);

} // namespace foretrain
