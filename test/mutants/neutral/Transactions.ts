// Rules of transactions of all networks: attempts, sums, cancels, transitions and the queue.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/core"
const failures = "test/transactions-failures.md"
const claims = "docs/security/tests.md"

export const core: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Transaction.ts`, [
    {
      name: "attempts-of-this-generation",
      rule: "Attempts of an older generation are never sent again.",
      source: `${failures} A4`,
      before: "isSamePlace(attempt.place, place) && attempt.generation === generation",
      after: "isSamePlace(attempt.place, place)",
      test: "test/networks/evm/rules/SignaturesAndPrices.test.ts"
    },
    {
      name: "attempts-at-this-place",
      rule: "Attempts at an older place are never sent again.",
      source: `${failures} A4`,
      before: "isSamePlace(attempt.place, place) && attempt.generation === generation",
      after: "attempt.generation === generation",
      test: "test/networks/evm/rules/SignaturesAndPrices.test.ts"
    },
    {
      name: "mined-transactions-reserve-nothing",
      rule: "A mined transaction fills no place of the window and reserves no funds.",
      source: `${failures} C10`,
      before: `(state === "signed" || state === "submitted") && mined === undefined`,
      after: `state === "signed" || state === "submitted" || (state === "mined" && mined !== undefined)`,
      test: "test/networks/evm/rules/Funds.test.ts"
    }
  ]),
  ...inFile(`${source}/Queue.ts`, [
    {
      name: "reserves-the-most-expensive-attempt",
      rule: "A transaction in flight reserves what its most expensive attempt can cost.",
      source: `${failures} 16`,
      before: "if (cost > most) most = cost",
      after: "most = cost",
      test: "test/networks/evm/rules/Funds.test.ts"
    },
    {
      name: "fees-of-failures-count",
      rule: "What a final transaction has paid counts for the limit of its API key.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "return paidBefore + (mined?.receipt.paid ?? 0n)",
      after: "return paidBefore + 0n * (mined?.receipt.paid ?? 0n)",
      test: "test/networks/evm/rules/Funds.test.ts"
    },
    {
      name: "fees-of-attempts-count",
      rule: "What an attempt can cost counts for the limit of its API key as soon as there is one.",
      source: `${claims}: the fee limit holds for what is only known when a transaction is signed`,
      before: "(maxFee > most ? maxFee : most), 0n) + paidBefore",
      after: "(maxFee > most ? most : most), 0n) + paidBefore",
      test: "test/networks/evm/rules/Funds.test.ts"
    }
  ]),
  ...inFile(`${source}/Rules.ts`, [
    {
      name: "cancel-only-while-pending-sends-nothing",
      rule: "A cancel with only_pending leaves a transaction alone that may have been signed.",
      source: "docs/api.md: cancels",
      before: `    ({ _tag }) => _tag === "finish",\n`,
      after: "    () => true,\n",
      test: "test/networks/core/Cancels.test.ts"
    },
    {
      name: "mined-transaction-is-not-canceled",
      rule: "A mined transaction cannot be canceled.",
      source: `${failures} 36`,
      before: `if (isFinal(transaction) || state === "mined") {`,
      after: "if (isFinal(transaction)) {",
      test: "test/networks/evm/rules/SignaturesAndPrices.test.ts"
    },
    {
      name: "reverted-transaction-is-not-replaced",
      rule: "A transaction that was mined and reverted cannot be replaced.",
      source: `${failures} 21`,
      before: `if (mined !== undefined) return refuse("was mined and reverted: it cannot be replaced")`,
      after: "",
      test: "test/networks/evm/rules/SignaturesAndPrices.test.ts"
    }
  ]),
  ...inFile(`${source}/Transaction.ts`, [
    {
      name: "no-op-is-sent-with-no-ops",
      rule: "While a no-op is to use the nonce, no attempt that executes the request is sent beside it.",
      source: `${failures} B12`,
      before: "!isNoop(other) && one.requestVersion === other.requestVersion",
      after: "one.requestVersion === other.requestVersion",
      test: "test/networks/evm/rules/SignaturesAndPrices.test.ts"
    },
    {
      name: "versions-are-sent-apart",
      rule: "A former version of a request is not sent beside a newer one.",
      source: `${failures} B7`,
      before: "!isNoop(other) && one.requestVersion === other.requestVersion",
      after: "!isNoop(other)",
      test: "test/networks/evm/rules/SignaturesAndPrices.test.ts"
    }
  ]),
  ...inFile(`${source}/Transition.ts`, [
    {
      name: "no-op-at-a-given-up-place-is-paid",
      rule: "The fees of no-ops at nonces that a transaction has given up count as its fees.",
      source: `${claims}: a limit of fees holds for replacements`,
      before: "paidBefore: paidBefore + (mined?.receipt.paid ?? 0n)",
      after: "paidBefore: paidBefore + 0n * (mined?.receipt.paid ?? 0n)",
      test: "test/networks/evm/rules/Prices.test.ts"
    },
    {
      name: "acceptance-changes-signed-only",
      rule: "An accepted broadcast changes the state of a signed transaction only.",
      source: `${failures} C7`,
      before: `if (!isAccepted || transaction.state !== "signed") return { ...transaction, attempts }`,
      after: "if (!isAccepted) return { ...transaction, attempts }",
      test: "test/networks/evm/rules/Sending.test.ts"
    },
    {
      name: "requeued-request-has-no-place",
      rule: "A request that goes back to pending gives its place up.",
      source: `${failures} 5`,
      before: "...withoutPlace(routedAnew(wanted, restored ? now : undefined))",
      after: "...routedAnew(wanted, restored ? now : undefined)",
      test: "test/networks/evm/rules/LostNonces.test.ts"
    },
    {
      name: "end-without-a-place",
      rule: "A transaction that ends because its place was taken keeps no place.",
      source: `${failures} B13`,
      before: "const ended = isGivenUp ? withoutPlace(transaction) : transaction",
      after: "const ended = isGivenUp ? transaction : transaction",
      test: "test/networks/evm/rules/LostNonces.test.ts"
    }
  ]),
  ...inFile(`${source}/Queue.ts`, [
    {
      name: "one-commit-reserves-funds",
      rule: "Each signature of a commit reserves its cost before the next one is decided.",
      source: `${failures} 16`,
      before: "reserved: reserved + cost, lastSignedAt: now",
      after: "reserved: reserved + 0n * cost, lastSignedAt: now",
      test: "test/networks/evm/rules/Queue.test.ts"
    },
    {
      name: "one-commit-fills-the-window",
      rule: "Each signature of a commit counts in the window before the next one is decided.",
      source: `${failures} 25`,
      before: "inFlight: inFlight + 1, reserved",
      after: "inFlight, reserved",
      test: "test/networks/evm/rules/Queue.test.ts"
    },
    {
      name: "one-commit-gives-each-sequence-once",
      rule: "Each signature of a commit takes the next sequence.",
      source: `${failures} 1`,
      before: "{ ...found, nextSequence: sequence + count }",
      after: "{ ...found, nextSequence: sequence }",
      test: "test/networks/evm/rules/Queue.test.ts"
    },
    {
      name: "held-relayer-holds-its-own",
      rule: "A transaction that is held holds the later ones of its relayer.",
      source: `${failures} 43`,
      before: "!turn.heldRelayers.has(transaction.relayerNumber) && ",
      after: "",
      test: "test/networks/evm/rules/Queue.test.ts"
    },
    {
      name: "restored-request-is-no-predecessor",
      rule: "A restored request keeps no other request waiting for its required nonce.",
      source: `${failures} 33`,
      before: "  !other.restored &&\n",
      after: "",
      test: "test/networks/evm/rules/Queue.test.ts"
    }
  ])
]
