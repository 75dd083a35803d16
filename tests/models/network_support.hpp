// What the tests of networks share: a network from a few layers written in place.
#pragma once

#include "models/networks/network.hpp"

#include "sim/base/error.hpp"

#include <string>

namespace foretrain::test {

inline models::Network network_of(const std::string& text)
{
  return models::load_network(Value(parse_document(text, "net.json")));
}

/// A network with this input ("\"tokens\": 8") and these layers (JSON without the outer brackets).
inline models::Network network_of(const std::string& input, const std::string& layers)
{
  return network_of("{\"input\": {" + input + "}, \"layers\": [" + layers + "]}");
}

/// The message that reading the network ends in, or "no error".
inline std::string problem_of(const std::string& text)
{
  try {
    network_of(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

inline const char* const kImage = R"("channels": 16, "height": 20, "width": 30)";

} // namespace foretrain::test
