// What a person sees of signed versions: the answers of nodes, which version of the request each carries, and the block with it.
import { DateTime, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { Transaction } from "../../../src/networks/core/Transaction.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { evmRules } from "../../../src/networks/evm/rules/EvmRules.ts"
import { EvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import type { Solana } from "../../../src/networks/solana/rules/Solana.ts"
import { solanaRules } from "../../../src/networks/solana/rules/SolanaRules.ts"
import { StellarTransactionResponse } from "../../../src/networks/stellar/rules/StellarResponses.ts"
import { stellarRules } from "../../../src/networks/stellar/rules/StellarRules.ts"
import * as Evm from "../evm/rules/Fixtures.ts"
import * as Stellar from "../stellar/rules/Situations.ts"

const identity = {
  id: TransactionId.make("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  relayerId: RelayerId.make("payouts"),
  from: `0x${"ab".repeat(20)}`
}
const whole = { ...identity, isWhole: true }

const at = (moment: number) => DateTime.makeUnsafe(moment)

describe("an attempt", () => {
  it("of evm has its numbers, the answer of nodes, and the block with it", () => {
    const { now } = Evm
    const refused = Evm.attempt(1, {
      outcome: "refused",
      refusal: { class: "price", minimumNeeded: 7n },
      sends: 3,
      lastSentAt: now + 9000
    })
    const shown = evmRules.show(Evm.mined({ attempts: [refused, Evm.attempt(2, { requestVersion: 1 })] }, 2), identity)
    assert.strictEqual(shown.network_type, "evm")
    if (shown.network_type !== "evm") return
    const [first, second] = shown.attempts ?? []
    assert.deepInclude(first, {
      ordinal: 1,
      request_version: 1,
      signed_at: at(now),
      sent_at: at(now),
      sends: 3,
      last_sent_at: at(now + 9000),
      outcome: "refused",
      refusal: { class: "price", needed: 7n },
      nonce: 5,
      gas_limit: 21_000,
      first_sent_block: 100
    })
    assert.notProperty(first, "block_number")
    assert.deepInclude(second, { ordinal: 2, outcome: "accepted", block_number: 100 })
    assert.notProperty(second, "refusal")
  })

  it("of evm that was mined says whether it was the call or the no-op, whatever became of it since", () => {
    const attempts = [Evm.attempt(1), Evm.attempt(2, { kind: "noop" })]
    const shownAs = (ordinal: number, over: Parameters<typeof Evm.mined>[0] = {}) => {
      const shown = evmRules.show(Evm.mined({ attempts, intent: "cancel", ...over }, ordinal), identity)
      return "mined_as" in shown ? shown.mined_as : undefined
    }
    assert.deepStrictEqual([shownAs(1), shownAs(1, { state: "confirmed" })], ["call", "call"])
    assert.deepStrictEqual([shownAs(2), shownAs(2, { state: "canceled" })], ["noop", "noop"])
    assert.strictEqual(shownAs(1, { state: "submitted" }), "call", "a reverted call that is not final")
    assert.notProperty(evmRules.show(Evm.submitted({ attempts, intent: "cancel" }), identity), "mined_as")
  })

  it("has no send time, block or refusal if it was never sent", () => {
    const { firstSent: _, lastSentAt: __, ...signed } = Evm.attempt(1, { sends: 0, outcome: "unknown" })
    const shown = evmRules.show(Evm.submitted({ attempts: [signed] }), identity)
    const [attempt] = ("attempts" in shown ? shown.attempts : undefined) ?? []
    assert.deepInclude(attempt, { sends: 0, outcome: "unknown" })
    for (const absent of ["sent_at", "last_sent_at", "first_sent_block", "refusal"]) {
      assert.notProperty(attempt, absent)
    }
  })

  it("of stellar has its account, its sequence and the fee that a node wanted", () => {
    const refusal = { class: "fee", needed: 900n, result: "txInsufficientFee", times: 2 } as const
    const shown = stellarRules.show(Stellar.withAttempt({ outcome: "refused", refusal }), identity)
    const [attempt] = ("attempts" in shown ? shown.attempts : undefined) ?? []
    assert.deepInclude(attempt, {
      account: Stellar.attempt.place.account,
      sequence_number: Stellar.n,
      request_version: 1,
      outcome: "refused",
      refusal: { class: "fee", needed: 900n, result: "txInsufficientFee" }
    })
    assert.notProperty(attempt, "ledger")
  })

  it("of solana has the slot that contains it", () => {
    const { causeSince, validUntil, createdAt } = Evm.pending()
    const transaction: Transaction<Solana> = {
      ...Evm.pending(),
      versions: [{ instructions: [], compute_unit_price: 3n }, { transaction: "AQAAAA==" }],
      facts: { isPrebuilt: false, isRefreshable: true },
      attempts: [
        {
          ordinal: 1,
          kind: "original",
          generation: 0,
          requestVersion: 2,
          hash: "5".repeat(88),
          place: { account: "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV" },
          offer: { blockhash: "h1", bound: 300, signedSlot: 100, computeUnitPrice: 0n, fee: 5000n, out: 0n },
          maxFee: 5000n,
          signedAt: createdAt,
          sends: 1,
          outcome: "refused",
          refusal: { class: "permanent" }
        }
      ],
      mined: { ordinal: 1, receipt: { height: 222, isSuccess: true, paid: 5000n, details: {} } },
      state: "mined",
      causeSince,
      validUntil
    }
    const shown = solanaRules.show(transaction, whole)
    assert.deepInclude(("attempts" in shown ? shown.attempts : undefined)?.[0], {
      request_version: 2,
      refusal: { class: "permanent" },
      slot: 222
    })
    assert.deepStrictEqual("request_versions" in shown ? shown.request_versions : undefined, [
      { version: 1, instructions: [], compute_unit_price: 3n },
      { version: 2, transaction: "AQAAAA==" }
    ])
  })
})

describe("the versions of a request", () => {
  it("are shown after a replacement, oldest first, and survive the wire with every digit", () => {
    const large = 2n ** 128n - 1n
    const versions = [
      Evm.request({ value: large, data: "0xa9059cbb", speed: "fast" }),
      Evm.request({ value: 0n, max_fee_per_gas: large, max_priority_fee_per_gas: 1n })
    ] as const
    const shown = evmRules.show(Evm.submitted({ versions: [...versions] }), whole)
    const through = Schema.decodeSync(EvmTransaction)(Schema.encodeUnknownSync(EvmTransaction)(shown))
    assert.deepStrictEqual(
      through.request_versions?.map(({ version, value, max_fee_per_gas, speed }) => [
        version,
        value,
        max_fee_per_gas,
        speed
      ]),
      [
        [1, large, undefined, "fast"],
        [2, 0n, large, undefined]
      ]
    )
  })

  it("are absent if the request was never replaced, and in lists and events", () => {
    assert.notProperty(evmRules.show(Evm.submitted(), whole), "request_versions")
    const replaced = Evm.submitted({ versions: [Evm.request(), Evm.request()] })
    assert.notProperty(evmRules.show(replaced, identity), "request_versions")
  })

  it("have their operations on stellar, and the response itself has those of the newest version", () => {
    const pay = (amount: bigint) => ({
      operations: [
        {
          type: "payment" as const,
          destination: Stellar.attempt.place.account,
          asset: { type: "native" as const },
          amount
        }
      ]
    })
    const newest = { ...pay(2n ** 63n - 1n), memo: { type: "text" as const, value: "order-1234" }, max_fee: 300n }
    const shown = stellarRules.show({ ...Stellar.submitted, versions: [pay(1n), newest] }, whole)
    const encoded = Schema.encodeUnknownSync(StellarTransactionResponse)(shown)
    const through = Schema.decodeSync(StellarTransactionResponse)(encoded)
    assert.deepStrictEqual(through.operations, newest.operations)
    assert.deepStrictEqual(through.memo, newest.memo)
    assert.deepStrictEqual(through.request_versions, [
      { version: 1, ...pay(1n) },
      { version: 2, ...newest }
    ])
  })
})
