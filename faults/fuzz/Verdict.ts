// The rules for every response and log record, whatever was sent.
import * as path from "node:path"
import { maxErrorLength } from "../../src/domain/request/Request.ts"
import { constantHeaders } from "../../src/server/responses/Failures.ts"
import * as Answer from "./Answer.ts"
import type { Operation } from "./OpenApi.ts"

export interface Asked {
  readonly method: string
  readonly target: string
  /** Absent: the document does not contain the request. */
  readonly operation: Operation | undefined
}

const root = path.resolve(import.meta.dirname, "../..")

/** Statuses that any endpoint may have, because the request pipeline refuses the request or the path changed. */
const anywhere = new Set([400, 401, 404, 405, 408, 413, 415, 417, 429, 431])

const insides = [/^\s*at .*:\d+:\d+\)?$/m, /\\n\s+at /, /node_modules/, /node:internal/, /\b(SELECT|INSERT INTO) \w+/]

/** Secrets, and texts that reveal internals of the service. */
const leaks = (text: string, secrets: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...secrets.filter((secret) => text.includes(secret)).map((secret) => `has a secret: ${secret.slice(0, 8)}…`),
  ...insides.filter((inside) => inside.test(text)).map((inside) => `shows the inside: ${inside.exec(text)?.[0]}`),
  ...(text.includes(root) ? ["has a path of this machine"] : [])
]

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

const failureKeys = new Set(["data", "error", "message", "success"])
const successKeys = new Set(["data", "metadata", "pagination", "success"])

/** The error of a configuration has one line for each reason. */
const isLong = (line: string): boolean => line.length > maxErrorLength

const envelope = (answer: Answer.Answer): ReadonlyArray<string> => {
  const body = parse(answer.body)
  if (!isObject(body)) return [`no envelope: ${answer.body.slice(0, 120)}`]
  const isSuccess = answer.status < 400
  const allowed = isSuccess ? successKeys : failureKeys
  const unknown = Object.keys(body).filter((key) => !allowed.has(key))
  return [
    ...(unknown.length === 0 ? [] : [`fields that an envelope does not have: ${unknown.join(", ").slice(0, 120)}`]),
    ...(body.success === isSuccess ? [] : [`success is ${String(body.success)}`]),
    ...(isSuccess || body.data === null ? [] : ["a failure with data"]),
    ...(isSuccess || typeof body.message === "string" ? [] : ["a failure without a message"]),
    ...(typeof body.error === "string" && body.error.split("\n").some(isLong)
      ? ["a line of an error of more than 1 kB"]
      : []),
    ...(Answer.fieldOf(answer, "content-type")?.startsWith("application/json") === true ? [] : ["its type is not JSON"])
  ]
}

/** The console has the resources of the API below its own path. */
const pathOf = (asked: Asked | undefined) =>
  asked?.target
    .replace(/^http:\/\/[^/]*/, "")
    .replace(/\/+/g, "/")
    .toLowerCase()
    .replace(/^\/console(?=\/api\/)/, "") ?? ""

/**
 * Only resources and sessions have envelopes, not health, metrics, documents and pages. A success of the JSON-RPC endpoint is a
 * JSON-RPC response.
 */
const isResource = (path: string) =>
  /^\/(api\/v1\/(?!health|ready|relayers\/[^/]*\/rpc)|console\/sessions?(?![^/?]))/.test(path)

/** A checkout whose console was not built says so in a text instead of its pages. */
const isUnbuiltPage = ({ status, body }: Answer.Answer, path: string): boolean =>
  status === 503 && path.startsWith("/console") && body.startsWith("The console is not built")

/** Readiness is 503 if the database does not answer within two seconds, which may happen on a small machine. */
const mayBeAway = /^\/api\/v1\/ready/

/**
 * The cases cause chains that do not answer (502), and calls of what a network type does not have (501). A case whose path is spelled in
 * an odd way belongs to no operation, and can still reach an endpoint.
 */
const isNoFault = (status: number, asked: Asked | undefined): boolean =>
  (status === 501 || status === 502) && asked?.operation?.statuses.has(status) !== false

const headers = (answer: Answer.Answer): ReadonlyArray<string> => {
  const id = Answer.fieldOf(answer, "x-request-id")
  return [
    ...(id === undefined || !/^[A-Za-z0-9._:-]{1,128}$/.test(id) ? [`x-request-id is ${id}`] : []),
    ...Object.entries(constantHeaders)
      .filter(([name, value]) => Answer.fieldOf(answer, name) !== value)
      .map(([name]) => `no ${name}`),
    ...["server", "x-powered-by"]
      .filter((name) => Answer.fieldOf(answer, name) !== undefined)
      .map((name) => `has ${name}`)
  ]
}

/** Only the response to the creation or rotation of a key contains it. */
const shownKey = ({ body, status }: Answer.Answer, asked: Asked | undefined) =>
  body.includes("er_key_") && !(status < 300 && pathOf(asked).includes("/api-keys") && asked?.method === "POST")
    ? ["has an API key"]
    : []

/** The problems of a response. `asked` is absent if its request is not known. */
export const ofAnswer = (
  answer: Answer.Answer,
  asked: Asked | undefined,
  secrets: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const { status } = answer
  const path = pathOf(asked)
  const isEmpty = asked?.method === "HEAD" || status === 204 || status === 304
  if (isUnbuiltPage(answer, path)) return headers(answer)
  const isEnveloped = status >= 400 ? !path.startsWith("/api/v1/ready") : isResource(path)
  const text = `${answer.fields.map((field) => field.join(": ")).join("\n")}\n${answer.body}`
  const isDocumented = asked?.operation === undefined || asked.operation.statuses.has(status) || anywhere.has(status)
  return [
    ...(status >= 500 && !(status === 503 && mayBeAway.test(path)) && !isNoFault(status, asked)
      ? [`${status} ${answer.body.slice(0, 200)}`]
      : []),
    ...(isDocumented ? [] : [`${status} is not in the document of ${asked?.operation?.id}`]),
    ...headers(answer),
    ...(isEnveloped && !isEmpty ? envelope(answer) : []),
    ...(path.startsWith("/docs") ? [] : leaks(text, secrets)),
    ...shownKey(answer, asked)
  ]
}

/** A log record must not contain a secret, and no case may cause an error record. */
export const ofLogLine = (line: string, secrets: ReadonlyArray<string>): ReadonlyArray<string> => {
  const entry = parse(line)
  const level = isObject(entry) ? String(entry.level) : ""
  return [
    ...(/^(error|fatal)$/i.test(level) ? [`logs an error: ${line.slice(0, 2000)}`] : []),
    ...secrets.filter((secret) => line.includes(secret)).map((secret) => `logs a secret: ${secret.slice(0, 8)}…`)
  ]
}
