# Headers are read as "vitruvian/<room>/<file>.hpp", here as from an installation: the build holds a
# link to each room. The public ones are vitruvian.hpp and all that it includes, in VITRUVIAN_HEADERS.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include/vitruvian)
foreach(name vitruvian.hpp core datasets media charts nn vit train mpi report)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${PROJECT_BINARY_DIR}/include/vitruvian/${name} SYMBOLIC)
endforeach()

set(VITRUVIAN_HEADERS "")
set(unread vitruvian.hpp)
while(unread)
  list(POP_FRONT unread header)
  if(NOT header IN_LIST VITRUVIAN_HEADERS AND EXISTS ${PROJECT_SOURCE_DIR}/${header})
    list(APPEND VITRUVIAN_HEADERS ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} included REGEX "^#include \"vitruvian/")
    list(TRANSFORM included REPLACE ".*\"vitruvian/(.*)\".*" "\\1")
    list(APPEND unread ${included})
  endif()
endwhile()
list(JOIN VITRUVIAN_HEADERS "\n" lines)
file(WRITE ${PROJECT_BINARY_DIR}/public_headers.txt "${lines}\n") # for scripts/docs.sh
