# Shows that layering.cmake fails on each violation, and on it alone: plants
# one file at a time in an otherwise clean tree.
#
#   cmake -DLAYERING=layering.cmake -DSCRATCH=FOLDER -P layering_test.cmake

# expect(RESULT FILE LINE): RESULT is "passes" or "fails".
function(expect result file line)
  file(REMOVE_RECURSE ${SCRATCH})
  file(WRITE ${SCRATCH}/data/clean.h "#include <vector>\n")
  file(WRITE ${SCRATCH}/${file} "#pragma once\n\n${line}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${SCRATCH} -P ${LAYERING}
    RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_QUIET)
  if(status EQUAL 0)
    set(found passes)
  else()
    set(found fails)
  endif()
  if(NOT found STREQUAL result)
    message(SEND_ERROR "${file} with ${line}: ${found}, expected: ${result}")
  elseif(found STREQUAL fails AND NOT message MATCHES "${file}:")
    message(SEND_ERROR "${file} with ${line}: the message does not name the "
      "file: ${message}")
  endif()
endfunction()

expect(passes data/window.cc "#include \"data/window.h\"")
expect(passes data/window.cc "#include \"absl/status/status.h\"")
expect(fails  data/window.cc "#include \"model/detector.h\"")
expect(fails  data/deep/window.h "#include \"server/storage/score_store.h\"")
expect(fails  data/window.cc "#  include <grpcpp/grpcpp.h>")
expect(fails  data/window.cc "#include <dnnl.hpp>")
expect(fails  data/window.cc "#include <sqlite3.h>")

expect(passes model/detector.cc "#include \"data/window.h\"")
expect(passes model/ops/matmul.cc "#include <oneapi/dnnl/dnnl.hpp>")
expect(passes model/ops/matmul.cc "#include \"dnnl.hpp\"")
expect(fails  model/layers/norm.cc "#include \"dnnl.hpp\"")
expect(fails  model/layers/norm.h "#include <oneapi/dnnl/dnnl.hpp>")
expect(fails  model/ops/matmul.cc "#include \"server/settings.h\"")
expect(fails  model/detector.cc "#include \"proto/telltale/v1/window.pb.h\"")
expect(fails  model/detector.cc "#include <google/protobuf/message.h>")
expect(fails  model/detector.cc "#include <sqlite3.h>")

expect(passes server/scheduler.h "#include \"model/detector.h\"")
expect(fails  server/scheduler.h "#include \"model/encoder.h\"")
expect(passes server/cli/train_command.cc "#include \"model/training/trainer.h\"")
expect(passes server/rpc/convert.h "#include \"telltale/v1/window.pb.h\"")
expect(passes server/cli/stream_command.cc "#include \"telltale/v1/a.grpc.pb.h\"")
expect(fails  server/storage/store.h "#include \"telltale/v1/window.pb.h\"")
expect(passes server/storage/store.cc "#include <sqlite3.h>")
expect(fails  server/rpc/service.cc "#include <sqlite3.h>")
expect(fails  server/cli/train_command.cc "#include \"dnnl.hpp\"")
expect(fails  server/rpc/service.cc "#include \"tests/support/fake.h\"")

# The planted text has two lines before this one and a newline after it.
string(REPEAT "int x;\n" 398 long)
expect(fails  server/long.cc "${long}")
string(REPEAT "int x;\n" 397 long)
expect(passes server/long.cc "${long}")

file(REMOVE_RECURSE ${SCRATCH})
