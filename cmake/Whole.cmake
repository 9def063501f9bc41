# What other projects link: vitruvian::vitruvian, every room in float32, or vitruvian::vitruvian_f64,
# the same in float64. One target takes one of them; a program of two targets may hold both.
function(vitruvian_whole precision export_name)
  get_property(libraries GLOBAL PROPERTY VITRUVIAN_LIBRARIES)
  # The rooms of the other precision stay out; those without numbers belong to both.
  set(others ${VITRUVIAN_PRECISIONS})
  list(REMOVE_ITEM others ${precision})
  list(FILTER libraries EXCLUDE REGEX "_(${others})$")
  add_library(vitruvian_whole_${precision} INTERFACE)
  add_library(vitruvian::${export_name} ALIAS vitruvian_whole_${precision})
  set_target_properties(vitruvian_whole_${precision} PROPERTIES EXPORT_NAME ${export_name})
  target_link_libraries(vitruvian_whole_${precision} INTERFACE ${libraries})
  set_property(GLOBAL APPEND PROPERTY VITRUVIAN_WHOLE vitruvian_whole_${precision})
endfunction()

vitruvian_whole(f32 vitruvian)
vitruvian_whole(f64 vitruvian_f64)
