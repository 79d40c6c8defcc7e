// Which transactions of the chain are executions of requests, after a restore.
import { assert, describe, it } from "@effect/vitest"
import { executesNone } from "../../../../src/networks/solana/rules/RequestBytes.ts"
import type { TransactionDescription } from "../../../../src/networks/solana/rules/RequestBytes.ts"
import { other, relayer } from "../../../../testkit/solana/Messages.ts"

describe("a transaction whose bytes cannot be read", () => {
  it.each<readonly [string, TransactionDescription, boolean]>([
    ["that another account paid for", { payer: other, version: 0 }, true],
    ["that another account paid for, of a version that is not named", { payer: other }, true],
    ["of a later version", { version: 2 }, true],
    ["of a later version that the relayer paid for", { payer: relayer, version: 2 }, true]
  ])("%s executed no request: no request is signed so", (_, description) => {
    assert.isTrue(executesNone(description, relayer))
  })

  it.each<readonly [string, TransactionDescription]>([
    ["that the relayer paid for", { payer: relayer }],
    ["that the relayer paid for, of the legacy form", { payer: relayer, version: "legacy" }],
    ["that the relayer paid for, of the latest version that it signs", { payer: relayer, version: 1 }],
    ["of which nothing is known", {}],
    ["of the legacy form", { version: "legacy" }],
    ["of the latest version that it signs", { version: 1 }]
  ])("%s may have executed one", (_, description) => {
    assert.isFalse(executesNone(description, relayer))
  })
})
