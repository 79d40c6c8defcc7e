// The cases of top-ups of evm relayers. Their oracle is the balance of the account, and that of the payer, on the node.
import { Effect } from "effect"
import { until } from "../testkit/process/Folder.ts"
import { newAddress, toolsOf } from "./Beside.ts"
import type { Scene } from "./Beside.ts"
import * as Script from "./Script.ts"

const ether = 10n ** 18n

/** Wei: thousandths of what a relayer of the script has. */
const amounts = { below: ether / 100n, to: ether / 20n, max_per_day: ether / 10n }

interface Given extends Scene {
  /** Absent: the chain takes no delegations. */
  readonly executor: string | undefined
}

export const cases = Effect.fnUntraced(function* (scene: Given) {
  const { check, executor, fund, funds, relayerOf, script } = scene
  const { balance, delegate } = toolsOf(scene)
  const payer = yield* relayerOf()
  yield* fund(payer.address, funds)
  const policyOf = ({ below, max_per_day, to }: typeof amounts) => ({
    top_up: { from: payer.id, below: String(below), to: String(to), max_per_day: String(max_per_day) }
  })
  /** Waits until the account has as much. */
  const has = (address: string, wei: bigint) =>
    until(
      "a top-up",
      Effect.map(balance(address), (found) => (found >= wei ? found : undefined)),
      "3 minutes"
    )
  const paymentsTo = (address: string) =>
    Effect.map(script.list(payer, "per_page=100"), (rows) =>
      rows.filter((row) => String(Reflect.get(row, "to")).toLowerCase() === address.toLowerCase())
    )
  const spend = Effect.fnUntraced(function* (relayer: Parameters<typeof script.send>[0], value: bigint) {
    const sent = yield* script.send(relayer, { to: newAddress(), value: String(value) })
    return yield* script.end(relayer, sent)
  })
  const codeOf = (relayer: { readonly id: string }) =>
    Effect.map(script.call(`relayers/${relayer.id}/explain`), ({ text }) => {
      const topUp: unknown = Reflect.get(JSON.parse(text).data, "top_up")
      return String(Reflect.get(Object(topUp), "code"))
    })

  yield* check(
    "a top-up of a relayer without funds, and what it sends then",
    "the account has all of `to`; payments: 1 confirmed; 1 confirmed",
    Effect.gen(function* () {
      const target = yield* relayerOf(policyOf(amounts))
      const found = yield* script.toppedUp(target, balance(target.address))
      const row = yield* spend(target, 1n)
      const payments = yield* paymentsTo(target.address)
      const rows = yield* script.ends(payer, payments)
      const all = found === amounts.to ? "the account has all of `to`" : `the account has ${found} of ${amounts.to}`
      return `${all}; payments: ${Script.counted(rows)}; ${Script.counted([row])}`
    })
  )
  yield* check(
    "top-ups of a relayer that spends what it gets, until the limit of a day",
    "top_up_capped; paid what the limit allows",
    Effect.gen(function* () {
      const target = yield* relayerOf(policyOf(amounts))
      let spent = 0n
      while (spent + amounts.below < amounts.max_per_day) {
        yield* has(target.address, amounts.below)
        const value = ((yield* balance(target.address)) * 9n) / 10n
        yield* spend(target, value)
        spent += value
        if ((yield* codeOf(target)) === "top_up_capped") break
      }
      const code = yield* until(
        "the limit",
        Effect.map(codeOf(target), (found) => (found === "top_up_capped" ? found : undefined)),
        "3 minutes"
      )
      const payments = yield* paymentsTo(target.address)
      const paid = payments.reduce((sum, row) => sum + BigInt(String(Reflect.get(row, "value"))), 0n)
      return `${code}; ${paid === amounts.max_per_day ? "paid what the limit allows" : `paid ${paid}`}`
    })
  )
  yield* check(
    "`kill -9` of the service and its database while a top-up is in flight",
    "the account has `to` once; 1 payment confirmed",
    Effect.gen(function* () {
      const target = yield* relayerOf(policyOf(amounts))
      const [payment] = yield* until(
        "a payment",
        Effect.map(paymentsTo(target.address), (rows) => (rows.length > 0 ? rows : undefined)),
        "2 minutes"
      )
      yield* script.kill
      const row = yield* script.end(payer, payment ?? { id: "" })
      // Further health checks see the new balance, and pay nothing.
      yield* Effect.sleep("10 seconds")
      const found = yield* balance(target.address)
      const once = found === amounts.to ? "the account has `to` once" : `the account has ${found} of ${amounts.to}`
      return `${once}; ${(yield* paymentsTo(target.address)).length} payment ${Script.ended(row)}`
    })
  )
  if (executor !== undefined) {
    yield* check(
      "a top-up of an account that delegates to an executor, whose code a transfer runs",
      "the account has all of `to`; confirmed",
      Effect.gen(function* () {
        const target = yield* relayerOf()
        yield* fund(target.address, amounts.to)
        yield* script.ends(target, [yield* delegate(target, executor)])
        yield* script.call(`relayers/${target.id}`, { method: "PATCH", body: { policies: policyOf(amounts) } })
        yield* spend(target, ((yield* balance(target.address)) * 95n) / 100n)
        const [payment] = yield* until(
          "a payment",
          Effect.map(paymentsTo(target.address), (rows) => (rows.length > 0 ? rows : undefined)),
          "2 minutes"
        )
        const row = yield* script.end(payer, payment ?? { id: "" })
        const found = yield* balance(target.address)
        return `${found === amounts.to ? "the account has all of `to`" : `the account has ${found}`}; ${Script.ended(row)}`
      })
    )
  }
})
