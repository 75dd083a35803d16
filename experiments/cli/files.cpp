#include "experiments/cli/files.hpp"

#include "sim/base/error.hpp"

#include <fstream>

namespace foretrain::cli {

void write_file(const std::string& path, const std::string& text)
{
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out)
    throw UsageError("cannot write '" + path + "'");
}

} // namespace foretrain::cli
