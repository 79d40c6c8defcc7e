// The table of threats of docs/security/console.md: each row as an attack.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ConsolePage from "../../../testkit/ConsolePage.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const origins = ["https://relayers.example.com", "http://10.0.0.5:8080"]

const server = {
  requestTimeoutMs: 30_000,
  maxBodyBytes: 100_000,
  corsOrigins: ["https://evil.example"],
  hasConsole: true
}

const relayers = "/api/v1/relayers"

interface Refused {
  readonly key_id: string
  readonly after: { readonly count: number }
}

/** Without `Sec-Fetch-Site`. */
const bare = (path: string, call: TestApi.Call = {}) => TestApi.call(path, { key: null, ...call })

/** Another key with the same beginning. */
const changed = (key: string): string => `${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}`

layerEach(TestApi.layer({ server, console: { origins, files: ConsolePage.files } }))(
  "an attacker of the console",
  (it) => {
    it.effect("gets no secret half from a script: the cookie is HttpOnly, and only the sign-in shows the proof", () =>
      Effect.gen(function* () {
        const answer = yield* ConsolePage.trySignIn(TestApi.apiKey)
        assert.strictEqual(answer.status, 201)
        const [cookie = ""] = answer.headers.getSetCookie()
        assert.match(cookie, /^relayer-console-\d+=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        const session = ConsolePage.sessionOf(answer)
        const value = session.cookie.split("=")[1] ?? ""
        assert.notInclude(answer.text, value)
        assert.notInclude(answer.text, TestApi.apiKey)
        for (const path of ["/session", "/sessions", relayers, "/api/v1/audit"]) {
          const { text, headers } = yield* ConsolePage.call(session, path)
          assert.notInclude(text, session.proof)
          assert.notInclude(text, value)
          assert.isEmpty(headers.getSetCookie())
        }
      })
    )

    it.effect("cannot use either half alone, also with every header of a page", () =>
      Effect.gen(function* () {
        const session = yield* ConsolePage.signIn(TestApi.apiKey)
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 200)
        const other = yield* ConsolePage.signIn(TestApi.apiKey, { headers: { "user-agent": "other" } })
        const replayed = { ...session, proof: "" }
        const guessed = { ...session, proof: other.proof }
        const stolen = { ...session, cookie: "" }
        const set = { ...session, cookie: other.cookie }
        for (const halves of [replayed, guessed, stolen, set]) {
          for (const path of [relayers, "/session", "/sessions", "/api/v1/unknown"]) {
            assert.strictEqual(yield* ConsolePage.statusOf(halves, path), 401, path)
          }
        }
        // Both sessions are still there: nobody was ended by the attempts.
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 200)
      })
    )

    it.effect(
      "from a page of another port or host gets 403, also without a body, without a header, or at the sign-in",
      () =>
        Effect.gen(function* () {
          const { cookie, proof } = yield* ConsolePage.signIn(TestApi.apiKey)
          const halves = { cookie, "x-console": proof }
          for (const site of ["same-site", "cross-site", "none"]) {
            const headers = { ...halves, "sec-fetch-site": site }
            for (const path of [
              `/console${relayers}`,
              "/console/session",
              "/console/sessions",
              "//console/api/v1/relayers"
            ]) {
              assert.strictEqual((yield* bare(path, { headers })).status, 403, path)
              assert.strictEqual((yield* bare(path, { headers, method: "DELETE" })).status, 403, path)
            }
            const signIn = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: { "sec-fetch-site": site } })
            assert.deepStrictEqual([signIn.status, signIn.headers.getSetCookie().length], [403, 0])
          }
          for (const origin of ["http://127.0.0.1:1", "http://localhost", "null"]) {
            const path = `/console${relayers}/payouts/check`
            const headers = { ...halves, origin, "content-type": "text/plain" }
            assert.strictEqual((yield* bare(path, { headers, method: "POST" })).status, 403)
          }
          assert.strictEqual((yield* bare(`/console${relayers}`, { headers: halves })).status, 403)
        })
    )

    it.effect("cannot sign a person in without the header that forces a preflight, which no origin passes", () =>
      Effect.gen(function* () {
        const answer = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: { "x-console": "" } })
        assert.deepStrictEqual([answer.status, answer.headers.getSetCookie().length], [403, 0])
        const [origin = ""] = server.corsOrigins
        const preflight = {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-console"
        }
        for (const path of ["/console/session", `/console${relayers}`, "/console/"]) {
          const { headers } = yield* bare(path, { method: "OPTIONS", headers: preflight })
          assert.isNull(headers.get("access-control-allow-origin"), path)
          assert.isNull((yield* bare(path, { headers: { origin } })).headers.get("access-control-allow-origin"), path)
        }
        const api = yield* bare(relayers, { method: "OPTIONS", headers: preflight })
        assert.strictEqual(api.headers.get("access-control-allow-origin"), origin)
        assert.notInclude(api.headers.get("access-control-allow-headers") ?? "", "x-console")
      })
    )

    it.effect("reaches no session through /api/v1, or through other spellings of the path", () =>
      Effect.gen(function* () {
        const { cookie, proof } = yield* ConsolePage.signIn(TestApi.apiKey)
        const value = cookie.split("=")[1] ?? ""
        const headers = { ...ConsolePage.ownPage, cookie, "x-console": proof }
        const token = ["console", "person", value, proof].join(".")
        const elsewhere = { ...headers, "sec-fetch-site": "same-site" }
        // The router takes upper case for the same path, with the same rules.
        assert.strictEqual((yield* bare("/CONSOLE/api/v1/relayers", { headers: elsewhere })).status, 403)
        for (const path of [relayers, "/console%2fapi/v1/relayers", "/console/api%2fv1/relayers"]) {
          const answer = yield* bare(path, { headers })
          assert.notInclude(answer.text, '"success":true', path)
        }
        assert.strictEqual((yield* bare(relayers, { key: token, headers })).status, 401)
        // A token or an API key in the header is replaced by what the two halves say.
        for (const key of [token, TestApi.apiKey]) {
          const answer = yield* bare(`/console${relayers}`, { key, headers: ConsolePage.ownPage })
          assert.strictEqual(answer.status, 401)
        }
      })
    )

    it.effect("that sets a second cookie of the name gets 401, and both sessions end", () =>
      Effect.gen(function* () {
        const mine = yield* ConsolePage.signIn(TestApi.apiKey)
        const theirs = yield* ConsolePage.signIn(TestApi.apiKey)
        const both = { ...mine, cookie: `${theirs.cookie}; ${mine.cookie}` }
        assert.strictEqual(yield* ConsolePage.statusOf(both, relayers), 401)
        assert.strictEqual(yield* ConsolePage.statusOf(mine, relayers), 401)
        assert.strictEqual(yield* ConsolePage.statusOf(theirs, relayers), 401)
      })
    )

    it.effect("cannot fix a session: both halves are new, and the session of the cookie ends", () =>
      Effect.gen(function* () {
        const first = yield* ConsolePage.signIn(TestApi.apiKey)
        const second = yield* ConsolePage.signIn(TestApi.apiKey, { headers: { cookie: first.cookie } })
        assert.notStrictEqual(second.cookie, first.cookie)
        assert.notStrictEqual(second.proof, first.proof)
        assert.strictEqual(yield* ConsolePage.statusOf(first, relayers), 401)
        assert.strictEqual(yield* ConsolePage.statusOf(second, relayers), 200)
      })
    )

    it.effect("with another Host gets 421 and no cookie, as after DNS rebinding", () =>
      Effect.gen(function* () {
        const headers = { host: "evil.example" }
        for (const path of ["/console", "/console/relayers", `/console${relayers}`]) {
          const answer = yield* bare(path, { headers: { ...headers, ...ConsolePage.ownPage } })
          assert.strictEqual(answer.status, 421, path)
          assert.include(answer.json.error ?? "", "CONSOLE_ORIGINS")
        }
        const signIn = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers })
        assert.deepStrictEqual([signIn.status, signIn.headers.getSetCookie().length], [421, 0])
      })
    )

    it.effect("cannot read a key on its way: without TLS, people sign in on this machine only", () =>
      Effect.gen(function* () {
        const plain = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: { host: "10.0.0.5:8080" } })
        assert.deepStrictEqual([plain.status, plain.headers.getSetCookie().length], [403, 0])
        assert.include(plain.json.error ?? "", "CONSOLE_ORIGINS")
        assert.include(plain.json.error ?? "", "ssh -L")
        const secure = yield* ConsolePage.trySignIn(TestApi.apiKey, {
          headers: { host: "relayers.example.com", "x-forwarded-proto": "http" }
        })
        assert.match(
          secure.headers.getSetCookie()[0] ?? "",
          /^__Host-relayer-console-[0-9a-f]{8}=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/
        )
        const session = ConsolePage.sessionOf(secure)
        const own = { host: "relayers.example.com" }
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers, { headers: own }), 200)
        // The cookie of one site has no meaning at another one.
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 401)
      })
    )

    it.effect("claims neither another host nor TLS by fields of a proxy", () =>
      Effect.gen(function* () {
        const claims = (host: string, scheme: string) => ({
          "x-forwarded-host": host,
          "x-forwarded-proto": scheme,
          forwarded: `host=${host};proto=${scheme}`
        })
        const secure = claims("relayers.example.com", "https")
        const evil = { host: "evil.example", ...ConsolePage.ownPage, ...secure }
        assert.strictEqual((yield* bare("/console", { headers: evil })).status, 421)
        const rebound = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: evil })
        assert.deepStrictEqual([rebound.status, rebound.headers.getSetCookie().length], [421, 0])
        const plain = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: { host: "10.0.0.5:8080", ...secure } })
        assert.deepStrictEqual([plain.status, plain.headers.getSetCookie().length], [403, 0])
        // This machine keeps the cookie of its port, and an origin with TLS keeps the cookie that needs TLS.
        const local = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: secure })
        assert.match(
          local.headers.getSetCookie()[0] ?? "",
          /^relayer-console-\d+=[^;]+; Path=\/console; HttpOnly; SameSite=Strict$/
        )
        const session = ConsolePage.sessionOf(local)
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers, { headers: secure }), 200)
        const out = yield* ConsolePage.call(session, "/session", { method: "DELETE", headers: secure })
        assert.match(out.headers.getSetCookie()[0] ?? "", /^relayer-console-\d+=; Path=\/console/)
        const own = { host: "relayers.example.com", ...claims("127.0.0.1", "http") }
        const behindTls = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: own })
        assert.match(behindTls.headers.getSetCookie()[0] ?? "", /^__Host-relayer-console-[^;]+; Path=\/; Secure/)
        const remote = ConsolePage.sessionOf(behindTls)
        assert.strictEqual(yield* ConsolePage.statusOf(remote, relayers, { headers: own }), 200)
        // A page of another host is no own page because its request says so.
        const { cookie, proof } = yield* ConsolePage.signIn(TestApi.apiKey)
        const foreign = {
          cookie,
          "x-console": proof,
          origin: "http://evil.example",
          ...claims("evil.example", "http")
        }
        assert.strictEqual((yield* bare(`/console${relayers}`, { headers: foreign })).status, 403)
      })
    )

    it.effect("that tries keys waits after ten, while other addresses and sessions go on", () =>
      Effect.gen(function* () {
        const session = yield* ConsolePage.signIn(TestApi.apiKey)
        const key = yield* Prepared.createKey({ scopes: ["relayers:read"] })
        const wrong = ConsolePage.trySignIn(changed(key))
        for (let attempt = 0; attempt < 10; attempt++) assert.strictEqual((yield* wrong).status, 401)
        const limited = yield* wrong
        assert.deepStrictEqual([limited.status, limited.headers.get("retry-after")], [429, "1"])
        assert.strictEqual((yield* ConsolePage.trySignIn(key)).status, 429)
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 200)
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* ConsolePage.trySignIn(key)).status, 201)
        yield* TestClock.adjust("1 minute")
        // The instance writes the second record by itself, at the end of the minute.
        const found = yield* Effect.repeat(TestApi.call("/api/v1/audit?action=session.refused&order=oldest"), {
          until: ({ json }) => (json.data as ReadonlyArray<Refused>).length > 1
        })
        const counts = (found.json.data as ReadonlyArray<Refused>).map(({ key_id, after }) => ({ key_id, ...after }))
        assert.deepStrictEqual(counts, [
          { key_id: "console", count: 1 },
          { key_id: "console", count: 9 }
        ])
      })
    )

    it.effect("that tries keys at the sign-in has fewer tries left at the API", () =>
      Effect.gen(function* () {
        const key = yield* Prepared.createKey({ scopes: ["relayers:read"] })
        const wrong = changed(key)
        for (let attempt = 0; attempt < 10; attempt++) yield* ConsolePage.trySignIn(wrong)
        // An address has 200 refusals. The clock stands still, so that none of them comes back.
        for (let attempt = 10; attempt < 200; attempt++) {
          assert.strictEqual((yield* TestApi.call(relayers, { key: wrong })).status, 401, `${attempt}`)
        }
        assert.strictEqual((yield* TestApi.call(relayers, { key: wrong })).status, 429)
      })
    )

    it.effect("finds pages that run own scripts only and cannot be framed, and nothing in a cache", () =>
      Effect.gen(function* () {
        for (const path of ["/console", "/console/", "/console/relayers/payouts?tab=nonces", "/console/sign-in"]) {
          const { status, headers, text } = yield* bare(path)
          assert.deepStrictEqual([status, text], [200, "<!doctype html><title>page</title>"], path)
          const policy = headers.get("content-security-policy") ?? ""
          for (const part of [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'"
          ]) {
            assert.include(policy.split("; "), part)
          }
          assert.notInclude(policy, "unsafe")
          assert.deepStrictEqual(
            ["x-frame-options", "referrer-policy", "cross-origin-opener-policy", "cross-origin-resource-policy"].map(
              (name) => headers.get(name)
            ),
            ["DENY", "no-referrer", "same-origin", "same-origin"]
          )
          assert.deepStrictEqual(
            ["cache-control", "x-content-type-options"].map((name) => headers.get(name)),
            ["no-store", "nosniff"]
          )
        }
      })
    )

    it.effect(
      "is not helped by a cache: files with a hash are stored, a missing one is 404, and a sign-out clears",
      () =>
        Effect.gen(function* () {
          const file = yield* bare("/console/main-AbCd1234.js", { headers: { "accept-encoding": "identity" } })
          assert.deepStrictEqual(
            [file.text, file.headers.get("cache-control"), file.headers.get("content-type")],
            ["main", "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"]
          )
          assert.strictEqual((yield* bare("/console/main-Older123.js")).status, 404)
          const session = yield* ConsolePage.signIn(TestApi.apiKey)
          const out = yield* ConsolePage.call(session, "/session", { method: "DELETE" })
          assert.strictEqual(out.headers.get("clear-site-data"), '"cache"')
          assert.match(out.headers.getSetCookie()[0] ?? "", /^relayer-console-\d+=; Path=\/console; .*; Max-Age=0$/)
          assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 401)
        })
    )
  }
)
