// Which provider answers for a lane, and what is said if none does.
import { Effect, Schema } from "effect"
import { assert, it } from "@effect/vitest"
import { nodeEstimate } from "../../../../src/networks/evm/chain/EvmCalls.ts"
import { makeEvmProviders, sendBytes } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import { Unanswered } from "../../../../src/server/chains/RpcBatch.ts"
import { answeredFailure, rpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"

/** Results of a node by method. A method without a result fails. */
type Results = Readonly<Record<string, unknown>>

const block = (digit: string) => ({
  number: "0x0",
  hash: `0x${digit.repeat(64)}`,
  gasLimit: "0x1c9c380",
  timestamp: "0x0"
})

const node = (url: string, results: Results): RpcNode => ({
  url,
  call: (call) =>
    call.method in results
      ? Effect.orDie(Schema.decodeUnknownEffect(call.result)(results[call.method]))
      : Effect.fail(rpcFailure("unreachable", "HTTP 503").of(call.method)),
  ask: () => Effect.die("not used"),
  send: () => Effect.die("not used"),
  breaker: Effect.succeed("closed"),
  batchSize: Effect.succeed(1)
})

const right: Results = { eth_chainId: "0x1", eth_getBlockByNumber: block("a") }
const wrongChain: Results = { eth_chainId: "0x2", eth_getBlockByNumber: block("b") }

/** The providers in a random order. */
const providers = (nodes: Readonly<Record<string, Results>>) =>
  makeEvmProviders(
    (url) => node(url, nodes[url] ?? {}),
    Object.keys(nodes).map((url) => ({ url, weight: 100 })),
    { chainId: 1 }
  )

/** Enough for every order of three providers to come up. */
const repetitions = 50

it.effect("a provider of another chain does not decide the genesis of the others", () =>
  Effect.gen(function* () {
    for (let count = 0; count < repetitions; count++) {
      const { first } = yield* providers({ wrong: wrongChain, right, down: {} })
      assert.strictEqual(yield* first(({ url }) => Effect.succeed(url)), "right")
    }
  })
)

it.effect("each provider has its failure if none answers", () =>
  Effect.gen(function* () {
    const { tryAll, first } = yield* providers({ wrong: wrongChain, down: {}, right })
    const use = () => Effect.fail(answeredFailure("refused", "JSON-RPC error -32000").of("eth_call"))
    const { failures } = yield* Effect.flip(tryAll(use))
    assert.sameMembers(
      failures.map(({ url, failure }) => `${url}: ${failure.text}`),
      [
        "wrong: eth_chainId: serves another chain: it has the chain id 2, and the network has 1",
        "down: eth_chainId: HTTP 503",
        "right: eth_call: JSON-RPC error -32000"
      ]
    )
    assert.strictEqual((yield* Effect.flip(first(use))).code, "unreachable")
  })
)

const url = "https://user:pass-word@rpc.example/v2/key%20of-a-provider?token=another-key"
const said = "no access for key%20of-a-provider, pass-word or another-key at v2 of rpc.example"
const shown = "no access for ***, *** or *** at v2 of rpc.example"

it.effect("what a node says about bytes or a call repeats no secret of its URL", () =>
  Effect.gen(function* () {
    const error = { _tag: "RpcError", code: -32_000, message: said } as const
    const one: RpcNode = { ...node(url, {}), ask: () => Effect.succeed(error), send: () => Effect.succeed(error) }
    assert.deepInclude(yield* sendBytes("0x00")(one), { message: shown })
    const estimate = yield* nodeEstimate(one, { from: "0x01", to: "0x02", value: 0n })
    assert.deepStrictEqual(estimate, { _tag: "Refused", words: shown })
    const failure = new Unanswered({ failure: rpcFailure("refused"), http: { status: 403, message: said } })
    const refusing: RpcNode = { ...one, send: () => Effect.fail(failure) }
    assert.deepInclude(yield* sendBytes("0x00")(refusing), { status: 403, message: shown })
  })
)
