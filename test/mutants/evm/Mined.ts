// Rules of evm about what is mined and when it is final, and about what may be signed.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/evm/rules"
const tests = "test/networks/evm/rules"
const failures = "test/transactions-failures.md"

export const mined: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/DecideInFlight.ts`, [
    {
      name: "revert-is-not-mined",
      rule: "A reverted receipt is not shown as mined.",
      source: `${failures} 21`,
      before: "const isMined = isSuccess || isNoop(attempt)",
      after: "const isMined = isSuccess || attempt.ordinal > 0",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "final-only-when-deep",
      rule: "A receipt is final only in a deep block.",
      source: `${failures} 19`,
      before: "if (!isDeep(view, receipt.height)) return waiting",
      after: "",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "block-hash-is-asked-again",
      rule: "The hash of the block of a receipt is asked again until it is deep.",
      source: `${failures} A5`,
      before: `if (first !== receipt.blockHash) return { _tag: "Gone" }`,
      after: "",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "slow-node-undoes-nothing",
      rule: "A node whose head is below the block of the receipt says nothing about it.",
      source: `${failures} C1`,
      before: "|| view.head.number < receipt.height) return waiting",
      after: ") return waiting",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "invented-receipt-is-forgotten",
      rule: "A receipt is forgotten if no other provider has it and the nonce is not used.",
      source: `${failures} A7`,
      before: `if (isInvented(situation)) return { _tag: "Gone" }`,
      after: "",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "one-provider-decides-deeper",
      rule: "One provider decides alone only about a block that is twice as deep as required.",
      source: `${failures} A7`,
      before: `verdict._tag === "Alone" && blocks < depthOfOne * required`,
      after: `verdict._tag === "Alone" && blocks < required`,
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "deadline-waits-for-the-nonce",
      rule: "A transaction with a nonce expires only after its nonce is used.",
      source: `${failures} 40`,
      before: `return [Command.Intend({ intent: "expire", cause: cause("expiring") }), Command.PollAt({ at: now })]`,
      after: `return [finish<Evm>({ state: "expired", cause: cause("deadline_passed") })]`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "policy-before-each-price",
      rule: "A signature at a higher price is made only if the policy still allows the transaction.",
      source: `${failures} A6`,
      before: `if (!terms.isAllowed) return "policy_changed"`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "canceled-request-may-be-mined",
      rule: "What is mined decides how a canceled request ends.",
      source: `${failures} 35`,
      before: "if (attempt !== undefined && isNoop(attempt)) return endOf(situation.transaction)",
      after: `if (attempt !== undefined && situation.transaction.intent === "cancel") return endOf(situation.transaction)`,
      test: `${tests}/DecideMined.test.ts`
    }
  ]),
  ...inFile(`${source}/Evm.ts`, [
    {
      name: "second-provider-has-the-status",
      rule: "A second provider has the same receipt with the same status.",
      source: `${failures} A7`,
      before: "receipt.blockHash === blockHash && receipt.isSuccess === isSuccess",
      after: "receipt.blockHash === blockHash",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "second-provider-has-the-block",
      rule: "A second provider with another block at the height does not agree.",
      source: `${failures} A7`,
      before: `if (hash !== blockHash) return "disagrees"`,
      after: "",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "second-provider-has-it-deep",
      rule: "A second provider agrees about a receipt only if the block is deep for it, too.",
      source: `${failures} A7`,
      before: `if (height > finalHeight) return "none"`,
      after: "",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "second-provider-answers",
      rule: "A second provider that does not answer agrees with nothing.",
      source: `${failures} A7`,
      before: `if (second === undefined) return "none"`,
      after: `if (second === undefined) return "agrees"`,
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "taker-is-deep-for-the-second",
      rule: "A second provider agrees about a foreign transaction only if its block is deep for it, too.",
      source: `${failures} A2`,
      before: "second.hash === hash && block <= second.finalHeight",
      after: "second.hash === hash",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "receipts-of-all-attempts",
      rule: "The receipts of all attempts are looked for, because any of them can be mined.",
      source: `${failures} 20`,
      before: "return receipts.length === attempts.length ? { receipts } :",
      after: "return receipts.length === attempts.length ? { receipts: receipts.slice(-1) } :",
      test: "test/server/lanes/Pools.test.ts"
    }
  ]),
  ...inFile(`${source}/Decision.ts`, [
    {
      name: "final-bytes-are-sent-after-a-deep-reorganisation",
      rule: "The bytes of a final transaction are sent again if its nonce is open.",
      source: `${failures} B13`,
      before: "return ordinal === undefined ? [Command.Rest()] :",
      after: "return ordinal === undefined || situation.now > 0 ? [Command.Rest()] :",
      test: `${tests}/DecideMined.test.ts`
    },
    {
      name: "older-generation-ends",
      rule: "Bytes of an older generation belong to a chain that is gone.",
      source: `${failures} A4`,
      before: `if (isOfOlderGeneration(situation)) return [finish({ state: "failed", cause: cause("chain_changed") })]`,
      after: "",
      test: `${tests}/Restore.test.ts`
    },
    {
      name: "nothing-is-sent-to-another-chain",
      rule: "Nothing is sent to a chain with another id or another block 0.",
      source: `${failures} 37`,
      before: `if (Rows.isOnOtherChain(situation)) return hold(situation, cause("chain_changed"))`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "restored-request-is-not-signed",
      rule: "A request that may have been executed before a restore waits for an operator.",
      source: `${failures} 33`,
      before: "  rows.restored,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "canceled-request-is-not-signed",
      rule: "A canceled request that has no nonce gets none.",
      source: `${failures} C5`,
      before: "  rows.notWanted,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "deadline-before-the-signature",
      rule: "A request is not signed after its deadline.",
      source: `${failures} C6`,
      before: "  rows.deadline,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "policy-before-the-signature",
      rule: "A request that the policy does not allow any more is not signed.",
      source: `${failures} A6`,
      before: "  rows.policy,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "stopped-lane-signs-nothing",
      rule: "A lane that is stopped gives no nonces away.",
      source: `${failures} 33`,
      before: "  rows.stopped,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "paused-relayer-signs-nothing",
      rule: "A paused or disabled relayer gets no nonces.",
      source: `${failures} 49`,
      before: "  rows.paused,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "accepted-before-a-restore-waits",
      rule: "A request that was accepted before a restore waits until a younger poll has explained the used nonces.",
      source: `${failures} 33`,
      before: "  unsettled,\n  nonceOutOfRange",
      after: "  nonceOutOfRange",
      test: `${tests}/Queue.test.ts`
    },
    {
      name: "required-nonce-has-passed",
      rule: "A request whose required nonce is used ends as failed.",
      source: `${failures} 5`,
      before: "required === undefined || required === nextNonce",
      after: "required === undefined || required <= nextNonce",
      test: `${tests}/DecidePending.test.ts`
    }
  ])
]
