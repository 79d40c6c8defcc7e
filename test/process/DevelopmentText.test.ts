// What `effect-relayer dev` prints about its chains.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startedText } from "../../src/process/development/Development.ts"
import type { LocalChain } from "../../src/process/development/LocalProcess.ts"
import * as LocalStellar from "../../src/process/development/LocalStellar.ts"

const textOf = (url: string): string => {
  const chain: LocalChain = {
    description: "a ledger",
    url,
    usualPort: 8000,
    fund: () => Effect.void,
    ended: Effect.never
  }
  return startedText({
    baseUrl: "http://127.0.0.1:8080",
    folder: "data/dev",
    prepared: [{ network: LocalStellar.network, chain, relayer: { address: "GABC", paused: false } }]
  })
}

describe("a chain of the development mode", () => {
  it("on another port than the usual one says what to write in commands of the documents", () => {
    assert.include(
      textOf("http://127.0.0.1:43845/0"),
      "another program uses port 8000: in commands of the documents, write 127.0.0.1:43845 instead\n"
    )
  })

  it("on its usual port needs no such sentence", () => {
    assert.notInclude(textOf("http://127.0.0.1:8000/0"), "another program")
  })
})
