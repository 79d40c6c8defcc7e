// The verification of signers over HTTP.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"
import { signers } from "./fixtures.ts"

/** The verification of a signer, with a line for each step. */
export const verify = (id: string) =>
  Effect.gen(function* () {
    const api = yield* TestApi.TestApi
    const { status, json } = yield* api.call(`${signers}/${id}/verify`, { method: "POST" })
    assert.strictEqual(status, 200, JSON.stringify(json))
    const data = json.data as { id: string; verified: boolean; steps: ReadonlyArray<Record<string, string>> }
    assert.deepStrictEqual(Object.keys(data), ["id", "verified", "steps"])
    assert.strictEqual(data.id, id)
    const steps = data.steps.map(({ curve, step, status, message }) => [curve, step, status, message].join(" ").trim())
    return { verified: data.verified, steps }
  })
