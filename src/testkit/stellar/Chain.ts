// The laws of a stellar network in memory: ledgers that are final, accounts with sequences, and a queue with one envelope of each account.
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { accountMeantBy } from "../../domain/chain/StrKey.ts"
import type { Blocks, Mined } from "../chain/Blocks.ts"
import * as Common from "../chain/Chain.ts"
import type { Answer, FailingChain, Payment } from "../chain/Chain.ts"
import { hexOf, keyOf } from "../Keys.ts"
import { resultCodes, sealed } from "./Wire.ts"
import type { Bytes, ResultCode } from "./Wire.ts"

export type Provider = Common.Provider<Bytes>
export type Found = Common.Found<Bytes>

/** Ledgers that an envelope stays in the queue. */
const queueAge = 4

/** Ledgers after the newest one until whose close an envelope must be valid to be taken (`getUpperBoundCloseTimeOffset`). */
const lateLedgers = 2

/** The sequence at which accounts begin, as if ledger 1 had created them: `getStartingSequenceNumber`. */
const firstSequence = 2n ** 32n

/** Stroops per operation of an account that somebody else uses. */
const foreignFee = 10_000n

interface Options {
  readonly providers: number
  /** Stroops per operation. */
  readonly baseFee: bigint
  /** Stroops of an account that has sent and received nothing. */
  readonly funds: bigint
  readonly networkId: Uint8Array
  /** Milliseconds between two ledgers. */
  readonly blockTime: number
  timeOf(height: number): Moment
}

const { findIn, occupiedIn } = Common.makeReader<Bytes>()
export { findIn }

/** The sequence of an account, and the ledger in which it was used last. 0: never. */
export const sequenceIn = (blocks: Blocks<Bytes>, address: string) => {
  let [sequence, seqLedger] = [firstSequence, 0]
  for (const { number, transactions } of occupiedIn(blocks)) {
    for (const { bytes } of transactions) if (bytes.source === address) [sequence, seqLedger] = [bytes.sequence, number]
  }
  return { sequence, seqLedger }
}

export const isResult = (text: string): text is ResultCode => text in resultCodes

export const make = ({ baseFee, blockTime, funds, networkId, providers, timeOf }: Options) => {
  /** One envelope of each account, and the ledger at which it came. */
  const queue = new Map<string, { readonly bytes: Bytes; readonly since: number }>()

  const canonical = (address: string): string => accountMeantBy(address) ?? address

  const closeTimeOf = (height: number): number => Math.floor(timeOf(height) / 1000)

  const balanceIn = (blocks: Blocks<Bytes>, address: string): bigint => {
    let balance = funds + chain.giftsTo(address)
    for (const { transactions } of occupiedIn(blocks)) {
      for (const { bytes, isSuccess } of transactions) {
        if (bytes.source === address) balance -= feeOf(bytes)
        if (!isSuccess) continue
        for (const { to, value } of bytes.payments) {
          if (bytes.source === address) balance -= value
          if (to === address) balance += value
        }
      }
    }
    return balance
  }

  /** Stroops that it is charged: the price of the network, as ledgers with room take it. */
  const feeOf = ({ fee, payments }: Bytes): bigint => {
    const least = baseFee * BigInt(payments.length)
    return fee < least ? fee : least
  }

  const neededFee = ({ payments }: Bytes): bigint => chain.price * BigInt(payments.length)

  const isTooLate = ({ maxTime }: Bytes, ledgers: number): boolean =>
    maxTime !== 0n && BigInt(closeTimeOf(chain.head().number) + Math.ceil((ledgers * blockTime) / 1000)) > maxTime

  const spentBy = ({ payments }: Bytes): bigint => payments.reduce((sum, { value }) => sum + value, 0n)

  const offer = (bytes: Bytes): Answer => {
    const queued = queue.get(bytes.source)?.bytes
    const refused = (refusal: ResultCode | "DUPLICATE" | "TRY_AGAIN_LATER"): Answer => ({ refusal })
    if (queued?.hash === bytes.hash) return refused("DUPLICATE")
    if (!bytes.isSigned) return refused("txBadAuth")
    const { sequence } = sequenceIn(chain.blocks(), bytes.source)
    if (bytes.sequence !== sequence + 1n) return refused("txBadSeq")
    if (isTooLate(bytes, lateLedgers)) return refused("txTooLate")
    if (bytes.fee < neededFee(bytes)) return refused("txInsufficientFee")
    if (balanceIn(chain.blocks(), bytes.source) < bytes.fee) return refused("txInsufficientBalance")
    if (queued !== undefined && bytes.fee <= queued.fee) return refused("TRY_AGAIN_LATER")
    queue.set(bytes.source, { bytes, since: chain.head().number })
    return {}
  }

  /** Whether the next ledger can apply it. */
  const canApply = (bytes: Bytes): boolean =>
    bytes.sequence === sequenceIn(chain.blocks(), bytes.source).sequence + 1n && !isTooLate(bytes, 1)

  const chain: Common.Chain<Bytes> = Common.make<Bytes>({
    providers,
    price: baseFee,
    laws: {
      offer,
      taken: () =>
        [...queue.values()].flatMap(({ bytes }) => (canApply(bytes) && bytes.fee >= neededFee(bytes) ? [bytes] : [])),
      executed: (bytes): Mined<Bytes> => ({
        bytes,
        isSuccess:
          !bytes.payments.some(({ to }) => chain.reverting.has(to)) &&
          balanceIn(chain.blocks(), bytes.source) >= feeOf(bytes) + spentBy(bytes)
      }),
      isPayment: ({ payments }, { to, value }) =>
        payments.some((one) => one.to === canonical(to) && one.value === value),
      made: () => {},
      settle: () => {
        const head = chain.head().number
        for (const [account, { bytes, since }] of queue) {
          const isUsed = bytes.sequence <= sequenceIn(chain.blocks(), account).sequence
          if (isUsed || head - since >= queueAge) queue.delete(account)
        }
      },
      forget: () => queue.clear(),
      dropped: () => {}
    }
  })

  return Object.assign(chain, {
    networkId,
    closeTimeOf,
    balanceIn,
    neededFee,
    feeOf,
    canonical,
    balanceOf: (address: string): bigint => balanceIn(chain.blocks(), address),
    replace: (): never => {
      throw new Error("ledgers of stellar are final when they close: nothing can be reorganised")
    },
    includeSent: (payment: Payment): boolean => {
      const newest = chain.sent(payment).findLast(canApply)
      if (newest !== undefined) chain.include([newest])
      return newest !== undefined
    },
    takeSequence: (secret: Uint8Array): void => {
      const source = keyOf(hexOf(secret)).addresses.stellar
      const sequence = sequenceIn(chain.blocks(), source).sequence + 1n
      const own = { source, fee: foreignFee, sequence, maxTime: 0n, memo: undefined }
      chain.include([sealed({ ...own, payments: [{ to: source, value: 1n }] }, secret, networkId)])
    }
  }) satisfies FailingChain
}
export type Chain = ReturnType<typeof make>
