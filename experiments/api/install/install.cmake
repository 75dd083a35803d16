# cmake --install puts the program, its data, schemas, man pages, completions and documents in place, and the
# libraries with one header for find_package(Foretrain), and the Python module; cpack makes three Debian packages of it.
set(data ${CMAKE_INSTALL_DATADIR}/foretrain)
install(TARGETS foretrain RUNTIME COMPONENT program)
foreach(room platforms models calibration experiments)
  install(DIRECTORY ${room}/data DESTINATION ${data}/${room} COMPONENT program)
endforeach()
install(DIRECTORY experiments/fleets experiments/page experiments/plans experiments/policies experiments/validation DESTINATION ${data}/experiments COMPONENT program
  PATTERN "recordings/*.gz" EXCLUDE PATTERN "recordings/*/*.gz" EXCLUDE) # notices stay: the models are derived from these
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.json"
  PATTERN "*.svg" PATTERN "*.ipynb")
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# What the program itself prints: schemas, man pages, completions.
set(printed ${CMAKE_BINARY_DIR}/printed)
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" -DPROGRAM=$<TARGET_FILE:foretrain> -DOUT=${printed}
    -DDATA=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -P \"${CMAKE_SOURCE_DIR}/experiments/api/install/printed.cmake\"
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
install(DIRECTORY ${printed}/schemas DESTINATION ${data} COMPONENT program)
install(DIRECTORY ${printed}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${printed}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME foretrain
  COMPONENT program)
install(FILES ${printed}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _foretrain
  COMPONENT program)
install(FILES ${printed}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  RENAME foretrain.fish COMPONENT program)

# The library: every room, one header.
get_property(rooms GLOBAL PROPERTY foretrain_rooms)
list(REMOVE_ITEM rooms foretrain_experiments_serve) # the command's alone
target_include_directories(foretrain_experiments_api INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS ${rooms} foretrain_warnings EXPORT ForetrainTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/foretrain
  COMPONENT library)
install(EXPORT ForetrainTargets NAMESPACE Foretrain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Foretrain COMPONENT library)
install(FILES experiments/api/foretrain.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/foretrain COMPONENT library)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ForetrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(experiments/api/install/ForetrainConfig.cmake.in ${CMAKE_BINARY_DIR}/ForetrainConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Foretrain PATH_VARS CMAKE_INSTALL_DATADIR)
install(FILES ${CMAKE_BINARY_DIR}/ForetrainConfig.cmake ${CMAKE_BINARY_DIR}/ForetrainConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Foretrain COMPONENT library)

# The Python module: it finds the program beside itself (<prefix>/bin).
install(DIRECTORY experiments/python/foretrain DESTINATION lib/python3/dist-packages COMPONENT python
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME foretrain)
set(CPACK_PACKAGE_VENDOR "Foretrain")
set(CPACK_PACKAGE_CONTACT "the authors of Foretrain")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predicts distributed training on GPU clusters")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
# Three packages: what runs, what other programs link with, and what Python imports.
set(CPACK_COMPONENTS_ALL program library python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME foretrain)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libforetrain-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "foretrain (= ${PROJECT_VERSION}), pkg-config, libsimgrid-dev, libboost-graph-dev, \
nlohmann-json3-dev, libeigen3-dev, libfmt-dev, libpugixml-dev, libsqlite3-dev, zlib1g-dev, libyaml-cpp-dev")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-foretrain)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "foretrain (= ${PROJECT_VERSION}), python3 (>= 3.10)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, python3-matplotlib, python3-tqdm")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "the commands of Foretrain as Python functions")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "header and libraries to ask Foretrain from C++ programs")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "predicts distributed training on GPU clusters: the program and its data")
include(CPack)
