# Libraries whose own package files ask for what nobody needs here (oneDNN's for OpenCL's headers,
# libzip's for command line tools): found by hand, by this project and by those that link it.
#
# vitruvian_import(NAME HEADER LIBRARY): the target vitruvian::NAME and
# VITRUVIAN_HAS_NAME, in capitals, where both are installed.
function(vitruvian_import name header library)
  find_path(VITRUVIAN_${name}_INCLUDE ${header})
  find_library(VITRUVIAN_${name}_LIBRARY ${library})
  mark_as_advanced(VITRUVIAN_${name}_INCLUDE VITRUVIAN_${name}_LIBRARY)
  if(VITRUVIAN_${name}_INCLUDE AND VITRUVIAN_${name}_LIBRARY AND NOT TARGET vitruvian::${name})
    add_library(vitruvian::${name} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(vitruvian::${name} PROPERTIES
      IMPORTED_LOCATION ${VITRUVIAN_${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${VITRUVIAN_${name}_INCLUDE})
  endif()
  string(TOUPPER ${name} capitals)
  if(TARGET vitruvian::${name})
    set(VITRUVIAN_HAS_${capitals} ON PARENT_SCOPE)
  endif()
endfunction()
