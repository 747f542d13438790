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
echo "3. Prices and orders: learned from the table, then decided for Monday, 6 July, from that morning's stock count."
run lostsales fit "$folder/sales.csv" --out "$folder/policy"
cat > "$folder/today.csv" <<'END'
date,product,category,supplier,promotion,unit_cost,stock
2026-07-06,Whole milk 1 l,Dairy,Northside Dairy,0,0.86,110
2026-07-06,Natural yoghurt 500 g,Dairy,Northside Dairy,0,1.05,30
2026-07-06,Butter 250 g,Dairy,Northside Dairy,0,1.72,26
2026-07-06,Gouda slices 200 g,Dairy,Northside Dairy,0,1.85,35
2026-07-06,"Eggs, box of 10",Dairy,Northside Dairy,1,1.80,61
2026-07-06,Orange juice 1 l,Drinks,City Wholesale,0,1.35,35
2026-07-06,Cola 1.5 l,Drinks,City Wholesale,0,0.95,54
2026-07-06,Mineral water 6 x 1.5 l,Drinks,City Wholesale,0,2.10,38
2026-07-06,Ground coffee 500 g,Groceries,City Wholesale,0,4.60,32
2026-07-06,Spaghetti 500 g,Groceries,City Wholesale,1,0.64,72
2026-07-06,Milk chocolate 100 g,Snacks,City Wholesale,0,0.80,37
2026-07-06,Paprika crisps 150 g,Snacks,City Wholesale,0,1.08,35
END
run lostsales recommend "$folder/policy" --recent "$folder/sales.csv" --today "$folder/today.csv" --out "$folder/decisions.csv"
echo
echo "4. Would that have earned more? One page for the manager (this is the slowest step):"
run lostsales report "$folder/policy" "$folder/sales.csv" --windows 0 --methods '' --out "$folder/report.html"

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
