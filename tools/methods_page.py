"""Writes docs/methods.md from the registry of learners: `python -m tools.methods_page`."""

from pathlib import Path

from lostsales.apps.commands.methods import MethodFacts, method_facts
from lostsales.data.setting_fields import SettingField
from lostsales.learn.fit import DEFAULT
from lostsales.learn.learner import LEARNERS, Learner

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
HEAD = f"""# Every method and its settings

Written by `python -m tools.methods_page`; `lostsales methods METHOD` shows the same, with methods of other packages.
The default is `{DEFAULT}` ([which to take](choosing.md)). Settings can be given in three ways:

```text
lostsales fit log.parquet --method c-fqi --set beta=5 --set rules.multiple=6 --out policy
lostsales fit log.parquet --method c-fqi --config settings.toml --out policy
lostsales.fit(log, lostsales.CFQI(beta=5, rules=lostsales.Rules(multiple=6)))
```

A value of `--set` is TOML (`function.ridges=[0.1, 1]`), or else text; a dot leads into a table. In Python only:
`rules.mask`, a function, and `function` as a regressor.
"""
RULES = (
    "`rules.multiple`, `rules.minimum` and so on are the [business rules](problem.md#table-rules) of the problem file; "
    "those of a learner win over them."
)


def page() -> str:
    """The whole page: all methods, the settings that they share, then those of each, or of which method they are."""
    facts = [method_facts(name) for name in LEARNERS.names]
    shared = [each for each in facts[0].settings if each.name.split(".")[0] in Learner.model_fields]
    lines = [HEAD, "## Methods", "", "| method | class | |", "|---|---|---|"]
    lines += [f"| `{each.method}` | `{LEARNERS.get(each.method).__name__}` | {each.about} |" for each in facts]
    own = [each for each in shared if not each.name.startswith("rules.")]
    lines += ["", "## Settings of every method", "", *_table(own), "", RULES]
    told: dict[SettingField, str] = {}
    for each in facts:
        lines += ["", f"## {each.method}", "", *_own(each, shared, told)]
    return "\n".join(lines) + "\n"


def _own(facts: MethodFacts, shared: list[SettingField], told: dict[SettingField, str]) -> list[str]:
    """Table of the settings that no method above has in the same words, and the names of the others."""
    own = [each for each in facts.settings if each not in shared]
    if not own:
        return ["No settings of its own."]
    new = [each for each in own if told.setdefault(each, facts.method) == facts.method]
    lines = [*_table(new), ""] if new else []
    for method in dict.fromkeys(told[each] for each in own if each not in new):
        names = ", ".join(f"`{each.name}`" for each in own if told[each] == method)
        lines += [f"As of [{method}](#{method}): {names}.", ""]
    return lines[:-1]


def _table(settings: list[SettingField]) -> list[str]:
    rows = [
        (f"`{each.name}`", each.type, f"`{each.default}`" if each.default else "", each.description)
        for each in settings
    ]
    return ["| setting | type | default | meaning |", "|---|---|---|---|"] + [
        f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
