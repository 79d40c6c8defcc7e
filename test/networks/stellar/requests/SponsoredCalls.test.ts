// Calls of contracts whose users pay in a token: quote, build, send and signature. The forwarder is one of the stand-in ledger.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { authorizeEntry, Operation, xdr } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { call as callOf, keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import {
  counterContract,
  forwarderContract,
  nativeContract,
  tokenContract
} from "../../../../testkit/stellar/Contracts.ts"
import { keyOf } from "../../../../testkit/stellar/Entries.ts"
import { fields, heldBy, hold, policies, signedEntry } from "../../../../testkit/stellar/Forwards.ts"
import { dataOf, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]

interface Built {
  readonly transaction: string
  readonly fee_in_token: string
  readonly fee_in_stroops: string
  readonly max_fee_in_token: string
  readonly user_auth_entry: string
}

const builtOf = ({ json, text }: TestApi.Answer) => {
  const built = json.data as Built | undefined
  if (built?.user_auth_entry === undefined) throw new Error(text)
  return built
}

const invoke = (function_name: string, args: ReadonlyArray<object> = []) => ({
  operations: [{ type: "invoke_contract", contract_address: counterContract, function_name, args }],
  source_account: user.publicKey(),
  fee_token: tokenContract
})

const counting = invoke("increment")

/** A call that needs the user's authorization below that of the forward. */
const moving = invoke("transfer", [
  { address: user.publicKey() },
  { address: receiver.publicKey() },
  { i128: { hi: "0", lo: String(xlm) } }
])

/** A relayer whose user has 1,000,000 units of the token. */
const sponsoring = Effect.fnUntraced(function* (more: object = {}, given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt({ policies: { ...policies, ...more }, fields, ...given })
  const { id, network, passphrase, path } = relayer
  for (const key of [user, receiver]) network.grant(key.publicKey(), 10n * xlm)
  hold(network, user.publicKey(), 1_000_000n)
  const { call } = yield* TestApi.TestApi
  const ask = (what: "quote" | "build") => (body: object) => call(`${path}/sponsored/${what}`, { method: "POST", body })
  const sign = (entry: string, change?: Parameters<typeof signedEntry>[3]) =>
    signedEntry(user, entry, passphrase, change)
  const change = (body: object) => call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { policies: body } })
  /** A build with the signature of its user. */
  const signedBuild = Effect.fnUntraced(function* (body: object = counting) {
    const { transaction: transaction_xdr, user_auth_entry } = builtOf(yield* ask("build")(body))
    return { transaction_xdr, signed_auth_entry: yield* sign(user_auth_entry) }
  })
  const counted = () => {
    const counter = network.reads.get(keyOf.counter)
    return counter?.kind === "counter" ? counter.value : 0
  }
  return { ...relayer, quote: ask("quote"), build: ask("build"), sign, signedBuild, change, counted }
})

layer(api, { excludeTestServices: true, concurrent: true })("a call of a contract whose user pays in a token", (it) => {
  it.effect("is quoted, built, signed by its user, sent and confirmed", () =>
    Effect.gen(function* () {
      const { account, address, becomes, build, counted, network, quote, send, sign } = yield* sponsoring({
        fee_margin_percentage: 10
      })
      const quoted = yield* quote(counting)
      assert.strictEqual(quoted.status, 200, quoted.text)
      // 57,500 stroops for resources and 100 for inclusion, 10 % more, at three units per hundred stroops.
      assert.deepStrictEqual(quoted.json.data, {
        fee_in_token: "1901",
        fee_in_token_ui: "0.001901",
        max_fee_in_token: "1921",
        max_fee_in_token_ui: "0.001921",
        conversion_rate: "0.3"
      })
      const path = "post /api/v1/relayers/{relayer_id}/transactions/sponsored"
      assert.deepStrictEqual(Documented.faultsOf(`${path}/quote`, quoted), [])
      const answer = yield* build(counting)
      assert.deepStrictEqual(Documented.faultsOf(`${path}/build`, answer), [])
      const built = builtOf(answer)
      assert.deepStrictEqual(
        [built.fee_in_token, built.max_fee_in_token, built.fee_in_stroops],
        ["1901", "1921", "63360"]
      )
      const before = account(user.publicKey())?.balance
      const sent = yield* send({
        transaction_xdr: built.transaction,
        signed_auth_entry: yield* sign(built.user_auth_entry)
      })
      assert.strictEqual(sent.status, 200, sent.text)
      const confirmed = yield* becomes(dataOf(sent).id, "confirmed")
      assert.deepStrictEqual([confirmed.source_account, confirmed.fee], [address, Number(confirmed.fee_paid)])
      assert.strictEqual(counted(), 1)
      assert.deepStrictEqual([heldBy(network, address), heldBy(network, user.publicKey())], [1901n, 998_099n])
      assert.strictEqual(account(user.publicKey())?.balance, before)
    })
  )

  it.effect("acts for its user as far as the user signs it, also in an envelope that the user made", () =>
    Effect.gen(function* () {
      const { account, address, becomes, network, passphrase, send, signedBuild } = yield* sponsoring()
      const { id } = dataOf(yield* send(yield* signedBuild(moving)))
      yield* becomes(id, "confirmed")
      assert.strictEqual(account(receiver.publicKey())?.balance, 11n * xlm)
      const transaction_xdr = transaction(user, [callOf("increment")], { sequence: 1n, network: passphrase }).toXDR()
      const { id: second } = dataOf(yield* send(yield* signedBuild({ transaction_xdr, fee_token: tokenContract })))
      yield* becomes(second, "confirmed")
      assert.isAbove(Number(heldBy(network, address)), 2 * 1700)
    })
  )

  it.effect("uses the channels of its relayer", () =>
    Effect.gen(function* () {
      const { becomes, counted, send, signedBuild } = yield* sponsoring({
        channels: { count: 2 },
        concurrent_transactions: true
      })
      const sent = yield* Effect.forEach([1, 2, 3], () => Effect.flatMap(signedBuild(), send))
      for (const answer of sent) yield* becomes(dataOf(answer).id, "confirmed")
      assert.strictEqual(counted(), 3)
    })
  )

  it.effect("row 37: is refused if the service has not built it, or if more than the signature was added", () =>
    Effect.gen(function* () {
      const relayer = yield* sponsoring({}, { ledgerMs: 0 })
      const { address, build, passphrase, path, send, sign, signedBuild } = relayer
      const { transaction: built, user_auth_entry } = builtOf(yield* build(counting))
      const entry = yield* sign(user_auth_entry)
      const another = yield* signedBuild()
      const foreign = yield* (yield* sponsoring({}, { ledgerMs: 0 })).signedBuild()
      const own = transaction(address, [callOf("forward", [], { contract: forwarderContract })], {
        sequence: 1n,
        network: passphrase
      }).toXDR()
      const changed = yield* sign(
        user_auth_entry,
        ({ credentials, rootInvocation }) =>
          new xdr.SorobanAuthorizationEntry({
            credentials,
            rootInvocation: new xdr.SorobanAuthorizedInvocation({
              function: rootInvocation.function,
              subInvocations: []
            })
          })
      )
      const notBuilt = "transaction_xdr: not_built_here"
      const cases: ReadonlyArray<readonly [body: object, expected: string]> = [
        [{ signed_auth_entry: entry }, "Must provide either operations or transaction_xdr"],
        [{ transaction_xdr: built, signed_auth_entry: entry, fee_bump: true }, "Cannot use both signed_auth_entry and"],
        [{ transaction_xdr: own, signed_auth_entry: entry }, notBuilt],
        [{ ...foreign }, notBuilt],
        [{ transaction_xdr: "", signed_auth_entry: entry }, "transaction_xdr: xdr_encoding"],
        [{ transaction_xdr: built, signed_auth_entry: another.signed_auth_entry }, "signed_auth_entry: not_built_here"],
        [{ transaction_xdr: built, signed_auth_entry: changed }, "signed_auth_entry: not_built_here"],
        [{ transaction_xdr: built, signed_auth_entry: user_auth_entry }, "signed_auth_entry: xdr_unsigned"],
        [{ transaction_xdr: built, signed_auth_entry: `${entry}AAAA` }, "signed_auth_entry: xdr_invalid"],
        [{ transaction_xdr: built, signed_auth_entry: "" }, "signed_auth_entry: xdr_invalid"],
        [{ transaction_xdr: built, signed_auth_entry: entry, restore_footprint: true }, "restore_footprint: cannot be"],
        [{ transaction_xdr: built, signed_auth_entry: entry, sequence: "7" }, "sequence: cannot be given"],
        [{ transaction_xdr: built, signed_auth_entry: entry, valid_until: "2099-01-01T00:00:00Z" }, "valid_until"],
        [{ transaction_xdr: built }, "transaction_xdr: sponsoring_only"]
      ]
      for (const [body, expected] of cases) {
        const { json, status, text } = yield* send(body)
        assert.strictEqual(status, 400, `${expected} ${text}`)
        assert.include(json.error ?? "", expected)
      }
      // The policy has changed since the build, which is valid for two minutes.
      yield* relayer.change({ sponsor_time_limit_seconds: 15 })
      const long = yield* send({ transaction_xdr: built, signed_auth_entry: entry })
      assert.include(long.json.error ?? "", "transaction_xdr: time_bounds_too_long")
      const { call } = yield* TestApi.TestApi
      assert.deepStrictEqual((yield* call(path)).json.data, [])
      yield* relayer.change({ sponsor_time_limit_seconds: 120 })
      assert.strictEqual((yield* send({ transaction_xdr: built, signed_auth_entry: entry })).status, 200)
    })
  )

  it.effect("is accepted once, cannot be replaced, and simulates as it is sent", () =>
    Effect.gen(function* () {
      const { id: relayer, path, send, signedBuild } = yield* sponsoring({}, { ledgerMs: 0 })
      const { call } = yield* TestApi.TestApi
      const built = yield* signedBuild()
      const simulated = yield* call(`${path}/simulate`, { method: "POST", body: { network: relayer, ...built } })
      assert.strictEqual(simulated.status, 200, simulated.text)
      const { id } = dataOf(yield* send(built))
      const second = yield* send({ ...built, external_id: "two" })
      assert.strictEqual(second.status, 409, second.text)
      assert.deepStrictEqual([second.json.error?.includes(id), dataOf(yield* send(built)).id], [true, id])
      const replaced = yield* call(`${path}/${id}`, { method: "PUT", body: { network: relayer, ...built } })
      assert.strictEqual(replaced.status, 400)
      assert.include(replaced.json.error ?? "", "signed_auth_entry: a replacement cannot be")
    })
  )

  it.effect("is not subject to the limits of an API key, neither in a simulation nor in a send", () =>
    Effect.gen(function* () {
      const { address, id: relayer, path, send, signedBuild } = yield* sponsoring({}, { ledgerMs: 0 })
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(["transactions:read", "transactions:write"], {
        transaction_limits: { stellar: { max_value: "0", receivers: [address] } }
      })
      const built = yield* signedBuild()
      const body = { network: relayer, ...built }
      const simulated = yield* call(`${path}/simulate`, { method: "POST", body, key })
      assert.strictEqual(simulated.status, 200, simulated.text)
      assert.deepStrictEqual((simulated.json.data as { readonly verdict: ReadonlyArray<string> }).verdict, [])
      assert.strictEqual((yield* send(built, { key })).status, 200)
    })
  )

  it.effect(
    "ends before the first signature if the price rose, the token is gone, or the signature is of another network",
    () =>
      Effect.gen(function* () {
        const { account, becomes, build, change, passphrase, send, signedBuild } = yield* sponsoring()
        const before = account()?.balance
        const priced = (units: number) => ({
          allowed_tokens: [{ asset: tokenContract, price: { units, native: 100 } }]
        })
        const ends = Effect.fnUntraced(function* (body: object, code: string) {
          const failed = yield* becomes(dataOf(yield* send(body)).id, "failed")
          assert.deepStrictEqual([failed.code, failed.attempts ?? []], [code, []])
        })
        const [first, second, third] = [yield* signedBuild(), yield* signedBuild(), yield* signedBuild()]
        const { transaction: transaction_xdr, user_auth_entry } = builtOf(yield* build(counting))
        const signed_auth_entry = yield* signedEntry(user, user_auth_entry, "Another network")
        yield* ends({ transaction_xdr, signed_auth_entry }, "would_fail")
        yield* change(priced(6))
        yield* ends(first, "payment_insufficient")
        yield* change({ allowed_tokens: [{ ...priced(3).allowed_tokens[0], asset: nativeContract(passphrase) }] })
        yield* ends(second, "payment_insufficient")
        yield* change({ ...priced(3), fee_payment_strategy: "relayer" })
        yield* ends(third, "policy_changed")
        assert.strictEqual(account()?.balance, before)
      })
  )

  it.effect("is refused with the field that is wrong", () =>
    Effect.gen(function* () {
      const { address, build, id, passphrase, quote } = yield* sponsoring({}, { ledgerMs: 0 })
      const { call } = yield* TestApi.TestApi
      const native = nativeContract(passphrase)
      const [allowed] = policies.allowed_tokens
      yield* call(`/api/v1/relayers/${id}`, {
        method: "PATCH",
        body: {
          policies: {
            allowed_tokens: [
              allowed,
              { ...allowed, asset: native },
              { ...allowed, asset: counterContract },
              { ...allowed, asset: `USD:${user.publicKey()}` }
            ]
          }
        }
      })
      const by = (...operations: Parameters<typeof transaction>[1]) => ({
        transaction_xdr: transaction(user, operations, { sequence: 1n, network: passphrase }).toXDR(),
        fee_token: tokenContract
      })
      const cases: ReadonlyArray<readonly [body: object, expected: string]> = [
        [{ ...counting, fee_token: native }, "fee_token: is XLM"],
        [{ ...counting, fee_token: `USD:${user.publicKey()}` }, "fee_token: expected the contract of a token"],
        [{ ...counting, fee_token: counterContract }, "fee_token: is not the contract of a token"],
        [{ ...counting, fee_token: forwarderContract }, "fee_token: is not in allowed_tokens"],
        [by(payment(receiver, 1n)), "fee_token: expected CODE:ISSUER"],
        [{ ...counting, source_account: address }, "operations: source_is_own"],
        [invoke("fail"), "operations: would_fail"],
        [by(Operation.restoreFootprint({})), "transaction_xdr: operation_not_allowed"],
        [by(callOf("increment", [], { source: receiver })), "transaction_xdr: operation_not_allowed"],
        [by(callOf("increment"), payment(receiver, 1n)), "transaction_xdr: soroban_not_alone"],
        // A call that acts for somebody else than the user.
        [
          invoke("transfer", [{ address: address }, { address: receiver.publicKey() }, { i128: { hi: "0", lo: "5" } }]),
          "operations: auth_not_granted"
        ]
      ]
      for (const ask of [quote, build]) {
        for (const [body, expected] of cases) {
          const { json, status, text } = yield* ask(body)
          assert.strictEqual(status, 400, `${expected} ${text}`)
          assert.include(json.error ?? "", expected)
        }
      }
    })
  )

  it.effect("restores archived entries itself, and its user pays for that", () =>
    Effect.gen(function* () {
      const { becomes, counted, network, send, signedBuild } = yield* sponsoring()
      network.put(keyOf.counter, { kind: "counter", value: 1, isArchived: true })
      const { id } = dataOf(yield* send(yield* signedBuild()))
      yield* becomes(id, "confirmed")
      assert.strictEqual(counted(), 2)
    })
  )

  it.effect("is signed by its user with the credentials that the simulation records, also those of protocol 27", () =>
    Effect.gen(function* () {
      const { becomes, build, counted, passphrase, send, standIn } = yield* sponsoring()
      standIn.control({ faults: { provider: 0, set: { script: { isV2: true } } } })
      const { transaction: transaction_xdr, user_auth_entry } = builtOf(yield* build(counting))
      const entry = xdr.SorobanAuthorizationEntry.fromXdr(user_auth_entry, "base64")
      if (entry.credentials.type !== "sorobanCredentialsAddressV2") return assert.fail(entry.credentials.type)
      const until = entry.credentials.addressV2.signatureExpirationLedger
      const signed = yield* Effect.promise(() => authorizeEntry(entry, user, until, passphrase))
      const sent = yield* send({ transaction_xdr, signed_auth_entry: signed.toXdr("base64") })
      assert.strictEqual(sent.status, 200, sent.text)
      yield* becomes(dataOf(sent).id, "confirmed")
      assert.strictEqual(counted(), 1)
    })
  )

  it.effect("is only built for a user who can pay, and only on a network with a forwarder", () =>
    Effect.gen(function* () {
      const { build, network, quote } = yield* sponsoring({}, { ledgerMs: 0 })
      hold(network, user.publicKey(), 1n)
      assert.strictEqual((yield* quote(counting)).status, 200)
      assert.include((yield* build(counting)).json.error ?? "", "operations: would_fail")
      const without = yield* sponsoring({}, { ledgerMs: 0, fields: {} })
      const { json } = yield* without.build(counting)
      assert.include(json.error ?? "", "operations: not_configured: the network has no")
    })
  )
})
