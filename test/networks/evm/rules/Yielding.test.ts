// When a transaction with authorizations that no pool keeps gives its nonce up, and when it is raised instead.
import { describe } from "@effect/vitest"
import type { Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { decisions, later, noop } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import { attempt, gwei, lane, now, others, receiptIn, request, seen, submitted } from "./Fixtures.ts"
import { carrying, listed, on, replacedBy } from "./ListFixtures.ts"

const allowing = lane({ terms: on() })
const lost = { sights: new Map([[1, { _tag: "Absent", polls: 2, drops: 1 } as const]]) }
const kept = { sights: new Map([[1, { _tag: "InPool" } as const]]) }
const crowded = lane({ terms: on(), others: others({ inFlight: 2 }) })
const refusedForOrder = attempt(1, { outcome: "refused", refusal: { class: "order" } })
const late = 24_000
const tipsAbove = {
  baseFee: gwei,
  tips: { safeLow: 90n * gwei, average: 90n * gwei, fast: 90n * gwei, fastest: 90n * gwei }
}
/** Its second price, so many blocks of two seconds after the first one. */
const raised = (blocks: number) => attempt(2, { firstSent: { at: now + blocks * 2_000, height: 100 + blocks } })
const lostAgain = { sights: new Map([[2, { _tag: "Absent", polls: 2, drops: 1 } as const]]) }
const busy = (over: Partial<Seen> = {}, blocks = 12) => later(blocks, { ...lost, ...over })

const atTheCount: ReadonlyArray<Case> = [
  ["that nodes drop although they answer a hash", "Broadcast authority_busy", carrying(), allowing, busy(), now + late],
  [
    "that nodes drop, below the market: a full pool drops what offers least",
    "Sign bump underpriced_bumping",
    carrying(),
    allowing,
    busy({ market: tipsAbove }),
    now + late
  ],
  [
    "that nodes drop, below the market, before its patience is over",
    "Broadcast not_in_pool_rebroadcast",
    carrying(),
    allowing,
    busy({ market: tipsAbove }, 2),
    now + late
  ],
  [
    "that nodes refuse for its accounts, below the market",
    "Broadcast authority_busy",
    carrying({ attempts: [refusedForOrder] }),
    allowing,
    later(12, { market: tipsAbove }),
    now + late
  ],
  [
    "without a list, that nodes drop below the market",
    "Sign bump underpriced_bumping",
    submitted(),
    allowing,
    busy({ market: tipsAbove }),
    now + late
  ],
  [
    "that a pool has, below the market",
    "Sign bump underpriced_bumping",
    carrying(),
    allowing,
    later(12, { ...kept, market: tipsAbove }),
    now + late
  ],
  [
    "that no block can pay for",
    "Sign bump underpriced_bumping",
    carrying(),
    allowing,
    busy({ market: { ...tipsAbove, baseFee: 50n * gwei } }),
    now + late
  ],
  [
    "that nodes drop, with others behind, for less than three times its patience",
    "Broadcast authority_busy",
    carrying(),
    crowded,
    busy({}, 11),
    now + late
  ],
  [
    "that nodes drop, with others behind, for three times its patience",
    "Intend clear yielding",
    carrying(),
    crowded,
    busy(),
    now + late
  ],
  [
    "that nodes drop below the market, at its cap, with others behind",
    "Intend clear yielding",
    carrying(),
    lane({ terms: on({ cap: 12n * gwei }), others: others({ inFlight: 2 }) }),
    busy({ market: tipsAbove }),
    now + late
  ],
  [
    "that nodes drop below the market, at its cap, with others behind, for less than three times its patience",
    "Broadcast at_cap",
    carrying(),
    lane({ terms: on({ cap: 12n * gwei }), others: others({ inFlight: 2 }) }),
    busy({ market: tipsAbove }, 11),
    now + late
  ],
  [
    "that nodes drop below the market, with others behind, and that was not raised yet",
    "Sign bump underpriced_bumping",
    carrying(),
    crowded,
    busy({ market: tipsAbove }),
    now + late
  ],
  [
    "that nodes drop below the market, with others behind, although it was raised before",
    "Intend clear yielding",
    carrying({ attempts: [attempt(1), raised(8)] }),
    crowded,
    later(12, { ...lostAgain, market: tipsAbove }),
    now + late
  ],
  [
    "that nodes drop below the market, with others behind, before the patience of its raised price is over",
    "Broadcast not_in_pool_rebroadcast",
    carrying({ attempts: [attempt(1), raised(10)] }),
    crowded,
    later(12, { ...lostAgain, market: tipsAbove }),
    now + late
  ],
  [
    "that nodes drop at the market's price, with others behind, three times its patience after its first price",
    "Intend clear yielding",
    carrying({ attempts: [attempt(1), raised(4)] }),
    crowded,
    later(12, lostAgain),
    now + late
  ],
  [
    "that nodes drop below the market, with a newer version that can be signed",
    "Sign replace sending",
    replacedBy(listed, request()),
    crowded,
    busy({ market: tipsAbove }),
    now + late
  ],
  [
    "that nodes refuse for its accounts, with others behind",
    "Intend clear yielding",
    carrying({ attempts: [refusedForOrder] }),
    crowded,
    later(12),
    now + late
  ],
  [
    "that is private and refused for its order, with others behind",
    "Ask none",
    carrying({ route: { kind: "private", since: now }, attempts: [refusedForOrder] }),
    lane({ terms: { ...on(), hasPrivateProviders: true }, others: others({ inFlight: 2 }) }),
    later(12),
    now + late
  ],
  [
    "that a pool has, with others behind",
    "Sign bump underpriced_bumping",
    carrying(),
    crowded,
    later(12, kept),
    now + late
  ],
  [
    "without a list, that nodes drop, with others behind",
    "Broadcast not_in_pool_rebroadcast",
    submitted(),
    crowded,
    busy(),
    now + late
  ]
]

const yielding = (yields: number) =>
  submitted({
    versions: [listed],
    intent: "clear",
    clearCode: "yielding",
    yields,
    attempts: [attempt(1), noop(2)],
    mined: { ordinal: 2, receipt: receiptIn(90) }
  })
const agreedAt90 = seen({
  minedAt: {
    first: "block-90",
    second: { hash: "block-90", finalHeight: 200, receipt: { blockHash: "block-90", isSuccess: true } }
  }
})

const given: ReadonlyArray<Case> = [
  ["for the first time", "Requeue authority_busy", yielding(0), allowing, agreedAt90],
  ["for the second time", "Requeue authority_busy", yielding(1), allowing, agreedAt90],
  ["for the third time", "Finish failed authority_busy", yielding(2), allowing, agreedAt90]
]

describe("a transaction with authorizations at the count", () => decisions(atTheCount))
describe("a transaction with authorizations that has given its nonce up", () => decisions(given))
