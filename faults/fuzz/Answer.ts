// Parses HTTP responses strictly, so that a sloppy response is found.
import { brotliDecompressSync, gunzipSync } from "node:zlib"

export interface Answer {
  readonly status: number
  /** Names in lower case. A repeated field is repeated here. */
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string
}

/** The complete responses so far, and the first violation of HTTP/1.1. */
export interface Reading {
  readonly answers: ReadonlyArray<Answer>
  readonly fault?: string
  /** Bytes of an incomplete response. */
  readonly rest: Buffer
}

export const fieldOf = ({ fields }: Answer, name: string): string | undefined =>
  fields.find(([field]) => field === name)?.[1]

const statusLine = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\x80-\xff\t]*?)[ \t]*$/

type Head = Omit<Answer, "body">

const head = (lines: ReadonlyArray<string>): Head | string => {
  const [first = "", ...others] = lines
  const status = statusLine.exec(first)?.[1]
  if (status === undefined) return `invalid status line: ${first.slice(0, 80)}`
  const fields: Array<readonly [string, string]> = []
  for (const line of others) {
    const [, name, value] = field.exec(line) ?? []
    if (name === undefined || value === undefined) return `invalid header field: ${line.slice(0, 80)}`
    fields.push([name.toLowerCase(), value])
  }
  return { status: Number(status), fields }
}

/** The body and its end. `undefined`: it is incomplete. */
type Framed = { readonly body: Buffer; readonly end: number } | undefined

const chunks = (bytes: Buffer, start: number): Framed | string => {
  const parts: Array<Buffer> = []
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf("\r\n", at)
    if (lineEnd < 0) return undefined
    const size = bytes.toString("latin1", at, lineEnd)
    if (!/^[0-9a-f]+$/i.test(size)) return `invalid chunk size: ${size.slice(0, 40)}`
    const from = lineEnd + 2
    const to = from + Number.parseInt(size, 16)
    if (bytes.length < to + 2) return undefined
    if (bytes.toString("latin1", to, to + 2) !== "\r\n") return "a chunk is longer than its size"
    if (to === from) return { body: Buffer.concat(parts), end: to + 2 }
    parts.push(bytes.subarray(from, to))
    at = to + 2
  }
}

const framed = ({ status, fields }: Head, bytes: Buffer, start: number, method: string): Framed | string => {
  const lengths = fields.filter(([name]) => name === "content-length").map(([, value]) => value)
  const codings = fields.filter(([name]) => name === "transfer-encoding").map(([, value]) => value)
  if (lengths.length + codings.length > 1) return "its length is given twice"
  const [length] = lengths
  if (length !== undefined && !/^\d+$/.test(length)) return `invalid length: ${length}`
  if (status < 200 || status === 204 || status === 304 || method === "HEAD")
    return { body: Buffer.alloc(0), end: start }
  if (codings.length > 0) return codings[0] === "chunked" ? chunks(bytes, start) : `unknown coding: ${codings[0]}`
  if (length === undefined) return "its length is missing"
  const end = start + Number(length)
  return bytes.length < end ? undefined : { body: bytes.subarray(start, end), end }
}

/** The body as text, decompressed. Returns a fault if its coding is unknown or its bytes do not have it. */
const decoded = ({ fields }: Head, body: Buffer): { readonly text: string } | string => {
  const coding = fields.find(([name]) => name === "content-encoding")?.[1]
  if (coding === undefined || body.length === 0) return { text: body.toString("utf8") }
  if (coding !== "gzip" && coding !== "br") return `unknown content coding: ${coding}`
  try {
    return { text: (coding === "gzip" ? gunzipSync(body) : brotliDecompressSync(body)).toString("utf8") }
  } catch {
    return `the body is not ${coding}`
  }
}

/** All responses in `bytes`. `methods` are the methods of their requests, as far as they are known. */
export const read = (bytes: Buffer, methods: ReadonlyArray<string> = []): Reading => {
  const answers: Array<Answer> = []
  let rest = bytes
  while (rest.length > 0) {
    const headEnd = rest.indexOf("\r\n\r\n")
    if (headEnd < 0) break
    const found = head(rest.toString("latin1", 0, headEnd).split("\r\n"))
    if (typeof found === "string") return { answers, fault: found, rest }
    const whole = framed(found, rest, headEnd + 4, methods[answers.length] ?? "")
    if (typeof whole === "string") return { answers, fault: whole, rest }
    if (whole === undefined) break
    const body = decoded(found, whole.body)
    if (typeof body === "string") return { answers, fault: body, rest }
    // An interim response is followed by the final one.
    if (found.status >= 200) answers.push({ ...found, body: body.text })
    rest = rest.subarray(whole.end)
  }
  return { answers, rest }
}
