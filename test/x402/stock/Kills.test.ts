// 200 payments at once by the stock seller and the stock payer, while two facilitators and two instances of the service are killed.
// Programs run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Scope } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { inject } from "vitest"
import { generatePrivateKey } from "viem/accounts"
import * as Anvil from "../../../testkit/Anvil.ts"
import { freePort } from "../../../testkit/process/Ports.ts"
import * as Folder from "../../../testkit/process/Folder.ts"
import * as Service from "../../../testkit/process/Service.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import * as Payments from "../../../testkit/x402/Payments.ts"
import * as Programs from "../../../testkit/x402/Programs.ts"
import { amount, payTo, seller } from "../../../testkit/x402/Payments.ts"

const count = 200

/** A payer has four payments on their way at most. */
const payers = 60

const network = "eip155:31337"

/** All payments come at once from two clients: the facilitators. */
const unlimited = { RATE_LIMIT_REQUESTS_PER_SECOND: "2000", RATE_LIMIT_BURST_SIZE: "4000" }

/** A program that is killed and started again at the same port. */
const restarting = Effect.fnUntraced(function* (
  start: (port: number) => Effect.Effect<Programs.Program, never, Scope.Scope>
) {
  const parent = yield* Effect.scope
  const port = yield* freePort
  const first = yield* Effect.provideService(start(port), Scope.Scope, parent)
  let current = first
  return {
    url: first.url,
    restart: Effect.gen(function* () {
      yield* current.kill
      current = yield* Effect.provideService(start(port), Scope.Scope, parent)
    })
  }
})

const body = (text: string) => JSON.parse(text).data

describe("200 payments at once", () => {
  it.live("are paid, settled, served and claimed once each, while facilitators and services are killed", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const token = yield* Payments.deploy(node, "Token")
      const keys = yield* Payments.payersOf(node, token, payers)
      const database = yield* TestDatabase.make
      const server = inject("postgres")
      const folder = yield* Folder.folder
      const service = yield* Effect.forEach(["one", "two"], (name) =>
        restarting(
          Effect.fnUntraced(function* (port) {
            const home = path.join(folder, name)
            yield* Effect.promise(() => fs.mkdir(home, { recursive: true }))
            const listening = yield* Service.listen({
              folder: home,
              env: {
                ...Service.onServer(server, database),
                PORT: String(port),
                OUTBOUND_ALLOW: "127.0.0.1",
                WATCH: "on",
                ...unlimited
              }
            })
            return {
              url: listening.baseUrl,
              kill: Effect.andThen(listening.kill("SIGKILL"), Effect.asVoid(listening.exited))
            }
          })
        )
      )
      const [first] = service
      const call = (where: string, given?: Service.Call) => Service.call(`${first?.url}${where}`, given)
      const create = Effect.fnUntraced(function* (where: string, given: object) {
        const { status, text } = yield* call(`/api/v1/${where}`, { body: given })
        assert.strictEqual(status, 201, text)
        return body(text)
      })
      yield* create("networks", Anvil.networkOf(node, "chain", 2))
      for (const id of ["x402-1", "x402-2"]) {
        yield* create("signers", { id, type: "plain", config: { key: generatePrivateKey().slice(2) } })
        const relayer = yield* create("relayers", {
          id,
          name: id,
          network: "chain",
          network_type: "evm",
          paused: false,
          signer_id: id
        })
        yield* node.fund(relayer.address, 10n ** 20n)
      }
      const settings = { networks: [{ network, blockTime: 1, tokens: [{ address: token }] }], sellers: [seller] }
      const facilitators = yield* Effect.forEach(service, ({ url }) =>
        restarting((port) =>
          Programs.start("facilitator.mjs", {
            FACILITATOR: JSON.stringify({ port, service: { baseUrl: url, apiKey: Service.apiKey }, ...settings })
          })
        )
      )
      const sellers = yield* Effect.forEach(facilitators, ({ url }) =>
        Programs.start("seller.mjs", {
          SELLER: JSON.stringify({ facilitator: url, key: seller.key, payTo, network, asset: token })
        })
      )
      const paying = yield* Programs.launch("payer.mjs", {
        PAYER: JSON.stringify({
          sellers: sellers.map(({ url }) => url),
          keys,
          network,
          count,
          patienceMs: 200_000
        })
      })
      const paid = Effect.map(Payments.balanceOf(node, token, payTo), (balance) => Number(balance / amount))
      // A kill each time that another sixth of the payments has landed.
      const kills = [facilitators[0], service[1], facilitators[1], service[0]]
      for (const [index, killed] of kills.entries()) {
        yield* Folder.until(
          "payments",
          Effect.map(paid, (number) => (number >= ((index + 1) * count) / 6 ? true : undefined))
        )
        yield* killed?.restart ?? Effect.void
      }
      yield* Effect.promise(() => paying.ended)
      const bought: ReadonlyArray<{ readonly number: number; readonly status: number; readonly served: number }> =
        JSON.parse(paying.output())
      const served = bought.filter((one) => one.served === 1).length
      const twice = bought.filter((one) => one.served > 1)
      // The answer was lost after the claim was final, which the README of the package names: it is counted apart.
      const lost = bought.filter(({ status }) => status === 410).length
      const page = yield* call("/api/v1/audit?action=claim.finalized&limit=1000")
      assert.strictEqual(page.status, 200, page.text)
      const records: ReadonlyArray<{ readonly resource_id: string }> = body(page.text)
      const claimed = new Set(records.map(({ resource_id }) => resource_id))
      const settled = yield* paid
      const used = (yield* node.call("eth_getLogs", [
        {
          address: token,
          fromBlock: "0x0",
          topics: ["0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"]
        }
      ])) as ReadonlyArray<unknown>
      yield* Effect.logInfo("paid", { settled, used: used.length, served, claimed: claimed.size, lost })
      assert.deepStrictEqual(twice, [])
      assert.deepStrictEqual(
        { settled, used: used.length, claimed: claimed.size, answered: served + lost },
        { settled: count, used: count, claimed: count, answered: count },
        JSON.stringify(bought.filter(({ status }) => status !== 200).slice(0, 5))
      )
    }).pipe(Effect.scoped)
  )
})
