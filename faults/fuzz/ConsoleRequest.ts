// Requests below `/console`: those of the API once more in a session, the endpoints of sessions, and pages. Some lack a half of the
// session, or come from another page or host.
import type { Field } from "./Headers.ts"
import * as Hostile from "./Hostile.ts"
import type { Random } from "./Random.ts"
import type { Request } from "./Request.ts"
import type { World } from "./World.ts"

/** The other requests below `/console` are wrong in one of the ways of `wrong`. */
const shareOfWhole = 0.6

const ownSite: Field = ["sec-fetch-site", "same-origin"]

const halves = ({ session }: World): ReadonlyArray<Field> => [
  ["cookie", session.cookie],
  ["x-console", session.proof],
  ownSite
]

/** What a request lacks, or has beside its session. No way gives both cookies the same name, because that ends the session. */
const wrong: ReadonlyArray<(random: Random, world: World) => ReadonlyArray<Field>> = [
  () => [],
  (_, world) => halves(world).slice(1),
  (_, world) => [...halves(world).slice(0, 1), ownSite],
  (_, world) => halves(world).slice(0, 2),
  (random, world) => [
    ...halves(world).slice(0, 2),
    ["sec-fetch-site", random.pick(["same-site", "cross-site", "none", ""])]
  ],
  (random, world) => [...halves(world).slice(0, 2), ["origin", random.pick(["null", "http://127.0.0.1:1", "x"])]],
  (random, world) => [["cookie", world.session.cookie], ["x-console", random.pick(["1", "x".repeat(43), ""])], ownSite],
  (random, world) => [["cookie", `${world.session.cookie.slice(0, -1)}${random.pick(["", "%", " "])}`], ownSite]
]

const hosts = ["fuzz.example", "127.0.0.1.fuzz.example", "localhost:x", "[::1", "@127.0.0.1", "\u00e9", ""]

/** The same request below `/console`, as a page or an attacker sends it. */
const inSession = (random: Random, world: World, request: Request): Request => {
  const fields = request.fields.filter(([name]) => name !== "authorization")
  const below = { ...request, target: `/console${request.target}`, host: world.session.host }
  if (random.chance(shareOfWhole)) return { ...below, fields: [...fields, ...halves(world)] }
  return {
    ...below,
    host: random.chance(0.7) ? world.session.host : random.pick(hosts),
    fields: [...fields, ...random.pick(wrong)(random, world)],
    operation: undefined
  }
}

/** What differs from a `GET` without fields and body. */
type Part = Pick<Request, "target"> & Partial<Request>

/** Never the administrator's key: its next sign-ins would end the session of the other cases. */
const signIns: ReadonlyArray<(random: Random, world: World) => string> = [
  (random, { keys }) => JSON.stringify({ key: random.pick(keys), read_only: random.chance(0.5) }),
  (random, { keys }) => JSON.stringify({ key: random.pick(keys), read_only: Hostile.text(random) }),
  (random) => JSON.stringify({ key: Hostile.value(random) }),
  (random) => JSON.stringify({ [Hostile.text(random)]: Hostile.value(random) }),
  (random) => random.pick(Hostile.jsonTexts)
]

const signIn = (random: Random, world: World): Part => ({
  method: "POST",
  target: "/console/session",
  fields: [ownSite, ["x-console", random.chance(0.9) ? "1" : "0"], ["content-type", "application/json"]],
  body: Buffer.from(random.pick(signIns)(random, world))
})

const endOfSession = (random: Random, world: World): Part => ({
  method: "DELETE",
  target: `/console/sessions/${random.pick(["0".repeat(32), "x", "%00", encodeURIComponent(Hostile.text(random).toWellFormed())])}`,
  fields: halves(world)
})

const read = (random: Random, world: World): Part => ({
  target: random.pick(["/console/session", "/console/sessions", "/console/sessions?x=1", "/CONSOLE/SESSION"]),
  fields: halves(world)
})

const page = (random: Random): Part => ({
  target: random.pick([
    "/console",
    "/console/?next=//evil.example",
    "/console//evil.example",
    "/console/..%2f..%2fetc/passwd",
    "/console/main-AbCd1234.js",
    "/console/%00",
    "/console/%zz",
    `/console/${"a/".repeat(400)}`,
    `/console/relayers/${encodeURIComponent(Hostile.text(random).toWellFormed())}`
  ]),
  fields: []
})

/** A request that the API does not have. */
const own = (random: Random, world: World): Request => ({
  method: "GET",
  host: world.session.host,
  body: undefined,
  isChunked: false,
  operation: undefined,
  fields: [],
  ...random.pick([signIn, endOfSession, read, page])(random, world)
})

/** The share of requests to the API that are sent below `/console`, and of those that only the console has. */
const shareInSession = 0.08
const shareOfConsole = 0.04

/** A request to the console instead of the given one to the API. Usually the given one. */
export const instead = (random: Random, world: World, request: Request): Request => {
  if (random.chance(shareOfConsole)) return own(random, world)
  return random.chance(shareInSession) ? inSession(random, world, request) : request
}
