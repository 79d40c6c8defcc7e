// What one poll has seen of the chain, about one transaction. Absent always means unknown, never "there is none".
import type { Receipt } from "../Attempt.ts"
import type { Evm } from "./Evm.ts"
import type { Market } from "./Market.ts"
import type { TakerEvidence } from "./ForeignTransaction.ts"

export interface Head {
  readonly number: number
  readonly hash: string
  readonly gasLimit?: bigint
}

/**
 * What a provider says about the bytes of an attempt. `Absent` counts the polls in a row in which it did not have them.
 */
export type Sight =
  /** `isReasonAsked`: `inquire` has looked for the reason of a revert. */
  | { readonly _tag: "Receipt"; readonly receipt: Receipt<Evm>; readonly isReasonAsked?: true }
  | { readonly _tag: "InPool" }
  | { readonly _tag: "Absent"; readonly polls: number }

/**
 * What a second provider says of one height: the hash there, and the height of the newest block that is final for it. Both
 * count: a provider with a longer fork that dies has the same block, and believes it deeper than it is. Absent: it did not
 * answer. `not_configured`: the first provider decides alone.
 */
export type SecondOpinion = { readonly hash: string; readonly finalHeight: number } | "not_configured"

/** The block at one height. */
export interface BlockHashes {
  readonly first?: string
  readonly second?: SecondOpinion
}

/** Whether the second provider, if there is one, has this block, and has it deep. */
export const isAgreed = (second: SecondOpinion | undefined, block: number, hash: string | undefined): boolean =>
  second === "not_configured" || (second !== undefined && second.hash === hash && block <= second.finalHeight)

/** What the estimation of the call said. */
export type Estimate =
  | { readonly _tag: "Gas"; readonly gas: bigint }
  /** `second`: what another provider says of the same call. */
  | {
      readonly _tag: "Reverts"
      readonly second: "agrees" | "differs" | "not_configured"
      readonly reason?: string
    }
  /** The node refuses to estimate a call that the balance cannot pay. */
  | { readonly _tag: "Unaffordable" }
  | { readonly _tag: "Unknown" }

export interface Seen {
  readonly _tag: "Seen"
  readonly head: Head
  /** Height of the newest block that counts as final. */
  readonly finalHeight: number
  /** Transactions of the account at the head. */
  readonly count: number
  /** The same at `finalHeight`. Present if the count has passed a nonce for which no receipt was found. */
  readonly countAtFinal?: number
  readonly market?: Market
  /** Wei at the head. */
  readonly balance?: bigint
  /** By ordinal of the attempt. */
  readonly sights: ReadonlyMap<number, Sight>
  /** At the height of the block that the transaction's recorded receipt names. */
  readonly minedAt?: BlockHashes
  /** Whether the chain charges for data besides gas, so that a signature needs to know how much. */
  readonly chargesForData: boolean
  /** Whether providers were asked about the newest version of the request: its gas, and what its data costs. */
  readonly isInquired?: true
  /** For the newest version of the request. */
  readonly estimate?: Estimate
  /** Gas that a no-op needs on this chain and account. */
  readonly noopGas: bigint
  /** Wei that a rollup may charge for the data of the newest version, besides gas. Absent: nothing, or not known. */
  readonly dataFee?: bigint
  /** The same for a no-op. */
  readonly noopDataFee?: bigint
  /** Which transaction used the nonce. Absent: this poll did not ask. */
  readonly taker?: TakerEvidence
}

/** Whether a block is so deep that the transactions in it are final. */
export const isDeep = ({ finalHeight }: Pick<Seen, "finalHeight">, blockNumber: number): boolean =>
  blockNumber <= finalHeight

/** Blocks on top of a block, and how many make it final: `n of m` in explanations. */
export const depthOf = ({ head, finalHeight }: Seen, block: number) => ({
  block,
  blocks: Math.max(head.number - block, 0),
  required_blocks: Math.max(head.number - finalHeight, 0)
})
