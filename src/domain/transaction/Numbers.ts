// Every number that decides something about transactions of all networks, with its unit and its source.

/** A share as an exact fraction, because amounts are integers. */
export interface Ratio {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Milliseconds. */
const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Milliseconds between two polls of a lane with open transactions: the block time, but within these bounds. */
export const poll = { minimum: second, maximum: 12 * second } as const

/** Milliseconds after which bytes are sent again even if every node accepted them. Nodes drop silently (geth's pool limits). */
export const rebroadcastAfter = 30 * second

/** Milliseconds before bytes with an unknown outcome are sent again; doubles with each send up to `rebroadcastAfter`. */
export const unknownRetryAfter = second

/** Places that one commit gives away at most: encoding and signing 64 with a local key takes 10 ms of CPU. */
export const maxSignaturesPerCommit = 64

/** How often a request gets a new place after another transaction used its place. */
export const maxRequeues = 3

/** Milliseconds from acceptance to the deadline of a transaction without `valid_until` (the field's default). */
export const defaultValidity = 8 * hour

/** Milliseconds from acceptance to the latest deadline that is accepted. */
export const maxValidity = 7 * 24 * hour

/** Milliseconds that a transaction waits for funds while nothing of its lane is in flight. */
export const maxWaitForFunds = 10 * minute

/** UTF-16 code units of an `external_id`. */
export const maxExternalIdLength = 255

/** Transactions in one batch request. */
export const maxBatch = 100

/** Total that `pagination` reports at most; counting further would read every row. */
export const maxCountedTransactions = 10_000

/** Open transactions, above which a send is refused with 429. */
export const maxOpen = { perRelayer: 10_000, perService: 1_000_000 } as const
