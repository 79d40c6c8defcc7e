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
      before: "const isIncluded = yield* chain.include(payment)",
      after: "const isIncluded = yield* chain.isSent(payment)",
      test,
      only: "deadlinePasses"
    },
    {
      name: "kit-raises-the-base-fee",
      rule: "The base fee of a spike is beyond what was offered.",
      source,
      before: "evm: { factor: 4n, blocks: 4 }",
      after: "evm: { factor: 1n, blocks: 4 }",
      test,
      only: "priceSpike"
    }
  ]),
  ...inFile("src/testkit/chain/Chain.ts", [
    {
      name: "kit-counts-executed-payments-alone",
      rule: "A payment that reverted was not made.",
      source,
      before: ".filter(({ bytes, isSuccess }) => isSuccess && laws.isPayment(bytes, payment)).length",
      after: ".filter(({ bytes }) => laws.isPayment(bytes, payment)).length",
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
      before: "const fork = grown(blocks, bytes === undefined ? [] : [{ bytes, isSuccess: true }])",
      after: "const fork = grown(blocks, bytes === undefined ? [] : [])",
      test: "test/testkit/host/Kit.test.ts",
      only: "lies, and as submitted"
    },
    {
      name: "kit-swallows-bytes",
      rule: "A node that drops bytes does not give them to a pool.",
      source,
      before: "if (provider.swallows) return {}",
      after: "if (provider.swallows) return laws.offer(bytes)",
      test,
      only: "dropped"
    },
    {
      name: "kit-kills-providers",
      rule: "A provider that is away takes no bytes.",
      source,
      before: "if (provider.isAway) return undefined",
      after: "if (provider.isAway && state.delay < 0) return undefined",
      test: "test/testkit/host/Kit.test.ts",
      only: "dead"
    }
  ]),
  ...inFile("src/testkit/evm/Chain.ts", [
    {
      name: "kit-makers-of-blocks-read-prices",
      rule: "A block takes nothing that offers less than its base fee.",
      source,
      before: "const end = ready.findIndex(({ maxFee }) => maxFee < chain.price)",
      after: "const end = ready.findIndex(({ maxFee }) => maxFee < 0n)",
      test,
      only: "priceSpike"
    }
  ]),
  ...inFile("src/testkit/solana/Chain.ts", [
    {
      name: "kit-blockhashes-die",
      rule: "Bytes whose blockhash is too old do not land.",
      source,
      before: "headOf(blocks).number - block.number <= life",
      after: "headOf(blocks).number - block.number >= 0",
      test: "test/testkit/host/Kit.test.ts",
      only: "on the test kit of"
    },
    {
      name: "kit-leaders-keep-nothing",
      rule: "Bytes that a block has not taken have to be sent again.",
      source,
      before: "settle: () => queue.clear()",
      after: "settle: () => {}",
      test: "test/testkit/host/OtherChains.test.ts",
      only: "keeps nothing that a block has not taken"
    },
    {
      name: "kit-executes-a-signature-once",
      rule: "Bytes that have landed do not land again.",
      source,
      before: "!hasLanded(bytes.hash) &&",
      after: "(!hasLanded(bytes.hash) || bytes.isSigned) &&",
      test: "test/testkit/host/OtherChains.test.ts",
      only: "executes bytes once"
    },
    {
      name: "kit-charges-failed-transactions",
      rule: "A transaction of solana that fails pays its fee.",
      source,
      before: "if (bytes.from === address) balance -= bytes.fee",
      after: "if (bytes.from === address && isSuccess) balance -= bytes.fee",
      test: "test/testkit/host/OtherChains.test.ts",
      only: "charges the fee of a transaction that fails"
    },
    {
      name: "kit-leaders-read-prices",
      rule: "A block of solana takes nothing that offers less than its price.",
      source,
      before: "canLand(bytes) && bytes.price >= chain.price",
      after: "canLand(bytes)",
      test,
      only: "priceSpike"
    }
  ]),
  ...inFile("src/testkit/solana/Views.ts", [
    {
      name: "kit-asks-two-providers-of-solana",
      rule: "What one of two providers shows ends nothing.",
      source,
      before: "const configured = account.chain.providers.length",
      after: "const configured = 1",
      test: "test/testkit/host/OtherChains.test.ts",
      only: "lies, and as submitted"
    },
    {
      name: "kit-equal-payments-differ",
      rule: "Two equal payments have two signatures.",
      source,
      before: "const owner = memory.owners.get(key) ?? transaction.number",
      after: "const owner = transaction.number",
      test: "test/testkit/host/Kit.test.ts",
      only: "on the test kit of"
    }
  ]),
  ...inFile("src/testkit/stellar/Chain.ts", [
    {
      name: "kit-envelopes-die",
      rule: "No ledger takes an envelope after its last moment.",
      source,
      before: "maxTime !== 0n && BigInt(",
      after: "maxTime === 0n && BigInt(",
      test: "test/testkit/host/Door.test.ts",
      only: "that the network does not take"
    },
    {
      name: "kit-ledgers-read-prices",
      rule: "A node takes no envelope that offers less than its price.",
      source,
      before: 'if (bytes.fee < neededFee(bytes)) return refused("txInsufficientFee")',
      after: "",
      test: "test/testkit/host/Door.test.ts",
      only: "that the network does not take"
    },
    {
      name: "kit-forgets-old-envelopes",
      rule: "An envelope leaves the queue after four ledgers.",
      source,
      before: "isUsed || head - since >= queueAge",
      after: "isUsed || head < since",
      test: "test/testkit/host/OtherChains.test.ts",
      only: "keeps an envelope in its queue"
    },
    {
      name: "kit-uses-sequences-in-order",
      rule: "An envelope has the next sequence of its account.",
      source,
      before: "if (bytes.sequence !== sequence + 1n) return",
      after: "if (bytes.sequence < sequence) return",
      test: "test/testkit/host/Door.test.ts",
      only: "that the network does not take"
    }
  ]),
  ...inFile("src/testkit/stellar/Views.ts", [
    {
      name: "kit-asks-two-providers-of-stellar",
      rule: "What one of two providers shows ends nothing.",
      source,
      before: "configured: providers.length,\n    looks: providers.map(",
      after: "configured: 1,\n    looks: providers.slice(0, 1).map(",
      test: "test/testkit/host/OtherChains.test.ts",
      only: "ends nothing by what one of two providers shows"
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
