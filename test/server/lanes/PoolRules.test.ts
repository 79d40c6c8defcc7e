// The rules of pools on real nodes, which disagree: anvil always, and geth if `TEST_GETH` names its binary.
// Anvil makes blocks by the clock of the machine.
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { classify } from "../../../src/networks/evm/rules/Refusal.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import * as Geth from "../../../testkit/Geth.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { accept, api, becomes, key, read, receiver, relayerAt } from "./fixtures.ts"
import type { Node } from "./fixtures.ts"
import { ether, funds, rules, usual } from "./PoolTable.ts"
import type { Sent } from "./PoolTable.ts"

type Name = "anvil" | "geth"

class PoolNode extends Context.Service<PoolNode, Node>()("effect-relayer/test/server/lanes/PoolRules.test/PoolNode") {}

const nodes: ReadonlyArray<readonly [Name, Layer.Layer<PoolNode>]> = [
  ["anvil", Layer.effect(PoolNode, Anvil.start({ blockTime: 1 }))],
  ...(Geth.binary === undefined ? [] : [["geth", Layer.effect(PoolNode, Geth.start(Geth.binary))] as const])
]

const send = "eth_sendRawTransaction"

const newAccount = Effect.fnUntraced(function* (node: Node) {
  const account = privateKeyToAccount(`0x${key()}`)
  yield* node.fund(account.address, funds)
  return account
})

type Account = ReturnType<typeof privateKeyToAccount>

const answerTo = Effect.fnUntraced(function* (node: Node, account: Account, nonce: number, sent: Sent) {
  const { maxFee, tip, ...rest } = sent
  const unsigned = {
    chainId: node.chainId,
    ...rest,
    to: receiver,
    nonce,
    maxFeePerGas: maxFee,
    maxPriorityFeePerGas: tip
  }
  const raw = yield* Effect.promise(() => account.signTransaction(unsigned))
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: send, params: [raw] })
  const { error } = yield* Effect.promise(async () => {
    const response = await fetch(node.url, { method: "POST", headers: { "content-type": "application/json" }, body })
    return response.json()
  })
  return classify(error === undefined ? { _tag: "Hash" } : { _tag: "RpcError", ...error })
})

describe.concurrent.each(nodes)("the pool of %s", (name, node) => {
  layer(Layer.provideMerge(node, api), { excludeTestServices: true })((it) => {
    it.effect.each(Object.entries(rules))("answers %s", ([, { former, sent, ...expected }]) =>
      Effect.gen(function* () {
        const node = yield* PoolNode
        const account = yield* newAccount(node)
        if (former !== undefined) assert.strictEqual(yield* answerTo(node, account, 5, former), "accepted")
        assert.strictEqual(yield* answerTo(node, account, 5, sent), expected[name])
      })
    )

    it.effect("answers a nonce that was used before", () =>
      Effect.gen(function* () {
        const node = yield* PoolNode
        const account = yield* newAccount(node)
        assert.strictEqual(yield* answerTo(node, account, 0, usual), "accepted")
        const count = node.call("eth_getTransactionCount", [account.address, "latest"])
        yield* until(
          "block",
          Effect.map(count, (found) => (found === "0x1" ? true : undefined))
        )
        assert.strictEqual(yield* answerTo(node, account, 0, usual), "nonce")
        assert.strictEqual(yield* answerTo(node, account, 0, { ...usual, value: 2n }), "nonce")
      })
    )

    it.effect("takes a hundred transactions of a lane, in the order of their acceptance", () =>
      Effect.gen(function* () {
        const account = yield* relayerAt(yield* PoolNode)
        const ids = yield* accept(account, 100)
        const done = yield* Effect.forEach(ids, (id) => becomes(id, "confirmed"))
        assert.deepStrictEqual(
          done.map(({ nonce }) => nonce),
          ids.map((_, index) => index)
        )
      })
    )

    it.effect("takes the no-op of a cancel in place of a transaction that waits behind a lost one", () =>
      Effect.gen(function* () {
        const { call } = yield* TestApi.TestApi
        const node = yield* PoolNode
        const proxy = yield* EvmProxy.make(node.url)
        const account = yield* relayerAt(node, { urls: [proxy.url] })
        // However often it is sent again, so that the other one is not mined before the no-op takes its place.
        proxy.set(send, {
          do: "lie",
          result: () => `0x${"11".repeat(32)}`,
          isFor: (call) => EvmProxy.nonceIn(call) === 0
        })
        const [lost] = yield* accept(account)
        yield* becomes(lost, "submitted")
        const [waiting] = yield* accept(account)
        yield* becomes(waiting, "submitted")
        const path = `/api/v1/relayers/${account.relayerId}/transactions/${waiting}`
        assert.strictEqual((yield* call(path, { method: "DELETE" })).status, 200)
        yield* until(
          "the no-op",
          Effect.map(read(waiting), ({ attempts }) =>
            attempts.find(({ kind, outcome }) => kind === "noop" && outcome === "accepted")
          )
        )
        proxy.clear()
        yield* becomes(waiting, "canceled")
        const { attempts } = yield* read(waiting)
        assert.includeDeepMembers(
          attempts.map(({ kind, outcome }) => ({ kind, outcome })),
          [{ kind: "noop", outcome: "accepted" }]
        )
        assert.strictEqual(nonceOf(yield* becomes(lost, "confirmed")), 0)
      })
    )

    it.effect("fails a call that reverts before it gets a nonce", () =>
      Effect.gen(function* () {
        const account = yield* relayerAt(yield* PoolNode)
        // Its code always reverts.
        const [creation] = yield* accept(account, 1, { request: { value: 0n, data: "0x6460006000fd6000526005601bf3" } })
        const contract = (yield* becomes(creation, "confirmed")).mined?.receipt.details.contractAddress
        assert.isDefined(contract)
        const [id] = yield* accept(account, 1, { request: { ...(contract ? { to: contract } : {}), value: 0n } })
        assert.isUndefined(nonceOf(yield* becomes(id, "failed", "would_revert")))
      })
    )

    it.effect("takes what has waited for funds", () =>
      Effect.gen(function* () {
        const node = yield* PoolNode
        const account = yield* relayerAt(node, { funds: 1000n })
        const [id] = yield* accept(account)
        yield* becomes(id, "pending", "insufficient_funds")
        yield* node.fund(account.address, ether)
        yield* becomes(id, "confirmed")
      })
    )

    it.effect("takes every transaction of an account with a delegation", () =>
      Effect.gen(function* () {
        const node = yield* PoolNode
        const privateKey = key()
        const own = privateKeyToAccount(`0x${privateKey}`)
        const sponsor = yield* newAccount(node)
        const authorization = yield* Effect.promise(() =>
          own.signAuthorization({ chainId: node.chainId, address: receiver, nonce: 0 })
        )
        const raw = yield* Effect.promise(() =>
          sponsor.signTransaction({
            type: "eip7702",
            chainId: node.chainId,
            nonce: 0,
            to: receiver,
            gas: 100_000n,
            maxFeePerGas: usual.maxFee,
            maxPriorityFeePerGas: usual.tip,
            authorizationList: [authorization]
          })
        )
        yield* node.call(send, [raw])
        const code = node.call("eth_getCode", [own.address, "latest"])
        yield* until(
          "delegation",
          Effect.map(code, (found) => (String(found).startsWith("0xef0100") ? true : undefined))
        )
        const signer = { id: own.address.slice(0, 12), type: "plain", config: { key: privateKey } }
        const ids = yield* accept(yield* relayerAt(node, { signer }), 3)
        const nonces = yield* Effect.forEach(ids, (id) => Effect.map(becomes(id, "confirmed"), ({ nonce }) => nonce))
        assert.deepStrictEqual(nonces, [1, 2, 3])
      })
    )
  })
})
