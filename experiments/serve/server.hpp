// The page's server: who may ask (request_guard), what may be asked, and answers (work) over HTTP.
#pragma once

#include "experiments/serve/catalogue.hpp"

#include <functional>
#include <string>

namespace foretrain::serve {

struct ServeSetting {
  std::filesystem::path program; // that is run for answers
  Given given;
  std::string address = "127.0.0.1";
  int port = 0; // 0: one that is free
  int cores = 1;
};

/// Whether none but this machine reaches the address.
bool is_loopback(const std::string& address);

/// Serves until SIGINT or SIGTERM. `ready` is told the link once it answers. Throws UsageError
/// where it cannot listen.
void serve(const ServeSetting& setting, const std::function<void(const std::string& link)>& ready);

} // namespace foretrain::serve
