# Plants one violation at a time in a small tree and expects layering.cmake to name it.
#
#   cmake -DSCRATCH=<empty directory> -P layering_self_test.cmake
cmake_minimum_required(VERSION 3.22)

# expect(<what the check must say, or "in the one direction"> <file> <its only line>)
function(expect message file line)
  file(REMOVE_RECURSE ${SCRATCH})
  foreach(header core/array.hpp core/ops.hpp core/error.hpp core/kernels/kernels.hpp
          core/ops/strided.hpp nn/layers.hpp vit/model.hpp datasets/dataset.hpp charts/chart.hpp train/trainer.hpp report/report.hpp
          apps/commands.hpp tests/tools.hpp)
    file(WRITE ${SCRATCH}/${header} "#include <vector>\n")
  endforeach()
  file(WRITE ${SCRATCH}/${file} "${line}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${SCRATCH}
                          -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/layering.cmake
                  OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE result)
  string(FIND "${out}" "${message}" found)
  if(found EQUAL -1)
    message(SEND_ERROR "${file} with ${line}: expected '${message}', got (${result}) ${out}")
  endif()
  if(message STREQUAL "in the one direction" AND NOT result EQUAL 0
     OR NOT message STREQUAL "in the one direction" AND result EQUAL 0)
    message(SEND_ERROR "${file} with ${line}: exit code ${result}")
  endif()
endfunction()

expect("in the one direction" vit/model.cpp "#include \"vitruvian/nn/layers.hpp\"")
expect("in the one direction" nn/layers.cpp "#include \"vitruvian/core/ops.hpp\"")
expect("in the one direction" core/array.hpp "#include <xtensor/xarray.hpp>")
expect("in the one direction" core/ops.cpp "#include <xtensor/xmath.hpp>")
expect("in the one direction" train/trainer.cpp "#include \"vitruvian/datasets/dataset.hpp\"")

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
