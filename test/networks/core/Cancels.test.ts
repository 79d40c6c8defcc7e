// What a cancel that must send nothing makes of a transaction, on each network.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { cancelUnsigned } from "../../../src/networks/core/Rules.ts"
import type { Cancellation, TransactionConflict } from "../../../src/networks/core/Rules.ts"
import { evmRules } from "../../../src/networks/evm/rules/EvmRules.ts"
import { solanaRules } from "../../../src/networks/solana/rules/SolanaRules.ts"
import { stellarRules } from "../../../src/networks/stellar/rules/StellarRules.ts"
import * as Evm from "../evm/rules/Fixtures.ts"
import * as Solana from "../solana/rules/Situations.ts"
import * as Stellar from "../stellar/rules/Situations.ts"

type Decided = Result.Result<Cancellation, TransactionConflict>

const given = { ...Solana.pending.facts, given: { hash: Solana.attempt.hash, offer: Solana.attempt.offer } }

const cases: ReadonlyArray<readonly [string, Decided, Cancellation["_tag"] | "refused"]> = [
  ["ends a pending transaction of evm", cancelUnsigned(evmRules, Evm.pending()), "finish"],
  ["ends a pending transaction of solana", cancelUnsigned(solanaRules, Solana.pending), "finish"],
  ["ends a pending transaction of stellar", cancelUnsigned(stellarRules, Stellar.pending), "finish"],
  ["leaves a canceled transaction as it is", cancelUnsigned(evmRules, Evm.pending({ state: "canceled" })), "unchanged"],
  ["refuses what is signed on evm", cancelUnsigned(evmRules, Evm.submitted({ state: "signed" })), "refused"],
  ["refuses what a no-op replaces on evm", cancelUnsigned(evmRules, Evm.submitted({ intent: "cancel" })), "refused"],
  ["refuses what is sent on solana", cancelUnsigned(solanaRules, Solana.submitted), "refused"],
  [
    "refuses bytes of solana that a caller has",
    cancelUnsigned(solanaRules, { ...Solana.pending, facts: given }),
    "refused"
  ],
  ["refuses what is sent on stellar", cancelUnsigned(stellarRules, Stellar.submitted), "refused"],
  ["refuses what is mined", cancelUnsigned(evmRules, Evm.mined()), "refused"],
  ["refuses what is confirmed", cancelUnsigned(evmRules, Evm.mined({ state: "confirmed" })), "refused"],
  ["refuses what a restore may have forgotten", cancelUnsigned(evmRules, Evm.pending({ restored: true })), "refused"]
]

describe("a cancel only while pending", () => {
  it.each(cases)("%s", (_, decided, expected) => {
    assert.strictEqual(Result.isSuccess(decided) ? decided.success._tag : "refused", expected)
  })
})
