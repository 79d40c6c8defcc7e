// The state machine in random episodes: lag, lies, lost answers, crashes, foreign use, guests, cancels, restores.
import { assert, describe, it } from "@effect/vitest"
import { cases } from "../../../../testkit/Depth.ts"
import { explore } from "./explorer/Episode.ts"
import { mutants, settings } from "./explorer/Settings.ts"

/** Over all settings. */
const allSteps = cases(1_000_000)

/** Steps in which a missing rule has to show itself. */
const enoughSteps = 600_000

describe("in random episodes", () => {
  for (const setting of settings) {
    it(`every request has at most one effect and a true verdict: ${setting.name}`, () => {
      const report = explore(setting, allSteps / settings.length)
      assert.deepStrictEqual([...report.violations], [], `the first one is in episode ${report.first}`)
      assert.isAbove(report.ends.get("confirmed confirmed") ?? 0, 0)
    })
  }
})

describe("the explorer notices that a rule is missing", () => {
  for (const mutant of mutants) {
    it(mutant.name, () => {
      assert.strictEqual(explore(mutant, enoughSteps, { limit: 1 }).violations.size, 1)
    })
  }
})
