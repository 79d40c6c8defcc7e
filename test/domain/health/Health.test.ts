// The state machine of a relayer's health: every transition, and properties of all sequences of checks.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import * as Health from "../../../src/domain/health/Health.ts"
import { outcomes } from "../../../src/domain/health/Health.ts"
import type { Finding, Outcome } from "../../../src/domain/health/Health.ts"
import type { DisabledReason } from "../../../src/domain/relayer/Relayer.ts"

const away: DisabledReason = { type: "RpcValidationFailed", details: "away" }
const poor: DisabledReason = { type: "BalanceCheckFailed", details: "poor" }

const findingOf = (outcome: Outcome, reason = away, answered = false): Finding =>
  outcome === "ok" || outcome === "partial" ? { outcome } : { outcome, reason, answered }

const quiet = { alerted_degraded: false, alerted_low: false }

const disabledBy = (failures: 2 | 3, { type, details }: DisabledReason): DisabledReason => ({
  type,
  details: `${failures} checks in a row failed${failures === 3 ? ", and the chain has never answered" : ""}: ${details}`
})

type Status = Health.Health["status"]

/** A state per status, of a relayer whose chain has answered, without open alerts. */
const states = {
  unknown: Health.unknown,
  healthy: { status: "healthy", ...quiet },
  degraded: { status: "degraded", ...quiet, alerted_degraded: true },
  failing: { status: "failing", reason: away, failures: 1, answered: true, ...quiet },
  disabled: { status: "disabled", reason: disabledBy(2, away), failures: 2, answered: true, ...quiet }
} as const satisfies Record<Status, Health.Health>

const statuses = ["unknown", "healthy", "degraded", "failing", "disabled"] as const

/** All transitions: the status, the outcome of a check, the new status, the events. */
const table: ReadonlyArray<readonly [Status, Outcome, Status, ReadonlyArray<string>]> = [
  ["unknown", "ok", "healthy", []],
  ["unknown", "partial", "degraded", ["relayer.degraded"]],
  ["unknown", "failed", "failing", []],
  ["unknown", "fatal", "disabled", ["relayer.disabled"]],
  ["healthy", "ok", "healthy", []],
  ["healthy", "partial", "degraded", ["relayer.degraded"]],
  ["healthy", "failed", "failing", []],
  ["healthy", "fatal", "disabled", ["relayer.disabled"]],
  ["degraded", "ok", "healthy", ["relayer.recovered"]],
  ["degraded", "partial", "degraded", []],
  ["degraded", "failed", "failing", []],
  ["degraded", "fatal", "disabled", ["relayer.disabled"]],
  ["failing", "ok", "healthy", []],
  ["failing", "partial", "degraded", ["relayer.degraded"]],
  ["failing", "failed", "disabled", ["relayer.disabled"]],
  ["failing", "fatal", "disabled", ["relayer.disabled"]],
  ["disabled", "ok", "healthy", ["relayer.enabled"]],
  ["disabled", "partial", "degraded", ["relayer.enabled", "relayer.degraded"]],
  ["disabled", "failed", "disabled", []],
  ["disabled", "fatal", "disabled", ["relayer.disabled"]]
]

describe("a step", () => {
  it.each(table)(
    "from %s after a check with the outcome %s leads to %s and publishes %j",
    (from, outcome, to, events) => {
      const { health, events: happened } = Health.step(states[from], findingOf(outcome))
      assert.strictEqual(health.status, to)
      assert.deepStrictEqual(happened, events)
    }
  )

  it("exists for every status and outcome", () => {
    assert.strictEqual(table.length, statuses.length * outcomes.length)
    assert.strictEqual(new Set(table.map(([from, outcome]) => `${from} ${outcome}`)).size, table.length)
  })

  it("after a single failure publishes no event, and the alert about failed URLs stays open", () => {
    const failing = Health.step(states.degraded, findingOf("failed")).health
    assert.isTrue(failing.alerted_degraded)
    assert.deepStrictEqual(Health.step(failing, findingOf("partial")).events, [])
    assert.deepStrictEqual(Health.step(failing, findingOf("ok")).events, ["relayer.recovered"])
  })

  it("of a disabled relayer publishes an event if the reason has changed, and none if it is the same", () => {
    const other = Health.step(states.disabled, findingOf("failed", poor))
    assert.deepStrictEqual(other.events, ["relayer.disabled"])
    assert.deepStrictEqual(Health.disabledReasonOf(other.health), disabledBy(2, poor))
    assert.deepStrictEqual(Health.step(other.health, findingOf("failed", { ...poor })).events, [])
  })

  it("counts failures in a row, and a successful check resets the count", () => {
    const counts: Array<number> = []
    let health: Health.Health = Health.unknown
    for (const outcome of ["failed", "failed", "failed", "fatal", "ok", "fatal", "failed"] as const) {
      ;({ health } = Health.step(health, findingOf(outcome)))
      counts.push(Health.failuresOf(health))
    }
    assert.deepStrictEqual(counts, [1, 2, 3, 4, 0, 1, 2])
  })

  it("publishes a low balance when it becomes low, and again only after it was sufficient", () => {
    const lows = [false, true, true, undefined, true, false, true]
    let health: Health.Health = states.healthy
    const events = lows.map((isLow) => {
      const step = Health.step(health, isLow === undefined ? findingOf("failed", poor) : { outcome: "ok", isLow })
      health = step.health
      return step.events.length
    })
    assert.deepStrictEqual(events, [0, 1, 0, 0, 0, 0, 1])
  })
})

const Findings = Schema.Array(
  Schema.Union([
    Schema.Struct({ outcome: Schema.Literals(["ok", "partial"]), isLow: Schema.optionalKey(Schema.Boolean) }),
    Schema.Struct({
      outcome: Schema.Literals(["failed", "fatal"]),
      reason: Schema.Struct({
        type: Schema.Literals(["RpcValidationFailed", "ChainIdMismatch", "Multiple"]),
        details: Schema.Literals(["one", "other"])
      }),
      answered: Schema.Boolean,
      isLow: Schema.optionalKey(Schema.Boolean)
    })
  ])
).check(Schema.isMaxLength(60))

interface Lived extends Health.Step {
  readonly before: Health.Health
  readonly finding: Finding
}

const live = (findings: ReadonlyArray<Finding>): ReadonlyArray<Lived> => {
  let before: Health.Health = Health.unknown
  return findings.map((finding) => {
    const lived = { before, finding, ...Health.step(before, finding) }
    before = lived.health
    return lived
  })
}

/** The status after each finding, and the final reason. */
const sequence = (...findings: ReadonlyArray<Finding>) => {
  let health: Health.Health = Health.unknown
  const statuses = findings.map((finding) => (health = Health.step(health, finding).health).status)
  return { statuses, reason: Health.disabledReasonOf(health) }
}

describe("a relayer whose chain has never answered", () => {
  const fails = findingOf("failed")

  it("is disabled after three failed checks in a row, and the reason says so", () => {
    assert.deepStrictEqual(sequence(fails, fails, fails), {
      statuses: ["failing", "failing", "disabled"],
      reason: disabledBy(3, away)
    })
  })

  it("is disabled after two failed checks once the chain has answered, even if the answer is a failure", () => {
    const answers = findingOf("failed", poor, true)
    const twice = { statuses: ["failing" as const, "disabled" as const], reason: disabledBy(2, poor) }
    assert.deepStrictEqual(sequence(answers, answers), twice)
    assert.deepStrictEqual(sequence(fails, answers), twice)
    assert.deepStrictEqual(sequence(answers, fails).reason, disabledBy(2, away))
    assert.deepStrictEqual(sequence(findingOf("ok"), fails, fails).statuses, ["healthy", "failing", "disabled"])
  })

  it("is disabled at once if the chain is the wrong one, and the reason has no count", () => {
    assert.deepStrictEqual(sequence(findingOf("fatal", away, true)), { statuses: ["disabled"], reason: away })
  })

  it("counts as answered if an earlier version stored the relayer as failing", () => {
    const stored = { status: "failing", reason: away, told_degraded: false, told_low: false }
    assert.deepStrictEqual(Schema.decodeUnknownSync(Health.Health)(stored), states.failing)
  })
})

describe("any sequence of checks", () => {
  const prop = (name: string, check: (lived: ReadonlyArray<Lived>) => void) =>
    it.prop(name, [Arbitrary.schema(Findings)], ([findings]) => check(live(findings)))

  prop("leads to states that can be stored", (lived) => {
    const isHealth = Schema.is(Health.Health)
    for (const { health } of lived) {
      assert.isTrue(isHealth(health))
      assert.deepStrictEqual(Schema.decodeSync(Health.Health)(Schema.encodeSync(Health.Health)(health)), health)
    }
  })

  prop("disables only after a fatal check or two failed ones, or three if the chain has never answered", (lived) => {
    let failures = 0
    let answered = false
    let isDisabled = false
    for (const { finding, health } of lived) {
      const failed = "reason" in finding
      failures = failed ? failures + 1 : 0
      answered ||= !failed || finding.answered
      isDisabled = failed && (isDisabled || finding.outcome === "fatal" || failures >= (answered ? 2 : 3))
      assert.strictEqual(health.status === "disabled", isDisabled)
    }
  })

  const pairs = [
    ["relayer.disabled", "relayer.enabled"],
    ["relayer.degraded", "relayer.recovered"]
  ] as const

  prop("publishes the end of an alert only after its beginning, and each event at most once per check", (lived) => {
    for (const [begin, end] of pairs) {
      let isOpen = false
      for (const { events } of lived) {
        assert.strictEqual(new Set(events).size, events.length)
        for (const event of events) {
          if (event === end) assert.isTrue(isOpen, end)
          if (event === begin || event === end) isOpen = event === begin
          // `relayer.disabled` also ends `relayer.degraded`.
          if (event === "relayer.disabled" && begin === "relayer.degraded") isOpen = false
        }
      }
    }
  })

  prop("publishes events from which a reader knows whether the relayer is disabled or degraded, and why", (lived) => {
    const followed = { reason: undefined as DisabledReason | undefined, isDegraded: false }
    for (const { health, events } of lived) {
      for (const event of events) {
        if (event === "relayer.disabled")
          Object.assign(followed, { reason: Health.disabledReasonOf(health), isDegraded: false })
        if (event === "relayer.enabled") followed.reason = undefined
        if (event === "relayer.degraded") followed.isDegraded = true
        if (event === "relayer.recovered") followed.isDegraded = false
      }
      assert.deepStrictEqual(followed.reason, Health.disabledReasonOf(health))
      if (health.status === "degraded") assert.isTrue(followed.isDegraded)
      if (health.status === "healthy" || health.status === "disabled") assert.isFalse(followed.isDegraded)
    }
  })

  prop("publishes a low balance once per crossing", (lived) => {
    let isAlerted = false
    for (const { finding, events } of lived) {
      assert.strictEqual(events.includes("relayer.low_balance"), finding.isLow === true && !isAlerted)
      isAlerted = finding.isLow ?? isAlerted
    }
  })
})
