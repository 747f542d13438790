#!/bin/sh
# The product's main job, end to end: `sh examples/demo.sh FOLDER`, with `lostsales` on the PATH.
set -eu
folder=${1:-demo}
mkdir -p "$folder"
program=$(command -v lostsales)

run() {
    echo
    echo "\$ $*"
    "$@"
}

echo "A corner shop: twelve products, 26 weeks of days. Stock, prices, orders and sales, as its till wrote them:"
run lostsales example corner-shop --out "$folder/sales.csv"
run head -n 4 "$folder/sales.csv"
echo
echo "1. What did the stock-outs cost, and what can be learned from the table?"
run lostsales audit "$folder/sales.csv"
echo
echo "2. What did customers want on the days when a product sold out?"
run lostsales impute "$folder/sales.csv" --out "$folder/filled.csv"
echo
echo "3. Learn prices and orders from the table, and ask whether they would have earned more (this is the slowest step):"
run lostsales fit "$folder/sales.csv" --out "$folder/policy"
run lostsales report "$folder/policy" "$folder/sales.csv" --windows 0 --methods '' --out "$folder/report.html"
echo
echo "4. Prices and orders for Monday, 6 July, with the verdict that the policy now carries:"
run lostsales recommend "$folder/policy" --log "$folder/sales.csv" --out "$folder/decisions.csv"

echo
echo "Done. In $folder/:"
echo "  sales.csv      the table, and sales.toml next to it: timing, costs, column names"
echo "  filled.csv     the table with the demand that stock-outs hid, and its standard error"
echo "  policy         prices and orders for every situation"
echo "  decisions.csv  prices and orders of Monday, 6 July"
echo "  report.html    for the manager: open it in a browser, on a phone, or print it"
echo
echo "Next, today's list to work with:"
echo "  ${program#"$PWD/"} serve $folder/policy --log $folder/sales.csv"
echo "and open http://127.0.0.1:8765 in a browser."
