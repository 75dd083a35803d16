// What configuration files are called.
#pragma once

#include <string_view>

namespace foretrain {

/// Whether a word that may be a preset's name says by its ending that it is a file's.
inline bool is_file_name(std::string_view word)
{
  if (word.ends_with(".gz"))
    word.remove_suffix(std::string_view(".gz").size());
  return word.ends_with(".json") || word.ends_with(".yaml") || word.ends_with(".yml");
}

} // namespace foretrain
