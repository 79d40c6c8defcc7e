// `POST …/sign-transaction` of stellar relayers: envelopes that a caller sends itself pass every rule of a send, and die soon.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Asset, Operation } from "@stellar/stellar-sdk/base"
import type { xdr } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import {
  addressValue,
  amountValue,
  call as callOf,
  envelope,
  feeBump,
  invocation,
  keyNamed,
  payment,
  sourceEntry,
  transaction
} from "../../../../testkit/stellar/Building.ts"
import type { Building } from "../../../../testkit/stellar/Building.ts"
import { counterContract, nativeContract } from "../../../../testkit/stellar/Contracts.ts"
import { pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { publicVote } from "../../../../testkit/stellar/Voted.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer()).pipe(Layer.provideMerge(Logger.layer([])))

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]

const inSeconds = (seconds: number) => Math.floor((performance.timeOrigin + performance.now()) / 1000) + seconds

const signed = ({ json }: TestApi.Answer) => json.data as { readonly signedXdr: string; readonly signature: string }

/** A relayer whose ledger closes only when a test asks for it, and its signatures. */
const signing = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt({ ledgerMs: 0, ...given })
  const { account, address, id, network, passphrase } = relayer
  network.grant(receiver.publicKey(), 10n * xlm)
  network.close()
  const { call } = yield* TestApi.TestApi
  const path = `/api/v1/relayers/${id}`
  const sign = (unsigned_xdr: string, more: TestApi.Call = {}) =>
    call(`${path}/sign-transaction`, { ...more, method: "POST", body: { unsigned_xdr } })
  /** An unsigned envelope of the relayer at its next sequence. */
  const unsigned = (operations: ReadonlyArray<xdr.Operation>, over: Partial<Building> = {}, source = address) => {
    const sequence = (account()?.sequence ?? 0n) + 1n
    return transaction(source, operations, { sequence, maxTime: inSeconds(100), network: passphrase, ...over }).toXDR()
  }
  const refusal = (unsigned_xdr: string, more: TestApi.Call = {}) =>
    Effect.map(sign(unsigned_xdr, more), ({ json, status }) => `${status} ${json.error ?? ""}`)
  const record = Effect.map(call(`/api/v1/audit?action=transaction.signed&limit=100`), ({ text }) => text)
  return { ...relayer, base: path, call, sign, unsigned, refusal, record }
})

layer(api, { excludeTestServices: true })("an envelope that a caller gets signed", (it) => {
  it.effect("is applied when the caller sends it, and the same request returns the same bytes", () =>
    Effect.gen(function* () {
      const { account, call, id, network, path, record, sign, unsigned } = yield* signing()
      const text = unsigned([payment(receiver, xlm)])
      const first = yield* sign(text)
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual(Documented.faultsOf("post /api/v1/relayers/{relayer_id}/sign-transaction", first), [])
      assert.lengthOf(Buffer.from(signed(first).signature, "base64"), 64)
      assert.deepStrictEqual(signed(yield* sign(text)), signed(first))
      network.submit(0, signed(first).signedXdr)
      network.close()
      assert.strictEqual(account(receiver.publicKey())?.balance, 11n * xlm)
      assert.include(yield* record, id)
      assert.deepStrictEqual((yield* call(path)).json.data, [], "it is no transaction of the service")
    })
  )

  it.effect("is refused by each rule of the guard, and nothing of it is stored or signed", () =>
    Effect.gen(function* () {
      const { account, address, base, call, id, passphrase, record, refusal, unsigned } = yield* signing()
      const one = [payment(receiver, xlm)]
      const sequence = (account()?.sequence ?? 0n) + 1n
      const given = { sequence, maxTime: inSeconds(100), network: passphrase }
      const foreign = envelope(user, one, given)
      const taken = [addressValue(address), addressValue(receiver), amountValue(xlm)]
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["xdr_encoding", ""],
        ["xdr_invalid", "AAAA"],
        ["xdr_signed", envelope(keyNamed("x"), one, given)],
        ["xdr_signed", feeBump(user, foreign, 1000n, { network: passphrase })],
        ["source_account_mismatch", unsigned(one, {}, user.publicKey())],
        ["operation_source", unsigned([payment(receiver, xlm, user)])],
        ["operation_not_allowed", unsigned([Operation.accountMerge({ destination: user.publicKey() })])],
        ["operation_not_allowed", unsigned([...one, Operation.setOptions({ masterWeight: 0 })])],
        ["operation_not_allowed", unsigned([Operation.bumpSequence({ bumpTo: "9223372036854775807" })])],
        ["time_bounds_missing", unsigned(one, { maxTime: 0 })],
        ["time_bounds_past", unsigned(one, { maxTime: inSeconds(5) })],
        ["time_bounds_too_long", unsigned(one, { maxTime: inSeconds(31_536_000) })],
        ["time_bounds_future", unsigned(one, { minTime: inSeconds(50) })],
        ["fee_above_cap", unsigned(one, { fee: 1_000_001n })],
        ["insufficient_funds", unsigned([payment(receiver, 999n * xlm)])],
        ["would_fail", unsigned([callOf("fail")], { resourceFee: 50_000n })],
        ["auth_not_granted", unsigned([callOf("transfer", taken)], { resourceFee: 50_000n })],
        ["resource_fee_too_high", unsigned([callOf("increment")], { resourceFee: 900_000n })]
      ]
      for (const [code, text] of cases) {
        const found = yield* refusal(text)
        assert.match(found, /^400 /, code)
        assert.include(found, `unsigned_xdr: ${code}`)
      }
      const { json } = yield* call(`${base}/sign-transaction`, { method: "POST", body: { unsigned_xdr: "", more: 1 } })
      assert.include(json.error ?? "", "more")
      assert.notInclude(yield* record, id)
    })
  )

  it.effect("is limited as a send is: value, receivers, calls of the contract of XLM, and fees of a day", () =>
    Effect.gen(function* () {
      const { address, passphrase, refusal, sign, unsigned } = yield* signing()
      const keyWith = (transaction_limits: object) => makeKey(["transactions:sign"], { transaction_limits })
      const native = nativeContract(passphrase)
      const other = yield* keyWith({ max_value: "1" })
      assert.match(yield* refusal(unsigned([payment(receiver, 1n)]), { key: other }), /^403 .*stellar/)
      const least = yield* keyWith({ stellar: { max_value: "100" } })
      assert.match(yield* refusal(unsigned([payment(receiver, 101n)]), { key: least }), /^403 .*max_value/)
      const args = [addressValue(address), addressValue(user), amountValue(101n)]
      const approval = callOf("approve", args, {
        contract: native,
        auth: [sourceEntry(invocation(native, "approve", args))]
      })
      assert.match(yield* refusal(unsigned([approval], { resourceFee: 50_000n }), { key: least }), /^403 .*max_value/)
      const listed = yield* keyWith({ stellar: { receivers: [receiver.publicKey()] } })
      assert.match(yield* refusal(unsigned([payment(user, 1n)]), { key: listed }), /^403 .*receivers/)
      const spent = yield* keyWith({ stellar: { max_fee_per_day: "150" } })
      assert.strictEqual((yield* sign(unsigned([payment(receiver, 1n)]), { key: spent })).status, 200)
      assert.match(yield* refusal(unsigned([payment(receiver, 2n)]), { key: spent }), /^403 .*max_fee_per_day/)
    })
  )

  it.effect("keeps its fee and its value from what else is sent, and is no envelope of a user", () =>
    Effect.gen(function* () {
      const { call, id, path, send, sign, unsigned } = yield* signing()
      const simulate = (stroops: bigint) =>
        Effect.map(
          call(`${path}/simulate`, { method: "POST", body: { network: id, ...pay(receiver.publicKey(), stroops) } }),
          ({ json }) => (json.data as { readonly verdict: ReadonlyArray<string> }).verdict
        )
      assert.deepStrictEqual(yield* simulate(200n * xlm), [])
      const { signedXdr } = signed(yield* sign(unsigned([payment(receiver, 900n * xlm)])))
      assert.deepStrictEqual(yield* simulate(200n * xlm), ["insufficient_funds"])
      const bumped = yield* send({ transaction_xdr: signedXdr, fee_bump: true })
      assert.strictEqual(bumped.status, 400)
      assert.include(bumped.json.error ?? "", "source_is_own")
    })
  )

  it.effect("is refused while the relayer is paused or its users pay, and fails without a provider", () =>
    Effect.gen(function* () {
      const { base, call, refusal, standIn, unsigned } = yield* signing()
      const text = unsigned([payment(receiver, xlm)])
      yield* call(base, { method: "PATCH", body: { paused: true } })
      assert.match(yield* refusal(text), /^403 /)
      yield* call(base, { method: "PATCH", body: { paused: false, policies: { fee_payment_strategy: "user" } } })
      assert.include(yield* refusal(text), "sponsoring_only")
      yield* call(base, { method: "PATCH", body: { policies: { fee_payment_strategy: "relayer" } } })
      standIn.control({ faults: { provider: 0, set: { throttled: ["getTransaction"] } } })
      assert.match(yield* refusal(text), /^502 .*127\.0\.0\.1/)
    })
  )

  it.effect("takes no more XLM by its call than the API key may send, whatever its authorization shows (row 17)", () =>
    Effect.gen(function* () {
      const { address, base, call, passphrase, refusal, sign, standIn, unsigned } = yield* signing()
      const native = nativeContract(passphrase)
      const transfer = (amount: bigint) => {
        const args = [addressValue(address), addressValue(receiver), amountValue(amount)]
        const tree = invocation(counterContract, "transfer", args, [invocation(native, "transfer", args)])
        return unsigned([callOf("transfer", args, { auth: [sourceEntry(tree)] })], { resourceFee: 50_000n })
      }
      // The provider says that the call takes three times what its authorization shows.
      const body = { jsonrpc: "2.0", id: 1, method: "simulateTransaction", params: { transaction: transfer(3n * xlm) } }
      const simulated = JSON.parse((yield* call(`${base}/rpc`, { method: "POST", body })).text)
      const [result] = simulated.result.results
      const lie = { ...simulated.result, results: [{ ...result, auth: [] }] }
      standIn.control({ faults: { provider: 0, set: { replaced: { simulateTransaction: lie } } } })
      const keyOf = (value: bigint) =>
        makeKey(["transactions:sign"], { transaction_limits: { stellar: { max_value: String(value) } } })
      assert.match(yield* refusal(transfer(xlm), { key: yield* keyOf(3n * xlm - 1n) }), /^400 .*balance_change/)
      const answer = yield* sign(transfer(xlm), { key: yield* keyOf(3n * xlm) })
      assert.strictEqual(answer.status, 200, answer.text)
    })
  )

  it.effect("counts for a key with a max_value the reserve that the network has voted, if that was read", () =>
    Effect.gen(function* () {
      const { refusal, sign, unsigned } = yield* signing({ voted: { ...publicVote, baseReserve: 3n * xlm } })
      const keyOf = (value: bigint) =>
        makeKey(["transactions:sign"], { transaction_limits: { stellar: { max_value: String(value) } } })
      assert.strictEqual((yield* sign(unsigned([payment(receiver, 1n)]))).status, 200)
      const line = unsigned([Operation.changeTrust({ asset: new Asset("USD", receiver.publicKey()) })])
      assert.match(yield* refusal(line, { key: yield* keyOf(3n * xlm - 1n) }), /^403 .*max_value/)
      const answer = yield* sign(line, { key: yield* keyOf(3n * xlm) })
      assert.strictEqual(answer.status, 200, answer.text)
    })
  )

  it.effect("takes a call whose authorizations it contains", () =>
    Effect.gen(function* () {
      const { account, address, network, passphrase, sign, unsigned } = yield* signing()
      const native = nativeContract(passphrase)
      const args = [addressValue(address), addressValue(receiver), amountValue(xlm)]
      const tree = invocation(counterContract, "transfer", args, [invocation(native, "transfer", args)])
      const text = unsigned([callOf("transfer", args, { auth: [sourceEntry(tree)] })], { resourceFee: 50_000n })
      const answer = yield* sign(text)
      assert.strictEqual(answer.status, 200, answer.text)
      network.submit(0, signed(answer).signedXdr)
      network.close()
      assert.strictEqual(account(receiver.publicKey())?.balance, 11n * xlm)
    })
  )
})
