// What the answer of a node to `eth_sendRawTransaction` means. Nodes agree on no codes, so the text decides.
import type { Attempt } from "../Attempt.ts"

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
 * - `unknown`: a text that is not in the table. Never permanent.
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
}

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
      /tx already in mempool/
    ]
  ],
  ["nonce", [/nonce too low/, /nonce is too low/, /oldnonce/, /nonce has already been used/]],
  [
    "bump",
    [
      /replacement[^]*underpriced/,
      /underpriced[^]*replacement/,
      /could not replace existing/,
      /replacementnotallowed/,
      /gas price too low to replace/,
      /not enough to replace/
    ]
  ],
  ["price", [/underpriced/, /feetoolow/, /max fee per gas less than block base fee/, /fee too low/, /below minimum/]],
  [
    "order",
    [
      /nonce(-| is | )too[- ]high/,
      /nonce gap/,
      /gapped/,
      /exceeds next nonce/,
      /too far in the future/,
      /nonce out of range/,
      /future transaction tries to replace pending/
    ]
  ],
  [
    "funds",
    [/insufficient funds/, /insufficientfunds/, /balance too low/, /upfront cost exceeds/, /doesn't have enough funds/]
  ],
  ["window", [/in-flight transaction limit/, /txpool is full/, /account limit/, /exceeds the number of slots/]],
  [
    "permanent",
    [
      /intrinsic gas/,
      /exceeds block gas limit/,
      /gas limit too high/,
      /exceeds (transaction )?gas cap/,
      /oversized data/,
      /max initcode/,
      /invalid sender/,
      /invalid chain id/,
      /transaction type not supported/,
      /fee[^]*exceeds the configured cap/
    ]
  ]
]

type Refusable = Pick<Attempt, "outcome"> & { readonly refusal?: Refusal }

/** Whether no node that was asked ever takes it. */
export const isRefusedForGood = ({ outcome, refusal }: Refusable): boolean =>
  outcome === "refused" && refusal?.class === "permanent"

/** Whether nodes refused its price, and nothing else about it. */
export const isUnderpriced = ({ outcome, refusal }: Refusable): boolean =>
  outcome === "refused" && (refusal?.class === "bump" || refusal?.class === "price")

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

/** HTTP statuses that speak about the provider and not about the transaction: 429 and 5xx. */
const isProviderStatus = (status: number): boolean => status === 429 || status >= 500

export const classify = (answer: NodeAnswer): AnswerClass => {
  switch (answer._tag) {
    case "Hash":
      return "accepted"
    case "NoAnswer":
      return "provider"
    case "RpcError":
      return classOfText(answer.message) ?? (answer.code === limitExceeded ? "provider" : "unknown")
    case "HttpError":
      return classOfText(answer.message ?? "") ?? (isProviderStatus(answer.status) ? "provider" : "unknown")
  }
}

/** Wei per gas that geth names in `gas tip cap 0, minimum needed 1`. */
export const minimumNeeded = (message: string): bigint | undefined => {
  const [, digits] = /minimum needed (\d{1,38})\b/i.exec(message) ?? []
  return digits === undefined ? undefined : BigInt(digits)
}
