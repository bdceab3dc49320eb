# `make deb`: the Debian package, by CPack, of the preset `deb`.
if(NOT STARLING_DEBIAN)
  return()
endif()

set(STARLING_MAINTAINER "Starling maintainers <maintainers@starling.example>" CACHE STRING
    "Who answers for the package")
# Debian wants a changelog in its own form; what changed is in NEWS.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(made ${CMAKE_BINARY_DIR}/debian)
file(MAKE_DIRECTORY ${made})
file(WRITE ${made}/changelog "starling (${PROJECT_VERSION}) unstable; urgency=medium

  * What changed is in NEWS.gz.

 -- ${STARLING_MAINTAINER}  ${now}
")
configure_file(CHANGELOG.md ${made}/NEWS COPYONLY)
foreach(name changelog NEWS)
  execute_process(COMMAND gzip -9nf ${made}/${name} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${made}/${name}.gz DESTINATION ${documents})
endforeach()
install(FILES deploy/debian/copyright DESTINATION ${documents})
install(FILES deploy/debian/lintian-overrides RENAME starling
        DESTINATION ${share}/lintian/overrides)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME starling)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${STARLING_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "peer-to-peer training without a server")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A daemon that trains one model on data that stays where it is. Every node
runs the same program, trains on its own data, and averages parameters only
with its neighbours in a topology.
.
This package has the daemon, units for systemd, and the clients by which a
training loop in Python or C becomes a node.")
set(CPACK_SET_DESTDIR ON)  # for /etc, which is not below /usr
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The client for Python is for who has Python; the daemon needs none.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy, python3-torch, bash-completion")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
foreach(script postinst prerm postrm triggers)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/${script})
endforeach()
# What the user edits there stays in an upgrade.
file(WRITE ${made}/conffiles "/etc/starling/node.ini\n")
list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${made}/conffiles)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
