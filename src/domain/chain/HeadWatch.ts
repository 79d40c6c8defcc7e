// How long a provider has shown the same newest block, or given no answer, by the service's own clock.
import type { Moment } from "../transaction/Moment.ts"

/** Milliseconds without an answer or a new head, after which a provider is stalled, unless ten blocks take longer. */
const least = 30_000
const blocks = 10

export const stalledAfter = (blockTime: number): number => Math.max(least, blocks * blockTime)

export interface HeadWatch {
  /** The newest block, ledger or slot of the provider. Absent: it has not answered yet. */
  readonly hash?: string
  readonly height?: number
  /** When this head was first seen, or the observation began. */
  readonly since: Moment
  readonly askedAt: Moment
}

/** A provider was asked for its head. `head`: absent if it gave no answer. */
export const observed = (
  before: HeadWatch | undefined,
  head: { readonly hash: string; readonly number: number } | undefined,
  now: Moment,
  blockTime: number
): HeadWatch => {
  const seen = head === undefined ? {} : { hash: head.hash, height: head.number }
  if (before === undefined) return { ...seen, since: now, askedAt: now }
  // Nobody has asked meanwhile, so nothing is known of that time; but a provider that was stalled and shows the same still is.
  const isStill = head?.hash === before.hash && isStalled(before, blockTime)
  if (now - before.askedAt > stalledAfter(blockTime) && !isStill) return { ...seen, since: now, askedAt: now }
  if (head === undefined || head.hash === before.hash) return { ...before, askedAt: now }
  return { ...seen, since: now, askedAt: now }
}

export const isStalled = ({ since, askedAt }: HeadWatch, blockTime: number): boolean =>
  askedAt - since >= stalledAfter(blockTime)

/** A provider is far behind if its newest block is more than `blocks` lower than that of another one, and at least `milliseconds` older. */
const far = { blocks: 3, milliseconds: 30_000 } as const

/** The newest block of a provider, and when it was made. Absent `timestamp`: the provider does not say. */
interface Newest {
  readonly number: number
  readonly timestamp?: Moment
}

/** Whether the newest block is so old that another provider can be far ahead. */
export const mayBeBehind = ({ timestamp }: Newest, now: Moment): boolean =>
  timestamp !== undefined && now - timestamp >= far.milliseconds

/**
 * Whether a provider is far behind another one. It is then asked last, but it does not count as stalled and keeps its opinion: otherwise a
 * provider that invents a high block could silence those that contradict it.
 */
export const isFarBehind = (own: Newest, other: Newest): boolean =>
  other.number - own.number > far.blocks &&
  own.timestamp !== undefined &&
  other.timestamp !== undefined &&
  other.timestamp - own.timestamp >= far.milliseconds
