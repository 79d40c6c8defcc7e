// The cases of authorizations (EIP-7702): calls of a user without ether, which a relayer pays for. Their oracle is the code and the storage of the
// user's account on the node.
import { Effect } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import { randomBytes } from "node:crypto"
import type { Relayer } from "../faults/sending/Relayers.ts"
import { delegates, word } from "../testkit/Delegates.ts"
import type { EvmNode, Started } from "./Nodes.ts"
import * as Script from "./Script.ts"

interface Scene {
  readonly script: Effect.Success<typeof Script.open>
  readonly node: EvmNode
  readonly call: Started["call"]
  readonly check: (name: string, usual: string, see: Script.InScope<string>) => Script.InScope<void>
  /** The address of a new contract. */
  readonly deploy: (data: string) => Script.InScope<string>
  /** A relayer with funds. */
  readonly payer: (policies: object) => Script.InScope<Relayer>
}

/** What the list of a transaction has left, as the service says. */
const delegatedOf = (row: object): string => {
  const [first] = (Reflect.get(row, "authorizations") ?? []) as ReadonlyArray<{ readonly delegated: boolean | null }>
  return `delegated ${first?.delegated}`
}

export const cases = Effect.fnUntraced(function* ({ call, check, deploy, node, payer, script }: Scene) {
  const storing = (yield* deploy(delegates.storing)).toLowerCase()
  const reverting = (yield* deploy(delegates.reverting)).toLowerCase()
  const relayer = yield* payer({ allowed_delegates: [storing, reverting], whitelist_receivers: ["authority"] })
  const user = privateKeyToAccount(`0x${randomBytes(32).toString("hex")}`)
  /** JSON does not know `v` of viem, which is a bigint. */
  const signed = Effect.fnUntraced(function* (address: string, nonce: number) {
    const { v: _, ...entry } = yield* Effect.promise(() =>
      user.signAuthorization({ chainId: node.chainId, address: address as `0x${string}`, nonce })
    )
    return entry
  })
  const stored = Effect.map(call("eth_getStorageAt", [user.address, "0x0", "latest"]), (found) => BigInt(String(found)))
  const runs = (delegate: string) =>
    Effect.map(call("eth_getCode", [user.address, "latest"]), (code) =>
      String(code).toLowerCase() === `0xef0100${delegate.slice(2)}` ? "the delegation is there" : `code ${String(code)}`
    )
  const first = { to: user.address, data: word(7), authorization_list: [yield* signed(storing, 0)] }

  yield* check(
    "a call of an account without ether, with an authorization of its user",
    "confirmed, delegated true; the delegation is there; 7 stored",
    Effect.gen(function* () {
      const row = yield* script.end(relayer, yield* script.send(relayer, first))
      return `${Script.ended(row)}, ${delegatedOf(row)}; ${yield* runs(storing)}; ${yield* stored} stored`
    })
  )
  yield* check(
    "the same authorization again",
    "400, names authorization_used",
    Effect.gen(function* () {
      const { status, text } = yield* script.ask(relayer, first)
      return `${status}, ${text.includes("authorization_used") ? "names authorization_used" : text}`
    })
  )
  yield* check(
    "a call that reverts, with another authorization",
    "failed reverted, delegated true; the delegation is there; 7 stored",
    Effect.gen(function* () {
      const list = [yield* signed(reverting, 1)]
      const sent = yield* script.send(relayer, { ...first, gas_limit: 200_000, authorization_list: list })
      const row = yield* script.end(relayer, sent)
      return `${Script.ended(row)}, ${delegatedOf(row)}; ${yield* runs(reverting)}; ${yield* stored} stored`
    })
  )
})
