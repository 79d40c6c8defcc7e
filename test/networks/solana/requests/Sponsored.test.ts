// Transactions of solana whose users pay the fee in a token: quote, build, send and signature.
// The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import { nativeToken } from "../../../../src/networks/solana/rules/Guard.ts"
import { token2022Program } from "../../../../src/networks/solana/rules/Programs.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import type * as TestApi from "../../../../testkit/TestApi.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { receiver, sol } from "../lane/World.ts"
import * as Paying from "./Paying.ts"
import { accountOf, fee, mint, policies, signedByUser, token, user, wanted } from "./Paying.ts"
import { api, dataOf, recent, relayerAt } from "./Relayers.ts"

const quote = "/transactions/sponsored/quote"
const build = "/transactions/sponsored/build"

interface Built {
  readonly transaction: string
  readonly fee_in_spl: string
  readonly fee_in_lamports: string
  readonly valid_until_blockheight: number
}

const builtOf = ({ json }: TestApi.Answer) => json.data as Built

const body = (text = "hello", fee_token = mint) => ({ transaction: wanted(text), fee_token })

const sponsoring = Effect.fnUntraced(function* (more: object = {}) {
  const relayer = yield* relayerAt({ ...policies, ...more })
  Paying.prepare(relayer.cluster, relayer.address)
  const balanceOf = (wallet: string) => Tokens.amountOf(relayer.cluster.accountOf(accountOf(wallet)))
  return { ...relayer, balanceOf }
})

layer(api, { excludeTestServices: true, concurrent: true })("a transaction whose user pays in a token", (it) => {
  it.effect("is quoted, built, signed by a user without lamports, sent and confirmed", () =>
    Effect.gen(function* () {
      const { address, balanceOf, becomes, cluster, post, send } = yield* sponsoring({ fee_margin_percentage: 10 })
      const quoted = yield* post(quote, body())
      assert.strictEqual(quoted.status, 200, quoted.text)
      assert.deepStrictEqual(quoted.json.data, { estimated_fee: "0.00165", conversion_rate: "150" })
      const path = "post /api/v1/relayers/{relayer_id}/transactions/sponsored"
      assert.deepStrictEqual(Documented.faultsOf(`${path}/quote`, quoted), [])
      const answer = yield* post(build, body())
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(Documented.faultsOf(`${path}/build`, answer), [])
      const built = builtOf(answer)
      assert.deepStrictEqual([built.fee_in_spl, built.fee_in_lamports], ["1650", "11000"])
      assert.isAbove(built.valid_until_blockheight, cluster.blocks.length)

      const sent = yield* send({ transaction: signedByUser(built.transaction) })
      assert.strictEqual(sent.status, 200, sent.text)
      const { fee_paid } = yield* becomes(dataOf(sent).id, "confirmed")
      assert.strictEqual(fee_paid, String(fee.lamports))
      assert.strictEqual(cluster.balanceOf(user), 0n)
      assert.strictEqual(cluster.balanceOf(address), 10n * sol - fee.lamports)
      assert.strictEqual(balanceOf(address), 1650n)
    })
  )

  it.effect("is signed without being sent, under the same rules", () =>
    Effect.gen(function* () {
      const { address, cluster, post } = yield* sponsoring()
      const paid = (amount: bigint) =>
        Paying.paying({ relayer: address, blockhash: recent(cluster), amount, text: `${amount}` })
      const low = yield* post("/sign-transaction", { transaction: paid(fee.units - 16n) })
      assert.strictEqual(low.status, 400)
      assert.include(low.json.error ?? "", "payment_missing: it pays 1484 units")
      const enough = yield* post("/sign-transaction", { transaction: paid(fee.units - 15n) })
      assert.strictEqual(enough.status, 200, enough.text)
    })
  )

  it.effect("pays in SOL by a transfer to the relayer", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, post, send } = yield* sponsoring({ allowed_tokens: [{ mint: nativeToken }] })
      cluster.fund(user, sol)
      const built = builtOf(yield* post(build, body("sol", nativeToken)))
      assert.strictEqual(built.fee_in_spl, "10000")
      const { id } = dataOf(yield* send({ transaction: signedByUser(built.transaction) }))
      yield* becomes(id, "confirmed")
      assert.strictEqual(cluster.balanceOf(address), 10n * sol)
      assert.strictEqual(cluster.balanceOf(user), sol - fee.lamports)
    })
  )

  it.effect("is not built if the payment could not count, and the answer names the field", () =>
    Effect.gen(function* () {
      const { address, cluster, post, relayer, call } = yield* sponsoring()
      const policy = (changed: object) =>
        call(relayer, { method: "PATCH", body: { policies: { ...policies, ...changed } } })
      const refused = Effect.fnUntraced(function* (given: object, text: string, status = 400) {
        for (const suffix of [quote, build]) {
          const { json, status: found } = yield* post(suffix, given)
          assert.strictEqual(found, status, `${suffix} ${text}`)
          assert.include(json.error ?? "", text)
        }
      })
      yield* refused({}, "transaction: is required")
      yield* refused({ ...body(), fee_token: receiver }, "fee_token: is not in allowed_tokens")
      yield* refused({ ...body(), transaction: wanted("x", address) }, "transaction: fee_payer_mismatch")
      yield* refused({ ...body(), transaction: "AQAAAA==" }, "transaction: malformed")
      yield* policy({ allowed_tokens: [{ ...token, decimals: 9 }] })
      yield* refused(body(), "fee_token: " + mint + " has 6 decimals")
      yield* policy({ allowed_tokens: [{ ...token, max_allowed_fee: "1499" }] })
      yield* refused(body(), "fee_above_cap: costs 1500 units of the token; max_allowed_fee of the policy is 1499")
      yield* policy({ allowed_tokens: [{ mint }] })
      yield* refused(body(), `price_unavailable: the policy has no price for ${mint}`, 502)
      yield* policy({ fee_payment_strategy: "relayer" })
      yield* refused(body(), "fee_payment_strategy relayer")
      yield* policy({})
      cluster.put({ [accountOf(address)]: Tokens.holding({ mint, owner: address, amount: 0n, isFrozen: true }) })
      cluster.produce(2)
      yield* refused(body(), "fee_account_missing")
      cluster.put({ [accountOf(address)]: undefined })
      cluster.produce(2)
      yield* refused(body(), "fee_account_missing")
      const permanentDelegate = [[12, new Uint8Array(32)]] as const
      cluster.put({ [mint]: Tokens.mint({ decimals: 6, extensions: permanentDelegate }) })
      cluster.produce(2)
      yield* refused(body(), "has the extension permanent_delegate, which is not in allowed_extensions")
      const unknown = [[99, new Uint8Array(2)]] as const
      cluster.put({ [mint]: Tokens.mint({ decimals: 6, extensions: unknown }) })
      cluster.produce(2)
      yield* refused(body(), "has the extension unknown")
    })
  )

  it.effect("is paid in a token of Token-2022 whose extensions the policy allows", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, post, send } = yield* sponsoring({
        allowed_extensions: ["permanent_delegate"]
      })
      cluster.put({
        [mint]: Tokens.mint({ decimals: 6, extensions: [[12, new Uint8Array(32)]] }),
        [accountOf(user, token2022Program)]: Tokens.holding({
          mint,
          owner: user,
          amount: 5000n,
          program: token2022Program
        }),
        [accountOf(address, token2022Program)]: Tokens.holding({
          mint,
          owner: address,
          amount: 0n,
          program: token2022Program
        })
      })
      cluster.produce(2)
      const built = yield* post(build, body())
      assert.strictEqual(built.status, 200, built.text)
      const { id } = dataOf(yield* send({ transaction: signedByUser(builtOf(built).transaction) }))
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("is refused when it is sent if no instruction can be the payment", () =>
    Effect.gen(function* () {
      const { address, cluster, send, call, relayer } = yield* sponsoring()
      const blockhash = recent(cluster)
      const elsewhere = Paying.paying({ relayer: address, blockhash, amount: 5000n, to: accountOf(receiver) })
      const refused = Effect.fnUntraced(function* (given: object, text: string) {
        const { json, status } = yield* send(given)
        assert.strictEqual(status, 400, text)
        assert.include(json.error ?? "", text)
      })
      yield* refused({ transaction: elsewhere }, "transaction: payment_missing: expected a transfer of a token")
      const good = Paying.paying({ relayer: address, blockhash, amount: 5000n })
      yield* refused({ transaction: good, simulate: false }, "simulate: cannot be false")
      yield* call(relayer, { method: "PATCH", body: { policies: { allowed_tokens: [] } } })
      yield* refused({ transaction: good }, "the relayer's policy has fee_payment_strategy user and no allowed_tokens")
    })
  )

  it.effect("counts against the limits of the API key that sends it, or that gets it signed", () =>
    Effect.gen(function* () {
      const { address, becomes, call, cluster, path, post, send } = yield* sponsoring()
      const limited = (transaction_limits: object) =>
        makeKey(["transactions:*", "transactions:sign"], { transaction_limits })
      const none = yield* limited({ max_value: "1" })
      // Between one and two fees of a message with two signatures.
      const once = yield* limited({ solana: { max_value: "0", max_fee_per_day: "15000" } })
      const paid = (text: string) => ({
        transaction: Paying.paying({ relayer: address, blockhash: recent(cluster), amount: fee.units, text })
      })
      const refused = Effect.fnUntraced(function* (key: string, text: string) {
        for (const answer of [
          yield* send(paid(`send ${text}`), { key }),
          yield* post("/sign-transaction", paid(`sign ${text}`), { key })
        ]) {
          assert.strictEqual(answer.status, 403, answer.text)
          assert.include(answer.json.error ?? "", text)
        }
      })
      yield* refused(none, "transaction_limits.solana")
      const sent = yield* send(paid("allowed"), { key: once })
      assert.strictEqual(sent.status, 200, sent.text)
      yield* refused(once, "max_fee_per_day of the API key is 15000 lamports, of which 10000 are used")
      yield* becomes(dataOf(sent).id, "confirmed")
      const { json } = yield* call(path)
      assert.lengthOf(json.data as ReadonlyArray<unknown>, 1)
    })
  )

  it.effect("is quoted and not built while the relayer is paused", () =>
    Effect.gen(function* () {
      const { call, post, relayer } = yield* sponsoring()
      yield* call(relayer, { method: "PATCH", body: { paused: true } })
      assert.strictEqual((yield* post(quote, body())).status, 200)
      assert.strictEqual((yield* post(build, body())).status, 403)
    })
  )
})
