#!/bin/sh
# The product's main job, end to end: `sh examples/demo.sh FOLDER`, with `lostsales` on the PATH.
set -eu
folder=${1:-demo}
mkdir -p "$folder"

run() {
    echo
    echo "\$ $*"
    "$@"
}

echo "A shop that runs out of stock does not see the demand it missed. Here is one, simulated:"
run lostsales simulate released --episodes 20 --seed 1 --out "$folder/log.parquet" --truth "$folder/truth.parquet"
echo
echo "Its sales log is all that the shop has. It is read back, and every row is checked:"
run lostsales inspect "$folder/log.parquet"
echo
echo "What can be learned from it, and what not? Which demand stayed hidden?"
run lostsales audit "$folder/log.parquet"
echo
echo "The demand and the profit that stock-outs hid are filled in, with a standard error:"
run lostsales impute "$folder/log.parquet" --out "$folder/filled.parquet"

echo
echo "Three methods are each fitted without a fifth of the series and evaluated there; the best is fitted to all and saved:"
run lostsales compare "$folder/log.parquet" --methods planner,pc-fqi,base-stock --out "$folder/policy"
echo
echo "A shop could not do this: the policy is tried in the simulator that wrote the log."
run lostsales simulate released --policy "$folder/policy" --episodes 500 --seed 2
echo
echo "One page for the manager: the data, the policy, what it would change and gain, and how far to trust it:"
echo
echo "\$ lostsales report $folder/policy $folder/log.parquet --out $folder/report.html"
said=$(lostsales report "$folder/policy" "$folder/log.parquet" --out "$folder/report.html")
echo "$said"

echo
echo "What the estimators say of the policy, where the page of the service shows it:"
echo
echo "\$ lostsales evaluate $folder/policy $folder/log.parquet --quick --json > $folder/policy.evaluation.json"
lostsales evaluate "$folder/policy" "$folder/log.parquet" --quick --json > "$folder/policy.evaluation.json"

echo
echo "Done. The results lie in $folder/:"
echo "  log.parquet    the sales log of 20 series over 50 periods, as the shop saw it"
echo "  log.toml       the problem behind it: timing, grids, unit costs, features"
echo "  truth.parquet  the demand that the stock-outs hid"
echo "  filled.parquet the log with expected demand, lost sales and profit, and where the data can tell them"
echo "  policy         prices and orders for every situation, for lostsales recommend"
echo "  policy.evaluation.json  what the estimators say of it, for the page of lostsales serve"
echo "  report.html    the page for the manager: open it in a browser, on a phone, or print it"
echo
echo "$said" | tail -n 1
echo
echo "To work with it: lostsales serve $folder/policy"
echo "and open http://127.0.0.1:8765 in a browser: today's list, every product, what-if, and your decisions."
