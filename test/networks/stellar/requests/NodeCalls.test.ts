// `POST …/rpc` of stellar relayers: providers answer the methods that the network allows, and nothing is sent past the ledger.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import { relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { post } from "../../evm/requests/wallet/fixtures.ts"
import type { Reply } from "../../evm/requests/wallet/fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer()).pipe(Layer.provideMerge(Logger.layer([])))

const calling = Effect.gen(function* () {
  const relayer = yield* relayerAt({ ledgerMs: 0 })
  const { call } = yield* TestApi.TestApi
  const ask = (method: string, params?: unknown, more: TestApi.Call = {}) =>
    post(
      { jsonrpc: "2.0", id: 7, method, ...(params === undefined ? {} : { params }) },
      { relayer: relayer.id, ...more }
    )
  const reply = (method: string, params?: unknown) =>
    Effect.map(ask(method, params), ({ text }): Reply => JSON.parse(text))
  const setMethods = (rpc_methods: ReadonlyArray<string> | null) =>
    call(`/api/v1/networks/stellar:${relayer.id}`, { method: "PATCH", body: { rpc_methods } })
  return { ...relayer, ask, call, reply, setMethods }
})

layer(api, { excludeTestServices: true })("JSON-RPC of a stellar relayer", (it) => {
  it.effect("passes methods that read on, with parameters by name", () =>
    Effect.gen(function* () {
      const { network, passphrase, reply } = yield* calling
      const read = yield* reply("getNetwork")
      assert.strictEqual(read.id, 7)
      assert.include(JSON.stringify(read.result), passphrase)
      const found = yield* reply("getTransaction", { hash: "0".repeat(64) })
      assert.deepInclude(found.result, { status: "NOT_FOUND", latestLedger: network.latest.number })
      const wrong = yield* reply("getTransaction", "text")
      assert.strictEqual(wrong.error?.code, -32_602)
    })
  )

  it.effect("never passes sendTransaction on, also if the network lists it", () =>
    Effect.gen(function* () {
      const { address, network, passphrase, reply, setMethods } = yield* calling
      const text = transaction(address, [payment(keyNamed("x"), xlm)], { sequence: 1n, network: passphrase }).toXDR()
      for (const listed of [null, ["getHealth", "sendTransaction"]]) {
        assert.strictEqual((yield* setMethods(listed)).status, 200)
        const { error, result } = yield* reply("sendTransaction", { transaction: text })
        assert.strictEqual(error?.code, -32_601)
        assert.include(error?.message ?? "", "the method sendTransaction is not in rpc_methods of the network")
        assert.isUndefined(result)
      }
      assert.lengthOf(network.nodes[0]?.envelopes ?? [], 0)
    })
  )

  it.effect("passes only what rpc_methods of the network lists, if it has them", () =>
    Effect.gen(function* () {
      const { reply, setMethods } = yield* calling
      yield* setMethods(["getHealth"])
      assert.isDefined((yield* reply("getHealth")).result)
      assert.strictEqual((yield* reply("getNetwork")).error?.code, -32_601)
      const { json, status } = yield* setMethods(["get health"])
      assert.strictEqual(status, 400)
      assert.include(json.error ?? "", "rpc_methods")
    })
  )

  it.effect("answers the calls of a batch in their order, and needs the scope rpc:call", () =>
    Effect.gen(function* () {
      const { ask, id } = yield* calling
      const { text } = yield* post(
        [
          { jsonrpc: "2.0", id: 1, method: "getHealth" },
          { jsonrpc: "2.0", id: 2, method: "eth_chainId" },
          { jsonrpc: "2.0", method: "getHealth" },
          { jsonrpc: "2.0", id: 3, method: "getFeeStats" }
        ],
        { relayer: id }
      )
      const replies = JSON.parse(text) as ReadonlyArray<Reply>
      assert.deepStrictEqual(
        replies.map(({ id, error }) => [id, error?.code]),
        [
          [1, undefined],
          [2, -32_601],
          [3, undefined]
        ]
      )
      const key = yield* makeKey(["transactions:read"])
      assert.strictEqual((yield* ask("getHealth", undefined, { key })).status, 403)
      const allowed = yield* makeKey(["rpc:call"])
      assert.isUndefined((JSON.parse((yield* ask("getHealth", undefined, { key: allowed })).text) as Reply).error)
    })
  )

  it.effect("is 502 with the masked URL if no provider answers", () =>
    Effect.gen(function* () {
      const { ask, standIn } = yield* calling
      standIn.control({ faults: { provider: 0, set: { throttled: ["getHealth"] } } })
      const { json, status } = yield* ask("getHealth")
      assert.strictEqual(status, 502)
      assert.include(json.error ?? "", "http://127.0.0.1")
    })
  )
})
