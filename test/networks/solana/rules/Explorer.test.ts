// The state machine in random episodes: forks, lag, lies, crashes, cancels, restores. `explorer/` has the parts.
import { assert, describe, it } from "@effect/vitest"
import { cases } from "../../../../testkit/Depth.ts"
import { explore } from "./explorer/Episode.ts"
import { moreMutants, mutants } from "./explorer/Mutants.ts"
import { settings } from "./explorer/Settings.ts"

/** Over all settings. The same explorer has made 20 million steps. */
const allSteps = cases(1_000_000)

/** Steps in which a missing rule has to show itself, and steps that show that nothing needs the rule. */
const enoughSteps = 400_000
const someSteps = cases(40_000)

describe("in random episodes", () => {
  for (const setting of settings) {
    it(`every request has at most one effect and a true verdict: ${setting.name}`, () => {
      const report = explore(setting, allSteps / settings.length)
      assert.deepStrictEqual(report.kinds, {}, `the first one is in episode ${report.first}`)
      assert.isAbove(report.attempts, 0)
    })
  }
})

describe("the explorer notices that a rule is missing", () => {
  for (const mutant of [...mutants, ...moreMutants].filter(({ isCaught }) => isCaught)) {
    it(mutant.name, () => {
      assert.strictEqual(explore(mutant, enoughSteps, mutant.salt, 1).violations, 1)
    })
  }
})

describe("a second line of defence is not needed while the others hold", () => {
  for (const mutant of [...mutants, ...moreMutants].filter(({ isCaught }) => !isCaught)) {
    it(mutant.name, () => {
      assert.strictEqual(explore(mutant, someSteps).violations, 0)
    })
  }
})
