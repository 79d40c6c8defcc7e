// The cases of delegations that the chain takes back, on nodes that replace their newest blocks. Their oracle is what the receivers have.
import { Effect } from "effect"
import * as EvmProxy from "../testkit/EvmProxy.ts"
import { hashOf, isType4, newAddress, sharedKey, toolsOf } from "./Beside.ts"
import type { Scene } from "./Beside.ts"
import * as Script from "./Script.ts"

/** Blocks after which something is final on the network of these cases: about six seconds. */
const depth = 3

/** Blocks in which the service has to do what is right, or to do nothing. */
const settling = 15

interface Given extends Scene {
  /** Makes the block the newest one of the chain. What later blocks had is not in the chain any more. */
  readonly rewind: (height: number) => Effect.Effect<void>
  /** An executor. */
  readonly executor: string
}

export const cases = Effect.fnUntraced(function* (scene: Given) {
  const { check, createNetwork, executor, fund, funds, relayerOf, rewind, script, url } = scene
  const tools = toolsOf(scene)
  const proxy = yield* EvmProxy.make(url)
  yield* createNetwork({ name: "field-deep", rpc_urls: [proxy.url], required_confirmations: depth })
  const send = "eth_sendRawTransaction"

  /** A relayer whose key the script has, with funds in a block that stays. */
  const owned = Effect.gen(function* () {
    const { account, signer } = sharedKey()
    const relayer = yield* relayerOf({}, signer, "field-deep")
    yield* fund(relayer.address, funds)
    yield* tools.blocks(1)
    return { account, relayer, height: yield* tools.head }
  })
  /** The bytes that the service has given to the node. */
  const sentBy = (isFor: (raw: unknown) => boolean) => {
    const raw = proxy.seen.filter(({ method }) => method === send).map(({ params: [bytes] }) => bytes)
    return raw.findLast(isFor)
  }

  yield* check(
    "a delegation whose block is replaced before it is final, with two calls behind it",
    "2 confirmed; the delegation is there; 2 received; next nonce 3",
    Effect.gen(function* () {
      const { height, relayer } = yield* owned
      const receivers = Script.times(2, newAddress)
      const delegation = yield* tools.delegate(relayer, executor)
      const calls = yield* script.send(relayer, { calls: tools.callsTo(receivers) })
      yield* script.when(relayer, delegation, ({ status }) => status === "mined")
      yield* script.frozen(rewind(height))
      const rows = yield* script.ends(relayer, [delegation, calls])
      const found = `${yield* tools.runs(relayer.address, executor)}; ${yield* tools.received(receivers)} received`
      return `${Script.counted(rows)}; ${found}; ${yield* tools.nextNonce(relayer)}`
    })
  )

  /** A delegation that is final, and two calls in a block that is not. */
  const batched = Effect.gen(function* () {
    const { account, height, relayer } = yield* owned
    const receivers = Script.times(2, newAddress)
    const delegation = yield* tools.delegate(relayer, executor)
    yield* script.ends(relayer, [delegation])
    const calls = yield* script.send(relayer, { calls: tools.callsTo(receivers) })
    yield* script.when(relayer, calls, ({ status }) => status === "mined")
    return { account, height, relayer, receivers, calls, raw: sentBy((bytes) => !isType4(bytes)) }
  })
  yield* check(
    "two calls whose delegation, final before, is replaced by other transactions, so that they call an account without code",
    "failed not_delegated; success at the node; code 0x; 0 received",
    Effect.gen(function* () {
      const { account, calls, height, raw, receivers, relayer } = yield* batched
      yield* script.frozen(
        Effect.gen(function* () {
          yield* rewind(height)
          // Two nonces are those of the delegation.
          for (const nonce of [0, 1]) yield* scene.call(send, [yield* tools.noop(account, nonce)])
          yield* scene.call(send, [raw])
          yield* tools.mined(hashOf(raw))
        })
      )
      const ended = Script.ended(yield* script.end(relayer, calls))
      const receipt = yield* scene.call("eth_getTransactionReceipt", [hashOf(raw)])
      const status = Reflect.get(Object(receipt), "status") === "0x1" ? "success at the node" : "no success at the node"
      const found = `${yield* tools.runs(relayer.address, executor)}; ${yield* tools.received(receivers)} received`
      return `${ended}; ${status}; ${found}`
    })
  )
  yield* check(
    "two calls whose delegation, final before, is not in the chain any more, and neither are they",
    "the service says of the calls what the receivers have",
    Effect.gen(function* () {
      const { calls, height, receivers, relayer } = yield* batched
      yield* script.frozen(rewind(height))
      yield* tools.blocks(settling)
      const row = yield* script.shown(relayer, calls)
      const has = yield* tools.received(receivers)
      return (row.status === "confirmed") === (has === 2n)
        ? "the service says of the calls what the receivers have"
        : `${Script.ended(row)}; ${has} received`
    })
  )
})
