// The list of codes that monitoring shows has every code whose sentence, on any network, says that no time ends it.
import { assert, describe, it } from "@effect/vitest"
import * as EvmWords from "../../../src/domain/transaction/evm/EvmWords.ts"
import { cause, KnownCode, neverByTime, operator, operatorCodes } from "../../../src/domain/transaction/Cause.ts"
import * as SolanaWords from "../../../src/domain/transaction/solana/SolanaWords.ts"
import * as StellarWords from "../../../src/domain/transaction/stellar/StellarWords.ts"

const languages = [EvmWords, SolanaWords, StellarWords]

const waitsForPerson = (code: KnownCode): boolean =>
  languages.some(({ explain }) => {
    const { next } = explain(cause(code), false)
    return next.includes(operator) || next.includes(neverByTime)
  })

describe("the codes that wait for an operator", () => {
  it("have every code whose sentence says so", () => {
    const listed = new Set<string>(operatorCodes)
    const found = KnownCode.literals.filter(waitsForPerson)
    assert.includeMembers(found, ["landing_unproven", "nonce_ahead", "providers_disagree", "restored_unproven"])
    assert.deepStrictEqual(
      found.filter((code) => !listed.has(code)),
      []
    )
  })
})
