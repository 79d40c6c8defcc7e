// The goals on solana. Rates are ratios within one run.
import { pollAfter, windowSize } from "../../../src/networks/solana/rules/SolanaNumbers.ts"
import { judge } from "../../harness/Goals.ts"
import type { Goal } from "../../harness/Goals.ts"
import * as Goals from "../Goals.ts"
import { ratio, rowOf } from "../Goals.ts"
import type { Results } from "../Results.ts"
import * as Scale from "./Scale.ts"
import { wide } from "./World.ts"

export const contender = "raw sender"

/** Shares of the rate of the raw sender, and of a window per poll. The lower one is the goal. */
const ofRawSender = 0.3
const ofWindow = 0.8

/** Milliseconds from the request to the first send of an idle relayer, besides two answers of a node. */
const idleLimit = 50

/** Milliseconds. */
const eventLimit = 1.2 * pollAfter + 300

/** Calls per transaction at 50 per second, with two providers and with one. */
const callLimits = { two: 4.5, one: 3.2 } as const

/** Transactions that land within one life of a blockhash, relative to those of the raw sender. */
const landedAtLeast = 0.99

export const judged = (results: Results): ReadonlyArray<Goal> => {
  const row = (name: string) => rowOf(results, name)
  const raw = row(contender)
  /** The rate until the block of the last transaction: every block is final a fixed number of blocks later. */
  const rate = (name: string, window: number) => {
    const rawRate = raw?.onChainPerSecond ?? Number.NaN
    const goal = Math.min(ofRawSender * rawRate, (ofWindow * window * 1000) / pollAfter)
    return ratio(row(name)?.onChainPerSecond, goal)
  }
  const answers = 2 * (raw?.toBroadcast ?? Number.NaN)
  const [single, one] = [row("single"), row("one relayer")]

  return [
    ...Goals.acceptance(results),
    ...judge(
      "one relayer, to 0.3 × raw sender or 0.8 × window ÷ poll",
      rate("one relayer", wide.window),
      "at least",
      1
    ),
    ...judge(
      "twenty relayers, to 0.3 × raw sender or 0.8 × windows ÷ poll",
      rate("twenty relayers", Scale.full.lanes * windowSize),
      "at least",
      1
    ),
    ...judge(
      "request to first send when idle, less two answers of a node, median",
      single?.toBroadcast === undefined ? undefined : single.toBroadcast - answers,
      "at most",
      idleLimit,
      "ms",
      0
    ),
    ...judge("finalized to event, single, median", single?.toEvent, "at most", eventLimit, "ms", 0),
    ...judge("finalized to event, 1,000 in flight, median", one?.toEvent, "at most", eventLimit, "ms", 0),
    ...judge(
      "RPC calls per transaction at 50/s with two providers",
      row("50/s with two providers")?.calls,
      "at most",
      callLimits.two,
      "calls"
    ),
    ...judge(
      "RPC calls per transaction at 50/s with one provider",
      row("50/s with one provider")?.calls,
      "at most",
      callLimits.one,
      "calls"
    ),
    ...judge(
      "landed within one life while a tenth is swallowed, to raw sender",
      ratio(row("a tenth of the sends swallowed")?.landed, row("raw sender with a tenth swallowed")?.landed),
      "at least",
      landedAtLeast
    ),
    ...Goals.idle(results),
    ...Goals.withHistory(results, contender)
  ]
}
