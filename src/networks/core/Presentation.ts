// How transactions and their attempts are shown: the part that is the same for all networks.
import { DateTime, Schema } from "effect"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { field, shown } from "../../domain/request/Field.ts"
import * as Shown from "../../domain/request/Shown.ts"
import { Instant } from "../../domain/request/Shown.ts"
import { Code } from "./Cause.ts"
import type { Cause, Words } from "./Cause.ts"
import type { Family } from "./Family.ts"
import { isFinal } from "./Transaction.ts"
import type { Attempt, State, Transaction } from "./Transaction.ts"
import { ExternalId, TransactionId, TransactionStatus } from "./TransactionValues.ts"
import type { Moment } from "./TransactionValues.ts"

/** What the rules of a network do not know. */
export interface Identity {
  readonly id: TransactionId
  readonly relayerId: RelayerId
  /** In the canonical form of the network. */
  readonly from: string
  readonly externalId?: string
  readonly confirmedAt?: Moment
  /** Whether large parts are shown: versions of a request, operations of stellar. Responses with one transaction show them. */
  readonly isWhole?: boolean
}

const at = "2026-11-22T12:00:00.000Z"

/** The properties of responses that all networks have. */
export const neutralFields = {
  id: field(TransactionId, "Identifier of the transaction.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  relayer_id: field(RelayerId, "Relayer that sends it.", "payouts"),
  status: field(TransactionStatus, "State of the transaction.", "submitted"),
  status_reason: shown(
    Shown.Words,
    "What it waits for, or why it ended, as a sentence.",
    "The transaction was canceled."
  ),
  code: shown(Code, "The same as a code.", "in_pool"),
  created_at: field(Instant, "When it was accepted.", at),
  sent_at: shown(Instant, "When it was first sent.", at),
  confirmed_at: shown(Instant, "When it was confirmed.", at),
  confirmed_by: shown(
    Schema.Natural,
    "1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of `finality_by_one`. Otherwise absent.",
    1
  ),
  is_canceled: field(Schema.Boolean, "Whether a cancel was requested. The transaction may still be executed.", false),
  external_id: shown(ExternalId, "The caller's identifier.", "order-1234"),
  valid_until: shown(Instant, "Deadline.", "2026-11-22T20:00:00.000Z")
}

export const statusOf = (state: State): TransactionStatus => (state === "signed" ? "sent" : state)

/** The attempt that was mined, else the newest that was not refused, else the newest. */
export const shownAttempt = <F extends Family>({ attempts, mined }: Transaction<F>): Attempt<F> | undefined =>
  mined === undefined
    ? (attempts.findLast(({ outcome }) => outcome !== "refused") ?? attempts.at(-1))
    : attempts.find(({ ordinal }) => ordinal === mined.ordinal)

export const instant = (moment: Moment) => DateTime.makeUnsafe(moment)

/** A property that is absent if its value is undefined. */
export const present = <K extends string, A>(name: K, value: A | undefined): { readonly [_ in K]?: A } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [_ in K]?: A })

/** The values of `neutralFields`. `explain`: of the network. */
export const shownFields = <F extends Family>(
  explain: (cause: Cause, isFinal: boolean) => Words,
  transaction: Transaction<F>,
  identity: Identity
) => {
  const { attempts, state, intent, cause, createdAt, validUntil, confirmedBy } = transaction
  const sentAt = attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent?.at
  const words: Words | undefined = cause && explain(cause, isFinal(transaction))
  return {
    id: identity.id,
    relayer_id: identity.relayerId,
    status: statusOf(state),
    created_at: instant(createdAt),
    valid_until: instant(validUntil),
    is_canceled: intent === "cancel" || state === "canceled",
    ...present("confirmed_by", confirmedBy),
    ...present("code", cause?.code),
    ...present("status_reason", words?.reason),
    ...present("external_id", identity.externalId),
    ...present("sent_at", sentAt === undefined ? undefined : instant(sentAt)),
    ...present("confirmed_at", identity.confirmedAt === undefined ? undefined : instant(identity.confirmedAt))
  }
}

// Shows the attempts of a transaction: the part that is the same for all networks.

const attemptAt = "2026-11-22T12:00:00.000Z"

const ShownRefusal = Schema.Struct({
  class: field(
    Shown.shaped(/^[a-z_]{3,12}$/),
    "Kind of the refusal. On evm: `nonce` (it is used), `bump` (another transaction at the nonce offers too much), `price`, `order` (a predecessor is missing), `funds`, `window` (the pool has too many of the account), `permanent`, `unknown`. On stellar: `not_now`, `look` (the sequence is used), `too_late`, `fee`, `funds`, `resources`, `permanent`. On solana: `permanent`.",
    "price"
  ),
  needed: shown(
    Shown.Digits,
    "What a node wanted at least: on evm wei per gas of priority fee, on stellar the fee in stroops.",
    "1000000000"
  ),
  words: shown(
    Shown.Words,
    "What a node said, on evm. Only if the service does not know the words.",
    "sender account not authorized"
  ),
  result: shown(Shown.shaped(/^tx[A-Z][a-z]{2,10}$/), "Name of the result, on stellar.", "txInsufficientFee")
}).annotate({ identifier: "TransactionRefusal", description: "Why nodes refused the bytes of an attempt." })

/**
 * The properties that attempts in responses have on all networks. All are optional, because events that earlier versions of
 * the service stored do not have them.
 */
export const neutralAttemptFields = {
  ordinal: shown(Schema.Natural, "Number of the attempt, from 1, in the order of signatures.", 1),
  request_version: shown(
    Schema.Natural,
    "Version of the request that it carries, from 1. A replacement adds a version.",
    1
  ),
  signed_at: shown(Instant, "When it was signed.", attemptAt),
  sent_at: shown(Instant, "When it was first sent.", attemptAt),
  sends: shown(Schema.Natural, "How often it was sent to nodes.", 2),
  last_sent_at: shown(Instant, "When it was last sent.", attemptAt),
  outcome: shown(
    Schema.Literals(["unknown", "accepted", "refused"]),
    "The newest answer of nodes. `unknown`: none has answered, so it may have left or not.",
    "accepted"
  ),
  refusal: shown(ShownRefusal, "Why nodes refused it. Absent if none did.", { class: "price", needed: "1000000000" })
}

/** What a refusal can say, of any network. */
interface RefusalFields {
  readonly class: string
  readonly needed?: bigint
  readonly words?: string
  readonly result?: string
}

/** The values of `neutralAttemptFields`. */
export const shownAttemptFields = <F extends Family>(
  { ordinal, requestVersion, signedAt, firstSent, sends, lastSentAt, outcome }: Attempt<F>,
  refusal: RefusalFields | undefined
) => ({
  ordinal,
  request_version: requestVersion,
  signed_at: instant(signedAt),
  ...present("sent_at", firstSent && instant(firstSent.at)),
  sends,
  ...present("last_sent_at", lastSentAt === undefined ? undefined : instant(lastSentAt)),
  outcome,
  ...present(
    "refusal",
    refusal && {
      class: refusal.class,
      ...present("needed", refusal.needed),
      ...present("words", refusal.words),
      ...present("result", refusal.result)
    }
  )
})

/** The height of the block, slot or ledger that contains the attempt. Undefined: no block contains it. */
export const heightOf = <F extends Family>({ mined }: Transaction<F>, { ordinal }: Attempt<F>): number | undefined =>
  mined?.ordinal === ordinal ? mined.receipt.height : undefined

/** The number of a version of the request, in `request_versions`. */
export const versionField = field(Schema.Natural, "Number of the version, from 1.", 1)

export const versionsText =
  "All versions of the request, oldest first. Only in the response of one transaction, if its request was replaced."

/** The value of `request_versions`. `show` presents one version. */
export const shownVersions = <F extends Family, A extends object>(
  { versions }: Transaction<F>,
  { isWhole = false }: Identity,
  show: (request: F["request"]) => A
) =>
  present(
    "request_versions",
    !isWhole || versions.length === 1
      ? undefined
      : versions.map((request, index) => ({ version: index + 1, ...show(request) }))
  )
