// Places: where on the chain the bytes of a transaction count.

/** An account, and the sequence number there if the bytes use one. */
export interface Place {
  /** An account of the lane, or a foreign one whose sequences the lane does not count. */
  readonly account: string
  /** evm: the nonce. Absent: the bytes use no sequence of an account of the lane. */
  readonly sequence?: bigint
}

export const isSamePlace = (one: Place | undefined, other: Place | undefined): boolean =>
  one === other || (one !== undefined && one.account === other?.account && one.sequence === other.sequence)

/** The order in which bytes of one account are executed. Without a sequence, nothing comes before it. */
export const bySequence = (one: Place | undefined, other: Place | undefined): number => {
  const difference = (one?.sequence ?? 0n) - (other?.sequence ?? 0n)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
