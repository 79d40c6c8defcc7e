// A node of a cluster answers as a validator does: `npm run field -- agave` asks both the same, and its answers are recorded.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import recorded from "../../../testkit/solana/agave-4.1.2.json" with { type: "json" }
import * as Conformance from "../../../testkit/solana/Conformance.ts"

describe("a node of a cluster", () => {
  it.effect("answers each call of the script as Agave 4.1.2 does", () =>
    Effect.gen(function* () {
      const answers: Conformance.Answers = yield* Conformance.run(Conformance.standIn())
      const expected: Conformance.Answers = recorded.answers
      assert.sameMembers(Object.keys(answers), Object.keys(expected))
      for (const [asked, answer] of Object.entries(expected)) assert.deepStrictEqual(answers[asked], answer, asked)
    })
  )
})
