// Checks of contracts before an account delegates to them, on a stand-in, and on anvil with executors written for the tests. Anvil makes blocks by
// the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { hashMessage } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { agreedReport, inspectDelegate, readDelegate } from "../../../../src/networks/evm/chain/EvmDelegates.ts"
import { addressIn, initializersIn, isMinimalProxy, isSameState } from "../../../../src/networks/evm/rules/Delegates.ts"
import type { RpcAnswer } from "../../../../src/server/chains/RpcBatch.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import * as Anvil from "../../../../testkit/Anvil.ts"
import { creationOf, executorCode, faultyExecutors } from "../../../../testkit/Executors.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import * as EvmNodesAt from "./fixtures.ts"

const key = privateKeyToAccount(`0x${"7".padStart(64, "0")}`)
const account = key.address.toLowerCase()
const delegate = `0x${"de".repeat(20)}`

const bytesOf = (hex: string) => Buffer.from(hex.slice(2), "hex")

const signed = Effect.promise(async () => ({
  digest: bytesOf(hashMessage("a test")),
  signature: bytesOf(await key.signMessage({ message: "a test" }))
}))

const inspect = Effect.fnUntraced(function* (node: RpcNode, to = delegate, acceptsProxy = false) {
  return yield* inspectDelegate(node, { account, delegate: to, acceptsProxy, signed: yield* signed })
})

const word = (digits: string) => `0x${digits.padStart(64, "0")}`

interface Answers {
  readonly code?: string
  readonly slots?: Readonly<Record<string, string>>
  readonly call?: (call: { readonly data: string; readonly from: string }, code: string) => RpcAnswer | undefined
}

const reverts: RpcAnswer = { _tag: "RpcError", code: 3, message: "execution reverted" }
const returns = (value: string): RpcAnswer => ({ _tag: "Result", value })

/** A node whose answers a test gives. Absent: it behaves as with a good executor. */
const nodeOf = ({ code = executorCode, slots = {}, call }: Answers): RpcNode => ({
  url: "http://a.example",
  call: ({ method, params, result }) => {
    const [, slot] = Array.isArray(params) ? params : []
    const found = method === "eth_getCode" ? code : (slots[String(slot)] ?? word("0"))
    return Effect.orDie(Schema.decodeUnknownEffect(result)(found))
  },
  ask: ({ params }) => {
    const [given, , overrides] = Array.isArray(params) ? params : []
    const one = given as { readonly data: string; readonly from: string }
    const overridden = String((overrides as Record<string, { readonly code?: string }>)[account]?.code)
    const own = call?.(one, overridden)
    return Effect.succeed(own ?? usual(one, overridden))
  },
  send: () => Effect.die("not used"),
  breaker: Effect.succeed("closed"),
  batchSize: Effect.succeed(1)
})

function usual({ data, from }: { readonly data: string; readonly from: string }, code: string): RpcAnswer {
  if (!code.startsWith("0xef0100")) return returns(word("1"))
  if (data === "0x") return returns("0x")
  if (data.startsWith("0xd03c7914")) return returns(word("1"))
  if (data.startsWith("0xe9ae5c53")) return from === account ? returns("0x") : reverts
  return data.startsWith("0x1626ba7e") ? returns(`0x1626ba7e${"0".repeat(56)}`) : reverts
}

const implementation = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"

/** What is found if the second provider is this one. */
const agreed = (first: RpcNode, second: RpcNode | "not_configured" | undefined) =>
  Effect.flatMap(signed, (signed) =>
    agreedReport(
      {
        second: (_, use) =>
          second === undefined || second === "not_configured"
            ? Effect.succeed(second)
            : Effect.orElseSucceed(use(second), () => undefined)
      },
      first,
      { account, delegate, acceptsProxy: false, signed }
    )
  )

describe("two providers", () => {
  const open = nodeOf({ call: ({ data }) => (data.startsWith("0xe9ae5c53") ? returns("0x") : undefined) })

  it.effect("have to find nothing wrong with a contract, and one that lies is not enough", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* agreed(nodeOf({}), nodeOf({}))).faults, [])
      assert.match((yield* agreed(nodeOf({}), open)).faults.join(), /lets anybody execute/)
      assert.match((yield* agreed(open, nodeOf({}))).faults.join(), /lets anybody execute/)
    })
  )

  it.effect("have to have the same code, and to accept signatures", () =>
    Effect.gen(function* () {
      const other = nodeOf({ code: `${executorCode}00` })
      assert.include((yield* Effect.flip(agreed(nodeOf({}), other))).text, "other code at the address")
      const deaf = nodeOf({ call: ({ data }) => (data.startsWith("0x1626ba7e") ? reverts : undefined) })
      assert.isFalse((yield* agreed(nodeOf({}), deaf)).takesSignatures)
    })
  )

  it.effect("have to answer, unless only one is configured", () =>
    Effect.gen(function* () {
      assert.include((yield* Effect.flip(agreed(nodeOf({}), undefined))).text, "no second provider")
      assert.deepStrictEqual((yield* agreed(nodeOf({}), "not_configured")).faults, [])
    })
  )
})

describe("a stand-in", () => {
  it.effect("finds nothing wrong with an executor that does all that is asked", () =>
    Effect.gen(function* () {
      const { faults, takesSignatures } = yield* inspect(nodeOf({}))
      assert.deepStrictEqual([faults, takesSignatures], [[], true])
    })
  )

  it.effect("refuses a provider that ignores overrides, and one that does not know them", () =>
    Effect.gen(function* () {
      const ignoring = nodeOf({ call: (_, code) => (code.startsWith("0xef") ? undefined : returns("0x")) })
      const unknowing = nodeOf({
        call: () => ({ _tag: "RpcError", code: -32602, message: "too many arguments, want at most 2" })
      })
      assert.include((yield* Effect.flip(inspect(ignoring))).text, "takes no state overrides")
      assert.strictEqual((yield* Effect.flip(inspect(unknowing)))._tag, "RpcFailure")
    })
  )

  it.effect("refuses an address without code, one with a delegation, and the account itself", () =>
    Effect.gen(function* () {
      const empty = yield* inspect(nodeOf({ code: "0x" }))
      const delegated = yield* inspect(nodeOf({ code: `0xef0100${"11".repeat(20)}` }))
      const own = yield* inspect(nodeOf({}), account)
      assert.match(empty.faults.join(), /no code/)
      assert.match(delegated.faults.join(), /itself an account with a delegation/)
      assert.match(own.faults.join(), /own address/)
    })
  )

  it.effect("refuses a proxy of EIP-1967 unless it is accepted, and remembers what it names", () =>
    Effect.gen(function* () {
      const node = nodeOf({ slots: { [implementation]: word("11".repeat(20)) } })
      const refused = yield* inspect(node)
      const accepted = yield* inspect(node, delegate, true)
      assert.match(refused.faults.join(), /accept_proxy/)
      assert.deepStrictEqual(accepted.faults, [])
      assert.strictEqual(accepted.state.implementation, `0x${"11".repeat(20)}`)
      assert.isFalse(isSameState(accepted.state, { codeHash: accepted.state.codeHash }))
    })
  )

  it.effect("refuses a minimal proxy unless it is accepted", () =>
    Effect.gen(function* () {
      const code = `0x363d3d373d3d3d363d73${"22".repeat(20)}5af43d82803e903d91602b57fd5bf3`
      assert.match((yield* inspect(nodeOf({ code }))).faults.join(), /accept_proxy/)
      assert.deepStrictEqual((yield* inspect(nodeOf({ code }), delegate, true)).faults, [])
    })
  )

  it.effect("refuses what others may execute, and what the account may not", () =>
    Effect.gen(function* () {
      const open = nodeOf({ call: ({ data }) => (data.startsWith("0xe9ae5c53") ? returns("0x") : undefined) })
      const closed = nodeOf({ call: ({ data }) => (data.startsWith("0xe9ae5c53") ? reverts : undefined) })
      assert.match((yield* inspect(open)).faults.join(), /lets anybody execute/)
      assert.match((yield* inspect(closed)).faults.join(), /does not let the account/)
    })
  )

  it.effect("does not take an answer that is no verdict for one", () =>
    Effect.gen(function* () {
      const busy: RpcAnswer = { _tag: "RpcError", code: -32000, message: "internal: try later" }
      const node = nodeOf({
        call: ({ data, from }) => (data.startsWith("0xe9") && from !== account ? busy : undefined)
      })
      assert.strictEqual((yield* Effect.flip(inspect(node)))._tag, "RpcFailure")
    })
  )
})

describe("codes", () => {
  it("with the selector of an initializer are seen", () => {
    assert.deepStrictEqual(initializersIn(faultyExecutors.uninitialized), ["c4d66de8"])
    assert.deepStrictEqual(initializersIn(executorCode), [])
  })

  it("of minimal proxies are told from others", () => {
    assert.isTrue(isMinimalProxy(`0x365f5f375f5f365f73${"22".repeat(20)}5af43d5f5f3e5f3d91602a57fd5bf3`))
    assert.isFalse(isMinimalProxy(executorCode))
  })

  it("in a slot are addresses, and an empty slot is none", () => {
    assert.strictEqual(addressIn("0x"), undefined)
    assert.strictEqual(addressIn(word("AB".repeat(20))), `0x${"ab".repeat(20)}`)
  })
})

describe("anvil", () => {
  const prepared = Effect.gen(function* () {
    const anvil = yield* Anvil.start()
    const { nodes } = yield* EvmNodesAt.make
    const providers = yield* nodes.providers([{ url: anvil.url, weight: 1 }], { chainId: anvil.chainId })
    const deploy = Effect.fnUntraced(function* (code: string) {
      const hash = yield* anvil.call("eth_sendTransaction", [{ from: Anvil.funded, data: creationOf(code) }])
      const receipt = yield* until(
        "deployed",
        Effect.map(anvil.call("eth_getTransactionReceipt", [hash]), (found) => found ?? undefined)
      )
      return (receipt as { readonly contractAddress: string }).contractAddress.toLowerCase()
    })
    return { deploy, anvil, inspecting: (to: string) => providers.first((node) => inspect(node, to)), providers }
  })

  it.live("says of each executor what is wrong with it", () =>
    Effect.gen(function* () {
      const { deploy, inspecting, providers } = yield* prepared
      const usualOne = yield* deploy(executorCode)
      const good = yield* inspecting(usualOne)
      assert.deepStrictEqual([good.faults, good.takesSignatures], [[], true])
      const expected = {
        withoutReceive: /takes no transfers/,
        open: /lets anybody/,
        uninitialized: /initialize\(address\)/
      }
      for (const [name, words] of Object.entries(expected)) {
        const { faults } = yield* inspecting(yield* deploy(faultyExecutors[name as keyof typeof expected]))
        assert.lengthOf(faults, 1, name)
        assert.match(faults[0] ?? "", words)
      }
      const unsigned = yield* inspecting(yield* deploy(faultyExecutors.withoutSignatures))
      assert.deepStrictEqual([unsigned.faults, unsigned.takesSignatures], [[], false])
      const { state } = yield* providers.first((node) => readDelegate(node, usualOne))
      assert.isTrue(isSameState(state, good.state))
    }).pipe(Effect.scoped)
  )
})
