#include "experiments/serve/request_guard.hpp"

#include "sim/base/text.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace foretrain::serve {

namespace {

bool is_address(const std::string& host)
{
  in6_addr address{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// "[::1]:80", "localhost:80" -> "[::1]", "localhost".
std::string without_port(std::string_view host)
{
  const std::size_t colon = host.rfind(':');
  const bool inside = host.find(']') != std::string_view::npos && colon < host.find(']');
  return std::string(colon == std::string_view::npos || inside ? host : host.substr(0, colon));
}

std::string token_in(std::string_view path)
{
  const std::size_t end = path.find('/', 1);
  return std::string(path.substr(std::min<std::size_t>(1, path.size()),
                                 end == std::string_view::npos ? end : end - 1));
}

} // namespace

bool known_host(std::string_view host, const std::vector<std::string>& names)
{
  const std::string name = lower_case(without_port(host));
  return is_address(name) || std::find(names.begin(), names.end(), name) != names.end();
}

bool same_secret(std::string_view given, std::string_view secret)
{
  unsigned char differs = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i)
    differs |= static_cast<unsigned char>(secret[i] ^ (i < given.size() ? given[i] : '\0'));
  return differs == 0;
}

std::string path_below_token(std::string_view path)
{
  const std::size_t end = path.find('/', 1);
  return end == std::string_view::npos ? "" : std::string(path.substr(end + 1));
}

Refusal refusal_of(const RequestHead& head, const std::string& token,
                   const std::vector<std::string>& names)
{
  if (!known_host(head.host, names))
    return {421, "this page is not served under that name"};
  if (!head.origin.empty() && head.origin != "http://" + head.host)
    return {403, "this page does not answer other pages"};
  if (!head.fetch_site.empty() && head.fetch_site != "same-origin" && head.fetch_site != "none")
    return {403, "this page does not answer other pages"};
  if (!same_secret(token_in(head.path), token))
    return {
        403,
        "open the link that foretrain serve has printed: it holds the token that is missing here"};
  if (head.method != "GET" && head.method != "POST")
    return {405, "GET and POST are what this page knows"};
  if (head.method == "POST" && head.content_type != "application/json")
    return {415, "what is posted must be application/json"};
  if (!head.content_encoding.empty())
    return {415, "what is posted must not be packed"};
  return {};
}

} // namespace foretrain::serve
