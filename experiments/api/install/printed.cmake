# What the program prints about itself, as files: schemas, man pages, completions.
#   cmake -DPROGRAM=... -DOUT=... -DDATA=... -DVERSION=... -P printed.cmake
set(ENV{FORETRAIN_DATA} ${DATA})
function(printed result)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE problem RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: ${problem}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${OUT})
foreach(shell bash zsh fish)
  printed(text completion ${shell})
  file(WRITE ${OUT}/completion.${shell} "${text}")
endforeach()

printed(text schema --list)
string(REGEX MATCHALL "[a-z0-9-]+" schemas "${text}")
foreach(schema ${schemas})
  printed(text schema ${schema})
  file(WRITE ${OUT}/schemas/${schema}.json "${text}")
endforeach()

# A page of man for the program and one for each command: what --help says, between macros of man(7).
function(page name title help)
  string(REPLACE "\\" "\\\\" help "${help}")
  string(REPLACE "-" "\\-" help "${help}")
  string(REGEX REPLACE "\n([.'])" "\n\\\\&\\1" help "${help}")
  file(WRITE ${OUT}/man1/${name}.1 ".TH ${name} 1 \"\" \"foretrain ${VERSION}\" \"Foretrain\"
.SH NAME
${name} \\- ${title}
.SH SYNOPSIS AND OPTIONS
.nf
${help}.fi
.SH FILES
.I /usr/share/foretrain
presets and schemas;
.I /usr/share/doc/foretrain
documents.
.SH ENVIRONMENT
.B FORETRAIN_DATA
names another folder with presets.
.SH EXIT STATUS
0 done; 1 the answer breaks what was expected; 2 wrong input; 3 internal error; 130 interrupted.
")
endfunction()
printed(help --help)
page(foretrain "predict distributed training on GPU clusters" "${help}")
string(REGEX MATCHALL "\n  [a-z][a-z-]+ " lines "${help}")
foreach(line ${lines})
  string(STRIP "${line}" command)
  printed(help ${command} --help)
  page(foretrain-${command} "a command of foretrain" "${help}")
endforeach()
