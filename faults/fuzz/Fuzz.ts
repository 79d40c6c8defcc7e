// Runs a number of cases against a service and judges each response.
import { Effect } from "effect"
import type { Scope } from "effect"
import * as Case from "./Case.ts"
import * as Connection from "./Connection.ts"
import type { Asked } from "./Verdict.ts"
import * as Verdict from "./Verdict.ts"
import { marker } from "./World.ts"
import type { World } from "./World.ts"

export interface Options {
  readonly port: number
  readonly world: World
  /** Secrets besides those that the cases send. */
  readonly secrets: ReadonlyArray<string>
  readonly seed: number
  readonly from: number
  readonly count: number
  readonly concurrency: number
}

/** A problem and the case that shows it. */
export interface Finding {
  readonly at: number
  readonly what: string
  readonly sent: string
}

export interface Report {
  readonly requests: number
  readonly garbage: number
  /** Number of responses per status, and of requests without a response per kind of end. */
  readonly counts: ReadonlyMap<string, number>
  /** Ids of the operations that succeeded at least once. */
  readonly succeeded: ReadonlySet<string>
  readonly findings: ReadonlyArray<Finding>
}

/** Joins the reports of the parts of a run. */
export const sum = (reports: ReadonlyArray<Report>): Report => {
  const counts = new Map<string, number>()
  for (const [name, times] of reports.flatMap(({ counts }) => [...counts])) {
    counts.set(name, (counts.get(name) ?? 0) + times)
  }
  return {
    succeeded: new Set(reports.flatMap(({ succeeded }) => [...succeeded])),
    requests: reports.reduce((total, { requests }) => total + requests, 0),
    garbage: reports.reduce((total, { garbage }) => total + garbage, 0),
    counts,
    findings: reports.flatMap(({ findings }) => findings)
  }
}

const shown = (bytes: Buffer, length: number) => JSON.stringify(bytes.toString("latin1", 0, length))

/** Texts that no response and no log record may contain: API keys, both halves of the session, and a part of every other secret. */
export const secretsOf = ({ administrator, keys, session }: World): ReadonlyArray<string> => [
  administrator,
  ...keys,
  session.proof,
  session.cookie.replace(/^[^=]*=/, ""),
  marker
]

const isSuccess = ({ status }: Connection.Exchange["answers"][number]): boolean => status >= 200 && status < 300

export const run = (options: Options): Effect.Effect<Report, never, Scope.Scope> =>
  Effect.gen(function* () {
    const secrets = [...options.secrets, ...secretsOf(options.world)]
    const counts = new Map<string, number>()
    const findings: Array<Finding> = []
    const succeeded = new Set<string>()
    let requests = 0
    let next = options.from
    const take = () => (next < options.from + options.count ? next++ : undefined)
    const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

    const judge = (at: number, sent: Buffer, exchange: Connection.Exchange, asked: Asked | undefined) => {
      for (const answer of exchange.answers) count(String(answer.status))
      if (exchange.answers.length === 0) count(exchange.end)
      const wrong = exchange.answers.flatMap((answer) => Verdict.ofAnswer(answer, asked, secrets))
      if (exchange.fault !== undefined) wrong.push(exchange.fault)
      if (exchange.end === "silent") wrong.push("no response, and the connection stays open")
      // CONNECT gets no response: the connection ends.
      if (asked !== undefined && asked.method !== "CONNECT" && exchange.end === "closed") wrong.push("no answer")
      for (const what of wrong) findings.push({ at, what, sent: shown(sent, options.count === 1 ? 2000 : 300) })
    }

    const one = async (connection: Connection.Connection, at: number) => {
      const made = Case.make(options.seed, at, options.world)
      if (made._tag === "Request") {
        requests++
        const exchange = await connection.request(made.bytes, made.request.method)
        judge(at, made.bytes, exchange, made.request)
        const { operation } = made.request
        if (operation !== undefined && exchange.answers.some(isSuccess)) succeeded.add(operation.id)
      } else {
        const { chunks, isCut } = made.garbage
        judge(at, Buffer.concat(chunks), await Connection.garbage(options.port, chunks, isCut), undefined)
      }
    }

    const worker = Effect.gen(function* () {
      const connection = yield* Effect.acquireRelease(
        Effect.sync(() => new Connection.Connection(options.port)),
        (made) => Effect.sync(() => made.close())
      )
      for (let at = take(); at !== undefined; at = take()) {
        const taken = at
        yield* Effect.promise(() => one(connection, taken))
      }
    })
    yield* Effect.all(
      Array.from({ length: options.concurrency }, () => worker),
      { concurrency: "unbounded" }
    )
    return { requests, garbage: options.count - requests, counts, succeeded, findings }
  })
