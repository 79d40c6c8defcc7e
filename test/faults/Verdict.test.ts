// The verdict of the fuzz finds every kind of invalid response, and a case is always the same.
import { assert, describe, it } from "@effect/vitest"
import * as Answer from "../../faults/fuzz/Answer.ts"
import * as Case from "../../faults/fuzz/Case.ts"
import * as OpenApi from "../../faults/fuzz/OpenApi.ts"
import * as Verdict from "../../faults/fuzz/Verdict.ts"
import type { World } from "../../faults/fuzz/World.ts"

const fields = [
  ["content-type", "application/json"],
  ["x-request-id", "one"],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"]
] as const

const refused = { status: 404, fields, body: '{"data":null,"message":"Not Found","success":false}' }
const served = { status: 200, fields, body: '{"data":[],"success":true}' }
const manyLines = `${"x".repeat(1000)}\\n`.repeat(50)
const planned = { status: 404, fields, body: `{"data":null,"error":"${manyLines}","message":"x","success":false}` }
const asked = { method: "GET", target: "/api/v1/relayers", operation: undefined }
const secret = "0123456789abcdef0123456789abcdef"

const without = (name: string) => fields.filter(([field]) => field !== name)

/** Invalid responses and the finding for each. */
const faults: Record<string, readonly [Answer.Answer, RegExp]> = {
  "a fault of the service": [{ ...refused, status: 500 }, /^500/],
  "an unavailable service": [{ ...refused, status: 503 }, /^503/],
  "no JSON": [{ ...refused, body: "Not Found" }, /no envelope/],
  nothing: [{ ...refused, body: "" }, /no envelope/],
  "a field more": [{ ...refused, body: '{"data":null,"message":"x","success":false,"stack":""}' }, /stack/],
  "a failure that succeeds": [{ ...refused, body: '{"data":null,"message":"x","success":true}' }, /success is true/],
  "a failure with data": [{ ...refused, body: '{"data":{},"message":"x","success":false}' }, /with data/],
  "a success that fails": [{ ...served, body: '{"data":[],"success":false}' }, /success is false/],
  "a long line of an error": [
    { ...refused, body: `{"data":null,"error":"${"x".repeat(1025)}","message":"x","success":false}` },
    /a line of an error/
  ],
  "no request id": [{ ...refused, fields: without("x-request-id") }, /x-request-id/],
  "no nosniff": [{ ...refused, fields: without("x-content-type-options") }, /no x-content-type-options/],
  "a text that may be kept": [{ ...refused, fields: without("cache-control") }, /no cache-control/],
  "a banner": [{ ...refused, fields: [...fields, ["server", "x"]] }, /has server/],
  "a secret": [{ ...served, body: `{"data":"${secret}","success":true}` }, /has a secret/],
  "a secret in a header": [{ ...served, fields: [...fields, ["link", secret]] }, /has a secret/],
  "an API key": [{ ...served, body: '{"data":"er_key_x","success":true}' }, /has an API key/],
  "a stack": [{ ...served, body: '{"data":"Error\\n    at f (x.ts:1:2)","success":true}' }, /shows the inside/],
  "a statement": [{ ...served, body: '{"data":"SELECT secret FROM x","success":true}' }, /shows the inside/],
  "a path": [{ ...served, body: `{"data":"${process.cwd()}/src","success":true}` }, /path of this machine/]
}

describe("the verdict", () => {
  it("accepts valid responses", () => {
    for (const answer of [refused, served, planned])
      assert.deepStrictEqual(Verdict.ofAnswer(answer, asked, [secret]), [])
  })

  for (const [name, [answer, found]] of Object.entries(faults)) {
    it(`finds ${name}`, () => {
      assert.match(Verdict.ofAnswer(answer, asked, [secret]).join("\n"), found)
    })
  }

  it("finds a call that a network type does not have, unless its path is spelled in an odd way", () => {
    const absent = { ...refused, status: 501 }
    assert.deepStrictEqual(Verdict.ofAnswer(absent, asked, []), [])
    const operation = OpenApi.operations.find(({ id }) => id === "relayers.get")
    assert.match(Verdict.ofAnswer(absent, { ...asked, operation }, []).join("\n"), /^501/)
  })

  it("finds a status that is not in the document", () => {
    const operation = OpenApi.operations.find(({ id }) => id === "relayers.get")
    assert.match(Verdict.ofAnswer({ ...refused, status: 412 }, { ...asked, operation }, []).join("\n"), /412 is not in/)
  })

  it("finds errors and secrets in log records", () => {
    assert.deepStrictEqual(Verdict.ofLogLine('{"level":"INFO","message":"x"}', [secret]), [])
    assert.match(Verdict.ofLogLine('{"level":"ERROR","message":"x"}', []).join(), /logs an error/)
    assert.match(Verdict.ofLogLine(`{"level":"INFO","message":"${secret}"}`, [secret]).join(), /logs a secret/)
  })
})

const bytes = (...lines: ReadonlyArray<string>) => Buffer.from(lines.join("\r\n"))

describe("the bytes of responses", () => {
  it("are parsed by length, in chunks, and without a body for HEAD", () => {
    const plain = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"
    const { answers, rest } = Answer.read(Buffer.from(plain + chunked + head), ["GET", "GET", "HEAD"])
    assert.deepStrictEqual(
      answers.map(({ body }) => body),
      ["hi", "hi", ""]
    )
    assert.strictEqual(rest.length, 0)
  })

  it("that are incomplete are kept", () => {
    const { answers, fault, rest } = Answer.read(bytes("HTTP/1.1 200 OK", "content-length: 3", "", "hi"))
    assert.deepStrictEqual([answers.length, fault], [0, undefined])
    assert.isAbove(rest.length, 0)
  })

  it("that are ambiguous are faults", () => {
    const broken = [
      bytes("HTTP/1.1 200 OK", "content-length: 2", "content-length: 2", "", "hi"),
      bytes("HTTP/1.1 200 OK", "content-length: 2", "transfer-encoding: chunked", "", "0", "", ""),
      bytes("HTTP/1.1 200 OK", "content-length : 2", "", "hi"),
      bytes("HTTP/1.1 200 OK", "content-length: two", "", "hi"),
      bytes("HTTP/1.1 200 OK", "", "hi"),
      bytes("HTTP/1.1 200 OK", "transfer-encoding: chunked", "", "zz", "hi"),
      bytes("nothing", "", "")
    ]
    for (const wire of broken) assert.isDefined(Answer.read(wire).fault, wire.toString())
  })
})

const world: World = {
  ids: ["a-1"],
  networks: ["near"],
  cursors: ["x"],
  administrator: "administrator",
  keys: ["reader"],
  receiver: "http://127.0.0.1:1",
  session: { host: "127.0.0.1:8080", cookie: `relayer-console-8080=${"c".repeat(43)}`, proof: "p".repeat(43) },
  keystore: {},
  passphrase: "x"
}

describe("a case", () => {
  it("is determined by its seed and its number", () => {
    for (let at = 0; at < 200; at++) assert.deepStrictEqual(Case.make(7, at, world), Case.make(7, at, world))
    assert.notDeepEqual(Case.make(7, 0, world), Case.make(8, 0, world))
  })

  it("that plans or applies a configuration has objects of each section", () => {
    const documents = Array.from({ length: 6000 }, (_, at) => Case.make(1, at, world)).flatMap((one) => {
      if (one._tag !== "Request" || one.request.operation?.id.startsWith("configuration.") !== true) return []
      return [String(one.request.body ?? "")]
    })
    for (const section of ["networks", "notifications", "signers", "relayers", "api_keys"]) {
      assert.isTrue(
        documents.some((body) => new RegExp(`"${section}":\\{"[^"]+":\\{`).test(body)),
        section
      )
    }
  })

  it("is sent in a session of the console, without a half of it, and to the endpoints of sessions", () => {
    const { host, cookie, proof } = world.session
    const below = Array.from({ length: 3000 }, (_, at) => Case.make(1, at, world)).flatMap((one) =>
      one._tag === "Request" && one.request.target.startsWith("/console") ? [one.request] : []
    )
    const has =
      (name: string, value: string) => (request: { readonly fields: ReadonlyArray<readonly [string, string]> }) =>
        request.fields.some(([field, text]) => field === name && text === value)
    const inSession = below.filter((request) => has("cookie", cookie)(request) && has("x-console", proof)(request))
    assert.isAbove(inSession.filter(({ target }) => target.startsWith("/console/api/v1/")).length, 50)
    assert.isAbove(below.filter((request) => has("cookie", cookie)(request) && !inSession.includes(request)).length, 5)
    assert.isAbove(below.filter((request) => request.host !== host).length, 5)
    for (const target of ["/console/session", "/console/sessions", "/console"]) {
      assert.isTrue(
        below.some((request) => request.target === target),
        target
      )
    }
    // A case that ends the session, or signs the administrator in, would make the later ones fruitless.
    assert.isFalse(below.some(({ method, target }) => method === "DELETE" && /^\/console\/session$/i.test(target)))
    assert.isFalse(below.some(({ body }) => String(body ?? "").includes('"key":"administrator"')))
  })

  it("among 3,000 covers every operation of the document, with a body if it has one", () => {
    const made = Array.from({ length: 3000 }, (_, at) => Case.make(1, at, world))
    const requests = made.flatMap((one) => (one._tag === "Request" ? [one.request] : []))
    for (const { id, bodies } of OpenApi.operations) {
      const met = requests.filter(({ operation }) => operation?.id === id)
      if (id === "masterKey.rotate" || id === "audit.verify") continue
      assert.isAbove(met.length, 0, id)
      if (bodies.length > 0)
        assert.isTrue(
          met.some(({ body }) => body !== undefined),
          id
        )
    }
  })
})
