# `cmake --install`: the libraries, the public headers, the command line programs, and the
# files that find_package(vitruvian) and pkg-config read.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY VITRUVIAN_LIBRARIES)
set(programs vitruvian vitruvian_double)
if(NOT VITRUVIAN_DOUBLE)
  list(FILTER libraries EXCLUDE REGEX "_f64$|gradcheck")
  set(programs vitruvian)
endif()
install(TARGETS ${libraries} EXPORT vitruvian DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET vitruvian)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT CMAKE_CROSSCOMPILING) # the program itself prints its manual page, and what shells complete by
    foreach(file man:${CMAKE_INSTALL_MANDIR}/man1/vitruvian.1
        "completion bash:${CMAKE_INSTALL_DATADIR}/bash-completion/completions/vitruvian"
        "completion zsh:${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_vitruvian"
        "completion fish:${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/vitruvian.fish")
      string(REGEX MATCH "(.*):(.*)" unused ${file})
      cmake_path(GET CMAKE_MATCH_2 PARENT_PATH folder)
      cmake_path(GET CMAKE_MATCH_2 FILENAME name)
      string(REPLACE " " "\" \"" command ${CMAKE_MATCH_1})
      install(CODE "execute_process(COMMAND \"$<TARGET_FILE:vitruvian>\" \"${command}\"
        OUTPUT_FILE \"${PROJECT_BINARY_DIR}/printed/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
      install(FILES ${PROJECT_BINARY_DIR}/printed/${name} DESTINATION ${folder})
    endforeach()
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/printed)
  endif()
endif()

foreach(header IN LISTS VITRUVIAN_HEADERS)
  cmake_path(GET header PARENT_PATH room)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vitruvian/${room})
endforeach()

set(others "-lpng -lz -pthread")
foreach(optional ONEDNN:dnnl LIBZIP:zip ONNX:onnx_proto ONNX:protobuf JPEG:jpeg CURL:curl OPENSSL:crypto LIBARCHIVE:archive)
  string(REGEX MATCH "(.*):(.*)" unused ${optional})
  if(VITRUVIAN_HAS_${CMAKE_MATCH_1})
    string(APPEND others " -l${CMAKE_MATCH_2}")
  endif()
endforeach()
# vitruvian.pc is float32's, vitruvian_f64.pc float64's. Archives in the order in which the linker wants
# them: users first.
file(RELATIVE_PATH VITRUVIAN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(vitruvian_pkg_config name bits other)
  set(VITRUVIAN_PC_BITS ${bits})
  set(VITRUVIAN_PC_LIBS "")
  foreach(library IN LISTS libraries)
    if(NOT library MATCHES "_${other}$|_whole_|gradcheck")
      string(PREPEND VITRUVIAN_PC_LIBS "-l${library} ")
    endif()
  endforeach()
  if(NOT BUILD_SHARED_LIBS) # which know themselves what they need
    string(APPEND VITRUVIAN_PC_LIBS "${others}")
  endif()
  configure_file(cmake/vitruvian.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
vitruvian_pkg_config(vitruvian 32 f64)
if(VITRUVIAN_DOUBLE)
  vitruvian_pkg_config(vitruvian_f64 64 f32)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/vitruvian)
install(EXPORT vitruvian NAMESPACE vitruvian:: FILE vitruvianTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/vitruvianConfig.cmake.in
  ${PROJECT_BINARY_DIR}/vitruvianConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vitruvianConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vitruvianConfig.cmake
              ${PROJECT_BINARY_DIR}/vitruvianConfigVersion.cmake
              cmake/Imported.cmake DESTINATION ${package})
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
