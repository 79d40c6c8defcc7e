// The fees of a chain, asked once per chain and block and shared by all lanes, with what a rollup charges besides gas.
import { Clock, Effect, Exit, Metric, Random, Result } from "effect"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcCall } from "../../../server/chains/RpcBatch.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { dataFeeFactor, feeHistoryBlocks, gasPriceBound, pollInterval, stillAfter } from "../rules/EvmNumbers.ts"
import type { NetworkNumbers } from "../rules/EvmNumbers.ts"
import {
  gasPriceLimitOf,
  isQuiet,
  lacksNextBaseFee,
  lowerOf,
  marketOf,
  millionGas,
  operatorFeeFromSamples,
  scaleUp,
  tipLimitOf
} from "../rules/Market.ts"
import type { FeeHistory, Market, OperatorFee } from "../rules/Market.ts"
import * as EvmBytes from "./EvmBytes.ts"
import { feeHistory, gasPrice, suggestedTip } from "./EvmCalls.ts"
import type { CallFields } from "./EvmCalls.ts"

// The contract GasPriceOracle, which chains of the OP stack have at a fixed address: what they charge besides gas.

const oracleAddress = "0x420000000000000000000000000000000000000f"

/** One argument of the contract's ABI: 64 hex digits. */
const abiWord = (value: number | bigint): string => value.toString(16).padStart(64, "0")

/** `input`: the selector and the arguments, in hex digits without `0x`. */
export const oracleCall = (input: string): RpcCall => ({
  method: "eth_call",
  params: [{ to: oracleAddress, data: `0x${input}` }, "latest"]
})

const amountPattern = /^0x[0-9a-fA-F]{64}$/

/** Undefined: the chain has no such contract or function, or the answer is no amount. */
const askOracle = Effect.fnUntraced(function* (node: RpcNode, input: string) {
  const answer = yield* node.ask(oracleCall(input))
  return answer._tag === "Result" && typeof answer.value === "string" && amountPattern.test(answer.value)
    ? BigInt(answer.value)
    : undefined
})

// What an OP-stack chain charges for its operator, besides gas and data. The contract answers for an amount of gas, since the
// upgrade Isthmus (docs.base.org: Isthmus, "Predeploys"). The fee is linear in gas, so that two answers give it for every amount,
// whichever of its formulas the chain uses.

/** Selector of `getOperatorFee(uint256)`. */
const getOperatorFee = "275aedd2"

/** The input of the call for an amount of gas. */
export const operatorFeeInput = (gas: bigint): string => `${getOperatorFee}${abiWord(gas)}`

/** Undefined: the chain charges none, as before Isthmus, or what the node answers is impossible. */
export const readOperatorFee = Effect.fnUntraced(function* (
  node: RpcNode,
  { hasDataFeeOracle }: Pick<NetworkNumbers, "hasDataFeeOracle">
): Effect.fn.Return<OperatorFee | undefined, RpcFailure> {
  if (!hasDataFeeOracle) return undefined
  const samples = [askOracle(node, operatorFeeInput(0n)), askOracle(node, operatorFeeInput(millionGas))] as const
  const [forNone, forMillion] = yield* Effect.all(samples, { concurrency: 2 })
  return forNone === undefined || forMillion === undefined ? undefined : operatorFeeFromSamples(forNone, forMillion)
})

const unknown: FeeHistory = { baseFees: [], rewards: [] }

/** The newest block, as far as fees depend on it. */
interface Head {
  readonly number: number
  readonly hash: string
  readonly gasLimit?: bigint
}

/** Gas that transactions of this process used in a block. */
type OwnGas = (height: number) => bigint

/** Per block, the share of its gas limit that own transactions used. */
const ownShares = (ratios: ReadonlyArray<number>, oldest: number, { gasLimit = 0n }: Head, own: OwnGas) =>
  ratios.map((_, index) => (gasLimit === 0n ? 0 : Number(own(oldest + index)) / Number(gasLimit)))

/** A chain without EIP-1559 may not know the method. */
const historyOf = (node: RpcNode, newest: number | "latest", head: Head, own: OwnGas) =>
  node.call(feeHistory(newest)).pipe(
    Effect.map(({ baseFeePerGas, gasUsedRatio, oldestBlock, reward }): FeeHistory => {
      const history = { baseFees: baseFeePerGas ?? [], rewards: reward ?? [] }
      if (!gasUsedRatio) return history
      const oldest = oldestBlock ?? head.number - gasUsedRatio.length + 1
      return { ...history, gasUsed: gasUsedRatio, ownGas: ownShares(gasUsedRatio, oldest, head, own) }
    }),
    Effect.catchIf(
      ({ answered }) => answered,
      () => Effect.succeed(unknown)
    )
  )

const hasBaseFee = ({ baseFees }: FeeHistory): boolean => (baseFees.at(-1) ?? 0n) > 0n

/** `newest`: the block up to which fees are read. */
const ask = Effect.fnUntraced(function* (
  node: RpcNode,
  numbers: NetworkNumbers,
  newest: number | "latest",
  head: Head,
  own: OwnGas
) {
  const { isEip1559, minimumTip } = numbers
  const [history, charge] = yield* Effect.all([historyOf(node, newest, head, own), readOperatorFee(node, numbers)], {
    concurrency: 2
  })
  const isNextMissing = lacksNextBaseFee(history)
  const [tip, price] = yield* Effect.all(
    [
      isNextMissing || isQuiet(history) ? Effect.asSome(Effect.result(node.call(suggestedTip))) : Effect.succeedNone,
      isNextMissing || !isEip1559 || !hasBaseFee(history) ? Effect.asSome(node.call(gasPrice)) : Effect.succeedNone
    ],
    { concurrency: 2 }
  )
  const suggested = tip._tag === "Some" && Result.isSuccess(tip.value) ? { suggestedTip: tip.value.success } : {}
  const asked = { ...suggested, ...(price._tag === "Some" ? { gasPrice: price.value } : {}), minimumTip }
  const market = marketOf(history, asked)
  return charge === undefined ? market : { ...market, operatorFee: charge }
})

/** The newest block at a provider, and the others that can be asked about it. */
interface MarketSource {
  readonly node: RpcNode
  /** Absent: nobody else is asked, and the answer is not kept. */
  readonly providers?: Pick<Providers, "second">
  readonly head: Head
}

/** A transaction of this process in a block. */
interface OwnReceipt {
  readonly hash: string
  readonly height: number
  readonly gasUsed: bigint
}

export interface EvmMarkets {
  /** What several providers say is kept for the newest block. */
  at(source: MarketSource, numbers: NetworkNumbers): Effect.Effect<Market, RpcFailure>
  /** Own transactions are no evidence of what others pay: a block that they filled counts as one with room. */
  noteOwn(chainId: number, receipts: ReadonlyArray<OwnReceipt>): void
}

/** What is kept of a chain. */
interface Kept {
  head: string
  market: Effect.Effect<Market, RpcFailure>
  /** Gas prices of former blocks, within their limit, oldest first. */
  readonly prices: Array<bigint>
  /** The first gas price of the only provider, until it is compared with that of another block. */
  first?: { readonly price: bigint; readonly hash: string; readonly at: Moment }
  /** Whether the previous answer was above its limit: a warning is logged once per episode. */
  isCut: boolean
}

const cutsTotal = Metric.counter("fee_answers_cut_total", {
  description:
    "Blocks in which providers asked for a priority fee or gas price above the limit that holds without a gas_price_cap.",
  incremental: true
})

export const metrics = [cutsTotal]

/** A provider that does not have the block yet knows no base fee, and its tips say nothing. */
const isComparable = (own: Market, other: Market): boolean =>
  (own.baseFee === undefined) === (other.baseFee === undefined)

const noteCut = Effect.fnUntraced(function* (kept: Kept, chainId: number, isCut: boolean) {
  if (isCut) {
    yield* Metric.update(cutsTotal, 1)
    if (!kept.isCut) {
      yield* Effect.annotateLogs(Effect.logWarning("a provider asks for fees above the limit, which are cut"), {
        chain_id: chainId
      })
    }
  }
  kept.isCut = isCut
})

const nothing = (): Kept => ({ head: "", market: Effect.die("not asked"), prices: [], isCut: false })

export const make = (): EvmMarkets => {
  /** By chain and first provider: what one provider says counts only for those who ask it. */
  const chains = new Map<string, Kept>()
  /** Gas of own transactions in the newest blocks that have some, by chain, height and hash. */
  const own = new Map<number, Map<number, Map<string, bigint>>>()

  const noteOwn: EvmMarkets["noteOwn"] = (chainId, receipts) => {
    const blocks = own.get(chainId) ?? new Map<number, Map<string, bigint>>()
    own.set(chainId, blocks)
    for (const { hash, height, gasUsed } of receipts) {
      blocks.set(height, (blocks.get(height) ?? new Map<string, bigint>()).set(hash, gasUsed))
    }
    const newest = Math.max(...blocks.keys())
    for (const height of blocks.keys()) if (height <= newest - 2 * feeHistoryBlocks) blocks.delete(height)
  }

  const ownGasOf =
    (chainId: number): OwnGas =>
    (height) =>
      [...(own.get(chainId)?.get(height)?.values() ?? [])].reduce((sum, gas) => sum + gas, 0n)

  /**
   * The only provider names a gas price, and there is none to compare it with. The price counts when the provider shows another block:
   * the lower price of both blocks. If there is no other block for `stillAfter`, the price counts as it is.
   */
  const compareFirst = Effect.fnUntraced(function* (kept: Kept, hash: string, market: Market) {
    const { gasPrice: price } = market
    if (price === undefined) return market
    const at = yield* Clock.currentTimeMillis
    kept.first ??= { price, hash, at }
    if (kept.first.hash === hash && at - kept.first.at < stillAfter) return { ...market, isFirstPrice: true as const }
    return { ...market, gasPrice: kept.first.price < price ? kept.first.price : price }
  })

  const read = Effect.fnUntraced(function* (
    kept: Kept,
    { node, providers, head }: MarketSource,
    numbers: NetworkNumbers
  ) {
    const ownGas = ownGasOf(numbers.chainId)
    const first = yield* ask(node, numbers, "latest", head, ownGas)
    const other = yield* (
      providers?.second(node, (second) => ask(second, numbers, head.number, head, ownGas)) ?? Effect.undefined
    )
    const second = other === undefined || other === "not_configured" || !isComparable(first, other) ? undefined : other
    const lower = second === undefined ? first : lowerOf(first, second)
    const priceLimit = gasPriceLimitOf(kept.prices, second === undefined)
    const isPriceCut = priceLimit !== undefined && (lower.gasPrice ?? 0n) > priceLimit
    const limited = isPriceCut ? { ...lower, gasPrice: priceLimit } : lower
    const isFirst = priceLimit === undefined && second === undefined
    const market = isFirst ? yield* compareFirst(kept, head.hash, limited) : limited
    if (market.isFirstPrice === true) return market
    if (market.gasPrice !== undefined) kept.prices.push(market.gasPrice)
    if (kept.prices.length > gasPriceBound.readings) kept.prices.shift()
    const tipLimit = tipLimitOf(market, numbers.tipCap)
    yield* noteCut(kept, numbers.chainId, isPriceCut || Object.values(market.tips).some((tip) => tip > tipLimit))
    return market
  })

  const at: EvmMarkets["at"] = Effect.fnUntraced(function* (source, numbers) {
    const { hash } = source.head
    const key = `${numbers.chainId} ${source.node.url}`
    const found = chains.get(key)
    if (found?.head === hash) return yield* found.market
    // What one provider says alone must not decide for lanes that ask two.
    if (source.providers === undefined) {
      return yield* read({ ...nothing(), prices: [...(found?.prices ?? [])], isCut: true }, source, numbers)
    }
    const kept: Kept = found ?? nothing()
    // A base fee that changes although no block comes is asked for again in each poll interval, and what was not answered at once.
    const market = yield* Effect.cachedWithTTL(read(kept, source, numbers), (exit) => {
      if (Exit.isFailure(exit)) return 0
      return exit.value.isMoving === true ? pollInterval(numbers) : Infinity
    })
    chains.set(key, Object.assign(kept, { head: hash, market }))
    const forget = Effect.sync(() => void (kept.head = ""))
    return yield* market.pipe(
      Effect.tapError(() => forget),
      Effect.tap(({ isFirstPrice }) => (isFirstPrice === true ? forget : Effect.void))
    )
  })

  return { at, noteOwn }
}

// The fee that a rollup charges for the data of a transaction, besides gas. Chains of the OP stack have a contract that
// calculates it. Chains that include it in gas, such as Arbitrum, do not use this module.

/** Selector of `getL1Fee(bytes)`. */
const getL1Fee = "49948e0e"

/** The input of the call for unsigned bytes, in hex digits without `0x`: the offset, the length and the bytes. */
export const dataFeeInput = (unsigned: string): string => {
  const padded = unsigned.padEnd(Math.ceil(unsigned.length / 64) * 64, "0")
  return `${getL1Fee}${abiWord(32)}${abiWord(unsigned.length / 2)}${padded}`
}

/** Stand-ins for fields that are only known at the signature: as long as real values, and as hard to compress. */
const placeholder = {
  nonce: 0xb5_29_7a,
  gasLimit: 0x9e_37_79n,
  fees: { type: "eip1559", maxFee: 0xed_03_a8_b1_93_4cn, tip: 0xd1_b5_4a_32_d1_92n }
} as const

/** As many digits, which say nothing about the call. Such bytes are as hard to compress as a signature. */
const randomHex = (digits: number) =>
  Effect.map(
    Effect.forEach(Array.from({ length: digits }), () => Random.nextIntBetween(0, 15)),
    (values) => values.map((value) => value.toString(16)).join("")
  )

/** The fee that the contract calculates now. Undefined: the chain has no such contract. */
const askedDataFee = Effect.fnUntraced(function* (
  node: RpcNode,
  { chainId }: NetworkNumbers,
  { authorization_list: list, to, value, data }: Omit<CallFields, "from">,
  isSecret: boolean
) {
  const request = {
    value,
    ...(to === undefined ? {} : { to }),
    ...(data === undefined ? {} : { data }),
    ...(list === undefined ? {} : { authorizations: list })
  }
  const unsigned = yield* EvmBytes.unsignedOf({ ...placeholder, chainId, ...request })
  const bytes = isSecret ? yield* randomHex(unsigned.length - 2) : unsigned.slice(2)
  return yield* askOracle(node, dataFeeInput(bytes))
})

/**
 * Wei that the data of a transaction can cost: a multiple of the fee that the contract calculates, because the price moves.
 * If there is no contract, a multiple of `last`, what the newest receipt of the account names. Undefined: neither is known. `isSecret`: the
 * contract gets random bytes of the same length.
 */
export const readDataFee = Effect.fnUntraced(function* (
  node: RpcNode,
  numbers: NetworkNumbers,
  call: Omit<CallFields, "from">,
  last?: bigint,
  isSecret = false
): Effect.fn.Return<bigint | undefined, RpcFailure> {
  const now = (numbers.hasDataFeeOracle ? yield* askedDataFee(node, numbers, call, isSecret) : undefined) ?? last
  return now === undefined ? undefined : scaleUp(now, dataFeeFactor)
})
