// Rules 1 to 9 of the stand-in ledger: what a node answers to a send. Each test names the function of stellar-core.
import { assert, describe, it } from "@effect/vitest"
import { Operation } from "@stellar/stellar-sdk/base"
import { RpcError } from "../../../testkit/stellar/Methods.ts"
import { call, envelope, feeBump, keyNamed, payment } from "../../../testkit/stellar/Building.ts"
import { other, relayer, resultOf, user, World, xlm } from "./World.ts"

const invocation = { resourceFee: 100_000n }

describe("the queue of the stand-in ledger", () => {
  it("refuses what is no XDR with -32602 invalid_xdr (rule 1: sendTransaction of stellar-rpc)", () => {
    const world = new World()
    for (const text of ["", "AAAA", "!!!!", world.envelope(user, [payment(other, 1n)]).slice(0, -8)]) {
      assert.throws(() => world.send(text), RpcError, "invalid_xdr")
    }
  })

  it("computes the hash with the passphrase of its network (rule 1: TransactionFrame::getContentsHash)", () => {
    const world = new World()
    const text = world.envelope(user, [payment(other, 1n)], { network: "Another Network" })
    assert.strictEqual(world.answer(text), "txBadAuth")
  })

  it("bans an applied hash for ten ledgers (rule 2: TransactionQueue::removeApplied, isBanned)", () => {
    const world = new World()
    const text = world.envelope(user, [payment(other, 1n)], { maxTime: world.seconds + 500 })
    world.apply(text)
    for (let ledger = 0; ledger < 9; ledger++) {
      assert.strictEqual(world.answer(text), "TRY_AGAIN_LATER", `after ${ledger} more ledgers`)
      world.close()
    }
    assert.strictEqual(world.answer(text), "txBadSeq")
  })

  it("forgets its bans when the node restarts", () => {
    const world = new World()
    const text = world.envelope(user, [payment(other, 1n)])
    world.apply(text)
    world.network.nodes[0]?.restart()
    assert.strictEqual(world.answer(text), "txBadSeq")
  })

  it("takes one transaction per account in both queues together (rule 3: HerderImpl::recvTransaction)", () => {
    const world = new World()
    const classic = world.envelope(user, [payment(other, 1n)])
    const soroban = world.envelope(user, [call("increment")], invocation)
    assert.strictEqual(world.answer(classic), "PENDING")
    assert.strictEqual(world.answer(soroban), "TRY_AGAIN_LATER")
    assert.strictEqual(world.answer(world.envelope(other, [call("increment")], invocation)), "PENDING")
    assert.strictEqual(world.answer(world.envelope(other, [payment(user, 1n)])), "TRY_AGAIN_LATER")
  })

  it("answers a queued hash with DUPLICATE, and the inner one of a queued bump too (rule 4: isDuplicateTx)", () => {
    const world = new World()
    const plain = world.envelope(user, [payment(other, 1n)])
    assert.strictEqual(world.answer(plain), "PENDING")
    assert.strictEqual(world.answer(plain), "DUPLICATE")
    const inner = world.envelope(other, [payment(user, 1n)])
    const bump = feeBump(relayer, inner, 200n)
    assert.deepStrictEqual(
      [bump, bump, inner].map((text) => world.answer(text)),
      ["PENDING", "DUPLICATE", "DUPLICATE"]
    )
  })

  it("answers a lower sequence with txBAD_SEQ and a second transaction with TRY_AGAIN_LATER (rule 4: TransactionQueue::canAdd)", () => {
    const world = new World()
    const next = world.next(user)
    assert.strictEqual(world.answer(world.envelope(user, [payment(other, 1n)])), "PENDING")
    const at = (sequence: bigint) => world.envelope(user, [payment(other, 2n)], { sequence })
    assert.deepStrictEqual(
      [next - 1n, next, next + 1n].map((sequence) => world.answer(at(sequence))),
      ["txBadSeq", "TRY_AGAIN_LATER", "TRY_AGAIN_LATER"]
    )
    assert.strictEqual(world.answer(feeBump(relayer, at(next + 1n), 100_000n)), "TRY_AGAIN_LATER")
  })

  it("replaces a queued transaction only for ten times its rate, and names the fee (rule 4: canReplaceByFee)", () => {
    const world = new World()
    const inner = world.envelope(user, [payment(other, 1n)])
    assert.strictEqual(world.answer(inner), "PENDING")
    const { status, errorResultXdr = "" } = world.send(feeBump(relayer, inner, 1999n))
    const { feeCharged, result } = resultOf(errorResultXdr)
    assert.deepStrictEqual([status, result.type, feeCharged], ["ERROR", "txInsufficientFee", 2000n])
    assert.strictEqual(world.answer(feeBump(relayer, inner, 2000n)), "PENDING")
  })

  it("bans what a full queue refuses, and names the fee that is enough (rule 5: TxQueueLimiter::canAddTx)", () => {
    const world = new World()
    const [queue] = world.network.nodes
    if (queue === undefined) throw new Error("there is no node")
    queue.capacity = 1n
    assert.strictEqual(world.answer(world.envelope(user, [payment(other, 1n)], { fee: 500n })), "PENDING")
    const cheap = world.envelope(other, [payment(user, 1n)], { fee: 500n })
    const { errorResultXdr = "" } = world.send(cheap)
    const { feeCharged, result } = resultOf(errorResultXdr)
    assert.deepStrictEqual([result.type, feeCharged], ["txInsufficientFee", 501n])
    assert.strictEqual(world.answer(cheap), "TRY_AGAIN_LATER")
    const dear = world.envelope(other, [payment(user, 1n)], { fee: 501n })
    assert.strictEqual(world.answer(dear), "PENDING")
    assert.strictEqual(world.answer(world.envelope(user, [payment(other, 1n)], { fee: 500n })), "TRY_AGAIN_LATER")
  })

  it.each([
    ["less than the base fee", 100n, 199n, relayer, [relayer], "txInsufficientFee"],
    ["the rate of the inner one", 1000n, 2000n, relayer, [relayer], "PENDING"],
    ["a lower rate than the inner one", 1000n, 1999n, relayer, [relayer], "txInsufficientFee"],
    ["a fee source that does not exist", 100n, 200n, keyNamed("nobody"), [keyNamed("nobody")], "txNoAccount"],
    ["the signature of another key", 100n, 200n, relayer, [other], "txBadAuth"],
    ["a superfluous signature", 100n, 200n, relayer, [relayer, other], "txBadAuthExtra"],
    ["more than the balance", 100n, 1000n * xlm, relayer, [relayer], "txInsufficientBalance"]
  ])(
    "checks a fee bump with %s (rule 6: FeeBumpTransactionFrame::checkValid)",
    (_, inner, fee, source, signers, expected) => {
      const world = new World()
      const text = world.envelope(user, [payment(other, 1n)], { fee: inner })
      assert.strictEqual(world.answer(feeBump(source, text, fee, { signers })), expected)
    }
  )

  it("answers a bump of an invalid envelope with txFEE_BUMP_INNER_FAILED (rule 6: FeeBumpTransactionFrame::updateResult)", () => {
    const world = new World()
    const inner = world.envelope(user, [payment(other, 1n)], { sequence: world.next(user) + 3n })
    const { errorResultXdr = "" } = world.send(feeBump(relayer, inner, 1000n))
    const { result } = resultOf(errorResultXdr)
    if (result.type !== "txFeeBumpInnerFailed") throw new Error(result.type)
    assert.strictEqual(result.innerResultPair.result.result.type, "txBadSeq")
  })

  it("lets a sponsor pay for an inner envelope without a fee (rule 6: checkValidWithOptionallyChargedFee)", () => {
    const world = new World()
    const poor = keyNamed("poor")
    world.network.grant(poor.publicKey(), xlm)
    const inner = world.envelope(poor, [payment(other, 1n)], { fee: 100n })
    assert.strictEqual(world.answer(inner), "txInsufficientBalance")
    assert.strictEqual(world.answer(feeBump(relayer, inner, 200n)), "PENDING")
  })

  it("checks time bounds with ten seconds of slack (rule 7: isTooEarly, isTooLate, getUpperBoundCloseTimeOffset)", () => {
    const world = new World()
    const text = (bounds: { readonly minTime?: number; readonly maxTime: number }) =>
      world.envelope(user, [payment(other, 1n)], bounds)
    const { seconds } = world
    assert.strictEqual(world.answer(text({ maxTime: seconds + 9 })), "txTooLate")
    assert.strictEqual(world.answer(text({ minTime: seconds + 1, maxTime: seconds + 60 })), "txTooEarly")
    assert.strictEqual(world.answer(text({ minTime: seconds, maxTime: seconds + 10 })), "PENDING")
  })

  it("checks ledger bounds against the next ledger (rule 7: isTooLate)", () => {
    const world = new World()
    const { number } = world.network.latest
    const text = (maxLedger: number) =>
      world.envelope(user, [payment(other, 1n)], { conditions: { ledgerbounds: { minLedger: 0, maxLedger } } })
    assert.strictEqual(world.answer(text(number + 1)), "txTooLate")
    assert.strictEqual(world.answer(text(number + 2)), "PENDING")
  })

  it.each([
    ["no operation", [], {}, "txMissingOperation"],
    ["a fee below the base fee", [payment(other, 1n)], { fee: 99n }, "txInsufficientFee"],
    ["a sequence above the next one", [payment(other, 1n)], { gap: 1n }, "txBadSeq"],
    ["a sequence below the next one", [payment(other, 1n)], { gap: -1n }, "txBadSeq"],
    ["no signature", [payment(other, 1n)], { signers: [] }, "txBadAuth"],
    ["a second signature that nobody needs", [payment(other, 1n)], { signers: [user, other] }, "txBadAuthExtra"],
    ["an amount of 0", [payment(other, 0n)], {}, "txFailed"],
    ["an operation of an account that did not sign", [payment(other, 1n, other)], {}, "txFailed"],
    ["an operation of an account that signed, too", [payment(other, 1n, other)], { signers: [user, other] }, "PENDING"],
    ["a call beside a payment", [call("increment"), payment(other, 1n)], { resourceFee: 1000n }, "txMalformed"],
    ["a call without resources", [call("increment")], {}, "txMalformed"],
    ["resources without a call", [payment(other, 1n)], { resourceFee: 1000n }, "txMalformed"],
    ["an operation that the stand-in does not have", [Operation.inflation({})], {}, "txFailed"]
  ] as const)("refuses %s, or takes it (rule 7: TransactionFrame::checkValid)", (_, operations, given, expected) => {
    const world = new World()
    const { gap = 0n, ...rest } = { gap: 0n, ...given }
    assert.strictEqual(
      world.answer(world.envelope(user, operations, { ...rest, sequence: world.next(user) + gap })),
      expected
    )
  })

  it("refuses an account that does not exist (rule 7: TransactionFrame::loadSourceAccount)", () => {
    const world = new World()
    const text = envelope(keyNamed("nobody"), [payment(other, 1n)], { sequence: 1n, maxTime: world.soon })
    assert.strictEqual(world.answer(text), "txNoAccount")
  })

  it("refuses a fee that the balance above the reserve does not cover (rule 7: getAvailableBalance)", () => {
    const world = new World()
    const poor = keyNamed("poor")
    world.network.grant(poor.publicKey(), xlm + 99n)
    assert.strictEqual(world.answer(world.envelope(poor, [payment(other, 1n)])), "txInsufficientBalance")
    world.network.grant(poor.publicKey(), 1n)
    assert.strictEqual(world.answer(world.envelope(poor, [payment(other, 1n)])), "PENDING")
  })

  it("adds weights of signers up to the threshold (rule 7: SignatureChecker::checkSignature)", () => {
    const world = new World()
    const options = { signer: { ed25519PublicKey: other.publicKey(), weight: 1 }, lowThreshold: 0, medThreshold: 2 }
    world.apply(world.envelope(user, [Operation.setOptions({ ...options, highThreshold: 2 })]))
    assert.strictEqual(world.answer(world.envelope(user, [payment(relayer, 1n)])), "txFailed")
    assert.strictEqual(
      world.answer(world.envelope(user, [payment(relayer, 1n)], { signers: [user, other] })),
      "PENDING"
    )
  })

  it("refuses Soroban with a memo or with a fee of resources above the fee (rule 7: validateSorobanMemo, checkSorobanResources)", () => {
    const world = new World()
    assert.strictEqual(world.answer(world.envelope(user, [call("increment")], invocation)), "PENDING")
    assert.strictEqual(
      world.answer(world.envelope(other, [call("increment")], { resourceFee: -1n })),
      "txSorobanInvalid"
    )
  })

  it("adds up the fees of all queued envelopes of a fee source (rule 8: AccountState::mTotalFees)", () => {
    const world = new World()
    const bumps = [user, other].map((key) => feeBump(relayer, world.envelope(key, [payment(relayer, 1n)]), 600n * xlm))
    assert.deepStrictEqual(
      bumps.map((text) => world.answer(text)),
      ["PENDING", "txInsufficientBalance"]
    )
  })

  it("keeps what it accepted for four ledgers, and bans it afterwards (rules 9 and 10: TransactionQueue::shift)", () => {
    const world = new World()
    const [queue] = world.network.nodes
    world.network.ledgerOperations = 0n
    const text = world.envelope(user, [payment(other, 1n)], { maxTime: world.seconds + 500 })
    assert.strictEqual(world.answer(text), "PENDING")
    world.close(3)
    assert.strictEqual(queue?.envelopes.length, 1)
    world.close()
    assert.strictEqual(queue?.envelopes.length, 0)
    for (let ledger = 0; ledger < 10; ledger++) {
      assert.strictEqual(world.answer(text), "TRY_AGAIN_LATER", `after ${ledger} ledgers`)
      world.close()
    }
    assert.strictEqual(world.answer(text), "PENDING")
  })

  it("passes on what one node accepted to the others", () => {
    const world = new World({ nodes: 2 })
    assert.strictEqual(world.answer(world.envelope(user, [payment(other, 1n)])), "PENDING")
    assert.deepStrictEqual(
      world.network.nodes.map(({ envelopes }) => envelopes.length),
      [1, 1]
    )
  })
})
