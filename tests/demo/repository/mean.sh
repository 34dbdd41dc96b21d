#!/bin/sh
# What the demo's Runs compute: how many measurements there are, and their mean.
set -e
awk '{ sum += $1 } END { printf "%d measurements, mean %.2f\n", NR, sum / NR }' measurements.txt >result.txt
