// Shrunk sequences that break an invariant if the rule in their name is taken out.
import { describe, it } from "@effect/vitest"
import { observe } from "./simulation/Invariants.ts"
import { acceptance, live, noFaults, replacement, sent, settleAll } from "./simulation/Scenes.ts"
import type { Step } from "./simulation/Step.ts"

const examples: ReadonlyArray<readonly [rule: string, steps: ReadonlyArray<Step>]> = [
  [
    "a foreign transaction on the fork of one provider is no proof that a nonce was used",
    [
      { do: "Fork", depth: 0, which: 7, blocks: 2 },
      { do: "Poll", faults: { ...noFaults, isLiarFirst: true } }
    ]
  ],
  [
    "a request that is pending in a restored ledger is not signed by itself",
    [
      { do: "Backup" },
      { do: "Foreign" },
      { do: "Block", count: 2 },
      { do: "Poll", faults: noFaults },
      { do: "Restore" },
      { do: "Mine", which: 0, reverts: 0 }
    ]
  ],
  [
    "a restored request whose nonce is taken does not get another one",
    [{ do: "Backup" }, replacement, { do: "Poll", faults: noFaults }, { do: "Restore" }]
  ],
  [
    "a reverted receipt whose block is gone ends nothing",
    [{ do: "Mine", which: 0, reverts: 3 }, acceptance, { do: "Poll", faults: noFaults }, { do: "Reorg", depth: 1 }]
  ],
  [
    "a policy does not end a transaction that has bytes",
    [replacement, { do: "Policy", isAllowed: false }, acceptance, { do: "Poll", faults: noFaults }]
  ],
  [
    "the fork of one provider confirms nothing",
    [
      { do: "Fork", depth: 2, which: 0, blocks: 0 },
      { do: "Poll", faults: { ...noFaults, isLiarFirst: true } }
    ]
  ],
  [
    "one provider with a longer fork does not make a common block final",
    [
      { do: "Mine", which: 0, reverts: 0 },
      { do: "Fork", depth: 0, which: 0, blocks: 1 },
      { do: "Poll", faults: { ...noFaults, isLiarFirst: true } },
      { do: "Reorg", depth: 1 }
    ]
  ],
  [
    "a transaction past its deadline still reaches its end",
    [acceptance, { do: "Assign", faults: noFaults }, { do: "DropPool" }, { do: "Wait", which: 2 }]
  ],
  [
    "a hole below open transactions is filled",
    [
      { do: "Mine", which: 0, reverts: 0 },
      { do: "Foreign" },
      { do: "PollLane", faults: noFaults },
      { do: "Reorg", depth: 1 },
      acceptance,
      { do: "Assign", faults: noFaults }
    ]
  ],
  [
    "a count that is not believed makes no gaps",
    [
      { do: "Foreign" },
      { do: "Foreign" },
      { do: "PollLane", faults: noFaults },
      { do: "PollLane", faults: { ...noFaults, lag: 3 } }
    ]
  ],
  [
    "the count of a former poll is no reason to conclude anything",
    [
      { do: "Fork", depth: 2, which: 3, blocks: 0 },
      { do: "Poll", faults: { ...noFaults, isLiarFirst: true } },
      { do: "PollLane", faults: { ...noFaults, isLiarFirst: true } }
    ]
  ],
  [
    "a request that an operator has given up leaves no hole if its nonce was not used after all",
    [
      { do: "DropPool" },
      { do: "Poll", faults: { ...noFaults, isLiarFirst: true, countLie: 4 } },
      acceptance,
      { do: "Resync", answer: "give_up" }
    ]
  ],
  [
    "a replacement that nodes refuse for good does not hold the lane: the former version is sent again",
    [{ do: "NodeCap", which: 1 }, { ...replacement, offer: 7 }, { do: "Poll", faults: noFaults }, { do: "DropPool" }]
  ]
]

describe("a sequence that random search has found", () => {
  for (const [rule, steps] of examples) {
    it(rule, () => {
      const world = sent({ observe })
      live(world, steps)
      settleAll(world)
    })
  }
})
