#!/usr/bin/env bash
# Trains the small model, and scores the flight, that the other scripts use.
#   make_model.sh TELLTALE FOLDER
set -euo pipefail
telltale=$1 folder=$2
mkdir -p "$folder"
"$telltale" simulate --seed 1 --steps 6000 --out "$folder/nominal.csv"
"$telltale" simulate --seed 2 --steps 2500 --faults --out "$folder/flight.csv" \
  --labels "$folder/labels.csv"
"$telltale" train --data "$folder/nominal.csv" --out "$folder/engine.safetensors" \
  --steps 30 --seed 1
"$telltale" score --model "$folder/engine.safetensors" \
  --data "$folder/flight.csv" --out "$folder/scores.csv"
