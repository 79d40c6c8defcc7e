// Rules of evm about the count of the chain and the nonces of a lane.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/evm/rules"
const tests = "test/networks/evm/rules"
const failures = "test/transactions-failures.md"

export const nonces: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/LaneNonces.ts`, [
    {
      name: "count-above-needs-a-second-source",
      rule: "A count above the next nonce is believed from two sources.",
      source: `${failures} 8`,
      before: "const count = other === undefined ? lane.nextNonce :",
      after: "const count = other === undefined ? view.count :",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "count-in-two-polls-has-two-heads",
      rule: "One provider is a second source only at another head.",
      source: `${failures} B5`,
      before: "claim !== undefined && claim.headHash !== view.head.hash",
      after: "claim !== undefined",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "jump-waits-for-an-operator",
      rule: "A count that jumps by more than the window waits for an operator.",
      source: `${failures} 5`,
      before: "if (count - lane.nextNonce > maxJump)",
      after: "if (count - lane.nextNonce > maxJump * 1e6)",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "reorganisation-lowers-the-count",
      rule: "A lower count is a reorganisation if the block of the last count is gone.",
      source: `${failures} B10`,
      before: `if (view.hashAtChainBlock !== chainBlock.hash) return lowered(lane, view, view.count, "reorg")`,
      after: "",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "lagging-node-lowers-no-count",
      rule: "A provider whose head is below the known block lowers no count.",
      source: `${failures} 7`,
      before: "chainBlock === undefined || view.head.number < chainBlock.number",
      after: "chainBlock === undefined",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "count-never-lowers-the-next-nonce",
      rule: "A count of the chain can only raise the next nonce.",
      source: `${failures} 7`,
      before: "nextNonce: Math.max(lane.nextNonce, count)",
      after: "nextNonce: count",
      test: `${tests}/BelievedCount.test.ts`
    }
  ]),
  ...inFile(`${source}/LaneNonces.ts`, [
    {
      name: "gaps-of-a-believed-count",
      rule: "A count that was not believed says nothing about gaps.",
      source: `${failures} B5`,
      before: "if (count !== lane.chainNonce) return { lane, gaps: [] }",
      after: "",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "committed-nonces-are-not-given-again",
      rule: "The next nonce stays above every committed one.",
      source: `${failures} 1`,
      before: "Math.max(count, ...committed.map((nonce) => nonce + 1))",
      after: "Math.max(count, ...committed)",
      test: `${tests}/BelievedCount.test.ts`
    },
    {
      name: "settled-below-the-lowest-open-nonce",
      rule: "The settled nonce never passes an open transaction.",
      source: `${failures} A1`,
      before: "Math.min(countAtFinal, lowestOpen ?? countAtFinal, lane.chainNonce)",
      after: "Math.min(countAtFinal, lane.chainNonce)",
      test: "test/server/lanes/MinedTraces.test.ts"
    }
  ])
]
