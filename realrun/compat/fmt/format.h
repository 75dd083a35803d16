// Stands in for libfmt on machines that lack it (GPU nodes): the placeholders that sim/base uses,
// {} and {:g}, {:.4g}. CMake puts this folder on the include path only when libfmt is missing.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace fmt {

namespace detail {

inline void copy_literals(std::string_view& form, std::string& out)
{
  while (!form.empty()) {
    if (form.size() > 1 && form[0] == form[1] && (form[0] == '{' || form[0] == '}'))
      form.remove_prefix(1);
    else if (form[0] == '{')
      return;
    out += form[0];
    form.remove_prefix(1);
  }
}

template <class T>
void put(std::string_view& form, std::string& out, const T& argument)
{
  copy_literals(form, out);
  const std::size_t end = form.find('}');
  if (end == std::string_view::npos)
    return;
  const std::string spec(form.substr(1, end - 1));
  form.remove_prefix(end + 1);
  std::ostringstream text;
  text << std::boolalpha;
  if (const std::size_t dot = spec.find('.'); dot != std::string::npos)
    text.precision(std::atoi(spec.c_str() + dot + 1));
  text << argument;
  out += text.str();
}

} // namespace detail

template <class... Arguments>
std::string format(std::string_view form, const Arguments&... arguments)
{
  std::string out;
  (detail::put(form, out, arguments), ...);
  detail::copy_literals(form, out);
  return out;
}

} // namespace fmt
