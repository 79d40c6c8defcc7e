// What holds after every step, whatever happened.
import { assert } from "@effect/vitest"
import type { Command } from "../../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { nonceOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../../../src/networks/evm/rules/Evm.ts"
import { maxFeeOf, tipOf } from "../../../../../src/networks/evm/rules/Market.ts"
import { checkDelegations } from "./Authorities.ts"
import { effectsOf, isAppliedLater } from "./Blocks.ts"
import type { World } from "./World.ts"

/** Commands that change what a final transaction says. */
const changes: ReadonlySet<Command<Evm>["_tag"]> = new Set([
  "Sign",
  "Hold",
  "Intend",
  "Mine",
  "Unmine",
  "Requeue",
  "Finish"
])

/** There is always a command, and none that changes a final transaction. */
export const watch = (transaction: Transaction<Evm>, commands: ReadonlyArray<Command<Evm>>): void => {
  assert.isAbove(commands.length, 0)
  if (isFinal(transaction))
    assert.isFalse(
      commands.some(({ _tag }) => changes.has(_tag)),
      "a final state has no successor"
    )
  const waits = commands.some(({ _tag }) => _tag === "PollAt")
  assert.isTrue(waits || commands.some(({ _tag }) => _tag === "Finish" || _tag === "Rest" || _tag === "Sign"))
}

const unproven: ReadonlySet<string | undefined> = new Set([
  "restored_unproven",
  "nonce_taken_unproven",
  "effect_unproven"
])

const isFinalWithEffect = ({ state, cause }: Transaction<Evm>): boolean =>
  // An operator who gives up a transaction whose fate cannot be proven decides without proof.
  state === "confirmed" || unproven.has(cause?.code)

/** Anybody may execute bytes of an older chain on the new one. What had any is final. */
const isOfOlderGeneration = ({ ledger: { lane } }: World, { attempts }: Transaction<Evm>): boolean =>
  attempts.some(({ generation }) => generation !== lane.generation)

const ofEffects = (world: World): void => {
  for (const transaction of world.ledger.transactions) {
    if (isOfOlderGeneration(world, transaction)) continue
    const effects = effectsOf(world, transaction.number)
    assert.isAtMost(effects, 1, `executed twice: ${transaction.number}`)
    if (transaction.state === "confirmed" && !isAppliedLater(world, transaction.number)) {
      assert.strictEqual(effects, 1, "confirmed without an effect")
    }
    if (isFinal(transaction) && !isFinalWithEffect(transaction)) {
      assert.strictEqual(effects, 0, `${transaction.state} with an effect: ${transaction.number}`)
    }
  }
}

/** An original has lost the nonce of the attempts before it: none of them left, or all of them are dead. */
const formerOf = (attempts: Transaction<Evm>["attempts"], index: number): Transaction<Evm>["attempts"] => {
  const upTo = attempts.slice(0, index + 1)
  return upTo.slice(
    upTo.findLastIndex(({ kind }) => kind === "original"),
    index
  )
}

const ofFees = ({ attempts }: Transaction<Evm>): void => {
  for (const [index, attempt] of attempts.entries()) {
    for (const former of formerOf(attempts, index)) {
      for (const fee of [maxFeeOf, tipOf]) {
        assert.isTrue(fee(attempt.offer.fees) > fee(former.offer.fees), "fees strictly rise")
        assert.isTrue(fee(attempt.offer.fees) * 10n >= fee(former.offer.fees) * 11n, "by 10 % at least")
      }
    }
  }
}

const ofLane = ({ ledger: { lane, transactions } }: World): void => {
  assert.isAtMost(lane.settledNonce, lane.chainNonce)
  assert.isAtMost(lane.chainNonce, lane.nextNonce)
  const nonces = transactions.flatMap((transaction) => {
    const nonce = nonceOf(transaction)
    return nonce === undefined ? [] : [`${transaction.generation} ${nonce}`]
  })
  assert.strictEqual(new Set(nonces).size, nonces.length, "one transaction per nonce")
  for (const { state, place: nonce, mined } of transactions) {
    if (state === "pending") assert.isUndefined(nonce)
    if (state === "signed" || state === "submitted" || state === "mined") assert.isDefined(nonce)
    if (state === "mined" || state === "confirmed") assert.isDefined(mined)
  }
}

/** A nonce only ever changes by losing it, on the way back to `pending` or to an end; a request never changes. */
export const observe = (before: Transaction<Evm>, after: Transaction<Evm>): void => {
  const isLost = after.place === undefined && (after.state === "pending" || isFinal(after))
  if (before.place !== undefined && !isLost) assert.deepStrictEqual(after.place, before.place)
  for (const [index, version] of before.versions.entries()) assert.strictEqual(after.versions[index], version)
  for (const { hash } of before.attempts) assert.isTrue(after.attempts.some((attempt) => attempt.hash === hash))
  if (isFinal(before)) {
    assert.deepStrictEqual({ ...after, attempts: [] }, { ...before, attempts: [] }, "a final state has no successor")
  }
}

export const check = (world: World): void => {
  ofEffects(world)
  ofLane(world)
  checkDelegations(world)
  for (const transaction of world.ledger.transactions) ofFees(transaction)
}
