// Which instructions of a user are payments to the relayer.
import { assert, describe, it } from "@effect/vitest"
import { nativeToken, paymentsOf } from "../../../../src/networks/solana/rules/Guard.ts"
import { systemProgram, token2022Program, tokenProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import type { Derivations, Instruction } from "../../../../src/networks/solana/rules/Programs.ts"

const derivations: Derivations = {
  associated: (...of) => of.join(" "),
  withSeed: () => "",
  encode: () => ""
}

const own = (mint: string, program: string) => derivations.associated("relayer", mint, program)

/** TransferChecked of 5 units with 6 decimals, signed by the user. */
const checked = (accounts: ReadonlyArray<string>, program = tokenProgram): Instruction => ({
  program,
  accounts,
  data: Uint8Array.from([12, 5, 0, 0, 0, 0, 0, 0, 0, 6])
})

const lamports = (from: string, to: string): Instruction => ({
  program: systemProgram,
  accounts: [from, to],
  data: Uint8Array.from([2, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0])
})

const amountsIn = (instruction: Instruction) =>
  paymentsOf(
    [instruction],
    new Set(["relayer", "user"]),
    {
      relayer: "relayer",
      tokens: [{ mint: "usd" }, { mint: nativeToken }],
      allowedExtensions: [],
      margin: 0,
      slippage: 0
    },
    derivations
  ).map(({ amount }) => amount)

describe("a payment to the relayer", () => {
  it("is a transfer of an allowed token to the relayer's associated account", () => {
    assert.deepStrictEqual(amountsIn(checked(["from", "usd", own("usd", tokenProgram), "user"])), [5n])
    assert.deepStrictEqual(amountsIn(checked(["from", "usd", "elsewhere", "user"])), [])
    assert.deepStrictEqual(amountsIn(checked(["from", "usd", own("usd", token2022Program), "user"])), [])
    assert.deepStrictEqual(amountsIn(checked(["from", "eur", own("eur", tokenProgram), "user"])), [])
  })

  it("has another authority than the relayer, which signs the message", () => {
    assert.deepStrictEqual(amountsIn(checked(["from", "usd", own("usd", tokenProgram), "relayer"])), [])
    assert.deepStrictEqual(amountsIn(checked(["from", "usd", own("usd", tokenProgram), "stranger"])), [])
  })

  it("can be a transfer of lamports from another account", () => {
    assert.deepStrictEqual(amountsIn(lamports("user", "relayer")), [5n])
    assert.deepStrictEqual(amountsIn(lamports("relayer", "relayer")), [])
    assert.deepStrictEqual(amountsIn(lamports("user", "elsewhere")), [])
  })
})
