# Writes the commit that is built, touching the file only when it is another one.
#   cmake -DOUT=... -DSOURCE=... -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "+")
  endif()
endif()
set(text "// Generated at build time.
#pragma once

namespace foretrain {
inline constexpr const char* kCommit = \"${commit}\";
} // namespace foretrain
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
