// Rules about what is final, and about a database that was put back, on all networks.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/core"
const tests = "test/networks/core"
const failures = "test/transactions-failures.md"

export const opinions: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Rows.ts`, [
    {
      name: "contradiction-is-not-decided-by-time",
      rule: "Providers that contradict each other are never decided about by time.",
      source: `${failures} A7`,
      before: "if (disputed !== undefined) return disputed",
      after: "",
      test: `${tests}/SecondOpinion.test.ts`
    },
    {
      name: "never-by-one",
      rule: "A network can forbid that one provider decides.",
      source: `${failures} A7`,
      before: `finalityByOne === "never" ? undefined :`,
      after: `finalityByOne === "never" ? 0 :`,
      test: `${tests}/SecondOpinion.test.ts`
    },
    {
      name: "one-decides-after-the-longer-time",
      rule: "One provider decides only after ten times the time until a block is final.",
      source: `${failures} A7`,
      before: "Math.max(finalityByOne, patience * required * blockTime)",
      after: "Math.min(finalityByOne, patience * required * blockTime)",
      test: `${tests}/SecondOpinion.test.ts`
    },
    {
      name: "silence-is-seen-here",
      rule: "An instance that has not seen the silence itself lets no provider decide alone.",
      source: `${failures} A7`,
      before: "now >= decidesAt && areStalled",
      after: "now >= decidesAt",
      test: `${tests}/SecondOpinion.test.ts`
    },
    {
      name: "provider-that-is-behind-is-waited-for",
      rule: "A provider that is only behind is waited for.",
      source: `${failures} A7`,
      before: `  if (isBehind) return { _tag: "Waiting" }\n`,
      after: "",
      test: `${tests}/SecondOpinion.test.ts`
    }
  ]),
  ...inFile("src/server/lanes/LaneNetwork.ts", [
    {
      name: "chain-is-another-one-if-all-providers-say-so",
      rule: "A lane is on another chain only if the providers say so: a failure to answer is none.",
      source: `${failures} A4`,
      before: `Result.isFailure(asked) && asked.failure.code === "mismatch"`,
      after: "Result.isFailure(asked)",
      test: "test/server/lanes/LaneProviders.test.ts"
    },
    {
      name: "one-configured-provider-is-not-alone",
      rule: "A provider is alone only if others are configured, and none of them has an opinion.",
      source: `${failures} A7`,
      before: "configured < agreeing || speaking !== 1",
      after: "configured < 1 || speaking < 1",
      test: "test/server/lanes/LaneProviders.test.ts"
    },
    {
      name: "silence-lasts-from-its-first-poll",
      rule: "The time for which one provider is alone begins with the first poll that shows it, and not with each one.",
      source: `${failures} A7`,
      before: "else if (!aloneSince.has(urlsKey)) aloneSince.set(urlsKey, now)",
      after: "else aloneSince.set(urlsKey, now)",
      test: "test/server/lanes/LaneProviders.test.ts"
    }
  ]),
  ...inFile(`${source}/Transition.ts`, [
    {
      name: "operator-waits-for-a-final-nonce",
      rule: "An operator decides about a nonce only after every provider has it in a final block.",
      source: `${failures} 6`,
      before: "if (isOpen(transaction, usedBelow)) {",
      after: "if (isOpen(transaction, usedBelow) && usedBelow < 0n) {",
      test: "test/networks/evm/rules/Restore.test.ts"
    },
    {
      name: "operator-decides-about-what-waits",
      rule: "An operator decides only about transactions that wait for an operator.",
      source: `${failures} 33`,
      before: "if (isFinal(transaction) || !isUnproven(transaction)) return refused(",
      after: "if (isFinal(transaction)) return refused(",
      test: "test/networks/evm/rules/Restore.test.ts"
    },
    {
      name: "suspects-are-marked",
      rule: "Every open request that a foreign transaction could be is marked before a requeue.",
      source: `${failures} A3`,
      before: "isMarked(transaction) && rules.couldBe(transaction, foreign)",
      after: "isMarked(transaction) && transaction.number < 0",
      test: "test/networks/evm/rules/Restore.test.ts"
    },
    {
      name: "new-generation-ends-what-has-bytes",
      rule: "A new generation ends whatever was ever signed.",
      source: `${failures} A4`,
      before: "isFinal(transaction) || transaction.attempts.length === 0",
      after: "isFinal(transaction) || transaction.attempts.length >= 0",
      test: "test/networks/evm/rules/Restore.test.ts"
    }
  ]),
  ...inFile(`${source}/Rows.ts`, [
    {
      name: "lack-of-funds-ends",
      rule: "A lack of funds ends after the time since nothing is in flight.",
      source: `${failures} C3`,
      before: "if (waits === true || quietSince === undefined) return undefined",
      after: "if (waits || quietSince === undefined || quietSince > 0) return undefined",
      test: "test/networks/evm/rules/DecidePendingCosts.test.ts"
    }
  ])
]
