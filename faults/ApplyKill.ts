// SIGKILL of the service during an apply of a configuration.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Service from "../testkit/process/Service.ts"
import type { Case, Context } from "./Case.ts"
import * as World from "./World.ts"

type World = Effect.Success<typeof World.make>

/** Objects of each kind that an apply creates. */
const ofEachKind = 4

const ids = (round: number) => Array.from({ length: ofEachKind }, (_, index) => `r${round}-${index}`)

const section = (round: number, body: (id: string) => object, keyOf: (id: string) => string = (id) => id) =>
  Object.fromEntries(ids(round).map((id) => [keyOf(id), body(id)]))

/** A configuration of 20 new objects. */
const documentOf = (round: number) => ({
  version: 1,
  name: `round-${round}`,
  networks: section(
    round,
    () => ({ from: "sepolia" }),
    (id) => `evm:${id}`
  ),
  notifications: section(round, (id) => ({ url: `https://hooks.example.com/${id}` })),
  signers: section(round, () => ({ type: "plain" })),
  relayers: section(round, (id) => ({
    name: id,
    network_type: "evm",
    network: id,
    signer_id: id,
    notification_id: id
  })),
  api_keys: section(round, (id) => ({ name: id, scopes: ["relayers:read"] }))
})

/** The paths of the objects. */
const pathsOf = (round: number) =>
  ids(round).flatMap((id) => [
    `networks/evm:${id}`,
    ...["notifications", "signers", "relayers", "api-keys"].map((list) => `${list}/${id}`)
  ])

interface Planned {
  readonly data: { readonly digest: string }
}

/** The request of an apply, after its plan. */
const applyOf = Effect.fnUntraced(function* (service: Service.Listening, document: object) {
  const { text } = yield* service.call("/api/v1/configuration/plan", { body: { document } })
  const { digest } = (JSON.parse(text) as Planned).data
  return service.call("/api/v1/configuration/apply", { body: { document, digest } })
})

/** How many of the objects there are. */
const count = Effect.fnUntraced(function* (service: Service.Listening, round: number) {
  const answers = yield* Effect.forEach(pathsOf(round), (name) => service.call(`/api/v1/${name}`))
  return answers.filter(({ status }) => status === 200).length
})

/** Kills the service at a moment of an apply that takes about `usual` milliseconds. Returns its time, if it has ended before. */
const killed = Effect.fnUntraced(function* ({ random, tally }: Context, world: World, round: number, usual: number) {
  const service = yield* world.listen()
  const apply = yield* applyOf(service, documentOf(round))
  const delay = random.int(0, Math.ceil(usual * 1.25))
  const begin = Date.now()
  // A killed service answers nothing.
  const [answered] = yield* Effect.all(
    [
      Effect.map(Effect.exit(apply), (exit) => exit._tag === "Success"),
      Effect.andThen(Effect.sleep(delay), World.signal([service.pid], "SIGKILL"))
    ],
    { concurrency: 2 }
  )
  tally.add(answered ? "killed after the response" : "killed before the response")
  yield* World.gone(service.pid)
  return answered ? Date.now() - begin : undefined
}, Effect.scoped)

/** The command, twice: the first time it makes what is missing, the second time it has nothing to do. */
const repeat = Effect.fnUntraced(function* ({ tally }: Context, { home }: World, url: string, round: number) {
  const file = `round-${round}.json`
  yield* Effect.promise(() => fs.writeFile(path.join(home, file), JSON.stringify(documentOf(round))))
  for (const keys of ["one.json", "two.json"]) {
    const ended = yield* Service.run({
      folder: home,
      flags: ["apply", "--file", file, "--yes", "--keys-out", `${round}-${keys}`],
      env: { API_KEY: Service.apiKey, RELAYER_URL: url }
    })
    tally.expect(ended.code === 0, `the repeated apply ends with 0: ${ended.code} ${ended.stderr}`)
  }
})

/** Milliseconds of the first apply, as a guess. */
const firstGuess = 1000

/** How much later the next kill may be, if one was before the commit. */
const growth = 1.5

export const ApplyKill: Case = {
  name: "apply-kill",
  promise: "an apply of a configuration that is killed has written everything or nothing; repeated, it ends with 0",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const { amount, tally } = context
      const world = yield* World.make
      let usual = firstGuess
      for (let round = 0; round < amount(50, 3); round++) {
        const took = yield* killed(context, world, round, usual)
        yield* Effect.gen(function* () {
          const service = yield* world.listen()
          const there = yield* count(service, round)
          const total = pathsOf(round).length
          usual = took ?? (there === 0 ? usual * growth : usual)
          tally.add(there === 0 ? "nothing was written" : "everything was written")
          tally.expect(there === 0 || there === total, `everything or nothing is there: ${there} of ${total}`)
          const { status } = yield* service.call(`/api/v1/configuration/round-${round}`)
          tally.expect((status === 200) === there > 0, "the configuration is there if its objects are")
          yield* repeat(context, world, service.baseUrl, round)
          tally.expect((yield* count(service, round)) === total, "after the repeated apply, everything is there")
        }).pipe(Effect.scoped)
      }
    })
}
