// Rule 10 of the stand-in ledger: what closing a ledger does. Each test names the function of stellar-core.
import { assert, describe, it } from "@effect/vitest"
import { Asset, Operation } from "@stellar/stellar-sdk/base"
import type { xdr } from "@stellar/stellar-sdk/base"
import { feeBump, keyNamed, payment } from "../../../testkit/stellar/Building.ts"
import { accountIn, minimumBalance, trustlineIn } from "../../../testkit/stellar/Entries.ts"
import { operationsOf, other, relayer, user, World, xlm } from "./World.ts"

const usd = new Asset("USD", other.publicKey())
const usdName = `USD:${other.publicKey()}`

describe("the ledgers of the stand-in", () => {
  it("charge the base fee, not the bid, and raise the sequence (processFeesSeqNums)", () => {
    const world = new World()
    const before = world.account(user)
    const { feeCharged, result } = world.apply(world.envelope(user, [payment(other, 5n)], { fee: 7000n }))
    const after = world.account(user)
    assert.deepStrictEqual([result.type, feeCharged], ["txSuccess", 100n])
    assert.deepStrictEqual([before.balance - after.balance, after.sequence - before.sequence], [105n, 1n])
    assert.deepStrictEqual([after.seqLedger, after.seqTime], [world.network.latest.number, BigInt(world.seconds)])
  })

  it("charge the fee and use the sequence of a transaction that fails (TransactionFrame::apply)", () => {
    const world = new World()
    const before = world.account(user)
    const result = world.apply(world.envelope(user, [payment(other, 1n), payment(other, 5000n * xlm)]))
    const after = world.account(user)
    assert.deepStrictEqual(
      [result.result.type, ...operationsOf(result)],
      ["txFailed", "paymentSuccess", "paymentUnderfunded"]
    )
    assert.deepStrictEqual([before.balance - after.balance, after.sequence - before.sequence], [200n, 1n])
  })

  it("charge a fee bump to its source, and show both hashes (FeeBumpTransactionFrame::apply)", () => {
    const world = new World()
    const [payer, guest] = [world.account(relayer), world.account(user)]
    const inner = world.envelope(user, [payment(other, 5n)])
    const { hash } = world.send(feeBump(relayer, inner, 5000n))
    world.close()
    const result = world.result(hash)
    assert.strictEqual(result.result.type, "txFeeBumpInnerSuccess")
    assert.strictEqual(payer.balance - world.account(relayer).balance, 200n)
    assert.strictEqual(guest.balance - world.account(user).balance, 5n)
    const found = world.network.find(hash)
    assert.deepStrictEqual(world.network.find(found?.innerHash ?? ""), found)
  })

  it("take the highest rates first when they are full, and charge the lowest of those to all (surge pricing)", () => {
    const world = new World()
    world.network.ledgerOperations = 2n
    const hashes = [
      world.send(world.envelope(user, [payment(other, 1n)], { fee: 300n })).hash,
      world.send(world.envelope(other, [payment(user, 1n)], { fee: 900n })).hash,
      world.send(world.envelope(relayer, [payment(user, 1n)], { fee: 500n })).hash
    ]
    world.close()
    const [low, high, middle] = hashes.map((hash) => world.network.find(hash))
    assert.strictEqual(low, undefined)
    assert.deepStrictEqual([high?.rate, middle?.rate], [500, 500])
    world.close()
    assert.strictEqual(world.network.find(hashes[0] ?? "")?.rate, 100)
  })

  it("leave out what has become invalid, and ban it (getInvalidTxList)", () => {
    const world = new World()
    const text = world.envelope(user, [payment(other, 1n)], { maxTime: world.seconds + 12 })
    world.network.ledgerOperations = 0n
    assert.strictEqual(world.answer(text), "PENDING")
    world.close()
    assert.deepStrictEqual(
      world.network.nodes.map(({ envelopes }) => envelopes.length),
      [0]
    )
    assert.strictEqual(world.answer(text), "TRY_AGAIN_LATER")
  })

  it("close nothing while the network is halted, and follow the clock afterwards", () => {
    const world = new World()
    const { number } = world.network.latest
    world.network.isRunning = false
    world.close(720)
    assert.strictEqual(world.network.latest.number, number)
    world.network.isRunning = true
    world.close()
    assert.deepStrictEqual([world.network.latest.number, world.network.latest.closeTime], [number + 1, world.seconds])
  })

  it("create accounts at the sequence of their ledger (CreateAccountOpFrame, getStartingSequenceNumber)", () => {
    const world = new World()
    const fresh = keyNamed("fresh")
    const create = (startingBalance: string) =>
      Operation.createAccount({ destination: fresh.publicKey(), startingBalance })
    assert.deepStrictEqual(operationsOf(world.apply(world.envelope(user, [create("0.5")]))), [
      "createAccountLowReserve"
    ])
    assert.deepStrictEqual(operationsOf(world.apply(world.envelope(user, [create("1")]))), ["createAccountSuccess"])
    assert.strictEqual(world.account(fresh).sequence, BigInt(world.network.latest.number) << 32n)
    assert.deepStrictEqual(operationsOf(world.apply(world.envelope(user, [create("1")]))), [
      "createAccountAlreadyExist"
    ])
  })

  it("sponsor an account with no XLM of its own, and its signer (BeginSponsoringFutureReserves, SponsorshipUtils)", () => {
    const world = new World()
    const channel = keyNamed("channel")
    const source = channel.publicKey()
    const before = world.account(relayer)
    const operations = [
      Operation.beginSponsoringFutureReserves({ sponsoredId: source }),
      Operation.createAccount({ destination: source, startingBalance: "0" }),
      Operation.setOptions({ source, signer: { ed25519PublicKey: relayer.publicKey(), weight: 1 } }),
      Operation.endSponsoringFutureReserves({ source })
    ]
    world.apply(world.envelope(relayer, operations, { signers: [relayer, channel] }))
    const [sponsor, sponsored] = [world.account(relayer), world.account(channel)]
    assert.deepStrictEqual([sponsored.balance, sponsored.sponsored, sponsored.subEntries], [0n, 3, 1])
    assert.deepStrictEqual([sponsor.sponsoring, before.balance - sponsor.balance], [3, 400n])
    assert.strictEqual(
      minimumBalance(sponsor, world.network.reads) - minimumBalance(before, world.network.reads),
      15_000_000n
    )

    const merge = Operation.accountMerge({ destination: relayer.publicKey(), source })
    // The relayer is a signer of the channel. Its signature is enough for both, and so a second one is superfluous.
    const both = { signers: [relayer, channel] }
    assert.strictEqual(world.answer(world.envelope(relayer, [merge], both)), "txBadAuthExtra")
    assert.deepStrictEqual(operationsOf(world.apply(world.envelope(relayer, [merge]))), ["accountMergeSuccess"])
    assert.strictEqual(accountIn(world.network.reads, source), undefined)
    assert.strictEqual(world.account(relayer).sponsoring, 0)
  })

  it("refuse a sponsorship that is left open (txBAD_SPONSORSHIP)", () => {
    const world = new World()
    const begin = Operation.beginSponsoringFutureReserves({ sponsoredId: other.publicKey() })
    assert.strictEqual(world.apply(world.envelope(user, [begin])).result.type, "txBadSponsorship")
    assert.strictEqual(world.account(user).sponsoring, 0)
  })

  it("merge an account only after the ledger of its sequence (MergeOpFrame::isSeqnumTooFar)", () => {
    const world = new World()
    const far = (BigInt(world.network.latest.number) + 10n) << 32n
    const merge = () => world.envelope(user, [Operation.accountMerge({ destination: other.publicKey() })])
    world.apply(world.envelope(user, [Operation.bumpSequence({ bumpTo: String(far) })]))
    assert.deepStrictEqual(operationsOf(world.apply(merge())), ["accountMergeSeqnumTooFar"])
    world.close(10)
    assert.deepStrictEqual(operationsOf(world.apply(merge())), ["accountMergeSuccess"])
  })

  it("jump to a sequence, up to 2^63−1 (BumpSequenceOpFrame)", () => {
    const world = new World()
    const highest = 2n ** 63n - 1n
    world.apply(world.envelope(user, [Operation.bumpSequence({ bumpTo: String(highest) })]))
    assert.strictEqual(world.account(user).sequence, highest)
    assert.strictEqual(world.answer(world.envelope(user, [payment(other, 1n)], { sequence: highest })), "txBadSeq")
  })

  it("add and remove signers and trust lines, each with its reserve (SetOptionsOpFrame, ChangeTrustOpFrame)", () => {
    const world = new World()
    const signer = (weight: number) => Operation.setOptions({ signer: { ed25519PublicKey: other.publicKey(), weight } })
    world.apply(world.envelope(user, [signer(3), Operation.changeTrust({ asset: usd, limit: "10" })]))
    assert.deepStrictEqual(
      [world.account(user).subEntries, world.account(user).signers],
      [2, [{ address: other.publicKey(), weight: 3 }]]
    )
    world.apply(world.envelope(user, [signer(0), Operation.changeTrust({ asset: usd, limit: "0" })]))
    assert.deepStrictEqual(
      [world.account(user).subEntries, trustlineIn(world.network.reads, user.publicKey(), usdName)],
      [0, undefined]
    )
  })

  it("move credit between trust lines (PaymentOpFrame, TrustLineWrapper)", () => {
    const world = new World()
    const pay = (amount: string, from = other, to = user) =>
      world.apply(world.envelope(from, [Operation.payment({ destination: to.publicKey(), asset: usd, amount })]))
    assert.deepStrictEqual(operationsOf(pay("1")), ["paymentNoTrust"])
    world.apply(world.envelope(user, [Operation.changeTrust({ asset: usd, limit: "10" })]))
    assert.deepStrictEqual(
      [...operationsOf(pay("11")), ...operationsOf(pay("10"))],
      ["paymentLineFull", "paymentSuccess"]
    )
    assert.deepStrictEqual(operationsOf(pay("1", relayer, other)), ["paymentSrcNoTrust"])
    assert.deepStrictEqual(
      [...operationsOf(pay("11", user, other)), ...operationsOf(pay("4", user, other))],
      ["paymentUnderfunded", "paymentSuccess"]
    )
    assert.strictEqual(trustlineIn(world.network.reads, user.publicKey(), usdName)?.balance, 6n * xlm)
  })

  it("pay along a path at a fixed rate of two (PathPaymentStrictSendOpFrame, PathPaymentStrictReceiveOpFrame)", () => {
    const world = new World()
    world.apply(world.envelope(user, [Operation.changeTrust({ asset: usd })]))
    const path = { sendAsset: Asset.native(), destination: user.publicKey(), destAsset: usd, path: [] }
    const send = (destMin: string) => Operation.pathPaymentStrictSend({ ...path, sendAmount: "3", destMin })
    const receive = (sendMax: string) => Operation.pathPaymentStrictReceive({ ...path, sendMax, destAmount: "8" })
    const apply = (operation: xdr.Operation) => operationsOf(world.apply(world.envelope(user, [operation])))
    assert.deepStrictEqual(
      [...apply(send("7")), ...apply(send("6"))],
      ["pathPaymentStrictSendUnderDestmin", "pathPaymentStrictSendSuccess"]
    )
    assert.deepStrictEqual(
      [...apply(receive("3")), ...apply(receive("4"))],
      ["pathPaymentStrictReceiveOverSendmax", "pathPaymentStrictReceiveSuccess"]
    )
    assert.strictEqual(trustlineIn(world.network.reads, user.publicKey(), usdName)?.balance, 14n * xlm)
  })
})
