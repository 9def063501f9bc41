# Reads the includes of every room under ROOT and fails where one points against the one direction;
# then plants one violation at a time in a small tree, and must name it:
#
#   core  <-  nn  <-  vit  <-  train  <-  report  <-  apps, lessons        train  <-  web
#   core (arrays only)  <-  media  <-  datasets, charts  <-  train, report, apps, lessons
#
#   cmake -DROOT=<source directory> -DSCRATCH=<empty directory> -P layering.cmake
cmake_minimum_required(VERSION 3.22)

# What a room may include, as a regular expression of paths from the root.
set(base "core/base/[a-z_]+\\.hpp|core/(anomaly|fault|profile)\\.hpp")
set(numbers "core/((base|check)/)?[a-z0-9_]+\\.hpp") # ops/ and kernels/ stay private
set(allowed_core "core/.*")
set(allowed_core_kernels "core/kernels/.*|${base}")
set(allowed_datasets "(datasets|media)/.*|${base}|core/array\\.hpp")
set(allowed_charts "(charts|media)/.*|${base}|core/array\\.hpp")
set(allowed_media "media/.*|${base}|core/array\\.hpp")
set(allowed_nn "nn/.*|${numbers}|core/kernels/(kernels|gemm)\\.hpp")
set(allowed_vit "vit/.*|nn/.*|${numbers}")
set(allowed_train "(train|vit|nn|datasets|media)/.*|${numbers}|core/kernels/(kernels|gemm)\\.hpp")
set(allowed_report "(report|charts|train|vit|nn|datasets|media)/.*|${numbers}")
set(allowed_apps "(apps|report|charts|train|vit|nn|datasets|media|core)/.*")
set(allowed_lessons "((lessons|report|charts|train|vit|nn|datasets|media|core)/.*|apps/command_line\\.hpp)")

set(allowed_web "(web|train|vit|nn|datasets|core)/.*")

set(rooms core/kernels core datasets media charts nn vit train report apps lessons web)

# In the caller's `checked` the number of includes under the root, in its `violations` what is wrong.
function(look_at root)
  set(checked 0)
  set(violations "")
  foreach(room IN LISTS rooms)
    string(REPLACE "/" "_" key ${room})
    file(GLOB_RECURSE files RELATIVE ${root} ${root}/${room}/*.hpp ${root}/${room}/*.cpp
         ${root}/${room}/*.inl ${root}/${room}/*.h ${root}/${room}/*.cc)
    if(room STREQUAL "core")
      list(FILTER files EXCLUDE REGEX "^core/kernels/")
    endif()
    foreach(file IN LISTS files)
      file(STRINGS ${root}/${file} blinding REGEX "^namespace .*::inline ")
      if(blinding)
        list(APPEND violations "${file}: editors and ctags see no namespace in ${blinding}")
      endif()
      file(STRINGS ${root}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]*)[>\"].*" "\\1;\\2" parts "${line}")
        list(GET parts 0 quote)
        list(GET parts 1 header)
        math(EXPR checked "${checked} + 1")

        # Ours begin with vitruvian/, from the root; a program's own with the program's folder.
        set(written ${header})
        string(REGEX REPLACE "^vitruvian/" "" header "${header}")
        if(quote STREQUAL "\"" AND NOT EXISTS ${root}/${header})
          list(APPEND violations "${file} includes \"${written}\": no such file from the root")
        elseif((written MATCHES "^vitruvian/(apps|lessons|web|tests|bench)/") OR
               (written MATCHES "^(vitruvian\\.hpp|(core|datasets|media|charts|nn|vit|train|report)/)"))
          list(APPEND violations "${file} includes ${written}: headers of the library, and no others, begin with vitruvian/")
        elseif(header MATCHES "^(core|datasets|media|charts|nn|vit|train|report|apps|lessons|web|tests|bench)/"
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
  set(checked ${checked} PARENT_SCOPE)
  set(violations "${violations}" PARENT_SCOPE)
endfunction()

look_at(${ROOT})
if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "against the one direction:\n  ${text}")
endif()
if(checked EQUAL 0)
  message(FATAL_ERROR "no includes under ${ROOT}: this test has read nothing")
endif()
message(STATUS "${checked} includes, all in the one direction")

# expect(<a pattern of what must be said of it> <file> <its only line>)
function(expect message file line)
  file(REMOVE_RECURSE ${SCRATCH})
  foreach(header core/array.hpp core/ops.hpp core/base/error.hpp core/kernels/kernels.hpp
          core/ops/strided.hpp nn/layers.hpp vit/model.hpp datasets/dataset.hpp charts/chart.hpp train/trainer.hpp report/report.hpp
          apps/commands.hpp tests/tools.hpp)
    file(WRITE ${SCRATCH}/${header} "#include <vector>\n")
  endforeach()
  file(WRITE ${SCRATCH}/${file} "${line}\n")
  look_at(${SCRATCH})
  if(NOT "${violations}" MATCHES "${message}")
    message(SEND_ERROR "${file} with ${line}: expected '${message}', got '${violations}'")
  endif()
endfunction()

expect("^$" vit/model.cpp "#include \"vitruvian/nn/layers.hpp\"")
expect("^$" nn/layers.cpp "#include \"vitruvian/core/ops.hpp\"")
expect("^$" core/array.hpp "#include <xtensor/xarray.hpp>")
expect("^$" core/ops.cpp "#include <xtensor/xmath.hpp>")
expect("^$" train/trainer.cpp "#include \"vitruvian/datasets/dataset.hpp\"")

expect("nn does not know it" nn/layers.cpp "#include \"vitruvian/vit/model.hpp\"")
expect("nn does not know it" nn/deep/inside.hpp "  #  include <vitruvian/vit/model.hpp>  // anyway")
expect("nn does not know it" nn/layers.cpp "#include \"vitruvian/core/ops/strided.hpp\"")
expect("core does not know it" core/ops/linear.cpp "#include \"vitruvian/nn/layers.hpp\"")
expect("core/kernels does not know it" core/kernels/gelu.cpp "#include \"vitruvian/core/array.hpp\"")
expect("kernels are plain loops" core/kernels/gelu.cpp "#include <xtensor/xarray.hpp>")
expect("vit does not know it" vit/model.cpp "#include \"vitruvian/datasets/dataset.hpp\"")
expect("datasets does not know it" datasets/formats/idx.cpp "#include \"vitruvian/core/ops.hpp\"")
expect("train does not know it" train/loop.cpp "#include \"apps/commands.hpp\"")
expect("train does not know it" train/trainer.cpp "#include \"vitruvian/report/report.hpp\"")
expect("report does not know it" report/report.cpp "#include \"vitruvian/core/kernels/kernels.hpp\"")
expect("charts does not know it" charts/svg.cpp "#include \"vitruvian/datasets/dataset.hpp\"")
expect("media does not know it" media/png.cpp "#include \"vitruvian/charts/chart.hpp\"")
expect("apps does not know it" apps/train.cpp "#include \"tests/tools.hpp\"")
expect("no such file from the root" nn/layers.cpp "#include \"../vit/model.hpp\"")
expect("no such file from the root" vit/block.cpp "#include \"model.hpp\"")
expect("begin with vitruvian/" nn/layers.cpp "#include \"core/ops.hpp\"")
expect("begin with vitruvian/" apps/train.cpp "#include \"vitruvian/apps/commands.hpp\"")
expect("only core/array.hpp does" nn/layers.hpp "#include <xtensor/xarray.hpp>")
expect("ctags see no namespace" nn/layers.cpp "namespace vitruvian::inline VITRUVIAN_PRECISION {")
