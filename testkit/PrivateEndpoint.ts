// An endpoint that keeps transactions private, with the manners of those that exist. Flashbots Protect has most of them (docs.flashbots.net and
// flashbots/rpc-endpoint, November 2026). A test chooses how it behaves.
import type { PoolBytes } from "../src/testkit/chain/Pool.ts"

/** What an endpoint reads of signed bytes. */
export interface PrivateBytes extends PoolBytes {
  readonly to: string | undefined
  readonly value: bigint
  readonly data: string
  /** The account that signed them, in lower case. */
  readonly sender: string
}

export interface Manners {
  /** Blocks for which it keeps bytes. */
  life: number
  /** Whether it refuses a nonce beyond the next that it knows. */
  refusesGaps: boolean
  /** Whether it shows calls without data to everybody. */
  publishesTransfers: boolean
  /** Whether it shows everything to everybody. */
  leaks: boolean
  /** Whether it includes the oldest bytes at a nonce, and not the newest. */
  includesOldest: boolean
  /** Whether it answers methods that read. */
  answersReads: boolean
  isDead: boolean
}

/** The chain behind the endpoint. */
export interface ChainView<B> {
  /** Transactions of the account. */
  count(): number
  /** Of its newest block. */
  height(): number
  /** Everybody sees the bytes. */
  publish(bytes: B): void
  /** Whether the call would revert now: nothing that reverts is included. */
  reverts(bytes: B): boolean
}

type Answer = { readonly hash: string } | { readonly error: string } | undefined

export const make = <B extends PrivateBytes>(chain: ChainView<B>, given: Partial<Manners> = {}) => {
  const manners: Manners = {
    life: 25,
    refusesGaps: true,
    publishesTransfers: false,
    leaks: false,
    includesOldest: false,
    answersReads: false,
    isDead: false,
    ...given
  }
  let kept: ReadonlyArray<{ readonly bytes: B; readonly until: number }> = []

  const living = () => {
    kept = kept.filter(({ bytes, until }) => until > chain.height() && bytes.nonce >= chain.count())
    return kept
  }

  const isCancel = ({ to, value, data, sender }: B): boolean => to === sender && value === 0n && data === "0x"

  const next = (): number => {
    const known = new Set(living().map(({ bytes }) => bytes.nonce))
    let nonce = chain.count()
    while (known.has(nonce)) nonce++
    return nonce
  }

  /** What it answers to bytes. Undefined: nothing. */
  const offer = (bytes: B): Answer => {
    if (manners.isDead) return undefined
    const { hash, nonce, tip, data } = bytes
    if (tip === 0n) return { error: "tip too low" }
    if (living().some((one) => one.bytes.hash === hash)) return { hash }
    // It forgets what it has at the nonce, and mines nothing for it.
    if (isCancel(bytes)) {
      kept = living().filter((one) => one.bytes.nonce !== nonce)
      return { hash }
    }
    if (manners.refusesGaps && nonce > next()) return { error: "invalid nonce" }
    if (manners.leaks || (manners.publishesTransfers && data === "0x")) chain.publish(bytes)
    kept = [...living(), { bytes, until: chain.height() + manners.life }]
    return { hash }
  }

  /** What it puts into the next block: one version at each nonce, from the chain's count on. */
  const due = (): ReadonlyArray<B> => {
    const found: Array<B> = []
    if (manners.isDead) return found
    for (let nonce = chain.count(); ; nonce++) {
      const versions = living().flatMap(({ bytes }) => (bytes.nonce === nonce && !chain.reverts(bytes) ? [bytes] : []))
      const chosen = manners.includesOldest ? versions[0] : versions.at(-1)
      if (chosen === undefined) return found
      found.push(chosen)
    }
  }

  return { manners, offer, due, kept: () => living().map(({ bytes }) => bytes) }
}
