# Writes the C++ source that holds the files of the page: their bytes by .incbin, and a table of them.
# The table has the hash of each file, so that the source changes, and is compiled anew, with any.
#   cmake -D FOLDER=daemon/rest/page -D OUTPUT=page_files.cpp -P embed_page.cmake
cmake_minimum_required(VERSION 3.25)

function(content_type path result)
  set(html "text/html")
  set(css "text/css")
  set(js "text/javascript")
  set(svg "image/svg+xml")
  set(txt "text/plain")
  set(json "application/json")
  cmake_path(GET path EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  if(NOT DEFINED ${extension})
    message(FATAL_ERROR "${path}: no content type is known for .${extension}")
  endif()
  set(${result} "${${extension}}; charset=utf-8" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE paths RELATIVE ${FOLDER} ${FOLDER}/*)
list(FILTER paths EXCLUDE REGEX "SHA256SUMS$")
list(SORT paths)
list(LENGTH paths count)
set(bytes "")
set(names "")
set(rows "")
set(number 0)
foreach(path IN LISTS paths)
  content_type(${path} type)
  file(SIZE ${FOLDER}/${path} size)
  file(SHA256 ${FOLDER}/${path} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  string(APPEND bytes "starling_page_${number}:\n.incbin \"${FOLDER}/${path}\"\n")
  string(APPEND names "extern const char starling_page_${number}[];\n")
  string(APPEND rows "    {\"${path}\", \"${type}\", \"\\\"${hash}\\\"\",\n"
                     "     {starling_page_${number}, ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Written by daemon/rest/embed_page.cmake.
#include \"daemon/rest/page.h\"

asm(R\"(
.pushsection .rodata
${bytes}.popsection
)\");
extern \"C\" {
${names}}

namespace starling::daemon {

std::span<const PageFile> page_files() {
  static constexpr PageFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace starling::daemon
")
