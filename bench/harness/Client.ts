// Sends single requests, to get the expected response and to check that all contenders send the same.
import { Effect, Schema } from "effect"
import * as fs from "node:fs"
import { key } from "./Installation.ts"
import type { Server } from "./Installation.ts"

export class WrongAnswer extends Schema.TaggedError<WrongAnswer>()("WrongAnswer", { message: Schema.String }) {}

export interface Answer {
  readonly body: string
  /** The cursor of the next page. */
  readonly cursor: string | undefined
}

const send = (server: Server, path: string, status: number, body?: string) =>
  Effect.tryPromise({
    try: async (): Promise<Answer> => {
      const response = await fetch(`${server.url}${path}`, {
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { method: "POST", body })
      })
      const text = await response.text()
      if (response.status !== status) throw new Error(`${response.status} ${text}`)
      const [, cursor] = /[?&]cursor=([^&>]+)/.exec(response.headers.get("link") ?? "") ?? []
      return { body: text, cursor }
    },
    catch: (error) => new WrongAnswer({ message: `${server.contender}, ${path}: ${String(error)}` })
  })

export const get = (server: Server, path: string) => send(server, path, 200)

export const firstId = (ids: string): string => fs.readFileSync(ids, "utf8").split("\n")[0] ?? ""

/** Fails if the bodies that the servers send differ in any byte. */
export const compare = Effect.fnUntraced(function* (servers: ReadonlyArray<Server>, path: string) {
  const answers = yield* Effect.forEach(servers, (server) => get(server, path))
  for (const [index, { body }] of answers.entries()) {
    if (body === answers[0]?.body) continue
    const [first, other] = [servers[0]?.contender, servers[index]?.contender]
    return yield* new WrongAnswer({ message: `${path} differs:\n${first}: ${answers[0]?.body}\n${other}: ${body}` })
  }
})
