// A process that holds the lane: it polls, decides, commits, sends and records. It can die between any two of these.
import type { Attempt } from "../../../../src/domain/transaction/Attempt.ts"
import { cause } from "../../../../src/domain/transaction/Cause.ts"
import type { Command } from "../../../../src/domain/transaction/Command.ts"
import { decide } from "../../../../src/domain/transaction/Decision.ts"
import { maxFeeOf } from "../../../../src/domain/transaction/Fees.ts"
import type { Fees } from "../../../../src/domain/transaction/Fees.ts"
import { floor } from "../../../../src/domain/transaction/Floor.ts"
import { findGaps, settle } from "../../../../src/domain/transaction/Gaps.ts"
import type { LaneSituation, Terms } from "../../../../src/domain/transaction/Lane.ts"
import { priceOf } from "../../../../src/domain/transaction/Market.ts"
import { plan } from "../../../../src/domain/transaction/Queue.ts"
import { record } from "../../../../src/domain/transaction/Sending.ts"
import { othersOf, totalsOf } from "../../../../src/domain/transaction/Totals.ts"
import { isFinal, isInFlight, newestRequest } from "../../../../src/domain/transaction/Transaction.ts"
import type { Transaction } from "../../../../src/domain/transaction/Transaction.ts"
import { apply, withAttempt, withSent } from "../../../../src/domain/transaction/Transition.ts"
import { headOf } from "./Chain.ts"
import { answerOf, offer } from "./Node.ts"
import type { Bytes, Delivery } from "./Node.ts"
import { fair, findTaker, marketIn, see, seeLane } from "./Reader.ts"
import type { Reading } from "./Reader.ts"
import { noMemory, store, transactionOf } from "./World.ts"
import type { World } from "./World.ts"

/** Where a process dies. */
export type CrashPoint = "before_commit" | "after_commit" | "after_send" | "never"

export interface Faults {
  readonly reading: Reading
  readonly crash: CrashPoint
  readonly honestNode: Delivery
  readonly lyingNode: Delivery
  readonly lie: string
}

export const faultless: Faults = {
  reading: fair,
  crash: "never",
  honestNode: "taken",
  lyingNode: "taken",
  lie: "nonce too low"
}

class Crash extends Error {}

const dieAt = (faults: Faults, point: CrashPoint): void => {
  if (faults.crash === point) throw new Crash(point)
}

/** Runs a part of a process; if it dies there, its memory is gone. */
const living = (world: World, run: () => void): void => {
  try {
    run()
  } catch (error) {
    if (!(error instanceof Crash)) throw error
    world.memory = noMemory
  }
}

const termsOf = ({ isAllowed, isPaused }: World): Terms => ({
  isPaused,
  minBalance: 0n,
  isEip1559: true,
  isAllowed
})

const baseOf = (world: World) => {
  const { lane, transactions } = world.ledger
  const isDeepReorg = transactions.some(
    (transaction) => isFinal(transaction) && transaction.nonce !== undefined && transaction.nonce >= lane.chainNonce
  )
  return { lane, network: world.network, isDeepReorg }
}

const totals = (world: World) => totalsOf(world.ledger.transactions, world.memory)

const situationOf = (world: World, transaction: Transaction): LaneSituation => ({
  ...baseOf(world),
  terms: termsOf(world),
  others: othersOf(transaction, totals(world), false)
})

const hashOf = (nonce: number, what: string, fees: Fees): string =>
  `${nonce} ${what} ${maxFeeOf(fees)} ${fees.type === "legacy" ? "" : fees.tip}`

const signed = (world: World, transaction: Transaction, nonce: number, sign: Extract<Command, { _tag: "Sign" }>) => {
  const version = transaction.versions.length
  const request = newestRequest(transaction)
  const isNoop = sign.kind === "noop"
  const hash = hashOf(nonce, isNoop ? "noop" : `request ${transaction.number} version ${version}`, sign.fees)
  const value = isNoop ? 0n : request.value
  const bytes: Bytes = {
    hash,
    nonce,
    fees: sign.fees,
    cost: sign.gasLimit * maxFeeOf(sign.fees) + value,
    effect: isNoop ? undefined : { ...(request.to === undefined ? {} : { to: request.to }), value, data: "0x" },
    request: isNoop ? undefined : transaction.number
  }
  const attempt: Attempt = {
    ordinal: transaction.attempts.length + 1,
    kind: sign.kind,
    generation: world.ledger.lane.generation,
    requestVersion: version,
    hash,
    nonce,
    fees: sign.fees,
    gasLimit: sign.gasLimit,
    signedAt: world.now,
    sends: 0,
    outcome: "unknown"
  }
  return { bytes, attempt }
}

/** Both providers are asked. Whatever they answer, bytes that arrived anywhere have left. */
const sendBytes = (world: World, faults: Faults, bytes: Bytes) => {
  const [answer, pool] = offer(world.chain, world.pool, world.balance, bytes)
  const deliveries = [faults.honestNode, ...(world.hasSecond ? [faults.lyingNode] : [])]
  if (deliveries.some((delivery) => delivery !== "lost")) world.left.add(bytes.hash)
  if (faults.honestNode === "taken" || faults.honestNode === "silent") world.pool = pool
  return deliveries.map((delivery) => answerOf(delivery, answer, faults.lie))
}

const broadcast = (world: World, faults: Faults, number: number, ordinals: ReadonlyArray<number>): void => {
  for (const ordinal of ordinals) {
    const transaction = transactionOf(world, number)
    const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
    const bytes = attempt && world.bytes.get(attempt.hash)
    if (attempt === undefined || bytes === undefined) throw new Error("bytes of an attempt are missing")
    const answers = sendBytes(world, faults, bytes)
    dieAt(faults, "after_send")
    const sent = record(transaction, attempt, answers, { now: world.now, head: headOf(world.chain).number })
    const recorded = withSent(transaction, sent)
    store(world, sent.intend === undefined ? recorded : apply(recorded, sent.intend, world.now))
    if (sent.isAccepted || !sent.triesOlder) return
  }
}

const sign = (
  world: World,
  faults: Faults,
  number: number,
  nonce: number,
  command: Extract<Command, { _tag: "Sign" }>
): void => {
  const transaction = transactionOf(world, number)
  const { bytes, attempt } = signed(world, transaction, nonce, command)
  dieAt(faults, "before_commit")
  world.bytes.set(bytes.hash, bytes)
  store(world, withAttempt(transaction, attempt, command.cause, world.now))
  const { lane } = world.ledger
  world.ledger = { ...world.ledger, lane: { ...lane, nextNonce: Math.max(lane.nextNonce, nonce + 1) } }
  world.memory = { ...world.memory, lastSignedAt: world.now }
  dieAt(faults, "after_commit")
}

/** Called with every decision, to check the invariants that a command alone can break. */
export type Watch = (transaction: Transaction, commands: ReadonlyArray<Command>) => void

const execute = (world: World, faults: Faults, before: Transaction, commands: ReadonlyArray<Command>): void => {
  for (const command of commands) {
    if (command._tag === "Sign") {
      const nonce = before.nonce ?? world.ledger.lane.nextNonce
      sign(world, faults, before.number, nonce, command)
      const ordinal = transactionOf(world, before.number).attempts.length
      broadcast(world, faults, before.number, [ordinal])
    } else if (command._tag === "Broadcast") broadcast(world, faults, before.number, command.ordinals)
    else if (command._tag !== "PollAt" && command._tag !== "Rest" && command._tag !== "FindTaker") {
      dieAt(faults, "before_commit")
      store(world, apply(transactionOf(world, before.number), command, world.now))
    }
  }
}

const decideOne = (world: World, faults: Faults, number: number, watch: Watch): boolean => {
  const transaction = transactionOf(world, number)
  const view = see(world, faults.reading, transaction)
  const situation = situationOf(world, transaction)
  const first = decide(transaction, situation, view, world.now)
  const seeker = first.find((command) => command._tag === "FindTaker")
  const commands =
    seeker === undefined
      ? first
      : decide(transaction, situation, { ...view, taker: findTaker(world, faults.reading, seeker.nonce) }, world.now)
  watch(transaction, commands)
  execute(world, faults, transaction, commands)
  return commands.some((command) => command._tag === "PollAt" && command.at <= world.now)
}

/** Decides about one transaction that has or had a nonce, and again while a decision asks for it. */
export const poll = (world: World, faults: Faults, number: number, watch: Watch): void =>
  living(world, () => {
    for (let again = 0; again < 3; again++) if (!decideOne(world, faults, number, watch)) return
  })

/** Gives nonces to pending transactions. */
export const assign = (world: World, faults: Faults, watch: Watch, limit = 32): void =>
  living(world, () => {
    const pending = world.ledger.transactions.filter(({ state }) => state === "pending")
    const candidates = pending.map((transaction) => ({
      transaction,
      terms: termsOf(world),
      view: see(world, faults.reading, transaction)
    }))
    const { signings, decided } = plan(candidates, baseOf(world), totals(world), world.now, limit)
    for (const { transaction, commands } of decided) {
      watch(transaction, commands)
      execute(world, faults, transaction, commands)
    }
    for (const { transaction, sign: command } of signings) watch(transaction, [command])
    for (const { transaction, nonce, sign: command } of signings) {
      sign(
        world,
        { ...faults, crash: faults.crash === "before_commit" ? "before_commit" : "never" },
        transaction.number,
        nonce,
        command
      )
    }
    dieAt(faults, "after_commit")
    for (const { transaction } of signings) {
      broadcast(world, faults, transaction.number, [transactionOf(world, transaction.number).attempts.length])
    }
  })

const fillGap = (world: World, faults: Faults, nonce: number): void => {
  const number = ++world.lastNumber
  const fees = priceOf(marketIn(world), "fast", "eip1559")
  store(world, {
    number,
    relayerNumber: 1,
    origin: "gap",
    generation: world.ledger.lane.generation,
    versions: [{ to: world.ledger.lane.address, value: 0n }],
    intent: "clear",
    clearCode: "gap_filled",
    state: "pending",
    causeSince: world.now,
    priority: 0,
    restored: false,
    validUntil: world.now,
    requeues: 0,
    createdAt: world.now,
    attempts: []
  })
  sign(world, { ...faults, crash: "never" }, number, nonce, {
    _tag: "Sign",
    kind: "noop",
    fees,
    gasLimit: 21_000n,
    cause: cause("gap_filled")
  })
}

/** Counters of the lane: floor, gaps, settled nonce. */
export const pollLane = (world: World, faults: Faults): void =>
  living(world, () => {
    const view = seeLane(world, faults.reading)
    const step = floor(world.ledger.lane, view, world.memory.claim, world.network.window)
    const { claim: _, ...memory } = world.memory
    world.memory = step.claim === undefined ? memory : { ...memory, claim: step.claim }
    const { transactions } = world.ledger
    const committed = transactions.flatMap(({ nonce, generation }) =>
      nonce !== undefined && generation === step.lane.generation && nonce >= view.count ? [nonce] : []
    )
    const gaps = findGaps(step.lane, view.count, committed, world.network.window)
    dieAt(faults, "before_commit")
    const lane = settle(gaps.lane, view.countAtFinal, totals(world).lowestOpen)
    world.ledger = { ...world.ledger, lane }
    for (const nonce of gaps.gaps) fillGap(world, faults, nonce)
    const isQuiet = !world.ledger.transactions.some(isInFlight)
    const { quietSince = world.now, ...rest } = world.memory
    world.memory = isQuiet ? { ...rest, quietSince } : rest
  })
