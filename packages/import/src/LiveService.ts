// Reads the relayers of the running service that an import replaces. It only sends GET requests.
import { Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { isLoopback } from "../../../src/cli/configuration/Planned.ts"
import * as Print from "../../../src/cli/kit/Print.ts"
import { CommandFailed, exitCodes } from "../../../src/cli/kit/Terminal.ts"
import { isMembers } from "../../../src/domain/configuration/Document.ts"
import * as ExactJson from "../../../src/domain/request/ExactJson.ts"

interface LiveService {
  /** Without a slash at the end. */
  readonly url: string
  readonly authorization: string
}

/** Relayers of one request. Both services send at least as many. */
const perPage = 100

/** More relayers than any service has. A service that answers without end is not read further. */
const maxPages = 1000

const failed = (message: string, exitCode: CommandFailed["exitCode"]) =>
  Effect.fail(new CommandFailed({ message, exitCode }))

/** The request has credentials. */
const checkUrl = Effect.fnUntraced(function* (url: string, insecure: boolean) {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    return yield* CommandFailed.usage("--live: expected a URL such as http://localhost:8080")
  }
  if (parsed.protocol === "http:" && !isLoopback(parsed.hostname) && !insecure) {
    const message = `${parsed.origin} is not encrypted, and the request has credentials: use https, or allow it with --insecure`
    return yield* failed(message, exitCodes.unreachable)
  }
  return url.replace(/\/+$/, "")
})

/** `login`: an `Authorization` header. */
export const open = (url: string, login: string, insecure: boolean) =>
  Effect.map(checkUrl(url, insecure), (checked): LiveService => ({ url: checked, authorization: login }))

/** A redirect is not followed, because it would get the credentials. */
const get = ({ authorization, url }: LiveService, path: string) =>
  Effect.gen(function* () {
    const response = yield* HttpClient.get(`${url}${path}`, { headers: { authorization, accept: "application/json" } })
    return { status: response.status, text: yield* response.text }
  }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.catch(() => failed(`cannot reach ${url}`, exitCodes.unreachable))
  )

const parse = (text: string): unknown => {
  try {
    return ExactJson.parse(text)
  } catch {
    return undefined
  }
}

const read = Effect.fnUntraced(function* (service: LiveService, path: string) {
  const { status, text } = yield* get(service, path)
  if (status === 401 || status === 403) {
    return yield* failed(`${service.url} refuses the credentials (status ${status})`, exitCodes.unauthorized)
  }
  const body = status === 200 ? parse(text) : undefined
  if (!isMembers(body))
    return yield* failed(`${service.url}${path} has no list of relayers (status ${status})`, exitCodes.refused)
  return body
})

interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly isLast: boolean
}

/** The relayers of all pages, as the text of a file. */
const readAll = Effect.fnUntraced(function* (
  service: LiveService,
  pathOf: (page: number, offset: number) => string,
  pageOf: (body: { readonly [name: string]: unknown }) => Page | undefined
) {
  const all: Array<unknown> = []
  for (let page = 0; page < maxPages; page += 1) {
    const path = pathOf(page, all.length)
    const found = pageOf(yield* read(service, path))
    if (found === undefined) return yield* failed(`${service.url}${path} has no list of relayers`, exitCodes.refused)
    all.push(...found.items)
    if (found.isLast || found.items.length === 0) {
      return { name: `${service.url}${path.replace(/\?.*/, "")}`, text: Print.jsonLine({ items: all }) }
    }
  }
  return yield* failed(`${service.url} has more than ${maxPages} pages of relayers`, exitCodes.refused)
})

export const openZeppelin = (service: LiveService) =>
  readAll(
    service,
    (page) => `/api/v1/relayers?page=${page + 1}&per_page=${perPage}`,
    ({ data }) => (Array.isArray(data) ? { items: data, isLast: data.length < perPage } : undefined)
  )

export const rrelayer = (service: LiveService) =>
  readAll(
    service,
    (_, offset) => `/relayers?limit=${perPage}&offset=${offset}`,
    ({ items, next }) => (Array.isArray(items) ? { items, isLast: next === undefined || next === null } : undefined)
  )
