// What the pools of anvil and geth answer to bytes, as `PoolRules.test.ts` found it on real nodes.
import { maxFeeOf, raisedFees, tipOf } from "../../../src/networks/evm/rules/Market.ts"
import type { AnswerClass } from "../../../src/networks/evm/rules/Refusal.ts"

const gwei = 10n ** 9n
export const ether = 10n ** 18n

/** Wei of the account that sends. */
export const funds = 10n * ether

/** What both nodes take. */
export const usual = { type: "eip1559", value: 1n, gas: 21_000n, maxFee: 100n * gwei, tip: 10n * gwei } as const

/** Ten percent more of its fees is no whole number of wei. */
const odd = { ...usual, maxFee: 100n * gwei + 5n, tip: 10n * gwei + 5n } as const

const bumped = raisedFees(usual)

export interface Sent {
  readonly type: "eip1559"
  readonly value: bigint
  readonly gas: bigint
  readonly maxFee: bigint
  readonly tip: bigint
  readonly chainId?: number
  readonly data?: `0x${string}`
}

interface Rule {
  /** Sent before, with the same nonce. */
  readonly former?: Sent
  readonly sent: Sent
  readonly anvil: AnswerClass
  readonly geth: AnswerClass
}

const both = (answer: AnswerClass) => ({ anvil: answer, geth: answer })

/** A nonce with a gap before it is never mined, so that each rule finds the pool as it left it. */
export const rules: Readonly<Record<string, Rule>> = {
  "the same bytes again": { former: usual, sent: usual, ...both("accepted") },
  "the bump of the service": {
    former: usual,
    sent: { ...usual, maxFee: maxFeeOf(bumped), tip: tipOf(bumped) },
    ...both("accepted")
  },
  "both fees 5 % higher": {
    former: usual,
    sent: { ...usual, maxFee: 105n * gwei, tip: (105n * gwei) / 10n },
    anvil: "accepted",
    geth: "bump"
  },
  "the max fee 20 % higher, the tip not": {
    former: usual,
    sent: { ...usual, maxFee: 120n * gwei },
    anvil: "accepted",
    geth: "bump"
  },
  // geth rounds the threshold of 10 % down.
  "both fees 10 % higher, rounded down": {
    former: odd,
    sent: { ...odd, maxFee: 110n * gwei + 5n, tip: 11n * gwei + 5n },
    ...both("accepted")
  },
  "one wei less than that": {
    former: odd,
    sent: { ...odd, maxFee: 110n * gwei + 5n, tip: 11n * gwei + 4n },
    anvil: "accepted",
    geth: "bump"
  },
  "a lower price, and a cost above the balance": {
    former: usual,
    sent: { ...usual, maxFee: 50n * gwei, value: funds },
    ...both("funds")
  },
  "a lower price": { former: usual, sent: { ...usual, maxFee: 50n * gwei }, ...both("bump") },
  "a max fee below the base fee": { sent: { ...usual, maxFee: 1n, tip: 1n }, anvil: "price", geth: "accepted" },
  "no tip": { sent: { ...usual, tip: 0n }, anvil: "accepted", geth: "price" },
  "a cost above the balance": { sent: { ...usual, value: funds }, ...both("funds") },
  "the wrong chain": { sent: { ...usual, chainId: 5 }, ...both("permanent") },
  "less gas than every transaction needs": { sent: { ...usual, gas: 20_999n }, ...both("permanent") },
  "more gas than EIP-7825 allows": { sent: { ...usual, gas: 2n ** 24n + 1n }, anvil: "accepted", geth: "permanent" },
  "a fee above one ether": {
    sent: { ...usual, gas: 10_000_000n, maxFee: 200n * gwei },
    anvil: "accepted",
    geth: "permanent"
  },
  "more bytes than a pool keeps": {
    sent: { ...usual, gas: 5_000_000n, data: `0x${"00".repeat(140_000)}` },
    anvil: "accepted",
    geth: "permanent"
  }
}
