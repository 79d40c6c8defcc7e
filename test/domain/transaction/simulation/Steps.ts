// What can happen: users, the chain, a stranger with the same key, a lying provider, time, and a process that may die.
import { Arbitrary, Result, Schema } from "effect"
import { cancel, canReplace } from "../../../../src/domain/transaction/Cancellation.ts"
import { isMarked, resolve } from "../../../../src/domain/transaction/Restore.ts"
import { isFinal } from "../../../../src/domain/transaction/Transaction.ts"
import { apply } from "../../../../src/domain/transaction/Transition.ts"
import { countOf, grow, headOf, minedIn, reorg } from "./Chain.ts"
import type { Chain, MinedTransaction } from "./Chain.ts"
import { assign, faultless, poll, pollLane } from "./Driver.ts"
import type { CrashPoint, Faults, Watch } from "./Driver.ts"
import { lies } from "./Node.ts"
import type { Bytes, Delivery } from "./Node.ts"
import { foreignEffect } from "./Reader.ts"
import { accept, gwei, newWorld, noMemory, required, store, transactionOf } from "./World.ts"
import type { World } from "./World.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** An index into a list: what stands in it more often happens more often. */
const oneOf = (choices: ReadonlyArray<unknown>) => upTo(choices.length - 1)

const deliveries: ReadonlyArray<Delivery> = ["taken", "taken", "taken", "taken", "taken", "swallowed", "lost", "silent"]
const lyingDeliveries: ReadonlyArray<Delivery> = [...deliveries, "refused", "refused", "refused", "refused"]
const crashes: ReadonlyArray<CrashPoint> = [
  ...(["never", "never", "never", "never", "never", "never"] as const),
  "before_commit",
  "after_commit",
  "after_send"
]
const countLies = [0, 0, 0, 0, 1, -1, 5] as const

/** The honest node never refuses what it should take; the lying one may. */
const AnyFaults = Schema.Struct({
  isLiarFirst: Schema.Boolean,
  lag: oneOf([0, 0, 0, 1, 2]),
  countLie: oneOf(countLies),
  hidesReceipts: Schema.Boolean,
  crash: oneOf(crashes),
  honestNode: oneOf(deliveries),
  lyingNode: oneOf(lyingDeliveries),
  lie: oneOf(lies)
})

const validities = [100, 28_800, 28_800] as const
const baseFees = [1n, 3n, 40n] as const
const waits = [7, 31, 120] as const

const Accept = Schema.Struct({ do: Schema.tag("Accept"), lasts: oneOf(validities), requires: oneOf([0, 0, 0, 1]) })
const Cancel = Schema.Struct({ do: Schema.tag("Cancel"), which: upTo(3) })
const Replace = Schema.Struct({ do: Schema.tag("Replace"), which: upTo(3) })
const Poll = Schema.Struct({ do: Schema.tag("Poll"), faults: AnyFaults })
const PollLane = Schema.Struct({ do: Schema.tag("PollLane"), faults: AnyFaults })
const Assign = Schema.Struct({ do: Schema.tag("Assign"), faults: AnyFaults })
const Mine = Schema.Struct({ do: Schema.tag("Mine"), which: upTo(7), reverts: oneOf([0, 0, 0, 1]) })
const Block = Schema.Struct({ do: Schema.tag("Block"), count: upTo(3) })
const Foreign = Schema.Struct({ do: Schema.tag("Foreign") })
const Reorg = Schema.Struct({ do: Schema.tag("Reorg"), depth: upTo(2) })
const DropPool = Schema.Struct({ do: Schema.tag("DropPool") })
const Fork = Schema.Struct({ do: Schema.tag("Fork"), depth: upTo(4), which: upTo(7), blocks: upTo(4) })
const Unfork = Schema.Struct({ do: Schema.tag("Unfork") })
const BaseFee = Schema.Struct({ do: Schema.tag("BaseFee"), which: oneOf(baseFees) })
const Wait = Schema.Struct({ do: Schema.tag("Wait"), which: oneOf(waits) })
const Crash = Schema.Struct({ do: Schema.tag("Crash") })
const Policy = Schema.Struct({ do: Schema.tag("Policy"), isAllowed: Schema.Boolean })
const Backup = Schema.Struct({ do: Schema.tag("Backup") })
const Restore = Schema.Struct({ do: Schema.tag("Restore") })

/** What stands here more often happens more often. */
export const Step = Schema.Union([
  ...([
    Poll,
    Poll,
    Poll,
    Poll,
    Poll,
    Poll,
    Assign,
    Assign,
    PollLane,
    PollLane,
    Mine,
    Mine,
    Mine,
    Block,
    Block
  ] as const),
  ...([Accept, Accept, Wait, Wait, Reorg, Fork, Foreign, Cancel, Replace, DropPool, Unfork] as const),
  ...([BaseFee, Crash, Policy, Backup, Restore] as const)
])
export type Step = typeof Step.Type

export const Steps = Arbitrary.array(Arbitrary.schema(Step), { maxLength: 80 })

const faultsOf = (faults: typeof AnyFaults.Type): Faults => ({
  reading: {
    isLiarFirst: faults.isLiarFirst,
    lag: Math.max(faults.lag - 2, 0),
    countLie: countLies[faults.countLie] ?? 0,
    hidesReceipts: faults.hidesReceipts
  },
  crash: crashes[faults.crash] ?? "never",
  honestNode: deliveries[faults.honestNode] ?? "taken",
  lyingNode: lyingDeliveries[faults.lyingNode] ?? "taken",
  lie: lies[faults.lie] ?? ""
})

/** Bytes that left and whose nonce is the next one: any of them can be mined, whatever became of them in pools. */
const minable = (world: World, chain: Chain): ReadonlyArray<Bytes> =>
  [...world.bytes.values()].filter(({ hash, nonce }) => world.left.has(hash) && nonce === countOf(chain))

const minedOf = ({ hash, nonce, effect }: Bytes, reverts: boolean): MinedTransaction => ({
  hash,
  nonce,
  isSuccess: effect === undefined || !reverts
})

const afterBlock = (world: World): void => {
  world.now += world.network.blockTime
  const count = countOf(world.chain)
  world.pool = new Map([...world.pool].filter(([nonce]) => nonce >= count))
}

export const mine = (world: World, which: number, reverts = false): void => {
  const choices = minable(world, world.chain)
  const chosen = choices[which % Math.max(choices.length, 1)]
  world.chain = grow(world.chain, chosen === undefined ? [] : [minedOf(chosen, reverts)])
  afterBlock(world)
}

/** Everything executable in the pool, as a miner takes it. */
export const mineFromPool = (world: World): void => {
  const mined: Array<MinedTransaction> = []
  for (let nonce = countOf(world.chain); world.pool.has(nonce); nonce++) {
    const bytes = world.pool.get(nonce)
    if (bytes !== undefined) mined.push(minedOf(bytes, false))
  }
  world.chain = grow(world.chain, mined)
  afterBlock(world)
}

/** A transaction of the account that somebody else has signed. */
const foreignOn = (world: World, chain: Chain): MinedTransaction => {
  const nonce = countOf(chain)
  const hash = `${nonce} foreign ${++world.foreign}`
  const fees = { type: "legacy", gasPrice: 1n } as const
  world.bytes.set(hash, { hash, nonce, fees, cost: 1n, effect: foreignEffect, request: undefined })
  return { hash, nonce, isSuccess: true }
}

export const foreign = (world: World): void => {
  world.chain = grow(world.chain, [foreignOn(world, world.chain)])
  afterBlock(world)
}

/** A fork of the liar's: without the newest blocks, with bytes that left, and longer than the true chain if it likes. */
const fork = (world: World, depth: number, which: number, length: number): Chain => {
  let chain: Chain = world.chain.slice(0, Math.max(world.chain.length - depth, 1))
  const choices = minable(world, chain)
  const chosen = choices[which % (choices.length + 1)]
  chain = grow(chain, [chosen === undefined ? foreignOn(world, chain) : minedOf(chosen, which % 2 === 1)])
  for (let block = 0; block < depth + length; block++) chain = grow(chain)
  return chain
}

/** `number` of the transaction that a step means: steps count from the newest. */
const chosen = (world: World, which: number): number | undefined => world.ledger.transactions.at(-1 - which)?.number

const cancelOne = (world: World, number: number): void => {
  const transaction = transactionOf(world, number)
  const result = cancel(transaction)
  if (Result.isFailure(result)) return
  const cancellation = result.success
  if (cancellation._tag === "finish") store(world, apply(transaction, cancellation.command, world.now))
  if (cancellation._tag === "intend") store(world, { ...transaction, intent: "cancel" })
}

const replaceOne = (world: World, number: number): void => {
  const transaction = transactionOf(world, number)
  if (Result.isFailure(canReplace(transaction)) || transaction.origin === "gap") return
  const [first] = transaction.versions
  const version = { ...first, value: first.value + BigInt(transaction.versions.length) }
  store(world, { ...transaction, versions: [...transaction.versions, version] })
}

/** The ledger of the backup, in which every open request is marked: the marks of the database differ. */
const restore = (world: World): void => {
  const { backup } = world
  if (backup === undefined) return
  const transactions = backup.transactions.map((transaction) =>
    isMarked(transaction) ? { ...transaction, restored: true } : transaction
  )
  world.ledger = { ...backup, transactions }
  world.backup = undefined
  world.memory = noMemory
}

export const take = (world: World, step: Step, watch: Watch): void => {
  switch (step.do) {
    case "Accept": {
      if (world.ledger.transactions.filter((one) => !isFinal(one)).length >= 4) return
      const requiredNonce = step.requires === 3 ? { requiredNonce: world.ledger.lane.nextNonce + 1 } : {}
      accept(world, { validUntil: world.now + (validities[step.lasts] ?? 0) * 1000, ...requiredNonce })
      return
    }
    case "Cancel":
    case "Replace": {
      const number = chosen(world, step.which)
      if (number === undefined) return
      return step.do === "Cancel" ? cancelOne(world, number) : replaceOne(world, number)
    }
    case "Poll":
      for (const { number, state } of world.ledger.transactions) {
        if (state !== "pending") poll(world, faultsOf(step.faults), number, watch)
      }
      return
    case "PollLane":
      return pollLane(world, faultsOf(step.faults))
    case "Assign":
      return assign(world, faultsOf(step.faults), watch)
    case "Mine":
      return mine(world, step.which, step.reverts === 3)
    case "Block":
      for (let block = 0; block < step.count; block++) {
        world.chain = grow(world.chain)
        afterBlock(world)
      }
      return
    case "Foreign":
      return foreign(world)
    case "Reorg":
      world.chain = reorg(world.chain, Math.min(step.depth, required(world), headOf(world.chain).number))
      return
    case "DropPool":
      world.pool = new Map()
      return
    case "Fork":
      world.fork = world.hasSecond ? fork(world, step.depth, step.which, step.blocks) : undefined
      return
    case "Unfork":
      world.fork = undefined
      return
    case "BaseFee":
      world.baseFee = (baseFees[step.which] ?? 1n) * gwei
      return
    case "Wait":
      world.now += (waits[step.which] ?? 0) * 1000
      return
    case "Crash":
      world.memory = noMemory
      return
    case "Policy":
      world.isAllowed = step.isAllowed
      return
    case "Backup":
      world.backup = world.ledger
      return
    case "Restore":
      return restore(world)
  }
}

/** One poll of everything, by a process whose providers are honest, and a block that takes what the pool has. */
export const fairRound = (world: World, watch: Watch): void => {
  pollLane(world, faultless)
  for (const { number, state } of world.ledger.transactions) {
    if (state !== "pending") poll(world, faultless, number, watch)
  }
  assign(world, faultless, watch)
  mineFromPool(world)
}

/** What the operator answers about transactions that nothing can prove. */
export const giveUpUnproven = (world: World): void => {
  for (const transaction of world.ledger.transactions) {
    const command = resolve(transaction, "give_up")
    if (Result.isSuccess(command)) store(world, apply(transaction, command.success, world.now))
  }
}

export const effectsOf = (world: World, number: number): number =>
  minedIn(world.chain).filter(({ hash, isSuccess }) => isSuccess && world.bytes.get(hash)?.request === number).length

/** A polled lane with one request. */
export const begin = (over: Partial<World> = {}): World => {
  const world = newWorld(over)
  pollLane(world, faultless)
  accept(world)
  return world
}
