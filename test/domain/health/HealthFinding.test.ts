// The meaning of a chain snapshot for the health of a relayer: finding, reason, next check and explanation.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, DateTime, Schema } from "effect"
import { explain } from "../../../src/domain/health/HealthExplanation.ts"
import { CheckFailure } from "../../../src/domain/chain/ChainSnapshot.ts"
import type { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import { balanceOf, carry, hasAnswered, unanswered } from "../../../src/domain/health/Funding.ts"
import * as Health from "../../../src/domain/health/Health.ts"
import { delayOf, findingOf, reasonOf } from "../../../src/domain/health/Health.ts"
import { DisabledReason, EvmRelayer, SolanaRelayer } from "../../../src/domain/relayer/Relayer.ts"

const good = { url: "https://one.example", weight: 100, breaker: "closed", failed: false } as const

const reading = (over: Partial<Extract<ChainSnapshot, { network_type: "evm" }>> = {}): ChainSnapshot => ({
  network_type: "evm",
  failures: [],
  providers: [good],
  ...over
})

describe("a finding", () => {
  it("is ok if everything answers, and partial if a URL has failed or is not called", () => {
    assert.strictEqual(findingOf(reading(), undefined).outcome, "ok")
    for (const bad of [{ failed: true }, { breaker: "open" }, { breaker: "half_open" }] as const) {
      assert.strictEqual(findingOf(reading({ providers: [good, { ...good, ...bad }] }), undefined).outcome, "partial")
    }
  })

  it("is failed if a call has failed, and fatal if the chain is the wrong one", () => {
    const failures: ReadonlyArray<CheckFailure> = [{ type: "NonceSyncFailed", code: "unreachable" }]
    assert.strictEqual(findingOf(reading({ failures }), undefined).outcome, "failed")
    const wrong: CheckFailure = { type: "ChainIdMismatch", code: "mismatch" }
    assert.strictEqual(findingOf(reading({ failures: [...failures, wrong] }), undefined).outcome, "fatal")
  })

  it.each([
    [undefined, 5n, false],
    [1n, 1n, false],
    [0n, 0n, false],
    [100n, 99n, undefined],
    [100n, 100n, true],
    [100n, 199n, true],
    [100n, 200n, false],
    [100n, undefined, undefined]
  ])("with a min_balance of %s, a balance of %s is low: %s", (min_balance, balance, isLow) => {
    const policies = min_balance === undefined ? {} : { min_balance }
    assert.strictEqual(findingOf(reading(balance === undefined ? {} : { balance }), policies).isLow, isLow)
  })
})

describe("a reason", () => {
  it("has the type of the failure, or Multiple for several types, and each text once", () => {
    assert.isUndefined(reasonOf([]))
    const low: CheckFailure = { type: "BalanceCheckFailed", code: "too_low" }
    assert.deepStrictEqual(reasonOf([low, low]), {
      type: "BalanceCheckFailed",
      details: "the balance is below min_balance"
    })
    assert.deepStrictEqual(reasonOf([{ type: "NonceSyncFailed", code: "refused" }, low]), {
      type: "Multiple",
      details: "the account's nonce could not be read; the balance is below min_balance"
    })
  })

  it.prop(
    "does not depend on the order of failures, and has at most 400 characters",
    [Arbitrary.schema(Schema.Array(CheckFailure))],
    ([failures]) => {
      const reason = reasonOf(failures)
      assert.deepStrictEqual(reasonOf(failures.toReversed()), reason)
      assert.isAtMost(reason?.details.length ?? 0, 400)
    }
  )
})

describe("the next check", () => {
  const failed = (failures: number, status: "failing" | "disabled" = "disabled"): Health.Health => ({
    status,
    reason: { type: "Multiple", details: "" },
    failures,
    answered: true,
    alerted_degraded: false,
    alerted_low: false
  })
  const healthy: Health.Health = { status: "healthy", alerted_degraded: false, alerted_low: false }

  it("comes faster after failures", () => {
    const seconds = [1, 2, 3, 4, 5, 6, 1000].map((failures) => delayOf(failed(failures), 60_000, 0.5) / 1000)
    assert.deepStrictEqual(seconds, [10, 20, 30, 45, 60, 60, 60])
    assert.strictEqual(delayOf(failed(1, "failing"), 60_000, 0.5), 10_000)
  })

  it("of a healthy relayer is spread around the interval, and a failure never delays it", () => {
    assert.deepStrictEqual(
      [0, 0.5, 1].map((random) => delayOf(healthy, 60_000, random)),
      [48_000, 60_000, 72_000]
    )
    assert.strictEqual(delayOf(failed(5), 2000, 0.5), 2000)
  })
})

describe("chain snapshots", () => {
  it("keep the previous amounts if they have none", () => {
    const before = reading({ balance: 5n, nonce: 3n, failures: [{ type: "NonceSyncFailed", code: "refused" }] })
    assert.deepStrictEqual(carry(before, reading({ nonce: 4n })), reading({ balance: 5n, nonce: 4n }))
    assert.deepStrictEqual(carry(undefined, reading()), reading())
  })

  it("show whether the chain has answered, and the balance", () => {
    assert.isFalse(hasAnswered(reading({ failures: [{ type: "RpcValidationFailed", code: "unreachable" }] })))
    assert.isTrue(hasAnswered(reading({ balance: 0n })))
    const none = reading({ failures: [{ type: "SequenceSyncFailed", code: "no_account" }] })
    assert.isTrue(hasAnswered(none))
    assert.strictEqual(balanceOf(none), 0n)
    assert.isUndefined(balanceOf(reading({ balance: 7n, failures: [{ type: "ChainIdMismatch", code: "mismatch" }] })))
    assert.strictEqual(balanceOf(reading({ balance: 7n })), 7n)
  })

  it("of an inspection that did not end show every URL as failed, and masked", () => {
    const relayer = Schema.decodeSync(EvmRelayer)({
      id: "one",
      name: "One",
      network: "sepolia",
      network_type: "evm",
      address: "0x0",
      paused: false,
      system_disabled: false,
      signer_id: "one"
    })
    const { failures, providers } = unanswered(relayer, [{ url: "https://one.example/secret", weight: 7 }])
    assert.deepStrictEqual(failures, [{ type: "RpcValidationFailed", code: "unreachable" }])
    assert.deepStrictEqual(providers, [
      { url: "https://one.example/***", weight: 7, breaker: "closed", failed: true, code: "unreachable" }
    ])
  })
})

describe("an explanation", () => {
  it("warns that a solana relayer signs nothing while no token is allowed", () => {
    const given = {
      id: "one",
      name: "One",
      network: "devnet",
      network_type: "solana",
      address: "R",
      paused: false,
      system_disabled: false,
      signer_id: "one"
    } as const
    const decode = Schema.decodeSync(SolanaRelayer)
    const situation = {
      health: { status: "healthy", alerted_degraded: false, alerted_low: false } as const,
      reading: undefined,
      next_at: DateTime.makeUnsafe(0),
      since: undefined,
      waiting: 0n
    }
    const explained = explain({ relayer: decode(given), ...situation })
    assert.deepStrictEqual(explained.warnings, ["sends_nothing"])
    assert.include(explained.reason, "The relayer signs nothing: fee_payment_strategy of its policy is user")
    const paying = decode({ ...given, policies: { fee_payment_strategy: "relayer" } })
    assert.isUndefined(explain({ relayer: paying, ...situation }).warnings)
    assert.isUndefined(explain({ relayer: paying, ...situation }).locked_by_channels)
    const locking = explain({ relayer: paying, ...situation, channels: 3 })
    assert.strictEqual(locking.locked_by_channels, 45_000_000n)
    assert.include(locking.reason, "The 3 channels of the relayer lock 45000000 stroops.")
  })

  it.prop(
    "exists for every state, and says if the operator has paused the relayer",
    [Arbitrary.schema(Health.Health), Arbitrary.schema(EvmRelayer)],
    ([health, relayer]) => {
      const at = DateTime.makeUnsafe(0)
      const explained = explain({ relayer, health, reading: undefined, next_at: at, since: undefined, waiting: 0n })
      assert.strictEqual(explained.state, health.status)
      assert.strictEqual(explained.reason.includes("paused by the operator"), relayer.paused)
      assert.isAbove(explained.next.length, 10)
      for (const text of [explained.reason, explained.next]) assert.notMatch(text, /^(It|Its|They|Their) /)
      if ("reason" in health) {
        assert.strictEqual(explained.code, health.reason.type)
        assert.include(explained.reason.toLowerCase(), health.reason.details.toLowerCase())
      } else assert.notInclude(DisabledReason.fields.type.literals, explained.code)
    }
  )
})
