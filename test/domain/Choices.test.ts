// The error about a filter or field with a fixed list of values names the values.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { HealthStatus } from "../../src/domain/health/ListedHealth.ts"
import { DeliveryState } from "../../src/domain/notification/Delivery.ts"
import * as Violations from "../../src/domain/request/Violations.ts"
import { Speed } from "../../src/networks/core/TransactionValues.ts"

describe("the error about an unknown value", () => {
  for (const schema of [HealthStatus, DeliveryState, Speed]) {
    it(`names ${schema.literals.join(", ")}`, () => {
      const result = Schema.decodeUnknownResult(schema as Schema.Codec<string>)("unheard-of")
      const { first } = Violations.ofIssue(Result.getOrThrow(Result.flip(result)).issue, "state")
      for (const literal of schema.literals) assert.include(first[0]?.message, literal)
    })
  }
})
