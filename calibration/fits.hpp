// Which measurements the bundled parameters were fitted to. What a fit has seen proves nothing
// afterwards: `foretrain validate` refuses to count it.
#pragma once

#include "sim/base/schema.hpp"

#include <string>
#include <vector>

namespace foretrain::calibration {

struct FitSpec {
  std::string parameters;           // what was fitted, for people
  std::vector<std::string> files;   // the data files that hold it
  std::vector<std::string> row_ids; // measurements that were used; '*' stands for any text
};

struct FitsSpec {
  std::vector<FitSpec> fits;
};

/// The bundled record, calibration/data/fits.json. Throws ConfigError.
FitsSpec load_fits();

/// The fit that used the measurement, or null.
const FitSpec* fit_of(const FitsSpec& fits, const std::string& row_id);

/// Whether `text` matches `pattern`, in which '*' stands for any text.
bool matches(const std::string& pattern, const std::string& text);

template <class V>
void describe(V& v, FitSpec& s)
{
  v.required("parameters", s.parameters, "what was fitted, for people");
  v.required("files", s.files, "the data files that hold the parameters");
  v.required("rows", s.row_ids, "ids of the measurements that were used; * stands for any text");
}

template <class V>
void describe(V& v, FitsSpec& s)
{
  v.format("foretrain.fits/1");
  v.required("fits", s.fits, "every fit, with what it used");
}

} // namespace foretrain::calibration
