# `cmake --install`: the libraries, the headers in their rooms, the command line program, and the
# package file that find_package(vitruvian) reads.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY VITRUVIAN_LIBRARIES)
install(TARGETS ${libraries} EXPORT vitruvian ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET vitruvian)
  install(TARGETS vitruvian RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(room core datasets media charts nn vit train report)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${room})
    install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vitruvian
            FILES_MATCHING PATTERN "*.hpp"
            REGEX "/core/(ops$|precompiled)" EXCLUDE) # what only core itself reads
  endif()
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/vitruvian)
install(EXPORT vitruvian NAMESPACE vitruvian:: FILE vitruvianTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/vitruvianConfig.cmake.in
  ${PROJECT_BINARY_DIR}/vitruvianConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vitruvianConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vitruvianConfig.cmake
              ${PROJECT_BINARY_DIR}/vitruvianConfigVersion.cmake DESTINATION ${package})
