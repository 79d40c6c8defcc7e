// Rules of solana that are checked before each signature.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/solana/rules"
const tests = "test/networks/solana/rules"
const lanes = "test/networks/solana/lane"
const traces = "test/networks/solana/lane/README.md: trace"
const attacks = "docs/security/solana.md: attack"

export const signatures: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/SolanaDecision.ts`, [
    {
      name: "other-cluster-gets-nothing",
      rule: "Nothing is sent to another cluster, and nothing that it says is believed.",
      source: `${traces} 29`,
      before: "[final, olderGeneration, otherChain, found,",
      after: "[final, olderGeneration, found,",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "older-generation-ends",
      rule: "Bytes of an older generation belong to a chain that is gone.",
      source: `${traces} 28`,
      before: "[final, olderGeneration, otherChain, found,",
      after: "[final, otherChain, found,",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "restore-is-read-first",
      rule: "Nothing is sent or answered before the list of a restored ledger was read.",
      source: `${traces} 28`,
      before: "restoreUnread, given, restored,",
      after: "given, restored,",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "given-signature-is-taken-over",
      rule: "Bytes that the relayer has signed before are taken over, not signed anew.",
      source: `${traces} 40`,
      before: "restoreUnread, given, restored,",
      after: "restoreUnread, restored,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "restored-request-is-not-signed",
      rule: "A pending request of a restored ledger waits for an operator.",
      source: `${traces} 27`,
      before: "restoreUnread, given, restored,",
      after: "restoreUnread, given,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "canceled-request-is-not-signed",
      rule: "A canceled request that has no bytes gets none.",
      source: `${traces} 20`,
      before: "restored, canceled, deadline]",
      after: "restored, deadline]",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "deadline-before-the-signature",
      rule: "A request is not signed after its deadline.",
      source: `${traces} 18`,
      before: "restored, canceled, deadline]",
      after: "restored, canceled]",
      test: `${tests}/DecideSignature.test.ts`
    }
  ]),
  ...inFile(`${source}/SolanaDecision.ts`, [
    {
      name: "policy-before-each-signature",
      rule: "The policy is checked before every signature.",
      source: `${traces} 31`,
      before: "= [policy, stopped,",
      after: "= [stopped,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "balance-that-providers-lack-holds-their-rows",
      rule: "Providers of one relayer that show no balance hold its rows, and not those of a relayer with other URLs.",
      source: "test/transactions-failures.md D6",
      before: `hold(situation, "providers_unavailable", {}, "providers")`,
      after: `hold(situation, "providers_unavailable", {}, "lane")`,
      test: "test/networks/solana/lane/SharedLane.test.ts"
    },
    {
      name: "paused-relayer-signs-nothing",
      rule: "A pause prevents new bytes.",
      source: `${traces} 39`,
      before: "stopped, paused, notBefore,",
      after: "stopped, notBefore,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "key-limit-holds-its-own-alone",
      rule: "What a request or its API key allows as a fee holds no other transaction.",
      source: "test/transactions-failures.md D2",
      before: `isOwn === true ? "transaction" : "relayer"`,
      after: `"relayer"`,
      test: "test/networks/solana/rules/SolanaMachine.test.ts"
    },
    {
      name: "rules-before-each-signature",
      rule: "Every rule of the fee payer is checked before every signature.",
      source: `${traces} 31`,
      before: "accounts, rules, feeAboveCap,",
      after: "accounts, feeAboveCap,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "tables-before-each-signature",
      rule: "Lookup tables are resolved before each signature.",
      source: `${traces} 32`,
      before: "[deadOnArrival, accounts, rules,",
      after: "[deadOnArrival, rules,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "fee-within-the-cap",
      rule: "A transaction whose least fee is above the cap waits.",
      source: `${attacks} 26`,
      before: "rules, feeAboveCap, lifetime,",
      after: "rules, lifetime,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "offer-is-lowered-to-the-cap",
      rule: "No signature offers more than the cap.",
      source: `${attacks} 26`,
      before: "fee.offered < fee.cap ? fee.offered : fee.cap",
      after: "fee.offered",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "funds-in-flight-are-reserved",
      rule: "Funds of what is in flight are reserved.",
      source: `${traces} 36`,
      before: "const available = balance - rest.reserved",
      after: "const available = balance - 0n * rest.reserved",
      test: `${lanes}/HoldingTraces.test.ts`,
      only: "36: a balance below the reserve"
    },
    {
      name: "rent-minimum-stays",
      rule: "The account keeps the least balance that an account needs to exist.",
      source: `${traces} 36`,
      before: "terms.minBalance > rent ? terms.minBalance : rent",
      after: "terms.minBalance",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "spent-lamports-need-funds",
      rule: "What a request spends itself counts as required funds.",
      source: `${traces} 36`,
      before: "offeredFee(view.preparation) + out",
      after: "offeredFee(view.preparation) + 0n * out",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "simulation-before-each-signature",
      rule: "A transaction whose simulation fails or takes more than declared is not signed.",
      source: `${attacks} 36`,
      before: "lifetime, funds, simulated]",
      after: "lifetime, funds]",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "window-bounds-what-is-in-flight",
      rule: "No transaction is signed while the window is full.",
      source: `${traces} 37`,
      before: "keyFails, windowFull, signer]",
      after: "keyFails, signer]",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "failing-key-is-held",
      rule: "An API key whose sponsored transactions fail too often gets no signature.",
      source: `${attacks} 30`,
      before: "notBefore, keyFails, windowFull,",
      after: "notBefore, windowFull,",
      test: `${lanes}/PaymentTraces.test.ts`,
      only: "gets no signature for 60 s"
    }
  ]),
  ...inFile("src/networks/solana/lane/SolanaPreparing.ts", [
    {
      name: "equal-requests-differ",
      rule: "Equal requests have different signatures, so that each is executed.",
      source: `${traces} 24`,
      before: "const isTaken = owner !== number",
      after: "const isTaken = owner < 0",
      test: `${lanes}/LandingTraces.test.ts`,
      only: "equal to another one has another signature"
    },
    {
      name: "former-process-is-remembered",
      rule: "A process that takes a lane finds the messages that the former one has signed.",
      source: `${traces} 24`,
      before: "attempts.filter((attempt) => attempt.offer.blockhash === blockhash)",
      after: "attempts.filter((attempt) => attempt.offer.blockhash === blockhash && number < 0)",
      test: `${lanes}/EndingTraces.test.ts`,
      only: "does not make the next one sign equal requests"
    },
    {
      name: "young-table-waits",
      rule: "Nothing is signed that uses an entry of a lookup table before its slot is finalized, because the chain drops such bytes.",
      source: "docs/solana.md",
      before: "if (extendedIn !== undefined && extendedIn > finalizedSlot(work)) return",
      after: "if (extendedIn !== undefined && extendedIn < 0) return",
      test: `${lanes}/RealNodes.test.ts`,
      only: "is waited for until its slot is finalized"
    }
  ]),
  ...inFile(`${source}/RequestBytes.ts`, [
    {
      name: "refresh-offers-more",
      rule: "A refresh offers at least one and a half times the former price.",
      source: `${traces} 6`,
      before: "return market > raised ? market : raised",
      after: "return market > raised ? market : market",
      test: `${lanes}/LandingTraces.test.ts`,
      only: "that nodes swallow"
    }
  ]),
  ...inFile(`${source}/SolanaRules.ts`, [
    {
      name: "cancel-of-bytes-promises-nothing",
      rule: "A cancel ends a transaction at once only if none of its bytes exist.",
      source: `${traces} 21`,
      before: `transaction.state === "pending" && !transaction.restored && !isGiven(transaction)`,
      after: `!transaction.restored && !isGiven(transaction)`,
      test: `${lanes}/EndingTraces.test.ts`,
      only: "by a cancel after the send"
    },
    {
      name: "cancel-of-a-given-signature-promises-nothing",
      rule: "A cancel does not end a request whose signature a caller has.",
      source: `${attacks} 37`,
      before: `!transaction.restored && !isGiven(transaction)`,
      after: `!transaction.restored`,
      test: `${lanes}/HoldingTraces.test.ts`,
      only: "40b: "
    },
    {
      name: "signed-bytes-are-not-replaced",
      rule: "A transaction that has bytes cannot be replaced, because they can land.",
      source: `${traces} 6`,
      before: "if (bound === undefined && !isGiven(transaction)) return canReplace(transaction)",
      after: "if (bound === undefined || !isGiven(transaction)) return canReplace(transaction)",
      test: "test/networks/solana/requests/OtherAnswers.test.ts",
      only: "does not replace what is signed"
    },
    {
      name: "equal-prebuilt-bytes-end",
      rule: "Prebuilt bytes of another transaction are not counted as executed twice.",
      source: `${traces} 25`,
      before: `facts.isPrebuilt ? finish({ state: "failed", cause: cause("already_accepted") }) : undefined`,
      after: `facts.isPrebuilt ? undefined : undefined`,
      test: `${tests}/SolanaMachine.test.ts`
    }
  ]),
  ...inFile(`${source}/SolanaSeen.ts`, [
    {
      name: "key-limit-bounds-the-fee",
      rule: "The fees that are left to an API key bound the fee of a signature.",
      source: `${attacks} 30`,
      before: "if (limit === undefined || limit >= fee.offered) return preparation",
      after: "if (limit === undefined || limit >= 0n) return preparation",
      test: `${tests}/SolanaMachine.test.ts`
    }
  ]),
  ...inFile("src/networks/solana/lane/SolanaSimulations.ts", [
    {
      name: "fees-of-one-node-have-a-least",
      rule: "A fee that one node names counts only within what the runtime can charge.",
      source: "docs/solana.md: fees",
      before: "lamports < least ? least",
      after: "lamports < 0n ? least",
      test: "test/networks/solana/lane/RealNodes.test.ts"
    }
  ]),
  ...inFile("src/networks/solana/lane/SolanaSimulations.ts", [
    {
      name: "only-unread-bytes-have-one-opinion",
      rule: "A message that fails at one provider and succeeds at another is not signed, unless the first one does not read its bytes.",
      source: "docs/solana.md",
      before: "if (isOtherSuccess && found.isUnread === true) return",
      after: "if (isOtherSuccess) return",
      test: `${lanes}/RealNodes.test.ts`,
      only: "is no verdict if another provider executes it"
    }
  ])
]
