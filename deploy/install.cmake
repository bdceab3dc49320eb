# What `make install` installs, by GNUInstallDirs: the program, its manual pages and completions, the
# units of systemd and the configuration that they read, both clients, the documentation, and the
# files of deploy/.
include(GNUInstallDirs)
option(STARLING_DEBIAN "Lay files out as Debian's policy wants them in a package" OFF)

set(share ${CMAKE_INSTALL_DATADIR})
set(documents ${CMAKE_INSTALL_DOCDIR})
if(STARLING_DEBIAN)
  set(python_packages lib/python3/dist-packages)
  set(zsh_completions ${share}/zsh/vendor-completions)
else()
  # No interpreter looks here by itself: PYTHONPATH names it.
  set(python_packages ${share}/starling/python)
  set(zsh_completions ${share}/zsh/site-functions)
endif()

install(TARGETS starling DESTINATION ${CMAKE_INSTALL_BINDIR})

# The program writes its own manual and completions, so that no text is kept twice.
set(texts ${CMAKE_BINARY_DIR}/texts)
find_program(GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${texts}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${texts}
  COMMAND starling manual --output ${texts}/man
  COMMAND ${GZIP} -9nr ${texts}/man
  COMMAND starling completion bash > ${texts}/starling.bash
  COMMAND starling completion zsh > ${texts}/_starling
  COMMAND starling completion fish > ${texts}/starling.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${texts}/made
  DEPENDS starling VERBATIM)
# A sanitized program is not what anybody installs.
if(NOT STARLING_SANITIZE AND NOT STARLING_TSAN)
  add_custom_target(texts ALL DEPENDS ${texts}/made)
endif()
install(DIRECTORY ${texts}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${texts}/starling.bash RENAME starling
        DESTINATION ${share}/bash-completion/completions)
install(FILES ${texts}/_starling DESTINATION ${zsh_completions})
install(FILES ${texts}/starling.fish DESTINATION ${share}/fish/vendor_completions.d)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS deploy/systemd/hardening)
file(READ deploy/systemd/hardening STARLING_HARDENING)
foreach(unit starling.service starling@.service)
  configure_file(deploy/systemd/${unit} ${texts}-units/${unit} @ONLY)
  install(FILES ${texts}-units/${unit} DESTINATION lib/systemd/system)
endforeach()
install(FILES deploy/node.ini DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/starling)

set(c_libraries starling_c_shared starling_c_static)
install(TARGETS ${c_libraries} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES clients/c/starling.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY clients/python/starling DESTINATION ${python_packages}
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN __pycache__ EXCLUDE)

install(FILES README.md SECURITY.md DESTINATION ${documents})
install(DIRECTORY docs DESTINATION ${documents})
install(DIRECTORY configs DESTINATION ${documents}/examples)
install(DIRECTORY clients/python/examples/ DESTINATION ${documents}/examples/python
        PATTERN __pycache__ EXCLUDE)
install(DIRECTORY deploy/grafana deploy/prometheus DESTINATION ${share}/starling)
if(NOT STARLING_DEBIAN)
  install(FILES LICENSE CHANGELOG.md DESTINATION ${documents})
endif()
include(deploy/package.cmake)
