// Two relayers with the same signer on the same network share an account and its nonces: what a key for one of them may decide.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

const commands = [
  ["resync", {}],
  ["resync", { answer: "give_up" }],
  ["generation", undefined]
] as const

const command = (name: string, body: object | undefined, key: string) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) =>
    call(`/api/v1/relayers/other/nonce/${name}`, { method: "POST", key, ...(body === undefined ? {} : { body }) })
  )

const statusOf = (id: string) =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${transactions}/${id}`)),
    (answer) => dataOf(answer).status
  )

layerEach(TestApi.layer())("a key that is limited to one of two relayers with the same account", (it) => {
  it.effect("decides nothing about the nonces while the other relayer has open transactions", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver }))
      const key = yield* makeKey(["transactions:*"], { relayer_ids: ["other"] })
      for (const [name, body] of commands) {
        const refused = yield* command(name, body, key)
        assert.strictEqual(refused.status, 409, refused.text)
        assert.include(refused.json.error ?? "", "other relayers have open transactions")
        assert.notInclude(refused.text, "sender")
      }
      assert.strictEqual(yield* statusOf(id), "pending")
    })
  )

  it.effect("decides about them while the other relayer has none; a key for both always does", () =>
    Effect.gen(function* () {
      yield* prepare()
      const narrow = yield* makeKey(["transactions:*"], { relayer_ids: ["other"] })
      for (const [name, body] of commands) assert.strictEqual((yield* command(name, body, narrow)).status, 200, name)
      yield* send({ to: receiver })
      const both = yield* makeKey(["transactions:*"], { relayer_ids: ["other", "sender"] })
      for (const [name, body] of commands) assert.strictEqual((yield* command(name, body, both)).status, 200, name)
    })
  )
})
