// Transactions of stellar whose users pay the fee in a token: quote, build, send and signature. Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Memo } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { call as callOf, envelope, keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import {
  allowClawback,
  creditName,
  creditOf,
  issuer,
  payCredit,
  policies,
  signedBy,
  trust
} from "../../../../testkit/stellar/Credits.ts"
import { dataOf, pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]

const soon = () => Math.floor((performance.timeOrigin + performance.now()) / 1000) + 100

interface Built {
  readonly transaction: string
  readonly fee_in_token: string
  readonly fee_in_stroops: string
  readonly valid_until: string
}

const builtOf = ({ json }: TestApi.Answer) => json.data as Built

/** A relayer whose user has 1,000,000 units of the credit. The relayer can receive it. */
const sponsoring = Effect.fnUntraced(function* (more: object = {}, given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt({ policies: { ...policies, ...more }, ...given })
  const { address, network, passphrase, path } = relayer
  for (const key of [user, receiver, issuer]) network.grant(key.publicKey(), 10n * xlm)
  trust(network, user.publicKey(), 1_000_000n)
  trust(network, address, 0n)
  const { call } = yield* TestApi.TestApi
  const ask =
    (what: "quote" | "build") =>
    (body: object, more: TestApi.Call = {}) =>
      call(`${path}/sponsored/${what}`, { ...more, method: "POST", body })
  const sign = (text: string) => signedBy(user, text, passphrase)
  const sequence = () => (relayer.account(user.publicKey())?.sequence ?? 0n) + 1n
  /** An envelope that the user makes and signs without the endpoint `build`. */
  const own = (...operations: Parameters<typeof envelope>[1]) =>
    envelope(user, operations, { sequence: sequence(), maxTime: soon(), network: passphrase })
  return { ...relayer, quote: ask("quote"), build: ask("build"), sign, own, sequence }
})

const wanted = { ...pay(receiver.publicKey(), xlm), source_account: user.publicKey(), fee_token: creditName }

layer(api, { excludeTestServices: true, concurrent: true })("a transaction whose user pays in a token", (it) => {
  it.effect("is quoted, built from operations, signed by its user, sent and confirmed", () =>
    Effect.gen(function* () {
      const { account, address, becomes, build, network, quote, send, sign } = yield* sponsoring({
        fee_margin_percentage: 10
      })
      const quoted = yield* quote(wanted)
      assert.strictEqual(quoted.status, 200, quoted.text)
      // Three operations at 100 stroops, 10 % more, at three units per hundred stroops.
      assert.deepStrictEqual(quoted.json.data, {
        fee_in_token: "10",
        fee_in_token_ui: "0.000001",
        conversion_rate: "0.03"
      })
      const path = "post /api/v1/relayers/{relayer_id}/transactions/sponsored"
      assert.deepStrictEqual(Documented.faultsOf(`${path}/quote`, quoted), [])
      const answer = yield* build(wanted)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(Documented.faultsOf(`${path}/build`, answer), [])
      const built = builtOf(answer)
      assert.deepStrictEqual([built.fee_in_token, built.fee_in_stroops], ["10", "330"])
      const sent = yield* send({ transaction_xdr: sign(built.transaction), fee_bump: true })
      assert.strictEqual(sent.status, 200, sent.text)
      const confirmed = yield* becomes(dataOf(sent).id, "confirmed")
      assert.deepStrictEqual([confirmed.fee_paid, confirmed.source_account], ["300", user.publicKey()])
      assert.strictEqual(creditOf(network, address), 10n)
      assert.strictEqual(creditOf(network, user.publicKey()), 999_990n)
      assert.strictEqual(account(user.publicKey())?.balance, 9n * xlm)
    })
  )

  it.effect("is built from an envelope, whose memo stays, and whose sequence, fee and signatures do not", () =>
    Effect.gen(function* () {
      const { becomes, build, passphrase, send, sequence, sign } = yield* sponsoring()
      const given = { sequence: 1n, network: passphrase, fee: 5000n, memo: Memo.text("rent"), signers: [user] }
      const transaction_xdr = transaction(user, [payment(receiver, xlm)], given).toXDR()
      const built = builtOf(yield* build({ transaction_xdr, fee_token: creditName }))
      const at = sequence()
      const sent = yield* send({ transaction_xdr: sign(built.transaction), fee_bump: true })
      assert.strictEqual(sent.status, 200, sent.text)
      assert.strictEqual((yield* becomes(dataOf(sent).id, "confirmed")).sequence_number, String(at))
      assert.include(Buffer.from(built.transaction, "base64").toString("latin1"), "rent")
    })
  )

  it.effect("ends before the first signature if nothing that it pays counts, or if it pays too little", () =>
    Effect.gen(function* () {
      const { address, account, becomes, own, send } = yield* sponsoring()
      const before = account()?.balance
      const cases: ReadonlyArray<readonly [body: string, code: string]> = [
        [own(payment(receiver, 1n)), "payment_insufficient"],
        [own(payment(receiver, 1n), payCredit(address, 8n)), "payment_insufficient"],
        [own(payment(receiver, 1n), payCredit(address, 1_000_001n)), "payment_insufficient"]
      ]
      for (const [transaction_xdr, code] of cases) {
        const sent = yield* send({ transaction_xdr, fee_bump: true })
        assert.strictEqual(sent.status, 200, sent.text)
        const failed = yield* becomes(dataOf(sent).id, "failed")
        assert.deepStrictEqual([failed.code, failed.attempts ?? []], [code, []])
      }
      assert.strictEqual(account()?.balance, before)
    })
  )

  it.effect("is simulated with the same verdict, and may pay less by the slippage", () =>
    Effect.gen(function* () {
      const { address, becomes, own, path, send } = yield* sponsoring({ slippage_percentage: 20 })
      const { call } = yield* TestApi.TestApi
      const simulate = (text: string) =>
        call(`${path}/simulate`, {
          method: "POST",
          body: { network: path.split("/")[4], transaction_xdr: text, fee_bump: true }
        })
      const low = yield* simulate(own(payment(receiver, 1n), payCredit(address, 7n)))
      assert.strictEqual(low.status, 400, low.text)
      assert.include(low.json.error ?? "", "transaction_xdr: payment_insufficient: the payment is 7 units")
      const enough = own(payment(receiver, 1n), payCredit(address, 8n))
      assert.strictEqual((yield* simulate(enough)).status, 200)
      yield* becomes(dataOf(yield* send({ transaction_xdr: enough, fee_bump: true })).id, "confirmed")
    })
  )

  it.effect("is verified at the price of the signature, not of the build (trace 40)", () =>
    Effect.gen(function* () {
      const { account, becomes, build, id, path, send, sign } = yield* sponsoring()
      const { call } = yield* TestApi.TestApi
      const built = builtOf(yield* build(wanted))
      const doubled = [{ asset: creditName, price: { units: 6, native: 100 } }]
      yield* call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { policies: { allowed_tokens: doubled } } })
      const before = account()?.balance
      const sent = yield* send({ transaction_xdr: sign(built.transaction), fee_bump: true })
      assert.strictEqual((yield* becomes(dataOf(sent).id, "failed")).code, "payment_insufficient")
      assert.strictEqual(account()?.balance, before)
      const explained = yield* call(`${path}/${dataOf(sent).id}/explain`)
      assert.include(explained.text, "at least 18 are needed at the present price")
    })
  )

  it.effect("waits without a price, and quote and build answer 502", () =>
    Effect.gen(function* () {
      const { address, becomes, build, get, id, own, quote, send } = yield* sponsoring()
      const { call } = yield* TestApi.TestApi
      const tokens = (more: object) =>
        call(`/api/v1/relayers/${id}`, {
          method: "PATCH",
          body: { policies: { allowed_tokens: [{ asset: creditName, ...more }] } }
        })
      const price = { units: 3, native: 100 }
      const bounds = { min: { units: 2, native: 100 }, max: { units: 1, native: 100 } }
      for (const given of [{ price: null }, { price, price_bounds: bounds }]) {
        yield* tokens(given)
        for (const ask of [quote, build]) {
          const { json, status } = yield* ask(wanted)
          assert.strictEqual(status, 502)
          assert.include(json.error ?? "", "price_unavailable")
        }
      }
      const { id: waiting } = dataOf(
        yield* send({ transaction_xdr: own(payment(receiver, 1n), payCredit(address, 9n)), fee_bump: true })
      )
      yield* until(
        "price_unavailable",
        Effect.map(get(waiting), (shown) => (shown.code === "price_unavailable" ? shown : undefined))
      )
      yield* tokens({ price })
      yield* becomes(waiting, "confirmed")
    })
  )

  it.effect("is not built or signed if its issuer can take the payment back", () =>
    Effect.gen(function* () {
      const { address, becomes, build, network, own, quote, send } = yield* sponsoring()
      allowClawback(network)
      for (const ask of [quote, build]) {
        const { json, status } = yield* ask(wanted)
        assert.strictEqual(status, 400)
        assert.include(json.error ?? "", "fee_token: fee_token_clawback")
      }
      const { id } = dataOf(
        yield* send({ transaction_xdr: own(payment(receiver, 1n), payCredit(address, 9n)), fee_bump: true })
      )
      assert.strictEqual((yield* becomes(id, "failed")).code, "fee_token_clawback")
    })
  )

  it.effect("is refused with the field that is wrong", () =>
    Effect.gen(function* () {
      const { address, build, passphrase, quote } = yield* sponsoring({ max_fee: 400 }, { ledgerMs: 0 })
      const xdr = (...operations: Parameters<typeof transaction>[1]) =>
        transaction(user, operations, { sequence: 1n, network: passphrase }).toXDR()
      const by = (transaction_xdr: string) => ({ transaction_xdr, fee_token: creditName })
      const { fee_token, operations, source_account } = wanted
      const paid = payment(receiver, 1n)
      const cases: ReadonlyArray<readonly [body: object, expected: string]> = [
        [{ operations, source_account }, "fee_token"],
        [{ ...wanted, fee_token: "native" }, "fee_token: is XLM"],
        [{ ...wanted, fee_token: "XLM" }, "fee_token: is XLM"],
        [{ ...wanted, fee_token: `USD:${user.publicKey()}` }, "fee_token: is not in allowed_tokens"],
        [{ ...wanted, unknown: 1 }, "unknown"],
        [{ ...wanted, transaction_xdr: xdr(paid) }, "operations: Cannot provide both"],
        [{ fee_token }, "operations: Must provide either"],
        [{ operations, fee_token }, "source_account: is required"],
        [{ ...wanted, source_account: "S" }, "source_account"],
        [{ ...wanted, operations: [] }, "operations: Transaction must have at least one operation"],
        [{ ...wanted, operations: Array.from({ length: 100 }, () => operations[0]) }, "operations: fee_above_cap"],
        [{ ...wanted, source_account: address }, "source_is_own"],
        [{ ...wanted, source_account: keyNamed("nobody").publicKey() }, "operations: no_account"],
        [{ ...by(xdr(paid)), source_account: receiver.publicKey() }, "source_account: must be the source"],
        [by(""), "transaction_xdr: xdr_encoding"],
        [by(xdr(payment(receiver, 1n, address))), "transaction_xdr: operation_source"],
        [by(xdr(payCredit(address, 1n))), "transaction_xdr: payment_insufficient"],
        [by(xdr(callOf("increment"))), "transaction_xdr: not_configured"],
        [by(xdr(paid, paid, paid)), "transaction_xdr: fee_above_cap: costs 500 stroops; max_fee of the policy is 400"]
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

  it.effect("costs at most what the token allows, and is only built for a user who can pay", () =>
    Effect.gen(function* () {
      const { build, quote } = yield* sponsoring(
        { allowed_tokens: [{ ...policies.allowed_tokens[0], max_allowed_fee: 8 }] },
        { ledgerMs: 0 }
      )
      assert.include((yield* quote(wanted)).json.error ?? "", "fee_above_cap: costs 9 units")
      const poor = yield* sponsoring({}, { ledgerMs: 0 })
      trust(poor.network, user.publicKey(), 8n)
      assert.strictEqual((yield* poor.quote(wanted)).status, 200)
      assert.include((yield* poor.build(wanted)).json.error ?? "", "operations: payment_insufficient")
      assert.strictEqual((yield* build(wanted)).status, 400)
    })
  )

  it.effect("needs a policy in which users pay, a relayer that is not paused, and a key without foreign limits", () =>
    Effect.gen(function* () {
      const relayer = yield* sponsoring({ fee_payment_strategy: "relayer" }, { ledgerMs: 0 })
      assert.include((yield* relayer.quote(wanted)).json.error ?? "", "fee_token: cannot be used while")
      const { build, id } = yield* sponsoring({}, { ledgerMs: 0 })
      const { call } = yield* TestApi.TestApi
      const limited = yield* makeKey(["transactions:read"], { transaction_limits: { max_value: "1" } })
      assert.strictEqual((yield* build(wanted, { key: limited })).status, 403)
      yield* call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { paused: true } })
      assert.strictEqual((yield* build(wanted)).status, 403)
    })
  )

  it.effect("lives as long as the policy says, and 120 seconds at most", () =>
    Effect.gen(function* () {
      const { address, id, own, passphrase, send, sequence } = yield* sponsoring({}, { ledgerMs: 0 })
      const lasting = (seconds: number) =>
        envelope(user, [payment(receiver, 1n), payCredit(address, 9n)], {
          sequence: sequence(),
          maxTime: soon() - 100 + seconds,
          network: passphrase
        })
      const long = yield* send({ transaction_xdr: lasting(130), fee_bump: true })
      assert.include(long.json.error ?? "", "time_bounds_too_long: maxTime must be at most 120 seconds ahead")
      const { call } = yield* TestApi.TestApi
      yield* call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { policies: { sponsor_time_limit_seconds: 60 } } })
      const longer = yield* send({ transaction_xdr: own(payment(receiver, 1n)), fee_bump: true })
      assert.include(longer.json.error ?? "", "maxTime must be at most 60 seconds ahead")
    })
  )
})
