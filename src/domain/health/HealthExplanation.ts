// Why a relayer is in its state and what happens next: as text for people and as a code for programs.
import { Schema } from "effect"
import type { DateTime } from "effect"
import { HealthStatus } from "./ListedHealth.ts"
import { delegateChanged, HealthWarning, noticesOf, otherChain, providerWarnings } from "./ChainWarnings.ts"
import { EvmAddress } from "../chain/Amount.ts"
import type { ChainSnapshot } from "../chain/ChainSnapshot.ts"
import type { Network } from "../network/Network.ts"
import { lockedBy } from "../relayer/Policy.ts"
import { DisabledReason } from "../relayer/Relayer.ts"
import type { Relayer } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"
import { Code } from "../../networks/core/Cause.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import { Funding, fundingOf, sentenceOf } from "./Funding.ts"
import { TopUpReport } from "./TopUpReport.ts"
import { failuresLeft } from "./Health.ts"
import type { Health } from "./Health.ts"

export const HealthCode = Schema.Literals([
  "not_checked",
  "all_well",
  "waiting_for_funds",
  "transaction_waits",
  "provider_failed",
  ...DisabledReason.fields.type.literals
]).annotate({
  identifier: "HealthCode",
  description:
    "Cause of the state, for programs. If the relayer is failing or disabled, it is the type of the reason. `waiting_for_funds`: its checks succeed, and a transaction waits for funds. `transaction_waits`: the same, for something else; `front` names it.",
  examples: ["all_well"]
})
export type HealthCode = typeof HealthCode.Type

/** The first transaction of a relayer that waits for something that is missing. */
const Front = Schema.Struct({
  transaction_id: field(TransactionId, "Its id.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  code: field(Code, "What it waits for.", "gas_price_above_cap"),
  since: field(Instant, "Since when.", "2026-01-02T03:04:05.678Z"),
  count: field(
    Schema.Natural,
    "How many open transactions of the relayer wait, with those that are queued behind others.",
    3
  )
}).annotate({
  identifier: "WaitingTransaction",
  description: "The first transaction of the relayer that waits for something that is missing."
})

export const RelayerExplanation = Schema.Struct({
  state: HealthStatus,
  code: HealthCode,
  paused: field(Schema.Boolean, "Whether the operator has paused the relayer, whatever its state is.", false),
  reason: field(Shown.Words, "Why the relayer is in its state, for people.", "The last check found everything well."),
  next: field(
    Shown.Words,
    "What happens next, for people.",
    "The relayer is checked again; one failure alone does not disable it."
  ),
  warnings: Schema.optionalKey(
    field(Schema.Array(HealthWarning), "What is wrong although its checks succeed. Absent: nothing.", ["sends_nothing"])
  ),
  delegate: shown(
    EvmAddress,
    "Contract that the account of an evm relayer delegates to (EIP-7702). Absent: none.",
    "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
  ),
  funding: Schema.optionalKey(Funding),
  front: Schema.optionalKey(
    field(Front, "Absent if none waits, or if the API key lacks the scope `transactions:read`.")
  ),
  top_up: Schema.optionalKey(field(TopUpReport, "Absent: the policy of the relayer has no `top_up`.")),
  locked_by_channels: Schema.optionalKey(
    field(
      Shown.Digits,
      "Stroops of reserves that a stellar relayer pays for its channels. Absent: it has none.",
      "75000000"
    )
  ),
  next_at: field(Instant, "When `next` happens. A time in the past means very soon.", "2026-01-02T03:05:05.678Z"),
  since: Schema.optionalKey(
    field(Instant, "Since when the relayer is in its state. Absent before the first check.", "2026-01-02T03:04:05.678Z")
  )
}).annotate({ identifier: "RelayerExplanation", description: "Why a relayer is in its state, and what happens next." })
export type RelayerExplanation = typeof RelayerExplanation.Type

interface Words {
  readonly code: HealthCode
  readonly reason: string
  readonly next: string
}

const sentence = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`

const nextOf = (left: number) =>
  left === 1
    ? "The relayer is checked again, and disabled if that check fails too."
    : `The relayer is checked again, and disabled if the next ${left} checks fail.`

const wordsOf = (health: Health): Words => {
  switch (health.status) {
    case "unknown":
      return {
        code: "not_checked",
        reason: "The relayer's chain has not been checked yet.",
        next: "The relayer is checked for the first time, and disabled if the first three checks fail."
      }
    case "healthy":
      return {
        code: "all_well",
        reason: "The last check found everything well.",
        next: "The relayer is checked again; one failure alone does not disable it."
      }
    case "degraded":
      return {
        code: "provider_failed",
        reason: "The relayer works, but not all of its RPC URLs do.",
        next: "The relayer is checked again, and has recovered as soon as all of them answer."
      }
    case "failing":
      return {
        code: health.reason.type,
        reason: `Failed checks in a row: ${health.failures}. ${sentence(health.reason.details)}`,
        next: nextOf(failuresLeft(health))
      }
    case "disabled":
      return {
        code: health.reason.type,
        reason: `The service disabled the relayer: ${health.reason.details}. Failed checks in a row: ${health.failures}.`,
        next: "The relayer is checked again, and enabled as soon as one check succeeds."
      }
  }
}

/** Its checks succeed, and its transactions go nowhere. `words`: what the checks say. */
const waitingWords = (front: WaitingTransaction | undefined, words: Words): Words => {
  const others =
    front === undefined || front.count < 2 ? [] : [`In all, ${front.count} transactions of the relayer wait.`]
  if (front === undefined || front.code === "insufficient_funds") {
    const name = front === undefined ? "A transaction" : `Transaction ${front.id}`
    const rest = words.code === "all_well" ? "The last check found everything else well." : words.reason
    return { ...words, code: "waiting_for_funds", reason: [`${name} waits for funds.`, ...others, rest].join(" ") }
  }
  const rest = words.code === "all_well" ? [] : [words.reason]
  return {
    code: "transaction_waits",
    reason: [`Transaction ${front.id} waits. ${front.words.reason}`, ...others, ...rest].join(" "),
    next: front.words.next
  }
}

const delegates = (address: string): string =>
  `Its account delegates to ${address}, whose code decides what calls to the account do, transfers included; whether that code is safe was the operator's decision.`

const pausedByOperator = "The relayer is paused by the operator, and takes no transactions until it is resumed."

/** The first transaction that waits, and what its network says of it. */
export interface WaitingTransaction {
  readonly id: TransactionId
  readonly code: Code
  readonly since: DateTime.Utc
  /** How many transactions of its relayer wait, with those that are queued behind others. */
  readonly count: number
  readonly words: { readonly reason: string; readonly next: string }
}

export interface Situation {
  readonly relayer: Relayer
  readonly health: Health
  /** What the last check found. */
  readonly reading: ChainSnapshot | undefined
  readonly next_at: DateTime.Utc
  readonly since: DateTime.Utc | undefined
  /** What the transaction lacks that waits for the largest sum. 0: none waits for funds. */
  readonly waiting: bigint
  /** Absent: none waits, or the caller may not see it. */
  readonly front?: WaitingTransaction | undefined
  /** Whether its lane signs nothing, because the chain is another one than that of its nonces or sequences. */
  readonly isOtherChain?: boolean
  /** Absent: it is not known. */
  readonly network?: Network
  /** What the account delegates to, and what has changed since. Absent: nothing. */
  readonly delegation?: { readonly address: string; readonly changed?: string } | undefined
  /** Absent: it gets no top-ups. */
  readonly topUp?: TopUpReport | undefined
  /** The number of channels of the account. Absent: accounts of its network have no channels. */
  readonly channels?: number
}

/** The RPC URLs that failed in the last check. */
const providersOf = (reading: ChainSnapshot | undefined): ReadonlyArray<string> =>
  (reading?.providers ?? []).flatMap(providerWarnings)

export const explain = (situation: Situation): RelayerExplanation => {
  const {
    channels = 0,
    delegation,
    front,
    isOtherChain = false,
    network,
    relayer,
    topUp,
    health,
    reading,
    next_at,
    waiting
  } = situation
  const funding = fundingOf(relayer, reading, waiting)
  const works = health.status === "healthy" || health.status === "degraded"
  const isWaiting = works && (front !== undefined || (waiting > 0n && funding !== undefined))
  const { code, reason, next } = isWaiting ? waitingWords(front, wordsOf(health)) : wordsOf(health)
  const since = isWaiting && front !== undefined ? front.since : situation.since
  const notices = [
    ...noticesOf(relayer, reading, network),
    ...(isOtherChain ? [otherChain] : []),
    ...(delegation?.changed === undefined ? [] : [delegateChanged(delegation.changed)])
  ]
  const locked = lockedBy(channels, reading?.network_type === "stellar" ? reading.ledger?.base_reserve : undefined)
  return {
    state: isWaiting ? "waiting" : health.status,
    code,
    paused: relayer.paused,
    reason: [
      ...(relayer.paused ? [pausedByOperator] : []),
      reason,
      ...notices.map(({ text }) => text),
      ...(delegation === undefined ? [] : [delegates(delegation.address)]),
      ...(topUp?.reason === undefined ? [] : [topUp.reason]),
      ...(channels === 0 ? [] : [`The ${channels} channels of the relayer lock ${locked} stroops.`]),
      ...providersOf(reading)
    ].join(" "),
    next: funding === undefined ? next : `${sentenceOf(funding)} ${next}`,
    ...(notices.length === 0 ? {} : { warnings: notices.map((notice) => notice.code) }),
    ...(delegation === undefined ? {} : { delegate: delegation.address }),
    ...(funding === undefined ? {} : { funding }),
    ...(front === undefined
      ? {}
      : { front: { transaction_id: front.id, code: front.code, since: front.since, count: front.count } }),
    ...(topUp === undefined ? {} : { top_up: topUp }),
    ...(channels === 0 ? {} : { locked_by_channels: locked }),
    next_at,
    ...(since === undefined ? {} : { since })
  }
}
