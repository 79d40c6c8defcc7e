// Rules of evm about what is sent again, and about the answers of nodes.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/domain/transaction/evm"
const tests = "test/domain/transaction/evm"
const failures = "test/transactions-failures.md"

export const sending: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Sending.ts`, [
    {
      name: "a-silent-node-may-have-the-bytes",
      rule: "A broadcast that a node did not answer has an unknown outcome.",
      source: `${failures} 10`,
      before: `if (classes.some((one) => one === "provider" || one === "unknown")) return undefined`,
      after: "",
      test: `${tests}/Sending.test.ts`
    },
    {
      name: "refused-by-all-clears-the-nonce",
      rule: "A no-op uses the nonce of bytes that all nodes refuse for good.",
      source: `${failures} B6`,
      before: "  !isNoop(attempt) &&\n",
      after: "  isNoop(attempt) &&\n",
      test: `${tests}/Sending.test.ts`
    },
    {
      name: "refused-for-good-by-all",
      rule: "A refusal is final only if every node gives a permanent reason.",
      source: `${failures} 39`,
      before: `["nonce", "bump", "price", "funds", "window", "order", "permanent"]`,
      after: `["permanent", "nonce", "bump", "price", "funds", "window", "order"]`,
      test: `${tests}/Sending.test.ts`
    },
    {
      name: "other-attempts-may-be-in-a-pool",
      rule: "A nonce is not cleared while another attempt may be in a pool.",
      source: `${failures} 39`,
      before: "other.ordinal !== attempt.ordinal && mayBeTaken(other, attempt)",
      after: "other.ordinal < 0 && mayBeTaken(other, attempt)",
      test: `${tests}/Sending.test.ts`
    },
    {
      name: "one-node-accepts",
      rule: "A broadcast is accepted if one node takes it.",
      source: `${failures} 9`,
      before: `answers.some((answer) => classify(answer) === "accepted")`,
      after: `answers.every((answer) => classify(answer) === "accepted")`,
      test: `${tests}/Sending.test.ts`
    }
  ]),
  ...inFile(`${source}/Refusal.ts`, [
    {
      name: "already-known-is-accepted",
      rule: "A node that has the bytes already has accepted them.",
      source: `${failures} 9`,
      before: "      /already known/,\n",
      after: "",
      test: `${tests}/Refusal.test.ts`
    },
    {
      name: "nonce-too-low-is-not-permanent",
      rule: "A used nonce is never a reason to fail.",
      source: `${failures} 6`,
      before: `["nonce", [/nonce too low/`,
      after: `["permanent", [/nonce too low/`,
      test: `${tests}/Refusal.test.ts`
    },
    {
      name: "unknown-text-is-not-permanent",
      rule: "A text that is not in the table is never permanent.",
      source: `${failures} 28`,
      before: `classOfText(answer.message) ?? (answer.code === limitExceeded ? "provider" : "unknown")`,
      after: `classOfText(answer.message) ?? (answer.code === limitExceeded ? "provider" : "permanent")`,
      test: `${tests}/Refusal.test.ts`
    }
  ]),
  ...inFile(`${source}/Resend.ts`, [
    {
      name: "canceled-bytes-are-not-sent-first",
      rule: "Bytes of a canceled request are never sent for the first time.",
      source: `${failures} 36`,
      before: `if (isUnwanted(situation, newest)) return "not_yet"`,
      after: "",
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "missed-bytes-are-sent-again",
      rule: "Bytes that a node does not have in two polls are sent again.",
      source: `${failures} 3`,
      before: "sight.polls >= absencesBeforeRebroadcast",
      after: "sight.polls >= 100 * absencesBeforeRebroadcast",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "older-attempts-are-sent-as-well",
      rule: "Older attempts that do the same are sent as well.",
      source: `${failures} B12`,
      before: "(doesTheSame(attempt, newest) || replaces(newest, attempt))",
      after: "replaces(newest, attempt)",
      test: `${tests}/SignaturesAndPrices.test.ts`
    }
  ]),
  ...inFile(`${source}/EvmChanges.ts`, [
    {
      name: "cancel-ends-pending-transactions-only",
      rule: "Only a pending transaction is canceled at once.",
      source: `${failures} 36`,
      before: `if (transaction.state !== "pending") return Result.succeed(intend)`,
      after: "",
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "cancel-does-not-end-a-restored-request",
      rule: "A request that may have been executed before a restore is not canceled at once.",
      source: `${failures} 33`,
      before: `if (transaction.restored) return Result.succeed({ ...intend, cause: cause("restored_unproven") })`,
      after: "",
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "given-fees-replace",
      rule: "Given fees of a replacement are more than a tenth above what was sent.",
      source: `${failures} 11`,
      before: "if (isReplacement(given, former)) return undefined",
      after: "if (maxFeeOf(given) > 0n) return undefined",
      test: `${tests}/SignaturesAndPrices.test.ts`
    }
  ]),
  ...inFile(`${source}/Decision.ts`, [
    {
      name: "recorded-receipt-has-its-own-row",
      rule: "A receipt that was recorded is decided about by itself, so that a revert becomes final.",
      source: `${failures} B4`,
      before: "return transaction.mined === undefined ? decideInFlight(seen) : decideMined(seen, transaction.mined)",
      after:
        "return transaction.attempts.length > 0 ? decideInFlight(seen) : transaction.mined ? decideMined(seen, transaction.mined) : decideInFlight(seen)",
      test: `${tests}/DecideMined.test.ts`
    }
  ])
]
