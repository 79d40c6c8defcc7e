// Rules of evm about what is sent again, and about the answers of nodes.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/evm/rules"
const tests = "test/networks/evm/rules"
const failures = "test/transactions-failures.md"

export const sending: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/EvmRules.ts`, [
    {
      name: "a-silent-node-may-have-the-bytes",
      rule: "A broadcast that a node did not answer has an unknown outcome.",
      source: `${failures} 10`,
      before: `if (classes.some((one) => one === "provider" || one === "unknown")) return undefined`,
      after: "",
      test: `${tests}/Sending.test.ts`
    },
    {
      name: "unknown-words-end-nothing",
      rule: "A former version that nodes refused in unknown words may still be mined.",
      source: `${failures} D5`,
      before: '  other.refusal?.class === "nonce" ||\n  isUnexplained(other)\n',
      after: '  other.refusal?.class === "nonce"\n',
      test: `${tests}/Sending.test.ts`
    },
    {
      name: "unknown-words-count-in-a-row",
      rule: "Only refusals in a row, by every provider, count as words that nobody understands.",
      source: `${failures} D5`,
      before: `if (classes.every((one) => one === "unknown")) return`,
      after: `if (classes.some((one) => one === "unknown")) return`,
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
      before: `"nonce",\n    [\n      /nonce too low/`,
      after: `"permanent",\n    [\n      /nonce too low/`,
      test: `${tests}/Refusal.test.ts`
    },
    {
      name: "unknown-text-is-not-permanent",
      rule: "A text that is not in the table is never permanent.",
      source: `${failures} 28`,
      before: `busyWords.test(answer.message) ? "provider" : "unknown"`,
      after: `busyWords.test(answer.message) ? "provider" : "permanent"`,
      test: `${tests}/Refusal.test.ts`
    }
  ]),
  ...inFile(`${source}/InFlight.ts`, [
    {
      name: "unknown-words-raise-no-price",
      rule: "Words that nobody understands are no reason to pay more.",
      source: `${failures} D5`,
      before: "if (isHeldByWords(situation, former)) return isBelowBaseFee(situation, former)",
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "dropped-bytes-raise-no-price",
      rule: "What a node accepts and does not keep is no reason to pay more.",
      source: `${failures} D3`,
      before: "return dropsOf(situation, former) === 0 && hasWaited(",
      after: "return hasWaited(",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "dropped-bytes-below-the-market-are-replaced",
      rule: "Bytes that a pool drops and that offer less than blocks ask for are replaced at the price of the market.",
      source: `${failures} D3`,
      before: "  if (isBelowMarket(situation, former)) return true\n",
      after: "  if (dropsOf(situation, former) === 0 && isBelowMarket(situation, former)) return true\n",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "dropped-by-node-is-not-too-cheap",
      rule: "Only bytes that offer what blocks ask for are shown as dropped by their node.",
      source: `${failures} D3`,
      before: "dropsBeforeShown && !isBelowMarket(situation, former)",
      after: "dropsBeforeShown",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "unknown-words-below-the-base-fee-are-raised",
      rule: "A price below the base fee is raised whatever nodes say of the bytes.",
      source: `${failures} D5`,
      before: "return isBelowBaseFee(situation, former)\n",
      after: "return false\n",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "patience-begins-when-found-again",
      rule: "No block could include bytes before a node had them.",
      source: `${failures} D3`,
      before: "(sight.missed ?? firstSent)",
      after: "firstSent",
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/Admission.ts`, [
    {
      name: "own-call-passes-no-list",
      rule: "A receivers' list allows no data for the own address.",
      source: `${failures} D4`,
      before: "!isOwnCall(request, address) &&\n  (includes(",
      after: "(includes(",
      test: `${tests}/SendEvmTransaction.test.ts`
    },
    {
      name: "own-call-passes-no-key-limit",
      rule: "Limits of an API key allow no data for the own address.",
      source: `${failures} D4`,
      before: `["receivers", "selectors", "max_value"] as const`,
      after: `["receivers", "selectors"] as const`,
      test: `${tests}/SendEvmTransaction.test.ts`
    }
  ]),
  ...inFile(`${source}/Evm.ts`, [
    {
      name: "absences-count-since-the-newest-send",
      rule: "Bytes that were sent again are missed in two polls before they are sent once more.",
      source: `${failures} D3`,
      before: "before?.sentAt === sentAt ? (before?.polls ?? 0) : 0",
      after: "before?.polls ?? 0",
      test: "test/server/lanes/RealNodes.test.ts"
    }
  ]),
  ...inFile("src/server/lanes/LaneDecisions.ts", [
    {
      name: "window-of-a-delegated-account-does-not-grow",
      rule: "A delegated account has one transaction in flight, also after blocks with its transactions.",
      source: `${failures} 26`,
      before: "Math.min(memory.poll?.reading?.windowLimit ?? ofNetwork, ofNetwork)",
      after: "ofNetwork",
      test: "test/server/lanes/RealNodes.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmNodes.ts", [
    {
      name: "words-of-nodes-repeat-no-secret",
      rule: "What a node says is shown without what its URL hides.",
      source: `${failures} D5`,
      before: "withoutSecrets(url, answer.message)",
      after: "answer.message",
      test: "test/networks/evm/chain/EvmProviders.test.ts"
    }
  ]),
  ...inFile(`${source}/Yielding.ts`, [
    {
      name: "spent-key-yields-its-nonce",
      rule: "A transaction that its API key's limit keeps below the base fee does not hold those behind it.",
      source: `${failures} D2`,
      before: `givenFees(request) !== undefined || limit === "api_key"`,
      after: "givenFees(request) !== undefined",
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/InFlight.ts`, [
    {
      name: "canceled-bytes-are-not-sent-first",
      rule: "Bytes of a canceled request are never sent for the first time.",
      source: `${failures} 36`,
      before: `if (isUnwanted(situation, newest) || lacksProviders(situation, newest)) return "not_yet"`,
      after: `if (lacksProviders(situation, newest)) return "not_yet"`,
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
  ...inFile(`${source}/EvmRules.ts`, [
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
