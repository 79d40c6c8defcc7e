// What traces check about the end of a transaction, and bytes that the relayer has signed before.
import { Effect, Redacted } from "effect"
import { assert } from "@effect/vitest"
import { memoProgram, tokenProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import type { SolanaRequest } from "../../../../src/networks/solana/rules/Solana.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { encodeBase58 } from "../../../../src/networks/solana/rules/Wire.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"
import type { Account } from "../../../../testkit/solana/Accounts.ts"
import type * as Bank from "../../../../testkit/solana/Bank.ts"
import type { Node } from "../../../../testkit/solana/Node.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import * as Paying from "../requests/Paying.ts"
import * as World from "./World.ts"

type World = Effect.Success<ReturnType<typeof World.make>>
type Id = Parameters<World["transaction"]>[0]

/** State, code and number of attempts. */
export const shown = Effect.fnUntraced(function* (world: World, id: Id) {
  const { attempts, cause, state } = yield* world.transaction(id)
  return [state, cause?.code, attempts.length]
})

export const endsAs = Effect.fnUntraced(function* (
  world: World,
  id: Id,
  state: string,
  code: string,
  attempts: number
) {
  yield* world.finish
  assert.deepStrictEqual(yield* shown(world, id), [state, code, attempts])
})

/** The network gives all that it has held back to the next block. */
export const release = ({ cluster }: Pick<World, "cluster">) => {
  cluster.swallows = false
  for (const [signature, wire] of cluster.sent) cluster.pool.set(signature, wire)
}

/** It is confirmed with its only attempt, and the receiver has one SOL. */
export const isConfirmedOnce = Effect.fnUntraced(function* (world: World, id: Id) {
  yield* world.finish
  const { attempts, state } = yield* world.transaction(id)
  assert.strictEqual(state, "confirmed")
  assert.lengthOf(attempts, 1)
  assert.strictEqual(world.cluster.balanceOf(World.receiver), World.sol)
})

/** A memo of the relayer with a blockhash of its own, and its signature. */
export const signedMemo = Effect.fnUntraced(function* ({ address, cluster }: World, text: string) {
  const message = Wire.messageBytes(
    Wire.buildMessage({
      payer: address,
      instructions: [{ program: memoProgram, accounts: [], data: Buffer.from(text) }],
      blockhash: cluster.blocks.at(-2)?.blockhash ?? ""
    })
  )
  const signature = yield* Effect.orDie(LocalKey.make(Redacted.make("42".repeat(32))).sign("ed25519", message))
  const raw = Wire.transactionBytes([signature], message)
  const unsigned = Wire.transactionBytes([undefined], message)
  return { hash: encodeBase58(signature), raw, request: { transaction: base64Of(unsigned) } }
})

export const prebuilt = { facts: { isPrebuilt: true, isRefreshable: false } }

/** So many steps of five blocks later, every earlier blockhash has expired, and the block of its end is finalized. */
export const untilDead = 40

/** A transfer whose bytes the network holds back. */
export const heldBack = Effect.fnUntraced(function* (given: World.Given = {}) {
  const world = yield* World.make(given)
  const [id] = yield* world.accept()
  world.cluster.swallows = true
  yield* world.poll(2)
  const { attempts } = yield* world.transaction(id)
  const blockhash = attempts[0]?.offer.blockhash ?? ""
  const born = world.cluster.blocks.findIndex((block) => block.blockhash === blockhash)
  return { world, id, born, bound: attempts[0]?.offer.bound ?? 0 }
})

/** The node has no status of what the relayer sent. Its index has what others sent, and votes, so that it does not seem to lag. */
export const hideStatuses = ({ address, cluster }: Pick<World, "address" | "cluster">, node: Node, slot = 10 ** 9) => {
  const statusOf = (signature: unknown) => {
    const found = cluster.landed(cluster.blocks, String(signature))
    const isOwn = found?.wire.message.keys[0] === address
    const block = isOwn ? undefined : (found?.block ?? cluster.blocks[cluster.votes.get(String(signature)) ?? -1])
    return block === undefined
      ? null
      : { slot: block.slot, confirmations: null, err: null, confirmationStatus: "finalized" }
  }
  node.lies.set("getSignatureStatuses", ([hashes]) => ({
    result: { context: { slot }, value: Array.isArray(hashes) ? hashes.map(statusOf) : [] }
  }))
}

/** The node has the newest blocks alone and no statuses, and its list has another signature alone, which is younger. */
export const pruned = (world: World, node: Node, younger: string) => {
  const slot = world.cluster.blocks.at(-1)?.slot ?? 0
  node.firstAvailable = slot - 2
  hideStatuses(world, node)
  node.lies.set("getSignaturesForAddress", () => ({ result: [{ signature: younger, slot }] }))
}

/** Each execution changes the account, as an unknown program could. */
export const changing = (world: World, address: string, change: (account: Account) => Account) => {
  const { run } = world.cluster
  const changed: Bank.Run = (accounts, transaction) => {
    const executed = run(accounts, transaction)
    const account = executed.accounts.get(address)
    return account === undefined
      ? executed
      : { ...executed, accounts: new Map(executed.accounts).set(address, change(account)) }
  }
  world.cluster.run = changed
}

/** A request that sends tokens of the relayer. */
export const tokensOf = ({ address }: World): SolanaRequest => ({
  instructions: [
    {
      program_id: tokenProgram,
      accounts: [
        { pubkey: Paying.accountOf(address), is_signer: false, is_writable: true },
        { pubkey: Paying.mint, is_signer: false, is_writable: false },
        { pubkey: Paying.accountOf(Paying.user), is_signer: false, is_writable: true },
        { pubkey: address, is_signer: true, is_writable: true }
      ],
      data: base64Of(Uint8Array.from([12, 1, 0, 0, 0, 0, 0, 0, 0, 6]))
    }
  ]
})

export const withTokens = (world: World) => {
  Paying.prepare(world.cluster, world.address)
  const owner = world.address
  world.cluster.put({
    [Paying.accountOf(owner)]: Tokens.holding({ mint: Paying.mint, owner, amount: 1_000_000n })
  })
  world.cluster.produce(2)
}
