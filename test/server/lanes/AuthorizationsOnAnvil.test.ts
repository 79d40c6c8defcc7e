// Calls of a user without ether, which a relayer pays for, on a real node. Its oracle is the storage of the account of the user.
// Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import * as Anvil from "../../../testkit/Anvil.ts"
import { delegates, deploy, word } from "../../../testkit/Delegates.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { api, key, relayerAt } from "./fixtures.ts"

interface Shown {
  readonly id: string
  readonly status: string
  readonly code?: string
  readonly gas_limit?: number
  readonly authorizations: ReadonlyArray<{
    readonly authority: string
    readonly address: string
    readonly delegated: boolean | null
  }>
}

const made = Effect.gen(function* () {
  const node = yield* Anvil.start({ blockTime: 1 })
  const storing = yield* deploy(node, Anvil.funded, delegates.storing)
  const reverting = yield* deploy(node, Anvil.funded, delegates.reverting)
  const account = yield* relayerAt(node, {
    network: { features: ["eip1559", "eip7702"] },
    policies: { allowed_delegates: [storing, reverting], whitelist_receivers: ["authority"] }
  })
  const { call } = yield* TestApi.TestApi
  const user = privateKeyToAccount(`0x${key()}`)
  const path = `/api/v1/relayers/${account.relayerId}/transactions`
  const send = (body: object) => call(path, { body })
  const final = (id: string) =>
    until(
      "the end",
      Effect.map(call(`${path}/${id}`), ({ json }) => {
        const shown = json.data as Shown
        return shown.status === "confirmed" || shown.status === "failed" ? shown : undefined
      })
    )
  /** `v` of viem is a bigint, which JSON does not know. */
  const signed = Effect.fnUntraced(function* (address: string, nonce: number) {
    const { v: _, ...entry } = yield* Effect.promise(() =>
      user.signAuthorization({ chainId: node.chainId, address: address as `0x${string}`, nonce })
    )
    return entry
  })
  const stored = Effect.map(node.call("eth_getStorageAt", [user.address, "0x0", "latest"]), String)
  const codeOfUser = Effect.map(node.call("eth_getCode", [user.address, "latest"]), String)
  return { node, storing, reverting, user, send, final, signed, stored, codeOfUser }
})

layer(api, { excludeTestServices: true })("on anvil, a call with an authorization of its user", (it) => {
  it.effect("runs the code of the delegate, keeps the delegation through a revert, and uses each entry once", () =>
    Effect.gen(function* () {
      const { codeOfUser, final, reverting, send, signed, stored, storing, user } = yield* made
      const entry = yield* signed(storing, 0)
      const body = { to: user.address, data: word(7), authorization_list: [entry] }
      const sent = yield* send(body)
      assert.strictEqual(sent.status, 200, sent.text)
      const done = yield* final((sent.json.data as Shown).id)
      const authority = user.address.toLowerCase()
      assert.deepStrictEqual(
        [done.status, done.authorizations],
        ["confirmed", [{ authority, address: storing, delegated: true }]]
      )
      assert.strictEqual(yield* stored, word(7))
      assert.strictEqual(yield* codeOfUser, `0xef0100${storing.slice(2)}`)
      const again = yield* send(body)
      assert.strictEqual(again.status, 400, again.text)
      assert.include(again.json.error ?? "", "the delegation is there already; send the call without the list")
      const next = yield* signed(reverting, 1)
      const failing = yield* send({ ...body, gas_limit: 100_000, authorization_list: [next] })
      const failed = yield* final((failing.json.data as Shown).id)
      assert.deepStrictEqual(
        [failed.status, failed.code, failed.authorizations[0]?.delegated],
        ["failed", "reverted", true]
      )
      assert.strictEqual(yield* codeOfUser, `0xef0100${reverting.slice(2)}`)
    })
  )

  it.effect("whose entry somebody else uses before its block succeeds without an effect, and says so", () =>
    Effect.gen(function* () {
      const { final, node, send, signed, stored, storing, user } = yield* made
      const entry = yield* signed(storing, 0)
      yield* node.call("evm_setIntervalMining", [0])
      const sent = yield* send({ to: user.address, data: word(9), authorization_list: [entry] })
      const { id } = sent.json.data as Shown
      const hash = yield* until(
        "the bytes",
        Effect.map(node.call("txpool_status", []), (status) =>
          Reflect.get(Object(status), "pending") === "0x1" ? true : undefined
        )
      )
      assert.isTrue(hash)
      yield* node.call("anvil_setNonce", [user.address, "0x1"])
      yield* node.call("evm_setIntervalMining", [1])
      const done = yield* final(id)
      assert.deepStrictEqual(
        [done.status, done.code, done.authorizations[0]?.delegated],
        ["confirmed", "authorization_without_effect", false]
      )
      assert.strictEqual(yield* stored, word(0))
    })
  )
})
