# Fails when an include goes against data <- model <- server -> proto, or when
# a file outgrows 400 lines.
#
#   cmake -DROOT=FOLDER -P tests/layering.cmake

set(MAX_LINES 400)

# forbid(FOLDER PATTERN REASON [EXCEPT REGEX] [ALLOW REGEX])
#
# No file under FOLDER, save those whose path matches EXCEPT, may have an
# #include whose "file" or <file> begins with PATTERN, unless the line matches
# ALLOW.
function(forbid folder pattern reason)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "EXCEPT;ALLOW" "")
  file(GLOB_RECURSE files RELATIVE ${ROOT}
    ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cc)
  foreach(file IN LISTS files)
    if(arg_EXCEPT AND file MATCHES "${arg_EXCEPT}")
      continue()
    endif()
    file(STRINGS ${ROOT}/${file} hits
      REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"](${pattern})")
    foreach(hit IN LISTS hits)
      if(NOT (arg_ALLOW AND hit MATCHES "${arg_ALLOW}"))
        message(SEND_ERROR "${file}: ${hit}: ${reason}")
      endif()
    endforeach()
  endforeach()
endfunction()

set(transport "grpc|google/protobuf|google/rpc|[^\">]*\\.pb\\.h")

forbid(data "(model|server|proto|tests)/" "data depends on nothing of ours")
forbid(data "${transport}|dnnl|oneapi|sqlite" "data is plain C++")

forbid(model "(server|proto|tests)/" "the model depends on data alone")
forbid(model "${transport}" "the model knows no transport")
forbid(model "sqlite" "the model stores nothing")
forbid(model "dnnl|oneapi|hwy/" "only model/ops speaks oneDNN and Highway"
  EXCEPT "^model/ops/")

forbid(server "tests/" "nothing that ships depends on the tests")
forbid(server "dnnl|oneapi|hwy/|omp\\.h" "only model/ops speaks oneDNN")
forbid(server "model/" "of the model, the service uses model/detector.h alone"
  EXCEPT "^server/cli/" ALLOW "\"model/detector\\.h\"")
forbid(server "[^\">]*\\.pb\\.h" "only server/rpc and server/cli see messages"
  EXCEPT "^server/(rpc|cli)/")
forbid(server "sqlite" "only server/storage speaks SQL"
  EXCEPT "^server/storage/")

foreach(folder data model server tests)
  file(GLOB_RECURSE files RELATIVE ${ROOT}
    ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cc)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    string(REGEX REPLACE "[^\n]" "" newlines "${text}")
    string(LENGTH "${newlines}" count)
    if(count GREATER MAX_LINES)
      message(SEND_ERROR
        "${file}: ${count} lines, over ${MAX_LINES}; is it really one thing?")
    endif()
  endforeach()
endforeach()
