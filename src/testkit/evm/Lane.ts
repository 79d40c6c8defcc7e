// The lane of one evm account: it polls the chain in memory, decides with the rules of the service, signs, and sends. The property tests of the
// rules have a driver of the same form, which dies and forgets as well.
import { cause } from "../../networks/core/Cause.ts"
import { plan, restOf, totalsOf } from "../../networks/core/Queue.ts"
import type { Command, LaneSituation, Sign, Situation, Unreachable } from "../../networks/core/Rules.ts"
import {
  beginning,
  grown,
  halved,
  isFinal,
  isInFlight,
  isNoop,
  newestRequest
} from "../../networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../networks/core/Transaction.ts"
import { maxSignaturesPerCommit } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { apply, withAttempt, withSent } from "../../networks/core/Transition.ts"
import { maxFeesOf } from "../../networks/evm/rules/Costs.ts"
import { decide } from "../../networks/evm/rules/Decision.ts"
import { laneOf, nonceOf } from "../../networks/evm/rules/Evm.ts"
import type { Evm, Nonces, Question, Request, Seen } from "../../networks/evm/rules/Evm.ts"
import { pollInterval } from "../../networks/evm/rules/EvmNumbers.ts"
import type { NetworkNumbers } from "../../networks/evm/rules/EvmNumbers.ts"
import { evmRules } from "../../networks/evm/rules/EvmRules.ts"
import { believedFloor, findGaps, settleNonces } from "../../networks/evm/rules/LaneNonces.ts"
import type { CountClaim, FloorStep } from "../../networks/evm/rules/LaneNonces.ts"
import { priceOf } from "../../networks/evm/rules/Market.ts"
import { headOf } from "../chain/Blocks.ts"
import type { Rows } from "../KitNetwork.ts"
import { hasNoReceipt, marketIn, see, seeLane, takerOf } from "./Views.ts"
import type { Absences, Account } from "./Views.ts"
import { sealed } from "./Wire.ts"
import type { Bytes } from "./Wire.ts"

interface LaneOptions {
  readonly account: Account
  readonly key: Uint8Array
  readonly numbers: NetworkNumbers
  readonly relayerNumber: number
  readonly rows: Rows<Evm>
}

/** What follows for the lane if decisions ask to be made again at once. Three are enough: a receipt, its depth, and the end. */
const decisionsInARow = 3

export const make = ({ account, key, numbers, relayerNumber, rows }: LaneOptions) => {
  const { chain, address } = account
  let nonces: Nonces = {
    address,
    generation: 0,
    nextNonce: 0,
    chainNonce: 0,
    settledNonce: 0,
    windowSize: numbers.window
  }
  let stop: FloorStep["code"]
  let claim: CountClaim | undefined
  let quietSince: Moment | undefined
  let lastSignedAt: Moment | undefined
  const absences: Absences = new Map()
  const bytes = new Map<string, Bytes>()

  const find = (number: number): Transaction<Evm> => {
    const found = rows.all().find((transaction) => transaction.number === number)
    if (found === undefined) throw new Error(`the ledger of the kit has no transaction ${number}`)
    return found
  }

  const totals = () => totalsOf<Evm>(evmRules, rows.all(), { lastSignedAt, quietSince })

  const base = (): LaneSituation<Evm> => ({
    lane: laneOf(nonces),
    isDeepReorg: rows
      .all()
      .some((transaction) => isFinal(transaction) && (nonceOf(transaction) ?? -1) >= nonces.chainNonce),
    ...(stop === undefined ? {} : { stop: cause(stop) })
  })

  const requestBytes = (request: Request) => ({
    value: request.value,
    data: request.data ?? "0x",
    ...(request.to === undefined ? {} : { to: request.to.toLowerCase() })
  })

  const sign = (number: number, nonce: number, command: Sign<Evm>, now: Moment): void => {
    const transaction = find(number)
    const call = isNoop(command) ? { to: address, value: 0n, data: "0x" } : requestBytes(newestRequest(transaction))
    const { offer } = command
    const made = sealed({ chainId: numbers.chainId, nonce, ...call, gasLimit: offer.gasLimit, fees: offer.fees }, key)
    const ordinal = transaction.attempts.length + 1
    const attempt: Attempt<Evm> = {
      ordinal,
      kind: command.kind,
      generation: nonces.generation,
      requestVersion: transaction.versions.length,
      hash: made.hash,
      place: { account: address, sequence: BigInt(nonce) },
      offer,
      maxFee: command.maxFee,
      signedAt: now,
      sends: 0,
      outcome: "unknown"
    }
    bytes.set(made.hash, made)
    rows.store(withAttempt(transaction, attempt, command.cause, now), { ordinal, raw: made.raw })
    nonces = { ...nonces, nextNonce: Math.max(nonces.nextNonce, nonce + 1) }
    lastSignedAt = now
  }

  /** All providers are asked. The first attempt that one of them takes is enough. */
  const broadcast = (number: number, ordinals: ReadonlyArray<number>, now: Moment): void => {
    for (const ordinal of ordinals) {
      const transaction = find(number)
      const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
      const signed = attempt && bytes.get(attempt.hash)
      if (attempt === undefined || signed === undefined) throw new Error("the kit has lost the bytes of an attempt")
      const answers = chain.providers.map((provider) => chain.offerTo(provider, signed))
      const heard = evmRules.hear(transaction, attempt, answers, { at: now, height: chain.head().number })
      if (heard.isWindowFull) nonces = { ...nonces, windowSize: halved(nonces.windowSize) }
      const recorded = withSent(transaction, heard)
      rows.store(heard.follows === undefined ? recorded : apply(recorded, heard.follows, now))
      if (heard.isAccepted || !heard.triesOlder) return
    }
  }

  const execute = (before: Transaction<Evm>, commands: ReadonlyArray<Command<Evm>>, now: Moment): void => {
    for (const command of commands) {
      switch (command._tag) {
        case "Sign":
          sign(before.number, nonceOf(before) ?? nonces.nextNonce, command, now)
          broadcast(before.number, [find(before.number).attempts.length], now)
          break
        case "Broadcast":
          broadcast(before.number, command.ordinals, now)
          break
        case "Ask":
        case "PollAt":
        case "Rest":
          break
        default:
          rows.store(apply(find(before.number), command, now))
      }
    }
  }

  /** Undefined: the view has the answer already. */
  const answerOf = (transaction: Transaction<Evm>, question: Question): Partial<Seen> | undefined => {
    switch (question._tag) {
      case "Foreign":
        return { taker: takerOf(account, question.nonce), hasNoReceipt: hasNoReceipt(account, transaction) }
      case "RevertReason": {
        const { ordinal, receipt } = question
        return { sights: new Map([[ordinal, { _tag: "Receipt", receipt, isReasonAsked: true }]]) }
      }
      case "RevertsNow":
        return { revertsNow: {} }
      case "Estimate":
        return undefined
    }
  }

  const situationOf = (transaction: Transaction<Evm>, view: Seen | Unreachable, now: Moment): Situation<Evm> => ({
    ...base(),
    transaction,
    terms: rows.termsOf(transaction),
    rest: restOf<Evm>(evmRules, transaction, totals(), false),
    view,
    now
  })

  const look = (transaction: Transaction<Evm>, now: Moment) =>
    see(account, transaction, absences, { now, retryAt: now + pollInterval(numbers) })

  /** Whether the decision asks to be made again at once. */
  const decideOne = (number: number, now: Moment): boolean => {
    const transaction = find(number)
    const view = look(transaction, now)
    const first = decide(situationOf(transaction, view, now))
    const question = first[0]._tag === "Ask" ? first[0].question : undefined
    const answer = question && answerOf(transaction, question)
    const commands =
      answer === undefined || view._tag === "Unreachable"
        ? first
        : decide(situationOf(transaction, { ...view, ...answer }, now))
    execute(transaction, commands, now)
    return commands.some((command) => command._tag === "PollAt" && command.at <= now)
  }

  /** A no-op for a nonce that nothing uses. */
  const fillGap = (nonce: number, now: Moment): void => {
    const number = rows.nextNumber()
    const offer = { fees: priceOf(marketIn(account), "fast", "eip1559"), gasLimit: chain.gasOf({ value: 0n }) }
    const own = { number, relayerNumber, origin: "gap", generation: nonces.generation, facts: {}, priority: 0 }
    const row = beginning({ ...own, versions: [{ to: address, value: 0n }] as const, validUntil: now }, now)
    rows.store({ ...row, intent: "clear", clearCode: "gap_filled" })
    const filled = cause("gap_filled")
    sign(number, nonce, { _tag: "Sign", kind: "noop", offer, maxFee: maxFeesOf(offer), cause: filled }, now)
  }

  /** Counters of the lane: which count is believed, holes in the nonces, and what is settled. */
  const pollCounters = (now: Moment): void => {
    const view = seeLane(account, nonces)
    if (view === undefined) return
    const before = nonces.chainNonce
    const step = believedFloor(nonces, view, claim, numbers.window)
    const isStillAhead = stop === "nonce_ahead" && step.claim !== undefined
    claim = step.claim
    stop = step.code ?? (isStillAhead ? stop : undefined)
    const committed = rows.all().flatMap((transaction) => {
      const nonce = nonceOf(transaction)
      return transaction.generation === step.lane.generation && nonce !== undefined && nonce >= view.count
        ? [nonce]
        : []
    })
    const gaps = findGaps(step.lane, view.count, committed, numbers.window)
    const { lowestOpen } = totals()
    const lane = settleNonces(gaps.lane, view.countAtFinal, lowestOpen === undefined ? undefined : Number(lowestOpen))
    const blocks = lane.chainNonce > before ? 1 : 0
    nonces = { ...lane, windowSize: grown(lane.windowSize, blocks, numbers.window) }
    for (const nonce of gaps.gaps) fillGap(nonce, now)
    const isQuiet = !rows.all().some(isInFlight)
    quietSince = isQuiet ? (quietSince ?? now) : undefined
  }

  /** Gives nonces to pending transactions, commits all signatures, and sends the bytes. */
  const assign = (now: Moment): void => {
    const candidates = rows
      .all()
      .filter(({ state }) => state === "pending")
      .map((transaction) => ({
        transaction,
        terms: rows.termsOf(transaction),
        view: look(transaction, now),
        providers: "of the network"
      }))
    if (candidates.length === 0) return
    const { signings, decided } = plan<Evm>(evmRules, candidates, base(), totals(), now, maxSignaturesPerCommit)
    for (const { transaction, commands } of decided) execute(transaction, commands, now)
    for (const { transaction, place, sign: command } of signings) {
      sign(transaction.number, Number(place.sequence), command, now)
    }
    for (const { transaction } of signings) {
      broadcast(transaction.number, [find(transaction.number).attempts.length], now)
    }
  }

  /** Whether a final transaction may have to be sent again: after a reorganisation deeper than what counts as final. */
  const isDue = (transaction: Transaction<Evm>): boolean =>
    transaction.state !== "pending" && (!isFinal(transaction) || (nonceOf(transaction) ?? -1) >= nonces.chainNonce)

  /** One poll, and what follows from it. */
  const step = (now: Moment): void => {
    pollCounters(now)
    for (const { number } of rows.all().filter(isDue)) {
      for (let again = 0; again < decisionsInARow && decideOne(number, now);) again += 1
    }
    assign(now)
  }

  return {
    step,
    height: () => nonces.chainBlock?.number ?? headOf(chain.blocks()).number
  }
}
