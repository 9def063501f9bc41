# What other projects link: vitruvian::vitruvian, every room in float32, or vitruvian::vitruvian_f64,
# the same in float64. One target takes one of them; a program of two targets may hold both.
function(vitruvian_whole precision export_name)
  set(target vitruvian_whole_${precision})
  add_library(${target} INTERFACE)
  add_library(vitruvian::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_link_libraries(${target} INTERFACE vitruvian_report_${precision})
  set_property(GLOBAL APPEND PROPERTY VITRUVIAN_LIBRARIES ${target})
endfunction()

vitruvian_whole(f32 vitruvian)
vitruvian_whole(f64 vitruvian_f64)
