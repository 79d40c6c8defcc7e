// Rules about top-ups: what is paid at most, when, from which relayer, and who says so.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const decision = "test/networks/core/TopUpDecision.test.ts"
const payments = "test/server/transactions/TopUpPayments.test.ts"
const rules = "test/server/relayers/TopUpRules.test.ts"
const guide = "docs/top-up.md"

export const topUps: ReadonlyArray<Mutant> = [
  ...inFile("src/networks/core/TopUpDecision.ts", [
    {
      name: "top-up-needs-two-providers",
      rule: "Two providers have to show a low balance.",
      source: `${guide}: When it pays`,
      before: "if (configured >= agreeing && low.length < agreeing)",
      after: "if (configured >= agreeing && low.length < 1)",
      test: payments,
      only: "only one of two providers shows"
    },
    {
      name: "top-up-by-one-provider-needs-two-blocks",
      rule: "A single provider has to show a low balance at two blocks.",
      source: `${guide}: When it pays`,
      before: "lowHeight !== undefined && low.height > lowHeight && ",
      after: "lowHeight !== undefined && low.height >= lowHeight && ",
      test: payments,
      only: "by a single provider needs a low balance at two blocks"
    },
    {
      name: "top-up-blocks-contain-the-last-one",
      rule: "A block below that of the last payment shows nothing about the balance.",
      source: `${guide}: When it pays`,
      before: "before.height === undefined || height >= before.height",
      after: "before.height === undefined || height > 0",
      test: payments,
      only: "waits for blocks that contain the last one"
    },
    {
      name: "top-up-waits-after-a-failure",
      rule: "After a payment that paid nothing, the next one waits.",
      source: `${guide}: When it pays`,
      before: "if (before.hasFailed && before.lastKind === kind)",
      after: "if (before.hasFailed && before.lastKind === undefined)",
      test: payments,
      only: "that failed on the chain is not repeated for ten minutes"
    },
    {
      name: "top-up-waits-after-a-restore",
      rule: "After a restore, the last 24 hours count as used.",
      source: `${guide}: When it pays`,
      before: "if (before.isRestored) return",
      after: "if (before.isRestored && before.isOpen) return",
      test: payments,
      only: "counts the last 24 hours as used after a restore"
    },
    {
      name: "top-up-unproven-counts",
      rule: "A payment that is not proven without effect counts as paid.",
      source: `${guide}: When it pays`,
      before: 'return attempts.length === 0 ? "none" : "unknown"',
      after: 'return attempts.length === 0 ? "none" : "none"',
      test: decision,
      only: "counts as paid unless it is proven that nothing was paid"
    },
    {
      name: "top-up-keeps-its-limit",
      rule: "The amount is cut by what `max_per_day` leaves.",
      source: `${guide}: When it pays`,
      before: "const own = least(wanted, maxPerDay - used)",
      after: "const own = least(wanted, maxPerDay)",
      test: payments,
      only: "never exceeds `max_per_day` in any 24 hours"
    },
    {
      name: "top-up-keeps-the-limit-of-its-payer",
      rule: "The amount is cut by what `top_up_out_per_day` of the payer leaves.",
      source: `${guide}: Set it up`,
      before: "least(own, outPerDay - usedOfPayer)",
      after: "least(own, outPerDay)",
      test: payments,
      only: "is bounded for all relayers of a payer"
    },
    {
      name: "top-up-is-worth-its-fee",
      rule: "A payment is at least ten times its fee.",
      source: `${guide}: When it pays`,
      before: "const leastOfFee = 10n",
      after: "const leastOfFee = 0n",
      test: payments,
      only: "is at least ten times its fee"
    }
  ]),
  ...inFile("src/server/ledger/TopUps.ts", [
    {
      name: "top-up-window-slides",
      rule: "A payment counts for 24 hours after its end.",
      source: `${guide}: When it pays`,
      before: 'const window = "24 hours"',
      after: 'const window = "23 hours"',
      test: payments,
      only: "never exceeds `max_per_day` in any 24 hours"
    },
    {
      name: "top-up-to-nobody-ends",
      rule: "Payments for relayers that get none any more end as well.",
      source: `${guide}: When it pays`,
      before: "(t.relayer_number = ${relayerNumber}::bigint OR t.from_number = ${fromNumber}::bigint)",
      after: "(t.relayer_number = ${relayerNumber}::bigint OR t.relayer_number = ${fromNumber}::bigint)",
      test: payments,
      only: "ends for those that get none any more"
    },
    {
      name: "top-up-of-a-gone-transaction-counts",
      rule: "A payment whose transaction is deleted counts as paid.",
      source: `${guide}: When it pays`,
      before: 'yield* end(id, { outcome: "unknown" })',
      after: 'yield* end(id, { outcome: "none" })',
      test: payments,
      only: "one whose fate is not proven does"
    },
    {
      name: "top-up-pays-and-gets-nothing-by-other-relayers",
      rule: "An account that gets top-ups pays none, by no relayer of its own.",
      source: `${guide}: Set it up`,
      before: "AND t.chain = ${payer.account.chain} AND t.address = ${payer.account.address}",
      after: "AND t.chain = ${payer.account.chain} AND t.relayer_number = ${payer.number}::bigint",
      test: rules,
      only: "no account that gets top-ups pays any"
    }
  ]),
  ...inFile("src/server/transactions/TopUpPayments.ts", [
    {
      name: "top-up-is-decided-once",
      rule: "A payment is accepted only if no other one was made since the look.",
      source: `${guide}: When it pays`,
      before: "now.sequence !== state.sequence || now.is_open",
      after: "now.sequence < state.sequence",
      test: payments,
      only: "is decided by one of two instances that check at the same time"
    },
    {
      name: "top-up-has-the-gas-of-its-quote",
      rule: "Code of an account cannot use more gas than the quote of a payment had.",
      source: `${guide}: When it pays`,
      before: `      ...present("executionLimit", payer.executionLimit)`,
      after: "",
      test: payments,
      only: "is sent by the payer, up to `to`, when two providers show a low balance"
    },
    {
      name: "top-up-payer-works",
      rule: "A payer that is paused or disabled pays nothing.",
      source: `${guide}: When it pays`,
      before: "if (payer.paused || payer.system_disabled || account",
      after: "if (payer.paused || account",
      test: payments,
      only: "is held while its payer is paused, disabled, restored or short"
    },
    {
      name: "top-up-keeps-the-minimum-of-its-payer",
      rule: "A payer keeps its minimum after everything in flight.",
      source: `${guide}: When it pays`,
      before: "if (problem !== undefined) return held(",
      after: 'if (problem === "refused") return held(',
      test: payments,
      only: "is held while its payer is paused, disabled, restored or short"
    }
  ]),
  ...inFile("src/networks/core/Rows.ts", [
    {
      name: "top-up-without-funds-holds-nothing",
      rule: "A payment without funds fails at once, so that its payer goes on.",
      source: `${guide}: What the payer needs`,
      before: 'if (waits === "not_at_all") return now',
      after: 'if (waits === "not_at_all") return undefined',
      test: "test/networks/evm/rules/DecidePendingCosts.test.ts",
      only: "short of funds for a top-up"
    }
  ]),
  ...inFile("src/server/relayers/TopUpRules.ts", [
    {
      name: "top-up-key-with-limits",
      rule: "A key with limits sets no top-up.",
      source: `${guide}: Set it up`,
      before: "if (transactionLimits !== undefined) return yield* TransactionLimitExceeded.ofChange(policyField)",
      after: "if (transactionLimits === null) return yield* TransactionLimitExceeded.ofChange(policyField)",
      test: rules,
      only: "a key needs both relayers and no limits"
    },
    {
      name: "top-up-key-of-the-target",
      rule: "A key that may not use the payer cannot name it.",
      source: `${guide}: Set it up`,
      before: "if (relayerIds !== undefined && !relayerIds.includes(from))",
      after: "if (relayerIds !== undefined && relayerIds.length === 0)",
      test: rules,
      only: "a key needs both relayers and no limits"
    },
    {
      name: "top-up-own-account",
      rule: "A relayer is not topped up by another one of its account.",
      source: `${guide}: Set it up`,
      before: "if (target.account.address === paying.account.address)",
      after: "if (target.number === paying.number)",
      test: "test/server/configuration/TopUps.test.ts",
      only: "a payer that does not exist, that gets top-ups"
    },
    {
      name: "top-up-payer-is-not-deleted",
      rule: "A payer is not deleted while it is named.",
      source: `${guide}: Set it up`,
      before: "if (named.length === 0) return",
      after: "if (named.length >= 0) return",
      test: rules,
      only: "a payer is not deleted while it is named"
    }
  ]),
  ...inFile("src/server/transactions/Transactions.ts", [
    {
      name: "top-up-names-are-reserved",
      rule: "Callers cannot give their sends the names of top-ups.",
      source: `${guide}: What the payer needs`,
      before: "one.externalId?.startsWith(topUpPrefix) === true",
      after: "one.externalId === topUpPrefix",
      test: payments,
      only: "has a name that no caller can give"
    }
  ]),
  ...inFile("src/server/transactions/TopUpPayments.ts", [
    {
      name: "top-up-reads-the-runway",
      rule: "A balance that lasts for fewer hours than `runway_hours` is topped up, also if it is above `below`.",
      source: `${guide}: Set it up`,
      before: "if (runway_hours === undefined) return undefined",
      after: "if (runway_hours !== undefined) return undefined",
      test: payments,
      only: "is sent for a balance above `below`"
    }
  ]),
  ...inFile("src/server/configuration/Configuration.ts", [
    {
      name: "last-top-ups-leave-before-the-steps",
      rule: "What an apply changes does not depend on the order of its steps, also if the document has no top-up any more.",
      source: `${guide}: Set it up`,
      before: "  objects.some((object) => payerOf(object) !== undefined)",
      after: "  (objects.length < 0 && objects.some((object) => payerOf(object) !== undefined))",
      test: "test/server/configuration/TopUps.test.ts"
    },
    {
      name: "top-up-roles-move-in-one-apply",
      rule: "What an apply changes about top-ups does not depend on the order of its steps.",
      source: `${guide}: Set it up`,
      before: "if (setsTopUps) yield* topUps.unsetAll(losingPayers(plan, prepared, objects))",
      after: "if (setsTopUps) yield* topUps.unsetAll([])",
      test: "test/server/configuration/TopUps.test.ts"
    }
  ]),
  ...inFile("src/server/ledger/Holder.ts", [
    {
      name: "top-up-knows-of-a-restore",
      rule: "A restore is noted, also if it brought back no open transactions.",
      source: `${guide}: When it pays`,
      before: "ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, restored_at = clock_timestamp()`",
      after: "ON CONFLICT (id) DO UPDATE SET mark = excluded.mark`",
      test: "test/server/ledger/RestoredLedger.test.ts",
      only: "notes when a copy was noticed"
    }
  ])
]
