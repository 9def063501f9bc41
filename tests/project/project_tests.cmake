# Tests of the project itself: the direction of its includes, its scripts, and other projects that
# use it. Their label is `project`: they say nothing about numbers, so one build's run is enough.
function(vitruvian_project_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS project)
endfunction()

vitruvian_project_test(layering
  ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/project/layering.cmake)
vitruvian_project_test(layering_self_test
  ${CMAKE_COMMAND} -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/layering
  -P ${CMAKE_CURRENT_SOURCE_DIR}/project/layering_self_test.cmake)
vitruvian_project_test(scripts bash ${CMAKE_CURRENT_SOURCE_DIR}/project/scripts_test.sh)
vitruvian_project_test(requirements
  bash ${CMAKE_CURRENT_SOURCE_DIR}/project/requirements_test.sh ${PROJECT_SOURCE_DIR})

# A sanitizer's flags are not part of the package: its libraries cannot be linked without them.
if(VITRUVIAN_INSTALL AND NOT VITRUVIAN_SANITIZE)
  foreach(way find_package add_subdirectory)
    vitruvian_project_test(consumer_${way}
      ${CMAKE_COMMAND} -DWAY=${way} -DROOT=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
      -DCOMPILER=${CMAKE_CXX_COMPILER} -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/consumer_${way}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/project/consumer/run.cmake)
  endforeach()
endif()
