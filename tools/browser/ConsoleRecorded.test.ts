// The responses that tests of the console in `test/console` use have the fields of those of the service. RECORD=1 writes them anew.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { recordedFile, transactionIds } from "../../testkit/ConsoleWindow.ts"
import { Console, call, firstId } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

const types = ["evm", "solana", "stellar"] as const

/** Paths below `/api/v1/`, with the queries that make a response useful for most pages. */
const routes = [
  "attention",
  "relayers?include=health&per_page=100",
  "statistics?step=60",
  "transactions?per_page=100",
  "notifications?per_page=100",
  "events?before=latest&limit=20&type=network.created&type=signer.created&type=relayer.created&type=relayer.updated",
  "networks?per_page=1000",
  "signers?per_page=100",
  "api-keys?per_page=100",
  "audit?limit=20",
  "ready",
  "instances",
  `search?q=${transactionIds.evm}`,
  ...types.flatMap((type) => {
    const relayer = `relayers/dev-${type}`
    const transaction = `${relayer}/transactions/${transactionIds[type]}`
    return [
      relayer,
      `${relayer}/status`,
      `${relayer}/explain`,
      `${relayer}/balances`,
      ...(type === "solana" ? [] : [`${relayer}/nonce`]),
      ...(type === "evm" ? [`${relayer}/delegation`] : []),
      transaction,
      `${transaction}/explain`,
      ...(type === "evm" ? [`${transaction}/fees`] : []),
      `networks/${type}%3Adev`,
      `networks/${type}%3Adev/providers${type === "evm" ? "?check=true" : ""}`,
      `signers/dev-${type}`
    ]
  })
]

/** The paths of all fields of a value, and of all items of a list. */
const fieldsOf = (value: unknown, at = ""): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item, `${at}[]`))
  if (typeof value !== "object" || value === null) return [at]
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, `${at}.${name}`))
}

/** A comparison reads more of the lists, because the tests of other files have added to them. */
const most = (route: string) => route.replace("limit=20", "limit=1000")

/** The responses of the service, with the ids of transactions that the file has. */
const responsesOf = async (
  running: Running,
  routes: ReadonlyArray<string>
): Promise<Readonly<Record<string, object>>> => {
  const ids: Array<readonly [present: string, recorded: string]> = []
  for (const type of types)
    ids.push([await firstId(running, `relayers/dev-${type}/transactions?status=confirmed`), transactionIds[type]])
  const given = (text: string) => ids.reduce((all, [present, recorded]) => all.replaceAll(recorded, present), text)
  const kept = (text: string) => ids.reduce((all, [present, recorded]) => all.replaceAll(present, recorded), text)
  const responses: Record<string, object> = {}
  for (const route of routes) {
    const headers = { authorization: `Bearer ${running.key}` }
    const response = await fetch(`${running.baseUrl}/api/v1/${given(route)}`, { headers })
    assert.strictEqual(response.status, 200, route)
    responses[`/api/v1/${route.split("?")[0]}`] = JSON.parse(kept(await response.text()))
  }
  return responses
}

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("the recorded responses of the service", (it) => {
  it.effect("have no field that its responses lack", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        // A change of a policy, for events and records about it.
        for (const policies of [{ min_balance: "5" }, null])
          await call(running, "PATCH", "relayers/dev-evm", { policies })
        if (process.env["RECORD"] === "1") {
          fs.writeFileSync(recordedFile, `${JSON.stringify(await responsesOf(running, routes), null, 2)}\n`)
        }
        const present = await responsesOf(running, routes.map(most))
        const recorded = JSON.parse(fs.readFileSync(recordedFile, "utf8")) as Readonly<Record<string, object>>
        assert.sameMembers(Object.keys(recorded), Object.keys(present))
        for (const [path, response] of Object.entries(recorded)) {
          const known = new Set(fieldsOf(present[path]))
          const gone = [...new Set(fieldsOf(response))].filter((field) => !known.has(field))
          assert.deepStrictEqual(gone, [], path)
        }
      })
    })
  )
})
