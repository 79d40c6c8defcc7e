// The laws of an evm chain in memory: accounts with nonces and balances, pools, gas, and base fees.
import type { NodeAnswer } from "../../networks/evm/rules/Refusal.ts"
import type { Block, Blocks, Mined } from "../chain/Blocks.ts"
import * as Common from "../chain/Chain.ts"
import type { Answer, FailingChain, Payment } from "../chain/Chain.ts"
import * as Pool from "../chain/Pool.ts"
import { addressOf } from "../Keys.ts"
import { opened, sealed } from "./Wire.ts"
import type { Bytes } from "./Wire.ts"

/** Wei per gas that others pay as a tip: one gwei. */
export const usualTip = 1_000_000_000n

/** Wei per gas of a foreign transaction: above what the service offers at usual prices, as that of a hurried person is. */
const foreignTip = 20n * usualTip
const foreignReceiver = `0x${"f0".repeat(20)}`

/** Gas that a transfer uses, and a call besides its data: more than the least, so that an estimate differs from it. */
const gasOfTransfer = 21_000n
const gasOfCall = 30_000n
/** Gas of a byte of data that is not zero (EIP-2028). */
const gasOfByte = 16n
/** Gas that a reverted transaction uses: less than its limit, as a `REVERT` of a contract leaves gas. */
const gasOfRevert = 20_500n

export type Provider = Common.Provider<Bytes>
export type Found = Common.Found<Bytes>

export interface Call {
  readonly to?: string | undefined
  readonly value: bigint
  readonly data?: string | undefined
}

interface Options {
  readonly chainId: number
  readonly providers: number
  readonly baseFee: bigint
  /** Wei of an account that has sent and received nothing. */
  readonly funds: bigint
}

const { findIn, occupiedIn } = Common.makeReader<Bytes>()
export { findIn }

/** Transactions of the account up to a height, the head if it is absent. */
export const countOf = (blocks: Blocks<Bytes>, address: string, height = blocks.length): number => {
  let count = 0
  for (const { number, transactions } of occupiedIn(blocks)) {
    if (number > height) break
    for (const { bytes } of transactions) if (bytes.from === address) count += 1
  }
  return count
}

const nodeAnswerOf = (answer: Answer): NodeAnswer => {
  if (answer === undefined) return { _tag: "NoAnswer" }
  const { refusal } = answer
  return refusal === undefined ? { _tag: "Hash" } : { _tag: "RpcError", code: -32000, message: refusal }
}

const isPayment = (bytes: Bytes, { to, value }: Payment): boolean =>
  bytes.to === to.toLowerCase() && bytes.value === value

export const make = ({ chainId, providers, baseFee, funds }: Options) => {
  const pools = new Map<string, Pool.Pool<Bytes>>()
  /** Wei per gas in a block, by its hash. */
  const baseFees = new Map<string, bigint>()

  const poolOf = (address: string): Pool.Pool<Bytes> => pools.get(address) ?? new Map<number, Bytes>()

  const gasOf = ({ data = "0x" }: Call): bigint =>
    data === "0x" ? gasOfTransfer : gasOfCall + gasOfByte * BigInt((data.length - 2) / 2)

  const gasUsed = ({ bytes, isSuccess }: Mined<Bytes>): bigint => {
    const gas = isSuccess ? gasOf(bytes) : gasOfRevert
    return gas < bytes.gasLimit ? gas : bytes.gasLimit
  }

  const pricePaid = ({ maxFee, tip }: Bytes, { hash }: Block<Bytes>): bigint => {
    const base = baseFees.get(hash) ?? chain.price
    return maxFee < base + tip ? maxFee : base + tip
  }

  const balanceOf = (address: string): bigint => {
    let balance = funds + chain.giftsTo(address)
    for (const block of occupiedIn(chain.blocks())) {
      for (const mined of block.transactions) {
        const { bytes, isSuccess } = mined
        if (bytes.from === address) balance -= gasUsed(mined) * pricePaid(bytes, block) + (isSuccess ? bytes.value : 0n)
        if (isSuccess && bytes.to === address) balance += bytes.value
      }
    }
    return balance
  }

  const offer = (bytes: Bytes): Answer => {
    const count = countOf(chain.blocks(), bytes.from)
    const offered = Pool.offer({ pool: poolOf(bytes.from), count, balance: balanceOf(bytes.from) }, bytes)
    if (typeof offered === "string") return { refusal: offered }
    pools.set(bytes.from, offered)
    return {}
  }

  /** What a maker of blocks takes from a pool: in the order of nonces, until one of them does not pay the base fee. */
  const takenFrom = ([address, pool]: readonly [string, Pool.Pool<Bytes>]): ReadonlyArray<Bytes> => {
    const ready = Pool.executable(countOf(chain.blocks(), address), pool)
    const end = ready.findIndex(({ maxFee }) => maxFee < chain.price)
    return end === -1 ? ready : ready.slice(0, end)
  }

  const chain: Common.Chain<Bytes> = Common.make<Bytes>({
    providers,
    price: baseFee,
    laws: {
      offer,
      taken: () => [...pools].flatMap(takenFrom),
      executed: (bytes) => ({ bytes, isSuccess: bytes.to === undefined || !chain.reverting.has(bytes.to) }),
      isPayment,
      made: ({ hash }) => void baseFees.set(hash, chain.price),
      settle: () => {
        for (const [address, pool] of pools) pools.set(address, Pool.after(countOf(chain.blocks(), address), pool))
      },
      forget: () => pools.clear(),
      // The transactions of the replaced blocks return to the pools, as those of geth do.
      dropped: (gone) => {
        for (const bytes of gone) offer(bytes)
      }
    }
  })

  const broadcast = (provider: Provider, bytes: Bytes): NodeAnswer => nodeAnswerOf(chain.broadcast(provider, bytes))

  return Object.assign(chain, {
    poolOf,
    balanceOf,
    gasOf,
    gasUsed,
    pricePaid,
    canonical: (address: string): string => address.toLowerCase(),
    offerTo: broadcast,
    sendRaw: (provider: Provider, raw: Uint8Array) => {
      const bytes = opened(raw)
      return { bytes, answer: broadcast(provider, bytes) }
    },
    includeSent: (payment: Payment): boolean => {
      const [first] = chain.sent(payment)
      if (first !== undefined) chain.include([first])
      return first !== undefined
    },
    takeSequence: (secret: Uint8Array): void => {
      const fees = { type: "eip1559", maxFee: chain.price + foreignTip, tip: foreignTip } as const
      const nonce = countOf(chain.blocks(), addressOf(secret))
      const call = { to: foreignReceiver, value: 1n, data: "0x", gasLimit: gasOfTransfer }
      chain.include([sealed({ chainId, nonce, ...call, fees }, secret)])
    }
  }) satisfies FailingChain
}
export type Chain = ReturnType<typeof make>
