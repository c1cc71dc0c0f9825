#!/usr/bin/env bash
# A client in another language, from npm, with nothing of ours but the protos.
#   foreign_client_test.sh TELLTALE MODEL_FOLDER SCRATCH SOURCE_FOLDER
TELLTALE=$1 MODELS=$2 SCRATCH=$3 SOURCE=$4
# shellcheck source-path=SCRIPTDIR source=service.sh
. "$(dirname "$0")/service.sh"
here=$SOURCE/tests/e2e/node

# Installed once for a build folder, and again when the versions change.
if ! cmp -s "$here/package.json" "$SCRATCH/package.json" ||
  [[ ! -d $SCRATCH/node_modules/@grpc/grpc-js ]]; then
  cp "$here/package.json" "$here/package-lock.json" "$SCRATCH/"
  (cd "$SCRATCH" && npm ci --no-audit --no-fund --loglevel=error) || {
    rm -f "$SCRATCH/package.json"
    fail "npm could not install the client's packages"
  }
fi
rm -f "$SCRATCH"/scores.db*
start_server "$MODELS/engine.safetensors" "$SCRATCH/scores.db"
TELLTALE_NODE_MODULES=$SCRATCH/node_modules node "$here/foreign_client.js" \
  "$SOURCE/proto" "$address" foreign "$MODELS/flight.csv" "$MODELS/scores.csv"
stop_server
