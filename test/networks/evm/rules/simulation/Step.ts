// The steps that can happen, as values: what a random sequence consists of.
import { Arbitrary, Schema } from "effect"
import type { Request } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { CrashPoint, Faults } from "./Faults.ts"
import { lies } from "./Node.ts"
import type { Delivery } from "./Node.ts"
import { ether, gwei, privateNodes } from "./World.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** An index into a list: what stands in it more often happens more often. */
const oneOf = (choices: ReadonlyArray<unknown>) => upTo(choices.length - 1)

const deliveries: ReadonlyArray<Delivery> = ["taken", "taken", "taken", "taken", "taken", "swallowed", "lost", "silent"]
const lyingDeliveries: ReadonlyArray<Delivery> = [...deliveries, "refused", "refused", "refused", "refused"]
const crashes: ReadonlyArray<CrashPoint> = [
  ...(["never", "never", "never", "never", "never", "never"] as const),
  "before_commit",
  "after_commit",
  "after_send"
]
const countLies = [0, 0, 0, 0, 1, -1, 5] as const
const indexLags = [0, 0, 0, 1, 2, 3, 5, 10] as const

/** The honest node never refuses what it should take; the lying one may. */
const AnyFaults = Schema.Struct({
  isLiarFirst: Schema.Boolean,
  lag: oneOf([0, 0, 0, 1, 2]),
  countLie: oneOf(countLies),
  hidesReceipts: Schema.Boolean,
  indexLag: oneOf(indexLags),
  hidesBlocks: Schema.Boolean,
  crash: oneOf(crashes),
  honestNode: oneOf(deliveries),
  lyingNode: oneOf(lyingDeliveries),
  lie: oneOf(lies)
})

export const validities = [100, 28_800, 28_800] as const
export const baseFees = [1n, 3n, 40n] as const
export const waits = [7, 31, 120] as const

/** What a request says about its price and its gas. Without a gas limit, the call is estimated. */
export const offers: ReadonlyArray<Partial<Request>> = [
  { gas_limit: 21_000n },
  { gas_limit: 21_000n },
  {},
  { gas_limit: 21_000n, speed: "fastest" },
  { speed: "safeLow", wait_for_funds: true },
  { gas_limit: 21_000n, gas_price: 2n * gwei },
  { gas_limit: 21_000n, max_fee_per_gas: 3n * gwei, max_priority_fee_per_gas: gwei },
  { gas_limit: 210_000n, max_fee_per_gas: 60n * gwei, max_priority_fee_per_gas: 2n * gwei }
]

/** Seconds until a request may be signed. */
export const delays = [0, 0, 0, 20, 200] as const
export const priorities = [0, 0, 0, 1, -1] as const
export const caps = [undefined, 2n * gwei, 50n * gwei] as const
export const nodeCaps = [undefined, 210_000n * 50n * gwei] as const
export const balances = [ether, 0n, 300_000n * gwei] as const
export const estimates = ["gas", "gas", "reverts", "differs", "unknown", "refused"] as const
export const windows = [16, 4, 1] as const

/** Seconds at the chain's count after which a private transaction becomes public. Undefined: it does not. */
export const fallbacks = [undefined, 30, 30, 120] as const

/** A request of one of two relayers. `requires`: a nonce, counted from the next one; 0 requires none. */
const Accept = Schema.Struct({
  do: Schema.tag("Accept"),
  lasts: oneOf(validities),
  requires: oneOf([0, 0, 0, 1, 2]),
  offer: oneOf(offers),
  delay: oneOf(delays),
  priority: oneOf(priorities),
  relayer: oneOf([1, 1, 2]),
  /** Absent: it is public. */
  isPrivate: Schema.optionalKey(Schema.Boolean),
  fallback: Schema.optionalKey(oneOf(fallbacks)),
  /** Nonces by which its authorization is ahead of the user. Absent: it has none. */
  ahead: Schema.optionalKey(upTo(1))
})
/** A delegation of the account, or its end. */
const Delegate = Schema.Struct({ do: Schema.tag("Delegate"), ends: oneOf([false, false, true]) })
/** Many calls at once. */
const Calls = Schema.Struct({ do: Schema.tag("Calls"), lasts: oneOf(validities) })
/** Somebody sends an authorization that nodes have seen. */
const Stranger = Schema.Struct({ do: Schema.tag("Stranger") })
/** Somebody uses the next nonce of the user whose authorizations requests carry. */
const Use = Schema.Struct({ do: Schema.tag("Use") })
const Publish = Schema.Struct({ do: Schema.tag("Publish") })
const PrivateNodes = Schema.Struct({ do: Schema.tag("PrivateNodes"), which: oneOf(privateNodes) })
/** Requests that are accepted together. */
const Batch = Schema.Struct({ do: Schema.tag("Batch"), count: upTo(2), requires: Schema.Boolean, offer: oneOf(offers) })
const Cancel = Schema.Struct({ do: Schema.tag("Cancel"), which: upTo(3) })
const CancelAll = Schema.Struct({ do: Schema.tag("CancelAll") })
/** `lasts`: of the new deadline, if there is one. */
const Replace = Schema.Struct({
  do: Schema.tag("Replace"),
  which: upTo(3),
  offer: oneOf(offers),
  lasts: oneOf([...validities, undefined, undefined, undefined])
})
const Clear = Schema.Struct({ do: Schema.tag("Clear"), from: upTo(3), count: upTo(2) })
const Resync = Schema.Struct({ do: Schema.tag("Resync"), answer: Schema.Literals(["none", "send", "give_up"]) })
/** It ends most of what is in progress, so it is rare. */
const Generation = Schema.Struct({ do: Schema.tag("Generation"), dice: upTo(6) })
const Pause = Schema.Struct({ do: Schema.tag("Pause"), isPaused: Schema.Boolean })
const Signer = Schema.Struct({ do: Schema.tag("Signer"), isAway: Schema.Boolean })
const Cap = Schema.Struct({ do: Schema.tag("Cap"), which: oneOf(caps) })
const NodeCap = Schema.Struct({ do: Schema.tag("NodeCap"), which: oneOf(nodeCaps) })
const Fund = Schema.Struct({ do: Schema.tag("Fund"), which: oneOf(balances) })
const Estimate = Schema.Struct({ do: Schema.tag("Estimate"), which: oneOf(estimates) })
const Window = Schema.Struct({ do: Schema.tag("Window"), which: oneOf(windows) })
const Poll = Schema.Struct({ do: Schema.tag("Poll"), faults: AnyFaults })
const PollLane = Schema.Struct({ do: Schema.tag("PollLane"), faults: AnyFaults })
const Assign = Schema.Struct({ do: Schema.tag("Assign"), faults: AnyFaults })
const Mine = Schema.Struct({ do: Schema.tag("Mine"), which: upTo(7), reverts: oneOf([0, 0, 0, 1]) })
const Block = Schema.Struct({ do: Schema.tag("Block"), count: upTo(3) })
const Foreign = Schema.Struct({ do: Schema.tag("Foreign") })
const Reorg = Schema.Struct({ do: Schema.tag("Reorg"), depth: upTo(2) })
const DropPool = Schema.Struct({ do: Schema.tag("DropPool") })
const Fork = Schema.Struct({ do: Schema.tag("Fork"), depth: upTo(4), which: upTo(7), blocks: upTo(4) })
const Unfork = Schema.Struct({ do: Schema.tag("Unfork") })
const BaseFee = Schema.Struct({ do: Schema.tag("BaseFee"), which: oneOf(baseFees) })
const Wait = Schema.Struct({ do: Schema.tag("Wait"), which: oneOf(waits) })
/** Providers drop their old states, and have no archive. */
const Prune = Schema.Struct({ do: Schema.tag("Prune") })
const Crash = Schema.Struct({ do: Schema.tag("Crash") })
const Policy = Schema.Struct({ do: Schema.tag("Policy"), isAllowed: Schema.Boolean })
const Backup = Schema.Struct({ do: Schema.tag("Backup") })
const Restore = Schema.Struct({ do: Schema.tag("Restore") })

/** What stands here more often happens more often. */
export const Step = Schema.Union([
  ...([
    Poll,
    Poll,
    Poll,
    Poll,
    Poll,
    Poll,
    Assign,
    Assign,
    PollLane,
    PollLane,
    Mine,
    Mine,
    Mine,
    Block,
    Block
  ] as const),
  ...([Accept, Accept, Wait, Wait, Reorg, Fork, Foreign, Cancel, Replace, DropPool, Unfork] as const),
  ...([BaseFee, Crash, Policy, Backup, Restore] as const),
  ...([Accept, Batch, Replace, CancelAll, Clear, Resync, Generation, Pause] as const),
  ...([Signer, Cap, NodeCap, Fund, Estimate, Window, PrivateNodes, Publish, Use] as const),
  ...([Delegate, Delegate, Calls, Calls, Stranger, Prune] as const)
])
export type Step = typeof Step.Type

export const Steps = Arbitrary.array(Arbitrary.schema(Step), { maxLength: 120 })

export const faultsOf = (faults: typeof AnyFaults.Type): Faults => ({
  reading: {
    isLiarFirst: faults.isLiarFirst,
    lag: Math.max(faults.lag - 2, 0),
    countLie: countLies[faults.countLie] ?? 0,
    hidesReceipts: faults.hidesReceipts,
    indexLag: indexLags[faults.indexLag] ?? 0,
    hidesBlocks: faults.hidesBlocks
  },
  crash: crashes[faults.crash] ?? "never",
  honestNode: deliveries[faults.honestNode] ?? "taken",
  lyingNode: lyingDeliveries[faults.lyingNode] ?? "taken",
  lie: lies[faults.lie] ?? ""
})
