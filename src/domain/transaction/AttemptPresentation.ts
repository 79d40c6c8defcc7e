// Shows the attempts of a transaction: the part that is the same for all networks.
import { Schema } from "effect"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Text.ts"
import type { Attempt } from "./Attempt.ts"
import type { Family } from "./Family.ts"
import { instant, present } from "./Presentation.ts"
import type { Identity } from "./Presentation.ts"
import type { Transaction } from "./Transaction.ts"

const at = "2026-11-22T12:00:00.000Z"

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
  signed_at: shown(Instant, "When it was signed.", at),
  sent_at: shown(Instant, "When it was first sent.", at),
  sends: shown(Schema.Natural, "How often it was sent to nodes.", 2),
  last_sent_at: shown(Instant, "When it was last sent.", at),
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
