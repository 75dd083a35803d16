// Who may ask: those who have the link, from the page that it leads to.
//
// A page of somebody else's in the same browser can reach 127.0.0.1, too. It does not know the
// token, it says in Origin where it comes from, and where it has made a name of its own mean
// 127.0.0.1 (DNS rebinding), Host tells that name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain::serve {

/// What is looked at before anything is read; absent headers are empty.
struct RequestHead {
  std::string method, path, host, origin, fetch_site, content_type, content_encoding;
};

/// A refusal: HTTP status and words; status 0 lets it pass.
struct Refusal {
  int status = 0;
  std::string words;
};

/// Whether Host is an address, or one of the machine's own names; any port, as of a tunnel.
bool known_host(std::string_view host, const std::vector<std::string>& names);

/// The same text, found in a time that does not tell how much of it is right.
bool same_secret(std::string_view given, std::string_view secret);

/// What follows "/TOKEN/" in a path; the token is not looked at.
std::string path_below_token(std::string_view path);

Refusal refusal_of(const RequestHead& head, const std::string& token,
                   const std::vector<std::string>& names);

} // namespace foretrain::serve
