// Rules of solana after a copy of the database was put back.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const lanes = "test/networks/solana/lane"
const traces = "test/networks/solana/lane/README.md: trace"

export const restores: ReadonlyArray<Mutant> = [
  ...inFile("src/networks/solana/chain/SolanaLooks.ts", [
    {
      name: "restore-waits-for-lost-bytes",
      rule: "Nothing is read before bytes of the lost process cannot land any more.",
      source: `${traces} 28`,
      before: `  if (finalized.height < bound + boundMargin) return undefined
  const lowest = Math.max(until, finalized.slot - (finalized.height - bound) - restoredSlots, 0)
  const witness = yield* witnessAbove(node, finalized, { bound, lowest })`,
      after: `  const early = Math.min(bound, finalized.height - boundMargin)
  const lowest = Math.max(until, finalized.slot - (finalized.height - early) - restoredSlots, 0)
  const witness = yield* witnessAbove(node, finalized, { bound: early, lowest })`,
      test: `${lanes}/Restores.test.ts`,
      only: "nothing is read, sent or answered"
    },
    {
      name: "restore-waits-for-the-index",
      rule: "A list is not believed before the index shows a block in which bytes of the lost process cannot land.",
      source: `${traces} 28`,
      before: "const sought = { address, slot: finalized.slot, until, before }",
      after: "const sought = { address, slot: finalized.slot, until }",
      test: "test/networks/solana/chain/SolanaLooks.test.ts"
    }
  ]),
  ...inFile("src/networks/solana/lane/SolanaLane.ts", [
    {
      name: "restore-reaches-what-the-copy-knows",
      rule: "A list that ends above the newest own signature of the copy may be one of a younger back end.",
      source: `${traces} 28`,
      before: "  if (!isReached(work, lists)) return undefined\n",
      after: "",
      test: `${lanes}/Restores.test.ts`,
      only: "a list that ends above what the copy knows"
    }
  ]),
  ...inFile("src/networks/solana/lane/SolanaLane.ts", [
    {
      name: "restore-reads-from-the-copy-on",
      rule: "What is finalized after a copy was put back does not shorten the list that is read for it.",
      source: `${traces} 28`,
      before: "const since = counters.since ?? anchor ?? { slot: 0 }",
      after: "const since = newest ?? counters.since ?? anchor ?? { slot: 0 }",
      test: `${lanes}/Restores.test.ts`,
      only: "newer own transactions fill"
    },
    {
      name: "restore-without-a-final-signature-reads-the-whole-list",
      rule: "What the first look after a restore finds final does not shorten the list of a copy that knows no final signature.",
      source: `${traces} 28`,
      before: "  const next = yield* advanceRestore({ context, providers, rows, since, known, now }, restore)",
      after:
        "  const next = yield* advanceRestore({ context, providers, rows, since: anchor === undefined ? { slot: 10 ** 9 } : since, known, now }, restore)",
      test: `${lanes}/Restores.test.ts`,
      only: "what landed before bytes of a copy"
    }
  ]),
  ...inFile("src/networks/solana/chain/SolanaCalls.ts", [
    {
      name: "any-version-is-one-of-a-message",
      rule: "A question about any version names the highest one that a message can have.",
      source: `${traces} 27`,
      before: "const anyVersion = 127",
      after: "const anyVersion = 255",
      test: "test/networks/solana/chain/SolanaLooks.test.ts"
    },
    {
      name: "restore-reads-version-1",
      rule: "What landed after the copy is read in each version that the service signs.",
      source: `${traces} 27`,
      before: `{ commitment: "finalized", encoding: "base64", maxSupportedTransactionVersion: highestVersion }`,
      after: `{ commitment: "finalized", encoding: "base64", maxSupportedTransactionVersion: highestVersion - 1 }`,
      test: `${lanes}/Restores.test.ts`,
      only: "a transaction of version 1 that landed is adopted"
    }
  ]),
  ...inFile("src/networks/solana/rules/RequestBytes.ts", [
    {
      name: "unread-bytes-of-the-relayer-count",
      rule: "Bytes that cannot be read hold a restored ledger if the relayer paid for them.",
      source: `${traces} 27`,
      before: "(payer !== undefined && payer !== relayer) ||",
      after: "(payer !== undefined) ||",
      test: "test/networks/solana/rules/Execution.test.ts"
    },
    {
      name: "unread-bytes-of-a-signed-version-count",
      rule: "Bytes that cannot be read hold a restored ledger if their version is one that the service signs.",
      source: `${traces} 27`,
      before: `(typeof version === "number" && version > highestVersion)`,
      after: `(typeof version === "number" && version >= highestVersion)`,
      test: "test/networks/solana/rules/Execution.test.ts"
    }
  ]),
  ...inFile("src/networks/solana/lane/SolanaLane.ts", [
    {
      name: "strangers-hold-no-restore",
      rule: "A transaction of somebody else that cannot be read does not hold a restored ledger.",
      source: `${traces} 27`,
      before: "if (!(yield* isOfOthers(work, signature))) return false",
      after: "return false",
      test: `${lanes}/Restores.test.ts`,
      only: "a stranger's transaction of a later version"
    },
    {
      name: "strangers-are-known-by-two",
      rule: "A transaction that cannot be read counts as foreign only if enough providers say that the relayer did not sign it.",
      source: `${traces} 27`,
      before: "return said.length >= neededOf(providers) && said.every(",
      after: "return said.length >= 1 && said.every(",
      test: `${lanes}/Restores.test.ts`,
      only: "one of two providers cannot call"
    },
    {
      name: "restore-reads-complete-lists",
      rule: "A list without its end is not believed to be read.",
      source: `${traces} 28`,
      before: "isWhole === true || from <= until",
      after: "isWhole === true || from >= 0",
      test: `${lanes}/Restores.test.ts`,
      only: "a list without its end"
    },
    {
      name: "restore-reads-lists-that-agree",
      rule: "Providers whose lists differ hold a restored ledger until they agree.",
      source: `${traces} 27`,
      before: "if (unknown.some((signature) => read.lists.some((list) => !list.has(signature)))) return before",
      after: "",
      test: `${lanes}/Restores.test.ts`,
      only: "a list that lacks what another one has"
    },
    {
      name: "restore-adopts-what-landed",
      rule: "What landed after the copy is adopted.",
      source: `${traces} 27`,
      before: "        executes(fetched.message, fetched.loaded, address, newestRequest(transaction))",
      after: "        !executes(fetched.message, fetched.loaded, address, newestRequest(transaction))",
      test: `${lanes}/Restores.test.ts`,
      only: "a transaction that landed is adopted"
    },
    {
      name: "one-transaction-is-one-request",
      rule: "One transaction on the chain executed one of two equal requests.",
      source: `${traces} 27`,
      before: "        !found.has(transaction.number) &&\n",
      after: "",
      test: `${lanes}/Restores.test.ts`,
      only: "two equal requests that have both landed"
    }
  ])
]
