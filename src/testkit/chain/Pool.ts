// The pool of geth 1.16.9 for the transactions of one account, by nonce. `test/server/lanes/PoolTable.ts` has what a real geth
// answers; this pool and the real one are tested against the same rows.

/** What a pool reads of signed bytes. Amounts in wei. */
export interface PoolBytes {
  readonly hash: string
  readonly nonce: number
  readonly maxFee: bigint
  readonly tip: bigint
  /** Value and fees. */
  readonly cost: bigint
}

export type Pool<B extends PoolBytes> = ReadonlyMap<number, B>

/** Percent that both fees of a replacement are above those of the former, at least: geth's `txpool.pricebump`. */
const priceBump = 10n

/** The threshold is rounded down, and both fees have to be higher in any case: `list.Add` in core/txpool/legacypool/list.go. */
const isAbove = (fee: bigint, former: bigint): boolean => fee > former && fee >= (former * (100n + priceBump)) / 100n

const replaces = (bytes: PoolBytes, former: PoolBytes): boolean =>
  isAbove(bytes.maxFee, former.maxFee) && isAbove(bytes.tip, former.tip)

/** Those that can be mined now, by nonce. Others wait for a nonce before them. */
export const executable = <B extends PoolBytes>(count: number, pool: Pool<B>): ReadonlyArray<B> => {
  const found: Array<B> = []
  for (let next = pool.get(count); next !== undefined; next = pool.get(next.nonce + 1)) found.push(next)
  return found
}

export interface PoolState<B extends PoolBytes> {
  readonly pool: Pool<B>
  /** The nonce of the account's next transaction on chain. */
  readonly count: number
  readonly balance: bigint
}

/** What all executable transactions would cost with these bytes among them: core/txpool/validation.go. */
const expenditure = <B extends PoolBytes>({ pool, count }: PoolState<B>, bytes: B): bigint =>
  executable(count, pool)
    .filter(({ nonce }) => nonce !== bytes.nonce)
    .reduce((sum, { cost }) => sum + cost, bytes.cost)

/** The text of the error that geth answers, or the pool with the bytes. */
export const offer = <B extends PoolBytes>(state: PoolState<B>, bytes: B): string | Pool<B> => {
  const { pool, count, balance } = state
  const former = pool.get(bytes.nonce)
  if (former?.hash === bytes.hash) return "already known"
  if (bytes.nonce < count) return `nonce too low: next nonce ${count}, tx nonce ${bytes.nonce}`
  const missing = [bytes.cost, expenditure(state, bytes)].map((need) => need - balance).find((gap) => gap > 0n)
  if (missing !== undefined)
    return `insufficient funds for gas * price + value: balance ${balance}, overshot ${missing}`
  if (former !== undefined && !replaces(bytes, former)) return "replacement transaction underpriced"
  return new Map([...pool, [bytes.nonce, bytes]])
}

/** Without what a block has used up. */
export const after = <B extends PoolBytes>(count: number, pool: Pool<B>): Pool<B> =>
  new Map([...pool].filter(([nonce]) => nonce >= count))
