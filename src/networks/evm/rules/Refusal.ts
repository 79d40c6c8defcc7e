// What the answer of a node to `eth_sendRawTransaction` means. Nodes agree on no codes, so the text decides.
import type { Attempt } from "../../core/Transaction.ts"

/**
 * - `accepted`: the node has the transaction.
 * - `nonce`: the nonce is used, perhaps by these very bytes. Receipts decide; never a reason to fail.
 * - `bump`: another transaction with this nonce is in the pool, and the price is not far enough above it.
 * - `price`: below what the node or the next block takes.
 * - `order`: a predecessor has to be accepted first.
 * - `funds`: the balance does not cover it now.
 * - `window`: the pool has too many transactions of this account.
 * - `permanent`: this node never takes it. Other nodes may.
 * - `provider`: no answer about the transaction: the node may have it.
 * - `unknown`: a text that is not in the table. Never permanent, and no reason to pay more. The node may have the transaction all
 *   the same (Hardhat 3.18 answers with an error for one that it has mined).
 */
export type AnswerClass =
  | "accepted"
  | "nonce"
  | "bump"
  | "price"
  | "order"
  | "funds"
  | "window"
  | "permanent"
  | "provider"
  | "unknown"

/** Why nodes refused the bytes. */
export interface Refusal {
  readonly class: Exclude<AnswerClass, "accepted" | "provider">
  /** Wei per gas that a node named. */
  readonly minimumNeeded?: bigint
  /** What a node said, if the table does not know it. */
  readonly words?: string
  /** Broadcasts in a row that every provider refused in words that the table does not know. Absent: the newest one was not. */
  readonly times?: number
}

/** UTF-16 code units of a node's words that are kept and shown. */
const maxWords = 300

/** What a node said, in one line without control characters: nodes repeat raw bytes of contracts, which a database cannot store. */
export const wordsOf = (message: string): string =>
  message
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, " ")
    .trim()
    .slice(0, maxWords)

/** Patterns against the lower-case text. The first row that matches wins. */
export const table: ReadonlyArray<readonly [AnswerClass, ReadonlyArray<RegExp>]> = [
  [
    "accepted",
    [
      /already known/,
      /already imported/,
      /(?<!un)known transaction/,
      /alreadyknown/,
      /same hash/,
      /already exists/,
      /tx already in mempool/,
      /already in the txpool/
    ]
  ],
  [
    "nonce",
    [
      /nonce too low/,
      /nonce is too low/,
      /oldnonce/,
      /nonce has already been used/,
      /nonce is lower than account nonce/,
      /doesn't have the correct nonce/,
      /^mined$/,
      /tx replaced/
    ]
  ],
  [
    "bump",
    [
      /replacement[^]*underpriced/,
      /underpriced[^]*replacement/,
      /could not replace existing/,
      /replacementnotallowed/,
      /gas price too low to replace/,
      /not enough to replace/,
      /replacement gas too low/,
      /another tx which has the same nonce/
    ]
  ],
  [
    "price",
    [
      /underpriced/,
      /feetoolow/,
      /max fee per gas less than block base fee/,
      /fee too low/,
      /below (configured )?minimum/,
      /below current base fee/,
      /is too low for the next block/,
      /greater than or equal to basefee/,
      /lower than the base fee/,
      /insufficient fee/,
      /gas prices too low/
    ]
  ],
  [
    "order",
    [
      /nonce(-| is | )too[- ]high/,
      /nonce gap/,
      /gapped/,
      /exceeds next nonce/,
      /too far in the future/,
      /nonce out of range/,
      /future transaction tries to replace pending/,
      /nonce is too distant/,
      /invalid transaction with a lower nonce/,
      /nonce is higher than account nonce/,
      /invalid sequence/,
      // geth: a list with the account of a pooled one, and an account whose delegation is pooled.
      /authority already reserved/
    ]
  ],
  [
    "funds",
    [
      /insufficient funds/,
      /insufficientfunds/,
      /balance too low/,
      /upfront cost exceeds/,
      /doesn't have enough funds/,
      /insufficient balance/,
      /not enough balance/
    ]
  ],
  [
    "window",
    [
      /in-flight transaction limit/,
      /pool is full/,
      /account limit/,
      /exceeds the number of slots/,
      /max amount of txs for this account/,
      /spammer/,
      /already reserved/,
      /queue full/
    ]
  ],
  [
    "permanent",
    [
      /intrinsic gas/,
      /exceeds block gas limit/,
      /gas limit (is )?too high/,
      /exceeds (transaction )?gas cap/,
      /oversized data/,
      /max initcode/,
      /invalid sender/,
      /(invalid|incorrect|wrong) chain[- ]?id/,
      /transaction type not supported/,
      /fee[^]*exceeds the configured cap/,
      /exceeds max transaction gas limit/,
      /gas limit exceeds the upper limit/,
      /(gas limit|fee) cap exceeded/,
      /requires at least \d+ gas/,
      /insufficient gas for floor data/,
      /initcode too large/,
      /init code length/,
      /data\/input field is greater/,
      /rlptoolong/,
      /could not decode transaction/,
      /signed for another chain/,
      /invalid signature v value/,
      /only replay-protected/,
      /auth(orization)? (tuple|list)/,
      /eip-?7702 is not supported/,
      /sender not an eoa/,
      /not authorized to send/,
      /max(priority| priority)? ?fee ?per ?gas[^]*(higher|bigger) than max/,
      /value transfer not allowed/
    ]
  ],
  ["provider", [/initial sync is still in progress/, /transaction pool not enabled/]]
]

type Refusable = Pick<Attempt, "outcome"> & { readonly refusal?: Refusal }

/** Whether no node that was asked ever takes it. */
export const isRefusedForGood = ({ outcome, refusal }: Refusable): boolean =>
  outcome === "refused" && refusal?.class === "permanent"

/** Whether nodes refused its price, and nothing else about it. */
export const isUnderpriced = ({ outcome, refusal }: Refusable): boolean =>
  outcome === "refused" && (refusal?.class === "bump" || refusal?.class === "price")

/** Whether all that was heard of it are words that the table does not know, which a higher price does not change. */
export const isUnexplained = ({ refusal }: Refusable): boolean => refusal?.class === "unknown"

/** What came back from a node. */
export type NodeAnswer =
  | { readonly _tag: "Hash" }
  | { readonly _tag: "RpcError"; readonly code?: number; readonly message: string }
  | { readonly _tag: "HttpError"; readonly status: number; readonly message?: string }
  | { readonly _tag: "NoAnswer" }

/** JSON-RPC code for "limit exceeded" (EIP-1474). */
const limitExceeded = -32005

const classOfText = (message: string): AnswerClass | undefined => {
  const text = message.toLowerCase()
  return table.find(([, patterns]) => patterns.some((pattern) => pattern.test(text)))?.[0]
}

/** HTTP statuses that speak about the provider and not about the transaction: 5xx, and those of logins, time limits and rates. */
const isProviderStatus = (status: number): boolean => status >= 500 || [401, 408, 429].includes(status)

/** Codes of errors with which providers say that they have too much to do: EIP-1474, and those of hosted ones. */
const busyCodes: ReadonlySet<number> = new Set([limitExceeded, 429, -32029])

/** What nodes say when they had no time for the transaction. */
const busyWords = /(?:rate|request) limit|too many requests|timed? ?out|deadline exceeded|compute units/i

export const classify = (answer: NodeAnswer): AnswerClass => {
  switch (answer._tag) {
    case "Hash":
      return "accepted"
    case "NoAnswer":
      return "provider"
    case "RpcError":
      return (
        classOfText(answer.message) ??
        (busyCodes.has(answer.code ?? 0) || busyWords.test(answer.message) ? "provider" : "unknown")
      )
    case "HttpError":
      return classOfText(answer.message ?? "") ?? (isProviderStatus(answer.status) ? "provider" : "unknown")
  }
}

/** Wei per gas that geth names in `gas tip cap 0, minimum needed 1`. */
export const minimumNeeded = (message: string): bigint | undefined => {
  const [, digits] = /minimum needed (\d{1,38})\b/i.exec(message) ?? []
  return digits === undefined ? undefined : BigInt(digits)
}
