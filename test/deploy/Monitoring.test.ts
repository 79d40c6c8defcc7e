// The alert rules and the dashboard of deploy/monitoring use metrics that exist, and each alert has an entry in operate.md.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { parse } from "yaml"
import { operatorCodes } from "../../src/networks/core/Cause.ts"
import { networks } from "../../src/process/Networks.ts"
import { namesOf } from "../../src/server/Metrics.ts"

const names = namesOf(networks)

const root = path.resolve(import.meta.dirname, "../..")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly description?: string
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

const rules: ReadonlyArray<Rule> = parse(read("deploy/monitoring/effect-relayer-rules.yaml")).groups[0].rules
const panels: ReadonlyArray<Panel> = JSON.parse(read("deploy/monitoring/grafana-dashboard.json")).panels
const expressions = [...rules, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr)

/** The names of metrics in an expression: its words without strings, labels, ranges and functions. */
const metricsIn = (expr: string): ReadonlyArray<string> =>
  expr
    .replaceAll(/"[^"]*"|\{[^}]*\}|\[[^\]]*\]/g, " ")
    .replaceAll(/\b(by|on)\s*\([^)]*\)/g, " ")
    .match(/\b[a-z][a-z0-9_]*\b(?!\s*\()/g)
    ?.filter((word) => !["and", "or", "unless"].includes(word)) ?? []

/** Prometheus itself records `up` for each target. The values of a histogram have names with an ending. */
const known = new Set(["up", ...names, ...names.map((name) => `${name}_bucket`)])

describe("the monitoring of deploy/", () => {
  it("reads the names of metrics out of expressions", () => {
    const expr = 'sum by (le) (rate(a_bucket{status=~"x"}[5m])) > 0.5 and on () max(b_total) unless c == 1'
    assert.deepStrictEqual(metricsIn(expr), ["a_bucket", "b_total", "c"])
  })

  it("uses only metrics of the service", () => {
    assert.isAbove(expressions.length, 50)
    for (const expr of expressions) {
      const used = metricsIn(expr)
      assert.isNotEmpty(used, expr)
      for (const name of used) assert.isTrue(known.has(name), `${name} in ${expr}`)
    }
  })

  it("has an entry in operate.md for each alert, in the same order, and a summary", () => {
    const headings = [...read("docs/operate.md").matchAll(/^### (EffectRelayer\w+)$/gm)].map(([, name]) => name)
    assert.deepStrictEqual(
      headings,
      rules.map(({ alert }) => alert)
    )
    for (const { alert, annotations } of rules) {
      assert.strictEqual(annotations.runbook, `docs/operate.md#${alert.toLowerCase()}`)
      assert.isNotEmpty(annotations.summary)
    }
  })

  it("describes every panel of the dashboard, and numbers it once", () => {
    assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
    for (const { title, targets, description } of panels) {
      if (targets !== undefined) assert.isNotEmpty(description ?? "", title)
    }
  })

  it("alerts about every code that waits for an operator, shows each, and says what to do about it", () => {
    const waiting = expressions.filter((expr) => metricsIn(expr).includes("transactions_waiting_for_operator"))
    assert.lengthOf(waiting, 2)
    for (const expr of waiting) {
      assert.match(expr, /^max by \(code\) /)
      assert.notMatch(expr, /code\s*(=|!)/)
    }
    const [, rest = ""] = read("docs/operate.md").split("### EffectRelayerTransactionsWaiting\n")
    const [entry = ""] = rest.split("\n### ")
    const known = [...entry.matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, code]) => code)
    const named = known.filter((code) => code !== "finality_by_one")
    assert.deepStrictEqual([...named].sort(), [...operatorCodes].sort())
  })

  it("alerts about relayers whose transactions wait, with and without the metrics of each relayer", () => {
    const waiting = rules.filter(({ expr }) => /relayer_waiting|state="waiting"/.test(expr))
    assert.deepStrictEqual(
      waiting.map(({ alert }) => alert),
      ["EffectRelayerRelayersWaiting", "EffectRelayerRelayerWaiting"]
    )
    assert.include(waiting[1]?.annotations.summary, "{{ $value }} transactions")
  })

  it("names every metric of the service in operate.md", () => {
    const manual = read("docs/operate.md")
    for (const name of names) assert.include(manual, name)
  })

  it("has one row for each metric in the table of operate.md", () => {
    const rows = [...read("docs/operate.md").matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) +\|/gm)].map(([, cell = ""]) => cell)
    const listed = rows.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = ""]) => name))
    const metrics = listed.filter((name) => names.includes(name))
    assert.deepStrictEqual(
      metrics.filter((name, at) => metrics.indexOf(name) !== at),
      []
    )
  })
})
