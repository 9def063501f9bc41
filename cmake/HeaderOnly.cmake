# Where no package can be found, as emscripten's sysroot has none: the libraries that are headers
# alone, taken from the machine that compiles. Each is a link of its own in the build, because all of
# /usr/include would bring that machine's C library.
function(vitruvian_headers target header folder)
  find_path(VITRUVIAN_${folder}_INCLUDE ${header} PATHS /usr/include /usr/local/include
    PATH_SUFFIXES eigen3 NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(VITRUVIAN_${folder}_INCLUDE)
  if(NOT VITRUVIAN_${folder}_INCLUDE)
    message(FATAL_ERROR "${header} is missing: install the package that has it")
  endif()
  set(links ${PROJECT_BINARY_DIR}/headers/${folder})
  file(MAKE_DIRECTORY ${links})
  foreach(name ${folder} ${ARGN})
    file(CREATE_LINK ${VITRUVIAN_${folder}_INCLUDE}/${name} ${links}/${name} SYMBOLIC)
  endforeach()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${links})
endfunction()

vitruvian_headers(fmt::fmt fmt/format.h fmt)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
vitruvian_headers(nlohmann_json::nlohmann_json nlohmann/json.hpp nlohmann)
vitruvian_headers(Eigen3::Eigen Eigen/Eigenvalues Eigen)
vitruvian_headers(CLI11::CLI11 CLI/CLI.hpp CLI)
vitruvian_headers(xtensor xtensor/xarray.hpp xtensor xtl)
find_package(Threads REQUIRED)
