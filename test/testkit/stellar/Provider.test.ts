// Rule 11 of the stand-in ledger: what a provider answers, and how it can be slow, broken or lying.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Keypair, nativeToScVal, Operation, scValToNative, xdr } from "@stellar/stellar-sdk/base"
import { addressValue, amountValue, call, feeBump, payment } from "../../../testkit/stellar/Building.ts"
import { counterKey, nativeContract } from "../../../testkit/stellar/Contracts.ts"
import { RpcError } from "../../../testkit/stellar/Methods.ts"
import { Network } from "../../../testkit/stellar/Network.ts"
import { Lost, Throttled } from "../../../testkit/stellar/Provider.ts"
import type { Faults } from "../../../testkit/stellar/Provider.ts"
import { serve } from "../../../testkit/stellar/Serving.ts"
import { other, relayer, start, user, World } from "./World.ts"

const keyOf = (key: Keypair) =>
  xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: key.xdrPublicKey() })).toXdr("base64")

/** The account as a provider shows it, with the number of the ledger. */
const shownOf = (world: World, key: Keypair) => {
  const { entries, latestLedger } = world.call("getLedgerEntries", { keys: [keyOf(key)] })
  const [first] = Array.isArray(entries) ? entries : []
  const data = xdr.LedgerEntryData.fromXdr(String(first.xdr), "base64")
  if (data.type !== "account") throw new Error(data.type)
  return { account: data.account, latestLedger: Number(latestLedger) }
}

const applied = (world: World) => {
  const { hash } = world.send(world.envelope(user, [payment(other, 1n)]))
  world.close()
  return hash
}

const withFaults = (faults: Partial<Faults>) => {
  const world = new World()
  const hash = applied(world)
  world.provider.faults = { ...world.provider.faults, ...faults }
  const transaction = () => world.call("getTransaction", { hash })
  return { world, hash, transaction }
}

describe("a provider of the stand-in ledger", () => {
  it("shows result, envelope and meta of a fee bump by its outer and its inner hash (getTransaction)", () => {
    const world = new World()
    const text = feeBump(relayer, world.envelope(user, [payment(other, 1n)]), 400n)
    const { hash } = world.send(text)
    world.close()
    const outer = world.call("getTransaction", { hash })
    const inner = world.call("getTransaction", { hash: world.network.find(hash)?.innerHash })
    assert.deepStrictEqual([outer.status, outer.feeBump, outer.envelopeXdr], ["SUCCESS", true, text])
    assert.strictEqual(xdr.TransactionMeta.fromXdr(String(outer.resultMetaXdr), "base64").type, "v4")
    assert.deepStrictEqual({ ...inner, txHash: hash }, outer)
    assert.strictEqual(outer.latestLedgerCloseTime, String(world.seconds))
  })

  it("shows the return value of a call, and the error of one that failed", () => {
    const world = new World()
    const run = (name: string) => {
      const { hash } = world.send(world.envelope(user, [call(name)], { resourceFee: 100_000n }))
      world.close()
      const meta = xdr.TransactionMeta.fromXdr(String(world.call("getTransaction", { hash }).resultMetaXdr), "base64")
      if (meta.type !== "v4") throw new Error(meta.type)
      return meta.v4
    }
    assert.strictEqual(scValToNative(run("increment").sorobanMeta?.returnValue ?? nativeToScVal(0)), 1)
    assert.strictEqual(run("fail").diagnosticEvents.length, 1)
  })

  it("shows accounts at one ledger, with the ledger of their sequence (getLedgerEntries)", () => {
    const world = new World()
    applied(world)
    const { account, latestLedger } = shownOf(world, user)
    assert.strictEqual(latestLedger, world.network.latest.number)
    assert.strictEqual(account.seqNum, world.account(user).sequence)
    assert.isTrue(account.seqNum > 2n ** 53n)
    const v2 = account.ext.type === "v1" && account.ext.v1.ext.type === "v2" ? account.ext.v1.ext.v2 : undefined
    assert.strictEqual(v2?.ext.type === "v3" ? v2.ext.v3.seqLedger : 0, latestLedger)
    assert.deepStrictEqual(world.call("getLedgerEntries", { keys: [keyOf(Keypair.random())] }).entries, [])
  })

  it("pages through the transactions of ledgers by a cursor (getTransactions)", () => {
    const world = new World()
    const { number } = world.network.latest
    const hashes = Array.from({ length: 5 }, () => applied(world))
    const page = (params: object) => {
      const { transactions, cursor } = world.call("getTransactions", { ...params })
      const found: ReadonlyArray<{ readonly txHash: string }> = Array.isArray(transactions) ? transactions : []
      return { found: found.map(({ txHash }) => txHash), cursor }
    }
    const first = page({ startLedger: number, pagination: { limit: 3 } })
    const second = page({ pagination: { cursor: first.cursor, limit: 3 } })
    const third = page({ pagination: { cursor: second.cursor, limit: 3 } })
    assert.deepStrictEqual([first.found, second.found, third.found], [hashes.slice(0, 3), hashes.slice(3), []])
    assert.throws(() => page({ startLedger: number + 100 }), RpcError, "start ledger must be between")
    const next = applied(world)
    assert.deepStrictEqual(page({ pagination: { cursor: third.cursor, limit: 3 } }).found, [next])
  })

  it("says its network, its range, its newest ledger and the fees of the last ledgers", () => {
    const world = new World()
    applied(world)
    const { number, closeTime, hash } = world.network.latest
    assert.include(world.call("getNetwork"), { passphrase: world.network.passphrase })
    assert.include(world.call("getLatestLedger"), { sequence: number, id: hash, closeTime: String(closeTime) })
    assert.include(world.call("getHealth"), { status: "healthy", latestLedger: number, oldestLedger: number - 1 })
    const { inclusionFee, sorobanInclusionFee } = world.call("getFeeStats")
    assert.deepInclude(inclusionFee, { p95: "100", transactionCount: "1" })
    assert.deepInclude(sorobanInclusionFee, { p99: "0", transactionCount: "0" })
  })

  it("simulates a call: resources, authorizations, changes of balances, errors, and what a test scripts", () => {
    const world = new World()
    const contract = nativeContract(world.network.passphrase)
    const args = [addressValue(user), addressValue(other), amountValue(5n)]
    const simulate = (operation: xdr.Operation, source = user) =>
      world.call("simulateTransaction", { transaction: world.envelope(source, [operation]) })
    const transfer = call("transfer", args, { contract })
    const own = simulate(transfer)
    const [result] = Array.isArray(own.results) ? own.results : []
    const entry = xdr.SorobanAuthorizationEntry.fromXdr(String(result.auth[0]), "base64")
    assert.strictEqual(entry.credentials.type, "sorobanCredentialsSourceAccount")
    assert.strictEqual(Array.isArray(own.stateChanges) ? own.stateChanges.length : 0, 2)
    const [foreign] = [simulate(transfer, relayer).results].flat()
    const recorded = xdr.SorobanAuthorizationEntry.fromXdr(String(Object(foreign).auth[0]), "base64")
    assert.strictEqual(recorded.credentials.type, "sorobanCredentialsAddress")
    assert.match(String(simulate(call("fail")).error), /as it was asked to/)
    world.provider.faults.script = { resourceFee: 77n, needsRestore: true }
    const scripted = simulate(call("increment"))
    assert.strictEqual(scripted.minResourceFee, "77")
    assert.isUndefined(scripted.restorePreamble)
  })

  it("simulates a longer life and a restore without authMode only, and names a restore for the former (validateAuthMode)", () => {
    const world = new World()
    world.provider.faults.script = { needsRestore: true }
    const simulate = (operation: xdr.Operation, params: object = {}) =>
      world.call("simulateTransaction", {
        transaction: world.envelope(user, [operation], { resourceFee: 1000n, footprint: [counterKey] }),
        ...params
      })
    const extend = Operation.extendFootprintTtl({ extendTo: 9 })
    for (const authMode of ["record", "enforce"]) {
      assert.deepInclude(simulate(extend, { authMode }), {
        error: "cannot set authMode with non-InvokeHostFunction operations"
      })
    }
    assert.isDefined(simulate(extend).restorePreamble)
    const restore = simulate(Operation.restoreFootprint({}))
    assert.deepStrictEqual([restore.error, restore.restorePreamble], [undefined, undefined])
  })

  it("lags, and then shows an older account at an older ledger", () => {
    const { world, transaction } = withFaults({ lag: 1 })
    const { account, latestLedger } = shownOf(world, user)
    assert.deepStrictEqual(
      [account.seqNum + 1n, latestLedger + 1],
      [world.account(user).sequence, world.network.latest.number]
    )
    assert.strictEqual(transaction().status, "NOT_FOUND")
  })

  it("answers by turns from two nodes behind a balancer", () => {
    const { world } = withFaults({ balancerLag: 1 })
    const numbers = Array.from(
      { length: 4 },
      () => Number(world.call("getLatestLedger").sequence) - world.network.latest.number
    )
    assert.deepStrictEqual(numbers.toSorted(), [-1, -1, 0, 0])
  })

  it("ingests a ledger between the two reads of getTransaction: NOT_FOUND beside the ledger that contains it", () => {
    const { world, transaction } = withFaults({ ingestsBetween: 1 })
    assert.include(transaction(), { status: "NOT_FOUND", latestLedger: world.network.latest.number })
  })

  it.each([
    ["hides a transaction", (hash: string) => ({ hidden: [hash] }), { status: "NOT_FOUND" }],
    ["shifts close times", () => ({ closeTimeOffset: 60 }), { latestLedgerCloseTime: String(start / 1000 + 65) }]
  ])("%s", (_, faults, expected) => {
    const { world, hash, transaction } = withFaults({})
    world.provider.faults = { ...world.provider.faults, ...faults(hash) }
    assert.include(transaction(), expected)
  })

  it("forgets what is older than its store, but finds it as long as the ledger is there", () => {
    const { world, transaction } = withFaults({ retention: 3 })
    world.close(2)
    assert.strictEqual(transaction().status, "SUCCESS")
    world.close()
    const { number } = world.network.latest
    assert.include(transaction(), { status: "NOT_FOUND", oldestLedger: number - 2, latestLedger: number })
  })

  it("hides the content of a ledger", () => {
    const { world, hash } = withFaults({})
    world.provider.faults.hidden = [hash]
    const { transactions } = world.call("getTransactions", { startLedger: world.network.latest.number })
    assert.deepStrictEqual(transactions, [])
  })

  it("claims a success that never happened", () => {
    const { world } = withFaults({})
    const hash = "ab".repeat(32)
    world.provider.faults.claimed = [hash]
    assert.include(world.call("getTransaction", { hash }), { status: "SUCCESS", txHash: hash })
  })

  it.each([-3, 5])("shows a sequence that is off by %d, and ledgers of the future", (offset) => {
    const { world } = withFaults({ sequenceOffset: offset, ledgerOffset: 7 })
    const { account, latestLedger } = shownOf(world, user)
    assert.strictEqual(account.seqNum - world.account(user).sequence, BigInt(offset))
    assert.strictEqual(latestLedger - world.network.latest.number, 7)
  })

  it("stands still while others go on", () => {
    const { world } = withFaults({})
    world.provider.faults.standsAt = world.network.latest.number
    world.close(3)
    assert.strictEqual(world.call("getLatestLedger").sequence, world.network.latest.number - 3)
  })

  it("claims another network", () => {
    assert.include(withFaults({ passphrase: "Other" }).world.call("getNetwork"), { passphrase: "Other" })
  })

  it("loses an answer before or after the effect", () => {
    const world = new World()
    const text = world.envelope(user, [payment(other, 1n)])
    world.provider.faults.lost = { sendTransaction: "before" }
    assert.throws(() => world.send(text), Lost)
    assert.deepStrictEqual(world.network.nodes[0]?.envelopes.length, 0)
    world.provider.faults.lost = { sendTransaction: "after" }
    assert.throws(() => world.send(text), Lost)
    assert.deepStrictEqual(world.network.nodes[0]?.envelopes.length, 1)
  })

  it("replaces an answer: the send is swallowed", () => {
    const world = new World()
    world.provider.faults.replaced = { sendTransaction: { status: "PENDING", hash: "00" } }
    assert.strictEqual(world.send(world.envelope(user, [payment(other, 1n)])).status, "PENDING")
    assert.deepStrictEqual(world.network.nodes[0]?.envelopes.length, 0)
  })

  it("throttles, and answers with more than 10 MB", () => {
    const { world } = withFaults({ throttled: ["getHealth"], huge: ["getNetwork"] })
    assert.throws(() => world.call("getHealth"), Throttled)
    assert.isAbove(JSON.stringify(world.call("getNetwork")).length, 10_000_000)
  })
})

const post = (url: string, body: unknown) =>
  Effect.promise(() => fetch(url, { method: "POST", body: JSON.stringify(body) }))

const json = (url: string, body: unknown) =>
  Effect.flatMap(post(url, body), (response) => Effect.promise(() => response.json()))

describe("the stand-in ledger over HTTP", () => {
  it.effect("answers calls and batches, and obeys its control", () =>
    Effect.gen(function* () {
      const network = new Network({ passphrase: "HTTP", now: () => start, nodes: 2 })
      const { url, control } = yield* serve(network)
      const one = { jsonrpc: "2.0", id: 1, method: "getNetwork" }
      const single = yield* json(url(), one)
      assert.deepInclude(single, { id: 1, result: { passphrase: "HTTP", protocolVersion: 28 } })
      const batch = yield* json(url(1), [one, { ...one, id: 2, method: "none" }])
      assert.deepStrictEqual([batch.length, batch[1].error.code], [2, -32601])
      const faults = { provider: 0, set: { throttled: ["getNetwork"] } }
      const grant = { address: user.publicKey(), stroops: "70000000" }
      const status = yield* json(control, { close: 3, faults, grant })
      assert.strictEqual(status.ledger, network.latest.number)
      assert.deepStrictEqual(status.counts, [{ getNetwork: 1 }, { getNetwork: 1, none: 1 }])
      assert.strictEqual((yield* post(url(), one)).status, 429)
      assert.strictEqual((yield* post(url(9), one)).status, 404)
      assert.strictEqual((yield* post(control, { grant: { address: "x", stroops: "y" } })).status, 400)
    })
  )
})

describe("a provider whose index of transactions is behind", () => {
  /** At each ledger after one with a transaction: whether the two methods show it, and which newest ledger they name. */
  const shownAfter = (indexLag: Faults["indexLag"], ledgers: number) => {
    const { hash, transaction, world } = withFaults({ indexLag })
    const startLedger = world.network.latest.number
    return Array.from({ length: ledgers + 1 }, (_, after) => {
      if (after > 0) world.close()
      const byHash = transaction()
      let found: Record<string, unknown> = {}
      try {
        found = world.call("getTransactions", { startLedger, pagination: { limit: 200 } })
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
      }
      const { transactions = [] } = found
      const isListed = Array.isArray(transactions) && transactions.some(({ txHash }) => txHash === hash)
      assert.strictEqual(byHash.status, isListed ? "SUCCESS" : "NOT_FOUND")
      assert.strictEqual(shownOf(world, user).latestLedger, world.network.latest.number)
      return [isListed, Number(byHash.latestLedger) - world.network.latest.number]
    })
  }

  it("shows transactions some ledgers after the entries, and names the newest ledger", () => {
    assert.deepStrictEqual(shownAfter({ ledgers: 2 }, 3), [
      [false, 0],
      [false, 0],
      [true, 0],
      [true, 0]
    ])
  })

  it("names the ledger up to which it shows them, if it is honest", () => {
    assert.deepStrictEqual(shownAfter({ ledgers: 2, isHonest: true }, 3).slice(1), [
      [false, -2],
      [true, -2],
      [true, -2]
    ])
  })

  it("shows the transactions of a ledger after a lag of its own, which ends", () => {
    const world = new World()
    world.provider.faults.indexLag = { ledgers: 10, isRandom: true }
    const hashes = Array.from({ length: 40 }, () => applied(world))
    const isShown = () => hashes.map((hash) => world.call("getTransaction", { hash }).status === "SUCCESS")
    const shown = isShown()
    // An older transaction is missing although a newer one is shown.
    assert.isAbove(shown.lastIndexOf(true), shown.indexOf(false))
    assert.isTrue(shown.slice(0, 30).every((one) => one))
    world.close(10)
    assert.isTrue(isShown().every((one) => one))
  })
})

describe("a program that uses the key of an account", () => {
  it("uses its next sequence in the next ledger, by a transaction that all providers show", () => {
    const world = new World()
    const { sequence } = world.account(user)
    world.send(world.envelope(user, [payment(other, 1n)]))
    world.network.useSequence(user.publicKey())
    world.close()
    const [one, ...others] = world.network.latest.transactions
    assert.deepStrictEqual([one?.sequence, one?.isSuccess, others.length], [String(sequence + 1n), false, 0])
    assert.strictEqual(world.account(user).seqLedger, world.network.latest.number)
    assert.strictEqual(world.call("getTransaction", { hash: one?.hash }).status, "FAILED")
    world.close()
    assert.lengthOf(world.network.latest.transactions, 0)
  })
})
