# Reads the includes of every room under ROOT and fails where one points against the one direction:
#
#   core  <-  nn  <-  vit  <-  train  <-  report  <-  apps, lessons
#   core (arrays only)  <-  media  <-  datasets, charts  <-  train, report, apps, lessons
#
#   cmake -DROOT=<source directory> -P layering.cmake
cmake_minimum_required(VERSION 3.22)

# What a room may include, as a regular expression of paths from the root.
set(base
  "core/(anomaly|byte_source|console|did_you_mean|error|fault|folder_lock|parallel|pool|portable_math|profile|regular_file|resample|rng|safe_file|scope)\\.hpp")
set(numbers "core/[a-z0-9_]+\\.hpp") # core's public headers: its folders stay private
set(allowed_core "core/.*")
set(allowed_core_kernels "core/kernels/.*|${base}")
set(allowed_datasets "(datasets|media)/.*|${base}|core/(array|real)\\.hpp")
set(allowed_charts "(charts|media)/.*|${base}|core/(array|real)\\.hpp")
set(allowed_media "media/.*|${base}|core/(array|real)\\.hpp")
set(allowed_nn "nn/.*|${numbers}|core/kernels/(kernels|gemm)\\.hpp")
set(allowed_vit "vit/.*|nn/.*|${numbers}")
set(allowed_train "(train|vit|nn|datasets|media)/.*|${numbers}|core/kernels/(kernels|gemm)\\.hpp")
set(allowed_report "(report|charts|train|vit|nn|datasets|media)/.*|${numbers}")
set(allowed_apps "(apps|report|charts|train|vit|nn|datasets|media|core)/.*")
set(allowed_lessons "(lessons|report|charts|train|vit|nn|datasets|media|core)/.*")

set(rooms core/kernels core datasets media charts nn vit train report apps lessons)
set(checked 0)
set(violations "")

foreach(room IN LISTS rooms)
  string(REPLACE "/" "_" key ${room})
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${room}/*.hpp ${ROOT}/${room}/*.cpp
       ${ROOT}/${room}/*.inl ${ROOT}/${room}/*.h ${ROOT}/${room}/*.cc)
  if(room STREQUAL "core")
    list(FILTER files EXCLUDE REGEX "^core/kernels/")
  endif()
  foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/${file} blinding REGEX "^namespace .*::inline ")
    if(blinding)
      list(APPEND violations "${file}: editors and ctags see no namespace in ${blinding}")
    endif()
    file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]*)[>\"].*" "\\1;\\2" parts "${line}")
      list(GET parts 0 quote)
      list(GET parts 1 header)
      math(EXPR checked "${checked} + 1")

      # Ours begin with vitruvian/, from the root; a program's own with the program's folder.
      set(written ${header})
      string(REGEX REPLACE "^vitruvian/" "" header "${header}")
      if(quote STREQUAL "\"" AND NOT EXISTS ${ROOT}/${header})
        list(APPEND violations "${file} includes \"${written}\": no such file from the root")
      elseif((written MATCHES "^vitruvian/(apps|lessons|tests|bench)/") OR
             (written MATCHES "^(vitruvian\\.hpp|(core|datasets|media|charts|nn|vit|train|report)/)"))
        list(APPEND violations "${file} includes ${written}: headers of the library, and no others, begin with vitruvian/")
      elseif(header MATCHES "^(core|datasets|media|charts|nn|vit|train|report|apps|lessons|tests|bench)/"
             AND NOT header MATCHES "^(${allowed_${key}})$")
        list(APPEND violations "${file} includes ${header}: ${room} does not know it")
      elseif(header MATCHES "^(xtensor|xtl|xsimd)" AND room STREQUAL "core/kernels")
        list(APPEND violations "${file} includes ${header}: kernels are plain loops over pointers")
      elseif(header MATCHES "^(xtensor|xtl|xsimd|xflens)" AND file MATCHES "\\.hpp$"
             AND NOT file MATCHES "^core/(array|ops/[a-z_]+)\\.hpp$")
        list(APPEND violations "${file} includes ${header}: among headers only core/array.hpp does")
      endif()
    endforeach()
  endforeach()
endforeach()

if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "against the one direction:\n  ${text}")
endif()
if(checked EQUAL 0)
  message(FATAL_ERROR "no includes under ${ROOT}: this test has read nothing")
endif()
message(STATUS "${checked} includes, all in the one direction")
