// Every mutant of `npm run mutants` still fits the sources. This runs none of them.
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { areas } from "./index.ts"
import { misfit } from "./Mutant.ts"

/** Mutants of each area. A count never falls: a rule that moves takes its mutant with it, and a new rule gets one. */
const floors = { neutral: 78, evm: 280, solana: 134, stellar: 145, ledger: 134, security: 101, testkit: 30, x402: 18 }

const all = Object.entries(areas).flatMap(([area, mutants]) =>
  mutants.map((mutant) => ({ ...mutant, id: `${area}/${mutant.name}` }))
)

describe("the mutants", () => {
  it("take their rules out of the present sources: each text occurs once in its file", () => {
    const unfit = all.flatMap((mutant) => {
      const why = misfit(mutant)
      return why === undefined ? [] : [`${mutant.id}: ${why}`]
    })
    assert.deepStrictEqual(unfit, [])
  })

  it("name tests that exist", () => {
    const lost = all.filter(({ test, only = "" }) => !existsSync(test) || !readFileSync(test, "utf8").includes(only))
    assert.deepStrictEqual(
      lost.map(({ id }) => id),
      []
    )
  })

  it("name the rows of existing documents", () => {
    const lost = all.filter(({ source }) => !existsSync(/^[^\s:]+/.exec(source)?.[0] ?? ""))
    assert.deepStrictEqual(
      lost.map(({ id }) => id),
      []
    )
  })

  it("have names of their own", () => {
    const ids = all.map(({ id }) => id)
    assert.deepStrictEqual([...new Set(ids)], ids)
  })

  it("are not fewer than before", () => {
    assert.deepStrictEqual(
      Object.entries(floors).filter(([area, floor]) => (areas[area]?.length ?? 0) < floor),
      []
    )
  })
})
