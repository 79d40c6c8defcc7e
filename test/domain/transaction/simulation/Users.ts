// What callers and operators do: they change the ledger, and never the chain.
import { Result } from "effect"
import { cancel, canReplace } from "../../../../src/domain/transaction/Cancellation.ts"
import { isMarked, resolve } from "../../../../src/domain/transaction/Restore.ts"
import { apply } from "../../../../src/domain/transaction/Transition.ts"
import { noMemory, store, transactionOf } from "./World.ts"
import type { World } from "./World.ts"

/** `number` of the transaction that a step means: steps count from the newest. */
export const chosen = (world: World, which: number): number | undefined =>
  world.ledger.transactions.at(-1 - which)?.number

export const cancelOne = (world: World, number: number): void => {
  const transaction = transactionOf(world, number)
  const result = cancel(transaction)
  if (Result.isFailure(result)) return
  const cancellation = result.success
  if (cancellation._tag === "finish") store(world, apply(transaction, cancellation.command, world.now))
  if (cancellation._tag === "intend") store(world, { ...transaction, intent: "cancel" })
}

export const replaceOne = (world: World, number: number): void => {
  const transaction = transactionOf(world, number)
  if (Result.isFailure(canReplace(transaction)) || transaction.origin === "gap") return
  const [first] = transaction.versions
  const version = { ...first, value: first.value + BigInt(transaction.versions.length) }
  store(world, { ...transaction, versions: [...transaction.versions, version] })
}

/** The ledger of the backup, in which every open request is marked: the marks of the database differ. */
export const restore = (world: World): void => {
  const { backup } = world
  if (backup === undefined) return
  const transactions = backup.transactions.map((transaction) =>
    isMarked(transaction) ? { ...transaction, restored: true } : transaction
  )
  world.ledger = { ...backup, transactions }
  world.backup = undefined
  world.memory = noMemory
}

/** What the operator answers about transactions that nothing can prove. */
export const giveUpUnproven = (world: World): void => {
  for (const transaction of world.ledger.transactions) {
    const command = resolve(transaction, "give_up")
    if (Result.isSuccess(command)) store(world, apply(transaction, command.success, world.now))
  }
}
