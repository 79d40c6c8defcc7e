// The list of codes that monitoring shows has every code whose sentence, on any network, says that no time ends it.
import { assert, describe, it } from "@effect/vitest"
import { cause, KnownCode, neverByTime, operator, operatorCodes } from "../../../src/networks/core/Cause.ts"
import * as EvmWords from "../../../src/networks/evm/rules/EvmWords.ts"
import * as SolanaWords from "../../../src/networks/solana/rules/SolanaWords.ts"
import * as StellarWords from "../../../src/networks/stellar/rules/StellarWords.ts"

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
