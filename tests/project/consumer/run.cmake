# Builds and runs the program of README.md in the consumer project, in one of two WAYs:
#   find_package      installs the build in BUILD to a folder of its own and finds it there
#   add_subdirectory  takes the sources under ROOT into its own build, with nothing optional
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  message(STATUS "${out}")
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${result}")
  endif()
endfunction()

set(program ${SCRATCH}/main.cpp)
set(options -DCMAKE_CXX_COMPILER=${COMPILER} -DPROGRAM=${program})
if(WAY STREQUAL "find_package")
  file(REMOVE_RECURSE ${SCRATCH}) # a file that is no longer installed must not be found
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
  list(APPEND options -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
else()
  list(APPEND options -DCMAKE_BUILD_TYPE=MinSizeRel -DVITRUVIAN_SOURCE=${ROOT} -DVITRUVIAN_SIMD=OFF
       -DVITRUVIAN_ONEDNN=OFF -DVITRUVIAN_CBLAS=OFF -DVITRUVIAN_THREADS=OFF)
endif()
file(READ ${ROOT}/README.md text)
string(REGEX REPLACE "^.*\n```cpp\n|\n```\n.*$" "" code "${text}")
file(CONFIGURE OUTPUT ${program} CONTENT "@code@\n" @ONLY)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -G Ninja ${options})
file(GLOB_RECURSE unasked ${SCRATCH}/build/*libvitruvian_report_f*) # of an earlier run
if(unasked)
  file(REMOVE ${unasked})
endif()
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
file(GLOB_RECURSE unasked ${SCRATCH}/build/*libvitruvian_report_f*)
if(NOT unasked STREQUAL "")
  message(FATAL_ERROR "it was built and nothing needs it: ${unasked}")
endif()
run(${SCRATCH}/build/consumer)
if(WAY STREQUAL "find_package")
  run(${SCRATCH}/build/consumer_f64)
  find_program(pkg_config pkg-config)
  if(pkg_config)
    file(GLOB_RECURSE file ${SCRATCH}/prefix/*/vitruvian.pc)
    cmake_path(GET file PARENT_PATH folder)
    run(sh -c "'${COMPILER}' '${program}' -o '${SCRATCH}/by_pkg_config' \
               $(PKG_CONFIG_PATH='${folder}' '${pkg_config}' --cflags --libs vitruvian)")
    run(${SCRATCH}/by_pkg_config)
  endif()
endif()
