// Settlements on a service in memory: one answer of success per payment, whatever happens on the way.
import { assert, describe, it } from "@effect/vitest"
import { RelayersError } from "../../packages/x402/src/Relayers.ts"
import { bodyOf, forms, seller, setUp, value } from "./fixtures.ts"
import { payer, start, stuck, transferLog, usedLog } from "./Service.ts"
import type { FakeService } from "./Service.ts"

const nonce = `0x${"01".padStart(64, "0")}` as const
const strange = `0x${"77".repeat(32)}` as const

const pending = "settlement_pending"
const used = "invalid_exact_evm_nonce_already_used"
const failed = "invalid_exact_evm_transaction_failed"

const outage = (method: FakeService["faults"][number]["method"], isDone = false) => ({
  method,
  isDone,
  error: new RelayersError("unanswered", "the connection was closed")
})

const ends = { status: "failed" } as const

describe("a settlement", () => {
  it("sends the call once, with the gas, the deadline and the name of the payment, and makes its claim final", async () => {
    const { facilitator, service } = setUp()
    const settled = await facilitator.settle(bodyOf(), seller)
    assert.isTrue(settled.success, settled.errorMessage)
    const [call, ...others] = service.sent
    assert.deepStrictEqual([others.length, call?.gasLimit, call?.validUntil], [0, 150_000, start + 298_000])
    const name = settled.extra?.settlement
    assert.strictEqual(call?.externalId, name)
    assert.strictEqual(service.rows[0]?.hash, settled.transaction)
    assert.deepStrictEqual(
      [...service.claims].map(([claimed, { final }]) => [claimed, final]),
      [[name, true]]
    )
    assert.deepStrictEqual([settled.payer, settled.network], [payer, "eip155:31337"])
  })

  it("waits for its block for ten minutes at most", async () => {
    const { facilitator, service } = setUp()
    await facilitator.settle(bodyOf({ authorization: { validBefore: String(start / 1000 + 86_400) } }), seller)
    assert.strictEqual(service.sent[0]?.validUntil, start + 600_000)
  })

  it("is a success for one of many requests, in every form of the signature, on two instances", async () => {
    const { facilitator, other, service } = setUp()
    const results = await Promise.all(
      Object.values(forms).flatMap((signature) =>
        [facilitator, other].map((one) => one.settle(bodyOf({ signature }), seller))
      )
    )
    const successes = results.filter(({ success }) => success)
    assert.deepStrictEqual([results.length, successes.length, service.sent.length], [8, 1, 1])
    for (const { success, errorReason, transaction } of results) {
      if (success) continue
      assert.deepStrictEqual([errorReason, transaction], ["duplicate_settlement", successes[0]?.transaction])
    }
    for (const signature of Object.values(forms)) {
      assert.strictEqual((await other.settle(bodyOf({ signature }), seller)).errorReason, "duplicate_settlement")
      assert.strictEqual((await other.verify(bodyOf({ signature }), seller)).invalidReason, used)
    }
  })

  it("is a success again for a seller that remembers what it has served", async () => {
    const { facilitator, other } = setUp()
    const { transaction } = await facilitator.settle(bodyOf(), seller)
    const again = { ...seller, repeat: true }
    assert.isTrue((await other.verify(bodyOf(), again)).isValid)
    const repeated = await other.settle(bodyOf(), again)
    assert.deepStrictEqual([repeated.success, repeated.transaction], [true, transaction])
  })

  it("is pending with its hash after the budget, and is found by the next request, which sends nothing", async () => {
    const { facilitator, other, service, clock } = setUp()
    service.fate = (row) => ({ ...row, status: "sent", hash: strange })
    const first = await facilitator.settle(bodyOf(), seller)
    assert.deepStrictEqual([first.errorReason, first.transaction], [pending, strange])
    assert.deepStrictEqual([clock.now() - start >= 20_000, clock.now() - start < 30_000], [true, true])
    assert.strictEqual(service.claims.size, 0)
    assert.isTrue((await other.verify(bodyOf(), seller)).isValid)
    service.fate = (row) => service.land({ ...row, status: "mined", minedAs: "call" })
    const second = await other.settle(bodyOf(), seller)
    assert.deepStrictEqual([second.success, second.transaction, service.sent.length], [true, strange, 1])
  })

  it("is canceled after the budget if nothing was signed, and another request sends it by the next id", async () => {
    const { facilitator, service } = setUp()
    service.fate = stuck
    const first = await facilitator.settle(bodyOf(), seller)
    assert.deepStrictEqual([first.errorReason, first.transaction, service.cancels], [failed, "", 1])
    service.fate = (row) => service.land({ ...row, status: "mined", minedAs: "call" })
    const second = await facilitator.settle(bodyOf(), seller)
    assert.isTrue(second.success, second.errorMessage)
    const name = String(second.extra?.settlement)
    assert.deepStrictEqual(
      service.rows.map(({ externalId, status }) => [externalId, status]),
      [
        [name, "canceled"],
        [`${name}-2`, "mined"]
      ]
    )
  })

  it("is sent three times at most", async () => {
    const { facilitator, service } = setUp()
    service.fate = (row) => ({ ...row, ...ends, code: "would_revert", revertReason: "Pausable: paused" })
    for (const expected of [1, 2, 3, 3]) {
      const { success, errorReason } = await facilitator.settle(bodyOf(), seller)
      assert.deepStrictEqual([success, errorReason, service.sent.length], [false, failed, expected])
    }
  })

  it("is no failure while a transaction may be executed: a mined no-op, and a revert that is not final", async () => {
    const states = [
      { status: "mined", minedAs: "noop" },
      { status: "mined", minedAs: "call", code: "reverted_unconfirmed" },
      { status: "submitted" }
    ] as const
    for (const state of states) {
      const { facilitator, service } = setUp()
      service.chain.push({ hash: strange, status: "0x1", logs: [] })
      service.fate = (row) => ({ ...row, ...state, hash: strange })
      const { errorReason, transaction } = await facilitator.settle(bodyOf(), seller)
      assert.deepStrictEqual([errorReason, transaction, service.cancels], [pending, strange, 0])
    }
  })

  it("is a failure after the no-op that replaced it is final", async () => {
    const { facilitator, service } = setUp()
    service.fate = (row) => ({ ...row, status: "canceled", minedAs: "noop", hash: strange })
    assert.strictEqual((await facilitator.settle(bodyOf(), seller)).errorReason, failed)
  })

  it("above an amount is a success when it is confirmed", async () => {
    const tokens = [{ address: `0x${"a5".repeat(20)}`, confirmAbove: value - 1n }]
    const { facilitator, service } = setUp({ networks: [{ network: "eip155:31337", blockTime: 1, tokens }] })
    service.fate = (row) =>
      service.land({ ...row, status: row.status === "mined" ? "confirmed" : "mined", minedAs: "call" })
    assert.isTrue((await facilitator.settle(bodyOf(), seller)).success)
    assert.strictEqual(service.rows[0]?.status, "confirmed")
  })

  it("that a stranger has landed is a success with that hash", async () => {
    for (const state of [
      { ...ends, code: "would_revert", revertReason: "authorization is used" },
      { status: "mined", minedAs: "call", code: "reverted_unconfirmed", hash: `0x${"33".repeat(32)}` },
      { status: "failed", minedAs: "call", code: "reverted", hash: `0x${"33".repeat(32)}` }
    ] as const) {
      const { facilitator, service } = setUp()
      service.chain.push({ hash: strange, status: "0x1", logs: [usedLog(nonce), transferLog(value)] })
      service.fate = (row) => ({ ...row, ...state })
      const { success, transaction } = await facilitator.settle(bodyOf(), seller)
      assert.deepStrictEqual([success, transaction], [true, strange])
      assert.strictEqual((await facilitator.settle(bodyOf(), seller)).errorReason, "duplicate_settlement")
    }
  })

  it("is no success by another use of the nonce: without the transfer next to it, to others, or by a reverted transaction", async () => {
    for (const logs of [
      [usedLog(nonce)],
      [usedLog(nonce), transferLog(value - 1n)],
      [usedLog(nonce), transferLog(value, payer)],
      [usedLog(nonce), usedLog(strange), transferLog(value)],
      [transferLog(value), usedLog(nonce)]
    ]) {
      const { facilitator, service } = setUp()
      service.chain.push({ hash: strange, status: "0x1", logs })
      service.fate = (row) => ({ ...row, ...ends, code: "would_revert" })
      assert.strictEqual((await facilitator.settle(bodyOf(), seller)).errorReason, used)
    }
  })

  it("is answered as pending while no node says which transaction used the nonce", async () => {
    const { facilitator, service } = setUp()
    service.fate = (row) => {
      for (let each = 0; each < 400; each += 1) service.faults.push(outage("call"))
      return { ...row, ...ends, code: "would_revert" }
    }
    assert.strictEqual((await facilitator.settle(bodyOf(), seller)).errorReason, pending)
  })

  it("repeats what the service has not answered, and sends nothing twice", async () => {
    for (const isDone of [false, true]) {
      for (const method of ["find", "claim", "send", "waitFor", "call", "finish"] as const) {
        const { facilitator, service } = setUp()
        service.faults.push(outage(method, isDone), outage(method, isDone))
        const { success, errorMessage } = await facilitator.settle(bodyOf(), seller)
        assert.isTrue(success, `${method}: ${errorMessage}`)
        assert.strictEqual(service.sent.length, 1)
      }
    }
  })

  it("is pending without a hash if the service may have accepted it", async () => {
    const { facilitator, service } = setUp()
    for (let each = 0; each < 200; each += 1) service.faults.push(outage("send"))
    const { errorReason, transaction } = await facilitator.settle(bodyOf(), seller)
    assert.deepStrictEqual([errorReason, transaction, service.claims.size], [pending, "", 0])
  })

  it("is pending if a node has not told what the scheme needs, which makes a failure of it", async () => {
    const { facilitator, service } = setUp()
    for (let each = 0; each < 400; each += 1) service.faults.push(outage("call"))
    const { errorReason } = await facilitator.settle(bodyOf(), seller)
    assert.deepStrictEqual([errorReason, service.rows.length], [pending, 0])
  })

  it("is a failure if each relayer refuses it, and goes to the next relayer if one does", async () => {
    const { facilitator, service } = setUp()
    const refusal = { method: "send", error: new RelayersError("refused", "the relayer is paused") } as const
    service.faults.push(refusal, refusal)
    const first = await facilitator.settle(bodyOf(), seller)
    assert.deepStrictEqual([first.errorReason, first.errorMessage], [failed, "the relayer is paused"])
    service.faults.push(refusal)
    assert.isTrue((await facilitator.settle(bodyOf(), seller)).success)
  })

  it("with another payload under its nonce or its signature settles nothing", async () => {
    const { facilitator, service } = setUp()
    await facilitator.settle(bodyOf(), seller)
    const larger = { requirements: { amount: "5000" }, authorization: { value: "5000" } }
    const later = { authorization: { validBefore: String(start / 1000 + 500) } }
    for (const given of [larger, later]) {
      assert.strictEqual((await facilitator.settle(bodyOf(given), seller)).errorReason, used)
      assert.strictEqual((await facilitator.verify(bodyOf(given), seller)).invalidReason, used)
    }
    assert.strictEqual(service.sent.length, 1)
  })

  it("without a valid signature neither claims nor finds what was sent with a valid one", async () => {
    const { facilitator, service, script } = setUp()
    service.fate = (row) => ({ ...row, status: "sent", hash: strange })
    await facilitator.settle(bodyOf(), seller)
    service.fate = (row) => service.land({ ...row, status: "mined", minedAs: "call" })
    script.isValid = false
    const forged = `0x${"11".repeat(64)}1b`
    const { success, errorReason } = await facilitator.settle(bodyOf({ signature: forged }), seller)
    assert.deepStrictEqual([success, errorReason, service.claims.size], [false, "invalid_exact_evm_signature", 0])
    assert.isFalse((await facilitator.verify(bodyOf({ signature: forged }), seller)).isValid)
    // Time, balance and a simulation do not decide about what is on its way.
    assert.isTrue((await facilitator.verify(bodyOf(), seller)).isValid)
    assert.isTrue((await facilitator.settle(bodyOf(), seller)).success)
  })

  it("sends no other call than that of the payment", async () => {
    const abi = [{ type: "function", name: "approve", inputs: [], outputs: [], stateMutability: "nonpayable" }]
    for (const writes of [
      { abi, functionName: "approve", args: [] },
      { address: `0x${"99".repeat(20)}` },
      { dataSuffix: `0x${"00".repeat(129)}` }
    ] as const) {
      const { facilitator, service, script } = setUp()
      script.writes = writes
      assert.strictEqual((await facilitator.settle(bodyOf(), seller)).errorReason, failed)
      assert.deepStrictEqual([service.rows.length, service.claims.size], [0, 0])
    }
  })

  it("of long ago is not a success any more", async () => {
    const { facilitator, service, clock } = setUp()
    service.fate = (row) => ({ ...row, status: "sent", hash: strange })
    await facilitator.settle(bodyOf(), seller)
    service.fate = (row) => service.land({ ...row, status: "mined", minedAs: "call" })
    await clock.sleep(3_600_000)
    assert.strictEqual((await facilitator.settle(bodyOf(), seller)).errorReason, used)
  })

  it("goes to another request when its holder has died, and the holder is no success then", async () => {
    const { facilitator, other, service, clock } = setUp()
    const dead = service.claim
    const name = String((await setUp().facilitator.settle(bodyOf(), seller)).extra?.settlement)
    await dead(name, "an instance that was killed", 15)
    const before = clock.now()
    assert.isTrue((await facilitator.settle(bodyOf(), seller)).success)
    assert.isAtLeast(clock.now() - before, 14_000)
    assert.strictEqual((await other.settle(bodyOf(), seller)).errorReason, "duplicate_settlement")
  })

  it("is no success after its claim has lapsed", async () => {
    const { facilitator, service } = setUp()
    service.fate = (row, { claims }) => {
      for (const [name, claim] of claims) claims.set(name, { ...claim, by: "another request" })
      return service.land({ ...row, status: "mined", minedAs: "call" })
    }
    const { success, errorReason, transaction } = await facilitator.settle(bodyOf(), seller)
    assert.deepStrictEqual([success, errorReason, transaction !== ""], [false, pending, true])
  })

  it("whose seller has gone releases its claim, cancels nothing and is no success", async () => {
    const { facilitator, service, clock } = setUp()
    service.fate = stuck
    const closing = new AbortController()
    const settling = facilitator.settle(bodyOf(), seller, closing.signal)
    await clock.sleep(3000)
    assert.strictEqual(service.claims.size, 1)
    closing.abort()
    assert.isFalse((await settling).success)
    assert.deepStrictEqual([service.claims.size, service.cancels, service.rows[0]?.status], [0, 0, "pending"])
  })

  it("of a payer with four payments on their way, or with too little balance for all of them, is refused before it is sent", async () => {
    const { facilitator, service } = setUp()
    service.fate = stuck
    const settling = [1, 2, 3, 4, 5].map((nonce) => facilitator.settle(bodyOf({ nonce }), seller))
    const reasons = (await Promise.all(settling)).map(({ errorReason }) => errorReason)
    assert.strictEqual(reasons.filter((reason) => reason === "too_many_open_payments").length, 1)
    assert.strictEqual(service.sent.length, 4)
    const poor = setUp()
    poor.service.balance = 2n * value
    const all = await Promise.all([1, 2, 3].map((nonce) => poor.facilitator.settle(bodyOf({ nonce }), seller)))
    assert.deepStrictEqual(
      all.map(({ success, errorReason }) => (success ? "success" : errorReason)),
      ["success", "success", "invalid_exact_evm_insufficient_balance"]
    )
  })

  it("of a payer whose payments have reverted three times is refused for an hour", async () => {
    const { facilitator, service, clock } = setUp()
    service.fate = (row) => ({ ...row, status: "failed", minedAs: "call", code: "reverted", hash: strange })
    for (const nonce of [1, 2, 3]) await facilitator.settle(bodyOf({ nonce }), seller)
    assert.strictEqual((await facilitator.settle(bodyOf({ nonce: 4 }), seller)).errorReason, "payer_refused")
    assert.strictEqual((await facilitator.verify(bodyOf({ nonce: 4 }), seller)).invalidReason, "payer_refused")
    assert.strictEqual(service.sent.length, 3)
    await clock.sleep(3_600_000)
    const validBefore = String(clock.now() / 1000 + 300)
    await facilitator.settle(bodyOf({ nonce: 5, authorization: { validBefore } }), seller)
    assert.strictEqual(service.sent.length, 4)
  })
})

describe("a verification", () => {
  it("refuses a payment that has less left than two blocks and 30 seconds", async () => {
    const { facilitator } = setUp()
    const at = (seconds: number) => bodyOf({ authorization: { validBefore: String(start / 1000 + seconds) } })
    assert.strictEqual(
      (await facilitator.verify(at(31), seller)).invalidReason,
      "invalid_exact_evm_payload_authorization_valid_before"
    )
    assert.isTrue((await facilitator.verify(at(32), seller)).isValid)
  })

  it("repeats what the service has not answered, and is no verdict if it answers nothing", async () => {
    const { facilitator, service } = setUp()
    for (const kind of ["busy", "unanswered"] as const) {
      service.faults.push({ method: "find", error: new RelayersError(kind, "later") }, outage("claimOf"))
      service.faults.push(outage("call"), outage("call"))
      assert.isTrue((await facilitator.verify(bodyOf(), seller)).isValid)
    }
    for (let each = 0; each < 200; each += 1) service.faults.push(outage("find"))
    const { isValid, invalidReason } = await facilitator.verify(bodyOf(), seller)
    assert.deepStrictEqual([isValid, invalidReason], [false, "unexpected_verify_error"])
  })
})

describe("a facilitator", () => {
  it("offers what it settles, and no other version", async () => {
    const { facilitator } = setUp()
    assert.deepStrictEqual(await facilitator.supported(), {
      kinds: [{ x402Version: 2, scheme: "exact", network: "eip155:31337" }],
      extensions: [],
      signers: { "eip155:*": [`0x${"12".repeat(20)}`] }
    })
  })

  it("tells a seller what has become of its payment, and no other seller", async () => {
    const { facilitator, service } = setUp()
    const stateOf = async (nonce: number) => {
      const { extra, transaction } = await facilitator.settle(bodyOf({ nonce }), seller)
      const name = String(extra?.settlement)
      assert.isUndefined(await facilitator.settlement(name, { key: "other", payTo: [`0x${"88".repeat(20)}`] }))
      return { transaction, found: await facilitator.settlement(name, seller), name }
    }
    const settled = await stateOf(1)
    assert.deepStrictEqual(settled.found, { name: settled.name, status: "settled", transaction: settled.transaction })
    service.fate = (row) => ({ ...row, status: "sent", hash: strange })
    assert.strictEqual((await stateOf(2)).found?.status, "open")
    service.fate = (row) => ({ ...row, ...ends })
    assert.strictEqual((await stateOf(3)).found?.status, "failed")
    assert.isUndefined(await facilitator.settlement("x402-1", seller))
  })
})
