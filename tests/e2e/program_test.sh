#!/usr/bin/env bash
# The program itself: serves, streams, is killed and stopped, asked and refused.
#   program_test.sh TELLTALE MODEL_FOLDER SCRATCH
TELLTALE=$1 MODELS=$2 SCRATCH=$3
rm -rf "$SCRATCH"
# shellcheck source-path=SCRIPTDIR source=service.sh
. "$(dirname "$0")/service.sh"
model=$MODELS/engine.safetensors
store=$SCRATCH/scores.db

start_server "$model" "$store"
[[ $("$TELLTALE" health --server "$address") == SERVING ]] || fail "health"

# Whatever the window: the very bytes of `telltale score`.
for window in 1 7 16 250; do
  "$TELLTALE" stream --server "$address" --stream "by $window" \
    --data "$MODELS/flight.csv" --window "$window" \
    --out "$SCRATCH/scores.csv" >"$SCRATCH/anomalies.txt"
  cmp "$MODELS/scores.csv" "$SCRATCH/scores.csv" ||
    fail "scores differ at a window of $window"
done
grep -q "points back to t-" "$SCRATCH/anomalies.txt" ||
  fail "no anomaly in words"

# The history holds the same.
"$TELLTALE" history --server "$address" --stream "by 7" --out "$SCRATCH/h.csv"
cmp "$MODELS/scores.csv" "$SCRATCH/h.csv" || fail "the history differs"

# Killed in the middle of a stream and started again on the same port: the
# client goes on, and nothing is lost or changed.
"$TELLTALE" stream --server "$address" --stream killed --patience 60 \
  --data "$MODELS/flight.csv" --rate 1000 --out "$SCRATCH/killed.csv" \
  >/dev/null &
client=$!
sleep 1
kill -KILL "$server_pid"
wait "$server_pid" || true
start_server "$model" "$store" --listen "$address"
wait "$client" || fail "the client did not survive the kill"
cmp "$MODELS/scores.csv" "$SCRATCH/killed.csv" || fail "a kill changed scores"
"$TELLTALE" history --server "$address" --stream killed --out "$SCRATCH/h.csv"
cmp "$MODELS/scores.csv" "$SCRATCH/h.csv" || fail "a kill lost scores"

# Stopped in the middle of a stream.
"$TELLTALE" stream --server "$address" --stream stopped --patience 60 \
  --data "$MODELS/flight.csv" --rate 1000 --out "$SCRATCH/stopped.csv" \
  >/dev/null &
client=$!
sleep 1
stop_server
"$TELLTALE" health --server "$address" --timeout 1 2>"$SCRATCH/health.txt" &&
  fail "health of a stopped server"
grep -q "^telltale: cannot reach $address" "$SCRATCH/health.txt" ||
  fail "health says: $(<"$SCRATCH/health.txt")"
start_server "$model" "$store" --listen "$address"
wait "$client" || fail "the client did not survive the stop"
cmp "$MODELS/scores.csv" "$SCRATCH/stopped.csv" || fail "a stop changed scores"

# Refusals: one line that names what is wrong, exit 1 or 2.
sed '1s/pump_speed\[[^]]*\]/pump_speed[furlong]/' "$MODELS/flight.csv" \
  >"$SCRATCH/furlong.csv"
if "$TELLTALE" stream --server "$address" --stream units \
  --data "$SCRATCH/furlong.csv" 2>"$SCRATCH/refused.txt"; then
  fail "another unit was taken"
fi
grep -q "'furlong'" "$SCRATCH/refused.txt" ||
  fail "the refusal says: $(<"$SCRATCH/refused.txt")"
[[ $(wc -l <"$SCRATCH/refused.txt") == 1 ]] || fail "more than one line"

# refused CODE WORDS ARGUMENT...: the program ends with that code and one line
# on standard error that holds the words.
refused() {
  local expected=$1 words=$2 code=0
  shift 2
  "$TELLTALE" "$@" 2>"$SCRATCH/refused.txt" || code=$?
  (( code == expected )) || fail "$* ended with $code"
  [[ $(wc -l <"$SCRATCH/refused.txt") == 1 ]] || fail "$*: lines"
  grep -qF -- "$words" "$SCRATCH/refused.txt" ||
    fail "$*: $(<"$SCRATCH/refused.txt")"
}

other=(serve --model "$model" --store "$SCRATCH/other.db")
refused 2 --insecure-bind "${other[@]}" --listen 0.0.0.0:0
refused 2 "'many'" "${other[@]}" --threads many
refused 2 labels.csv "${other[@]}" --config "$MODELS/labels.csv"
refused 2 "'a\nb'" "${other[@]}" --listen $'a\nb'
refused 2 "'two\nlines'" $'two\nlines'
mkdir "$SCRATCH/empty"
(cd "$SCRATCH/empty" && refused 2 "--store: the name is empty" \
  serve --model "$model" --store '')
[[ -z $(ls -A "$SCRATCH/empty") ]] || fail "an empty store name left files"
refused 2 9223372036854775807 train --data none.csv --out none --seed -1
[[ $(wc -c <"$SCRATCH/refused.txt") -lt 200 ]] || fail "the bound is too long"
cp "$MODELS/labels.csv" "$SCRATCH/table.csv"
refused 1 "give the path of a store" serve --model "$model" \
  --store "$SCRATCH/table.csv" --listen 127.0.0.1:0
code=0
"$TELLTALE" serve --model "$model" --store "$store" --listen 127.0.0.1:0 \
  2>"$SCRATCH/second.txt" || code=$?
(( code == 1 )) || fail "a second server on the store ended with $code"
grep -q "another server" "$SCRATCH/second.txt" || fail "second server"

# Stopped, continued and looked at while it drains: it drains all the same.
"$TELLTALE" serve --model "$model" --store "$SCRATCH/paused.db" \
  --listen 127.0.0.1:0 --address-file "$SCRATCH/paused" \
  2>>"$SCRATCH/server.log" &
paused=$!
for (( tries = 0; tries < 600; ++tries )); do
  [[ ! -s $SCRATCH/paused ]] || break
  sleep 0.1
done
kill -TERM "$paused"
for (( i = 0; i < 300; ++i )); do
  kill -STOP "$paused" && kill -CONT "$paused"
done 2>/dev/null || true
code=0
wait "$paused" || code=$?
(( code == 0 )) || fail "a server that was paused while draining ended with $code"

stop_server
grep -vqE '^\{"time":"[^"]*","level":"[a-z]+","event":".*\}$' \
  "$SCRATCH/server.log" && fail "a log line is not JSON"
echo "ok"
