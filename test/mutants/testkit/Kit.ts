// Rules of the test kit for host programs. Without one of them, a test of a host program is green although the program has a mistake.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "docs/testing.md: A scenario"
const test = "test/testkit/host/Scenarios.test.ts"

export const kit: ReadonlyArray<Mutant> = [
  ...inFile("src/testkit/Scenario.ts", [
    {
      name: "kit-compares-what-was-booked",
      rule: "A program that booked what the chain does not have fails.",
      source,
      before: "if (booked === paid) return undefined",
      after: "if (booked >= 0) return undefined",
      test
    },
    {
      name: "kit-counts-payments-above-one",
      rule: "A payment that the chain has twice fails, whatever the program says.",
      source,
      before: "if (paid > 1) return",
      after: "if (paid > 2) return",
      test
    },
    {
      name: "kit-waits-for-the-end-of-all-transactions",
      rule: "A scenario compares when all transactions are final: a second payment may come late.",
      source,
      before: "const isQuiet = Effect.map(stage.openCount, (open) => open === 0)",
      after: "const isQuiet = Effect.map(stage.openCount, (open) => open >= 0)",
      test
    },
    {
      name: "kit-reports-a-program-that-fails",
      rule: "A program that fails has not passed.",
      source,
      before: "if (Exit.isFailure(exit)) return yield* fail(`the program has failed",
      after: "if (Exit.isFailure(exit)) return yield* Effect.logDebug(`the program has failed",
      test,
      only: "names the error of a program"
    },
    {
      name: "kit-loses-the-answer",
      rule: "The answer of the first send is lost.",
      source,
      before: "loseAnswers(1)",
      after: "loseAnswers(0)",
      test,
      only: "answerLost"
    },
    {
      name: "kit-takes-the-nonce",
      rule: "Somebody else uses the nonce of the payment.",
      source,
      before: "      yield* chain.takeNonce(key)\n",
      after: "      yield* Effect.sync(() => key)\n",
      test,
      only: "nonceTakenByForeign"
    },
    {
      name: "kit-takes-the-payment-after-its-deadline",
      rule: "A block takes the payment after its deadline.",
      source,
      before: "      yield* chain.include(payment)\n",
      after: "      yield* chain.payments(payment)\n",
      test,
      only: "deadlinePasses"
    },
    {
      name: "kit-raises-the-base-fee",
      rule: "The base fee of a spike is beyond what was offered.",
      source,
      before: "const spikeFactor = 4n",
      after: "const spikeFactor = 1n",
      test,
      only: "priceSpike"
    }
  ]),
  ...inFile("src/testkit/evm/Chain.ts", [
    {
      name: "kit-counts-executed-payments-alone",
      rule: "A payment that reverted was not made.",
      source,
      before: ".filter(({ bytes, isSuccess }) => isSuccess && isPayment(payment)(bytes)).length",
      after: ".filter(({ bytes }) => isPayment(payment)(bytes)).length",
      test,
      only: "reverts"
    },
    {
      name: "kit-reorganises",
      rule: "A reorganisation replaces the block of the payment.",
      source,
      before: "blocks = reorg(blocks, depth)\n",
      after: "blocks = reorg(blocks, 0)\n",
      test,
      only: "reorgOfDepth"
    },
    {
      name: "kit-shows-the-block-of-the-liar",
      rule: "A provider that lies shows the payment in a block.",
      source,
      before: "provider.fork = grown(blocks, bytes === undefined ? [] : [{ bytes, isSuccess: true }])",
      after: "provider.fork = grown(blocks, bytes === undefined ? [] : [])",
      test: "test/testkit/host/Kit.test.ts",
      only: "lies, and as submitted"
    },
    {
      name: "kit-swallows-bytes",
      rule: "A node that drops bytes does not give them to a pool.",
      source,
      before: "if (provider.swallows) return accepted",
      after: "if (provider.swallows) return offer(bytes)",
      test,
      only: "dropped"
    },
    {
      name: "kit-kills-providers",
      rule: "A provider that is away takes no bytes.",
      source,
      before: "if (provider.isAway) return noAnswer",
      after: "if (provider.isAway && state.delay < 0) return noAnswer",
      test: "test/testkit/host/Kit.test.ts",
      only: "dead"
    },
    {
      name: "kit-makers-of-blocks-read-prices",
      rule: "A block takes nothing that offers less than its base fee.",
      source,
      before: "const end = ready.findIndex(({ maxFee }) => maxFee < state.baseFee)",
      after: "const end = ready.findIndex(({ maxFee }) => maxFee < 0n)",
      test,
      only: "priceSpike"
    }
  ]),
  ...inFile("src/testkit/evm/Views.ts", [
    {
      name: "kit-asks-the-second-provider",
      rule: "A payment is final only if both providers have its block.",
      source,
      before: "return { hash: block.hash, finalHeight: second.finalHeight, receipt }",
      after:
        'return receipt === null ? "not_configured" : { hash: block.hash, finalHeight: second.finalHeight, receipt }',
      test,
      only: "providerLies"
    }
  ]),
  ...inFile("src/testkit/Feed.ts", [
    {
      name: "kit-repeats-events",
      rule: "Each event is read twice.",
      source,
      before: "(faults.areRepeated ? [event, event] : [event])",
      after: "[event]",
      test,
      only: "eventsTwiceAndLate"
    },
    {
      name: "kit-hides-late-events",
      rule: "An event that is late is not read before.",
      source,
      before: "published.filter(({ visibleAt }) => visibleAt <= now))",
      after: "published.filter(({ visibleAt }) => visibleAt <= now || now > 0))",
      test: "test/testkit/host/Kit.test.ts",
      only: "late"
    }
  ]),
  ...inFile("src/testkit/Sends.ts", [
    {
      name: "kit-repeats-by-name-alone",
      rule: "Two sends without a name are two payments, however equal they are.",
      source,
      before: "name === undefined ? undefined :",
      after: "name === null ? undefined :",
      test,
      only: "answerLost"
    }
  ])
]
