// What transactions pay on a chain that fills its blocks by tip, beside the least tip that this chain would have taken.
import { assert, describe, it } from "@effect/vitest"
import { Speed } from "../../../../src/networks/core/TransactionValues.ts"
import { patienceBlocks, usualLeastTip } from "../../../../src/networks/evm/rules/EvmNumbers.ts"
import { isQuiet, marketOf, percentiles, priceOf, tipOf } from "../../../../src/networks/evm/rules/Market.ts"
import type { Market } from "../../../../src/networks/evm/rules/Market.ts"
import * as Chain from "./simulation/FeeChain.ts"

/** Histories of each kind, their blocks, and the block from which the service sends. */
const histories = 100
const length = 75
const start = 25

/** A transaction of the service: when its present price was made, and when it was sent first. */
interface Own {
  readonly speed: Speed
  readonly sent: Chain.Sent
  readonly firstAt: number
  pricedAt: number
  minedAt?: number
}

const marketIn = (chain: Chain.FeeChain): Market => {
  const history = Chain.feeHistoryOf(chain, percentiles)
  const suggestedTip = Chain.suggestedTipOf(chain)
  return marketOf(history, { minimumTip: 0n, ...(isQuiet(history) ? { suggestedTip } : {}) })
}

const tipIn = (market: Market, speed: Speed): bigint => tipOf(priceOf(market, speed, "eip1559"))

/** What waits is priced again after its patience, as `InFlight.ts` does it. */
const reprice = (own: ReadonlyArray<Own>, market: Market, height: number): void => {
  for (const one of own) {
    const { minedAt, pricedAt, sent, speed } = one
    const tip = tipIn(market, speed)
    if (minedAt !== undefined || height - pricedAt < patienceBlocks[speed] || tip <= sent.tip) continue
    const raised = (sent.tip * 9n) / 8n + 1n
    sent.tip = raised > tip ? raised : tip
    one.pricedAt = height
  }
}

interface OwnDemand {
  /** Transactions of the service in a block, on average, and the gas of each. */
  readonly perBlock: number
  readonly gas: number
}

const some: OwnDemand = { perBlock: 0.4, gas: 21_000 }

/** More than a block has room for. */
const tooMany: OwnDemand = { perBlock: 12, gas: 210_000 }

const run = (kind: Chain.Kind, seed: number, { perBlock, gas }: OwnDemand) => {
  const random = Chain.randomOf(seed)
  const demand = Chain.kinds[kind](random)
  const chain = Chain.newFeeChain(usualLeastTip)
  const own: Array<Own> = []
  for (let height = 0; height < length + patienceBlocks.safeLow; height++) {
    demand(chain, height)
    const mined = new Set(Chain.mineFees(chain))
    for (const one of own) if (mined.has(one.sent)) one.minedAt = height
    const market = marketIn(chain)
    reprice(own, market, height)
    for (let due = height < start || height >= length ? 0 : perBlock; due > random(); due--) {
      const speed = Speed.literals[Math.floor(random() * Speed.literals.length)] ?? "fast"
      const sent: Chain.Sent = { tip: tipIn(market, speed), gas, until: Infinity }
      chain.own.push(sent)
      own.push({ speed, sent, firstAt: height, pricedAt: height })
    }
  }
  return { chain, own }
}

/**
 * The least tip that is mined within the wanted time. Nobody knows the next blocks, so it may be that of a transaction that was sent up
 * to the wanted time before.
 */
const leastFor = (chain: Chain.FeeChain, { speed, pricedAt }: Own, isAlone: boolean): bigint => {
  const within = patienceBlocks[speed]
  const heights = Array.from({ length: within + 1 }, (_, index) => pricedAt - index)
  return heights
    .map((height) => Chain.leastWithin(chain, { height, within, isAlone }))
    .reduce((one, other) => (one > other ? one : other))
}

const per = (part: number, all: number): number => Math.round((1000 * part) / all) / 1000

const explore = (kind: Chain.Kind, demandOf: (seed: number) => OwnDemand) => {
  const found = Speed.literals.map((speed) => ({ speed, count: 0, inTime: 0, waited: 0, paid: 0, least: 0, worst: 0 }))
  for (let seed = 1; seed <= histories; seed++) {
    const { chain, own } = run(kind, seed, demandOf(seed))
    for (const one of own) {
      const row = found.find(({ speed }) => speed === one.speed)
      if (row === undefined || one.minedAt === undefined) continue
      const least = leastFor(chain, one, kind === "own transactions alone")
      row.count += 1
      row.paid += Number(one.sent.tip)
      row.least += Number(least)
      row.worst = Math.max(row.worst, Number(one.sent.tip) / Number(least))
      row.waited += one.minedAt - one.firstAt
      if (one.minedAt - one.firstAt <= patienceBlocks[one.speed]) row.inTime += 1
    }
  }
  for (const { speed, count, inTime, waited, paid, least, worst } of found) {
    const times = `at most ${per(worst, 1)} and on average ${per(paid, least)} times the least tip`
    const blocks = `mined after ${per(waited, count)} blocks on average, ${per(inTime, count)} of them in time`
    process.stdout.write(`${kind}, ${speed}: ${count} transactions, ${times}, ${blocks}\n`)
  }
  return found
}

describe("tips, on a chain that fills its blocks by tip,", () => {
  for (const kind of Object.keys(Chain.kinds) as ReadonlyArray<Chain.Kind>) {
    it(`are at most one and a half times the least that is mined in the wanted time: ${kind}`, () => {
      const isAlone = kind === "own transactions alone"
      const found = explore(kind, (seed) => (isAlone && seed % 2 === 0 ? tooMany : some))
      for (const { speed, count, worst } of found) {
        assert.isAbove(count, histories, speed)
        assert.isAtMost(worst, 1.5, speed)
      }
      // A speed keeps its meaning: what is more urgent pays more, is mined earlier, and most of it in time.
      if (kind !== "full blocks") return
      for (const [index, { speed, count, inTime, waited, paid, least }] of found.entries()) {
        assert.isAbove(inTime / count, 0.85, speed)
        const former = found[index - 1]
        if (former === undefined) continue
        assert.isBelow(waited / count, former.waited / former.count, speed)
        assert.isAbove(paid / least, former.paid / former.least, speed)
      }
    })
  }
})
