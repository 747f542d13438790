// Guides before reference, reference before decision pages: a newcomer who searches for "lead time" wants the how-to.
const FIRST = [/^(index|start|quick-start|choosing)$/, /^(tutorials|how-to)\//, /^(stock-outs|forecast|pilot|fleet|service|databases)$/];
const LAST = [/^decisions\//, /^results\//, /^(changelog|releasing|contributing|architecture|security)$/];
var Scorer = {
  score: ([page, , , , score]) =>
    score + (FIRST.some((each) => each.test(page)) ? 20 : 0) - (LAST.some((each) => each.test(page)) ? 30 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
