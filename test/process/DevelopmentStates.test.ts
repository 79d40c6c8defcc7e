// What `effect-relayer dev` prints of the transaction that it sends.
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { TestConsole } from "effect/testing"
import type { LocalApi } from "../../src/process/development/LocalProcess.ts"
import { sendFirst } from "../../src/process/development/Development.ts"

const at = (seconds: number) => DateTime.formatIso(DateTime.makeUnsafe(seconds * 1_000))

const states = [
  { status: "pending", status_reason: "It waits." },
  { status: "submitted", status_reason: "A node has it.", hash: "0x1" },
  { status: "submitted", status_reason: "A node has it.", hash: "0x1" },
  { status: "submitted", status_reason: "A node has it.", hash: "0x2" },
  { status: "confirmed", status_reason: "It was executed.", hash: "0x2" }
]

/** A service that accepts one transaction, and has these events about it. */
const api: LocalApi = {
  call: () => Effect.succeed({ status: 201, data: { id: "t" }, refusal: undefined }),
  data: (_method, _path, schema) =>
    Effect.orDie(
      Schema.decodeUnknownEffect(schema)(states.map((data, index) => ({ id: index + 1, at: at(index), data })))
    )
}

it.effect("prints each state of the transaction once, and each hash that it gets", () =>
  Effect.gen(function* () {
    yield* sendFirst(
      api,
      {
        networkType: "evm",
        network: {},
        transaction: () => ({}),
        effect: "1 wei to 0x12",
        find: Effect.never
      },
      "0x12"
    )
    assert.deepStrictEqual(yield* TestConsole.logLines, [
      "\nSends 1 wei to 0x12 from the relayer dev-evm:",
      "  pending     0.0 s  It waits.",
      "  submitted   1.0 s  A node has it.",
      `${" ".repeat(20)}hash 0x1`,
      `${" ".repeat(20)}hash 0x2`,
      "  confirmed   4.0 s  It was executed."
    ])
  })
)
