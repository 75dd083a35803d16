// In place of sim/base/yaml.cpp where there is no yaml-cpp: every text is read as JSON.
#include "sim/base/yaml.hpp"

#include <stdexcept>

namespace foretrain {

bool is_yaml(const std::string&, const std::string&)
{
  return false;
}

Json parse_yaml(const std::string&, const std::string&, const Placed&)
{
  throw std::logic_error("parse_yaml: built without yaml-cpp");
}

} // namespace foretrain
