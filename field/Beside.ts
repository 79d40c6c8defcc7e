// What the cases of delegations ask and do at the node itself, beside the service: what accounts have and run, and transactions of others.
import { Effect, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { keccak256 } from "viem"
import type { Hex } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import type { PrivateKeyAccount } from "viem/accounts"
import type { Relayer } from "../faults/sending/Relayers.ts"
import type { EvmNode, Started } from "./Nodes.ts"
import type * as Script from "./Script.ts"

export interface Scene {
  readonly script: Effect.Success<typeof Script.open>
  readonly node: EvmNode
  readonly call: Started["call"]
  readonly url: string
  readonly check: (name: string, usual: string, see: Script.InScope<string>) => Script.InScope<void>
  /** The address of a new contract. */
  readonly deploy: (data: string) => Script.InScope<string>
  readonly relayerOf: (policies?: object, signer?: object, network?: string) => Script.InScope<Relayer>
  /** Creates a network of the chain with other fields than those of the usual one. */
  readonly createNetwork: (fields: object) => Script.InScope<unknown>
  readonly fund: (address: string, wei: bigint) => Script.InScope<void>
  /** Wei that each relayer gets. */
  readonly funds: bigint
}

export const newAddress = (): string => `0x${randomBytes(20).toString("hex")}`

/** Wei per gas, far above what a local chain asks for, and gas of a transaction with one authorization. */
const fees = { maxFeePerGas: 100n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n, gas: 300_000n } as const

/** Milliseconds between two looks at the node. */
const pause = "250 millis"

/** What the cases ask and do beside the service. */
export const toolsOf = ({ call, fund, funds, node, script }: Scene) => {
  const balance = (address: string) =>
    Effect.map(call("eth_getBalance", [address, "latest"]), (wei) => BigInt(String(wei)))
  const received = (receivers: ReadonlyArray<string>) =>
    Effect.map(Effect.forEach(receivers, balance), (all) => all.reduce((sum, one) => sum + one, 0n))
  const code = (address: string) =>
    Effect.map(call("eth_getCode", [address, "latest"]), (found) => String(found).toLowerCase())
  const runs = (address: string, delegate: string) =>
    Effect.map(code(address), (found) =>
      found === `0xef0100${delegate.slice(2)}` ? "the delegation is there" : `code ${found}`
    )
  const count = (address: string) => Effect.map(call("eth_getTransactionCount", [address, "latest"]), Number)
  const head = Effect.map(call("eth_blockNumber", []), Number)

  /** Waits until a block has the transaction. */
  const mined = (hash: unknown) =>
    call("eth_getTransactionReceipt", [hash]).pipe(
      Effect.repeat({ until: (found) => found !== null, schedule: Schedule.spaced(pause) }),
      Effect.asVoid
    )
  /** Waits until the chain has so many blocks more. */
  const blocks = (number: number) =>
    Effect.flatMap(head, (from) =>
      head.pipe(Effect.repeat({ until: (at) => at >= from + number, schedule: Schedule.spaced(pause) }))
    )

  /** Calls of new receivers, one unit each. */
  const callsTo = (receivers: ReadonlyArray<string>) => receivers.map((to) => ({ to, value: "1" }))

  const delegating = (relayer: Relayer, address: string, more: object = {}) =>
    script.call(`relayers/${relayer.id}/delegation`, { body: { address, ...more } })
  /** The transaction that delegates. */
  const delegate = (relayer: Relayer, address: string) =>
    Effect.flatMap(delegating(relayer, address), ({ status, text }) =>
      status < 300
        ? Effect.succeed({ id: String(JSON.parse(text).data.transaction_id), text })
        : Effect.die(new Error(`the delegation was refused: ${status} ${text}`))
    )

  const nextNonce = (relayer: Relayer) =>
    Effect.map(
      script.nonce(relayer),
      (found) => `next nonce ${String(Reflect.get(found, "next_nonce"))}${nonceCode(found)}`
    )

  /** An account of somebody else, with funds, and what it does at the node itself. */
  const stranger = Effect.gen(function* () {
    const account = privateKeyToAccount(generatePrivateKey())
    yield* fund(account.address, funds)
    /** Ends when a block has a transaction with the authorization. */
    const carry = Effect.fnUntraced(function* (entry: Entry) {
      const raw = yield* Effect.promise(async () =>
        account.signTransaction({
          type: "eip7702",
          chainId: node.chainId,
          nonce: Number(await Effect.runPromise(count(account.address))),
          to: account.address,
          authorizationList: [entry],
          ...fees
        })
      )
      yield* mined(yield* call("eth_sendRawTransaction", [raw]))
    })
    return { address: account.address, carry }
  })

  /** The authorization of an account's own key. */
  const authorized = (account: PrivateKeyAccount, address: string, nonce: number) =>
    Effect.promise(() => account.signAuthorization({ chainId: node.chainId, address: address as Hex, nonce }))

  /** A transaction without effect that the key of a relayer has signed elsewhere. */
  const noop = (account: PrivateKeyAccount, nonce: number) =>
    Effect.promise(() =>
      account.signTransaction({ type: "eip1559", chainId: node.chainId, nonce, to: account.address, ...fees })
    )

  return {
    authorized,
    balance,
    blocks,
    callsTo,
    code,
    count,
    delegate,
    delegating,
    head,
    mined,
    nextNonce,
    noop,
    received,
    runs,
    stranger
  }
}

/** A signed authorization. */
export type Entry = Awaited<ReturnType<PrivateKeyAccount["signAuthorization"]>>

/** Why the lane stands still. Empty: it does not. */
const nonceCode = (found: object): string => {
  const code: unknown = Reflect.get(found, "code")
  return typeof code === "string" ? ` ${code}` : ""
}

/** A key that the script and a relayer have. */
export const sharedKey = () => {
  const key = generatePrivateKey()
  return { account: privateKeyToAccount(key), signer: { type: "plain", config: { key: key.slice(2) } } }
}

/** Bytes of a transaction with authorizations. */
export const isType4 = (raw: unknown): boolean => typeof raw === "string" && raw.startsWith("0x04")

export const hashOf = (raw: unknown): string => keccak256(String(raw) as Hex)
