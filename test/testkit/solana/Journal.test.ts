// The file in which a cluster keeps its blocks.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Bank from "../../../testkit/solana/Bank.ts"
import { open } from "../../../testkit/solana/Journal.ts"
import * as Tokens from "../../../testkit/solana/Tokens.ts"
import { addressOf, sol, transferOf } from "./World.ts"

const withDirectory = (use: (directory: string) => void) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "cluster-"))
  try {
    use(directory)
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

describe("the directory of a cluster", () => {
  it("has the same blocks and accounts after a second start, also if the first one was killed while it wrote", () =>
    withDirectory((directory) => {
      const first = open(directory, Bank.run)
      first.fund(addressOf(1), 10n * sol)
      first.take(transferOf(first, 1, addressOf(2), sol))
      first.produce(3)
      fs.appendFileSync(path.join(directory, "blocks.jsonl"), '{"slot":')

      const second = open(directory, Bank.run)
      assert.deepStrictEqual(second.blocks, first.blocks)
      assert.strictEqual(second.balanceOf(addressOf(2)), sol)
      second.produce()
      const third = open(directory, Bank.run)
      assert.deepStrictEqual(third.blocks, second.blocks)
    }))

  it("does not execute bytes again that an earlier process has executed", () =>
    withDirectory((directory) => {
      const first = open(directory, Bank.run)
      first.fund(addressOf(1), 10n * sol)
      const raw = transferOf(first, 1, addressOf(2), sol)
      first.take(raw)
      first.produce()
      const second = open(directory, Bank.run)
      second.take(raw)
      second.produce()
      assert.strictEqual(second.balanceOf(addressOf(2)), sol)
    }))

  it("keeps the data of accounts", () =>
    withDirectory((directory) => {
      const first = open(directory, Bank.run)
      first.put({ [addressOf(3)]: Tokens.mint({ decimals: 6 }) })
      first.produce()
      const found = open(directory, Bank.run).accountOf(addressOf(3))
      assert.strictEqual(Tokens.decimalsOf(found), 6)
    }))
})
