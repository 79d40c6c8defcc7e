// How a transaction of the ledger is shown: what is the same for all networks.
import { DateTime, Schema } from "effect"
import { RelayerId } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Text.ts"
import type { Attempt } from "./Attempt.ts"
import type { Cause } from "./Cause.ts"
import type { Words } from "./Explanation.ts"
import type { Family } from "./Family.ts"
import type { Moment } from "./Moment.ts"
import { isFinal } from "./Transaction.ts"
import type { State, Transaction } from "./Transaction.ts"
import { Code } from "./Code.ts"
import { ExternalId, TransactionId, TransactionStatus } from "./TransactionId.ts"

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
  status_reason: shown(Shown.Words, "What it waits for, or why it ended, as a sentence.", "It was canceled."),
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
